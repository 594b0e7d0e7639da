// Package main is the lab's mangos participant: its sockets with SendMsg and RecvMsg, which copy no
// message, and with the default options.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.nanomsg.org/mangos/v3"
	"go.nanomsg.org/mangos/v3/protocol/pair"
	"go.nanomsg.org/mangos/v3/protocol/pull"
	"go.nanomsg.org/mangos/v3/protocol/push"
	"go.nanomsg.org/mangos/v3/protocol/rep"
	"go.nanomsg.org/mangos/v3/protocol/req"
	_ "go.nanomsg.org/mangos/v3/transport/inproc"
	_ "go.nanomsg.org/mangos/v3/transport/ipc"
	_ "go.nanomsg.org/mangos/v3/transport/tcp"
	_ "go.nanomsg.org/mangos/v3/transport/tlstcp"
	_ "go.nanomsg.org/mangos/v3/transport/ws"
	_ "go.nanomsg.org/mangos/v3/transport/wss"
)

var (
	cell, transport         = os.Getenv("CELL"), os.Getenv("TRANSPORT")
	size, senders, messages int
	seed                    uint32
)

func main() {
	log.SetFlags(0)
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	size, senders, messages = order("SIZE"), order("SENDERS"), order("MESSAGES")
	if role != "server" && role != "receiver" {
		seed = uint32(order("SEED"))
	}
	switch role {
	case "server":
		serve()
	case "client":
		drive()
	case "inproc":
		play()
	case "sender":
		sendFanOut()
	case "receiver":
		receiveFanOut()
	default:
		log.Fatalf("no such role: %q", role)
	}
}

// order reads an order of the lab from the environment.
func order(name string) int {
	value, err := strconv.ParseUint(os.Getenv(name), 10, 63)
	check(err)
	return int(value)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// say prints the fields of all accounts as one.
func say(accounts ...any) {
	all := map[string]any{}
	for _, account := range accounts {
		fields, err := json.Marshal(account)
		check(err)
		check(json.Unmarshal(fields, &all))
	}
	line, err := json.Marshal(all)
	check(err)
	fmt.Println(string(line))
}

func address() string {
	switch transport {
	case "inproc":
		return "inproc://lab"
	case "ipc":
		return "ipc://" + os.Getenv("SOCKET")
	case "tls":
		return "tls+tcp://127.0.0.1:" + os.Getenv("PORT")
	case "ws", "wss":
		return transport + "://127.0.0.1:" + os.Getenv("PORT") + "/"
	default:
		return "tcp://127.0.0.1:" + os.Getenv("PORT")
	}
}

// options has the certificate of a server or the authority of a client, where there is TLS.
func options(serves bool) map[string]any {
	if transport != "tls" && transport != "wss" {
		return nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if serves {
		certificate, err := tls.LoadX509KeyPair(os.Getenv("CERT"), os.Getenv("KEY"))
		check(err)
		config.Certificates = []tls.Certificate{certificate}
	} else {
		authority, err := os.ReadFile(os.Getenv("CA"))
		check(err)
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(authority)
		config.ServerName = "localhost"
	}
	return map[string]any{mangos.OptionTLSConfig: config}
}

func opened(open func() (mangos.Socket, error)) mangos.Socket {
	socket, err := open()
	check(err)
	return socket
}

func receiver() mangos.Socket {
	switch cell {
	case "req":
		return opened(rep.NewSocket)
	case "pair":
		return opened(pair.NewSocket)
	default:
		return opened(pull.NewSocket)
	}
}

func sender() mangos.Socket {
	switch cell {
	case "req":
		return opened(req.NewSocket)
	case "pair":
		return opened(pair.NewSocket)
	default:
		return opened(push.NewSocket)
	}
}

func serve() {
	socket := receiver()
	listener, err := socket.NewListener(address(), options(true))
	check(err)
	check(listener.Listen())
	go endWithTheInput(os.Stdin)
	port := "0"
	if transport != "ipc" {
		port = portOf(listener)
	}
	fmt.Println("READY", port)
	if cell == "req" {
		answerAll(socket, func(seen *receipts) { say(seen) })
	} else {
		say(receiveAll(socket))
	}
	select {}
}

func endWithTheInput(input io.Reader) {
	io.Copy(io.Discard, input)
	os.Exit(0)
}

func portOf(listener mangos.Listener) string {
	bound := strings.TrimSuffix(listener.Address(), "/")
	return bound[strings.LastIndex(bound, ":")+1:]
}

func drive() {
	sockets := make([]mangos.Socket, senders)
	for at := range sockets {
		// A socket may be used by several goroutines, so they share one.
		if at > 0 && cell == "threads" {
			sockets[at] = sockets[0]
			continue
		}
		sockets[at] = sender()
		check(sockets[at].DialOptions(address(), options(false)))
	}
	input := readyAndWaitForGo()
	switch cell {
	case "req":
		say(askAll(sockets[0]))
	case "threads":
		var all sync.WaitGroup
		for at := range sockets {
			all.Add(1)
			go func(at int) {
				defer all.Done()
				sendInTurn(sockets[at:at+1], uint32(at))
			}(at)
		}
		all.Wait()
		say(sent{messages})
	default:
		sendInTurn(sockets, 0)
		say(sent{messages})
	}
	// The sockets stay open until the receiver has everything.
	io.Copy(io.Discard, input)
}

// play has both ends in one process.
func play() {
	here, there := receiver(), sender()
	check(here.Listen(address()))
	check(there.Dial(address()))
	readyAndWaitForGo()
	if cell == "req" {
		answered := make(chan *receipts, 1)
		go answerAll(here, func(seen *receipts) { answered <- seen })
		asked := askAll(there)
		say(<-answered, asked)
		return
	}
	go sendInTurn([]mangos.Socket{there}, 0)
	say(receiveAll(here), sent{messages})
}

// readyAndWaitForGo returns when the lab writes GO: what is left of the input.
func readyAndWaitForGo() *bufio.Reader {
	fmt.Println("READY")
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadString('\n')
	if line != "GO\n" {
		log.Fatalf("no GO but %q: %v", line, err)
	}
	return input
}

func send(socket mangos.Socket, s stamp) {
	message := mangos.NewMessage(size)
	message.Body = message.Body[:size]
	s.write(message.Body)
	check(socket.SendMsg(message))
}

// sendInTurn sends on all sockets, the first of which belongs to the sender first.
func sendInTurn(sockets []mangos.Socket, first uint32) {
	drawn := make([]payloads, len(sockets))
	for at := range drawn {
		drawn[at] = payloadsOf(first + uint32(at))
	}
	for number := uint64(0); number < uint64(messages/senders); number++ {
		for at, socket := range sockets {
			send(socket, stamp{first + uint32(at), number, drawn[at].next()})
		}
	}
	for at, socket := range sockets {
		send(socket, stamp{first + uint32(at), end, 0})
	}
}

// receiveAll receives until the mark of every sender has come.
func receiveAll(socket mangos.Socket) *receipts {
	seen := &receipts{Senders: make([]seen, senders)}
	for open := senders; open > 0; {
		message, err := socket.RecvMsg()
		check(err)
		if s, right := seen.take(message.Body); right && s.number == end {
			open--
		}
		message.Free()
	}
	return seen.finish()
}

// answerAll answers requests until the mark. The reply is the request, with other words in it.
func answerAll(socket mangos.Socket, tell func(*receipts)) {
	seen := &receipts{Senders: make([]seen, senders)}
	for {
		message, err := socket.RecvMsg()
		check(err)
		s, right := seen.take(message.Body)
		if !right {
			log.Fatal("a request that nobody sent")
		}
		if s.number == end {
			tell(seen.finish())
		}
		message = message.MakeUnique()
		stamp{s.sender, s.number, ^s.payload}.write(message.Body)
		check(socket.SendMsg(message))
		if s.number == end {
			return
		}
	}
}

func askAll(socket mangos.Socket) asked {
	var wrong, sum uint64
	times := make([]time.Duration, 0, messages)
	ask := func(s stamp) (stamp, bool) {
		send(socket, s)
		message, err := socket.RecvMsg()
		check(err)
		reply, right := read(message.Body)
		message.Free()
		return reply, right
	}
	drawn := payloadsOf(0)
	for number := uint64(0); number < uint64(messages); number++ {
		request := stamp{0, number, drawn.next()}
		begun := time.Now()
		reply, right := ask(request)
		times = append(times, time.Since(begun))
		if !right || reply != (stamp{0, number, ^request.payload}) {
			wrong++
		}
		sum += uint64(reply.payload)
	}
	ask(stamp{0, end, 0})
	return asked{uint64(messages), wrong, strconv.FormatUint(sum, 10), percentiles(times)}
}

// A mangos socket on the command line, in the manner of nanocat and nngcat: --ROLE, --connect or
// --bind ADDRESS, --data TEXT, --interval SECONDS, --subscribe TOPIC. It prints each received message
// on a line, in quotes. --echo answers with the received message, --hold receives and never answers,
// --limit BYTES limits received messages (0: no limit), --body SIZE sends this many bytes. --sizes
// 0,1,7 makes a req ask with bodies of those sizes and report whether they came back the same.
// --device joins two raw sockets: --front and --back name their protocols, and the second one dials
// --back-connect. --cacert, --cert and --key FILE are for tls+tcp:// and wss://; a listener with
// --cacert wants a certificate of its dialer. The tests of the SP sockets talk to it.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.nanomsg.org/mangos/v3"
	"go.nanomsg.org/mangos/v3/protocol/bus"
	"go.nanomsg.org/mangos/v3/protocol/pair"
	"go.nanomsg.org/mangos/v3/protocol/pair1"
	"go.nanomsg.org/mangos/v3/protocol/pub"
	"go.nanomsg.org/mangos/v3/protocol/pull"
	"go.nanomsg.org/mangos/v3/protocol/push"
	"go.nanomsg.org/mangos/v3/protocol/rep"
	"go.nanomsg.org/mangos/v3/protocol/req"
	"go.nanomsg.org/mangos/v3/protocol/respondent"
	"go.nanomsg.org/mangos/v3/protocol/star"
	"go.nanomsg.org/mangos/v3/protocol/sub"
	"go.nanomsg.org/mangos/v3/protocol/surveyor"
	"go.nanomsg.org/mangos/v3/protocol/xpair1"
	"go.nanomsg.org/mangos/v3/protocol/xrep"
	"go.nanomsg.org/mangos/v3/protocol/xreq"
	"go.nanomsg.org/mangos/v3/protocol/xrespondent"
	"go.nanomsg.org/mangos/v3/protocol/xsurveyor"
	_ "go.nanomsg.org/mangos/v3/transport/ipc"
	_ "go.nanomsg.org/mangos/v3/transport/tcp"
	_ "go.nanomsg.org/mangos/v3/transport/tlstcp"
	_ "go.nanomsg.org/mangos/v3/transport/ws"
	_ "go.nanomsg.org/mangos/v3/transport/wss"
)

var makers = map[string]func() (mangos.Socket, error){
	"bus": bus.NewSocket, "pair0": pair.NewSocket, "pair1": pair1.NewSocket, "pub": pub.NewSocket,
	"pull": pull.NewSocket, "push": push.NewSocket, "rep": rep.NewSocket, "req": req.NewSocket,
	"respondent": respondent.NewSocket, "star": star.NewSocket, "sub": sub.NewSocket,
	"surveyor": surveyor.NewSocket,
}

var rawMakers = map[string]func() (mangos.Socket, error){
	"pair1": xpair1.NewSocket, "rep": xrep.NewSocket, "req": xreq.NewSocket,
	"respondent": xrespondent.NewSocket, "surveyor": xsurveyor.NewSocket,
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func show(message []byte) {
	fmt.Println(strconv.Quote(string(message)))
}

// Bytes that differ from place to place and from size to size; 251 divides no power of two.
func body(size int) []byte {
	bytes := make([]byte, size)
	for place := range bytes {
		bytes[place] = byte((size + place) % 251)
	}
	return bytes
}

func askSizes(socket mangos.Socket, sizes string) {
	for _, word := range strings.Split(sizes, ",") {
		size, err := strconv.Atoi(word)
		check(err)
		check(socket.Send(body(size)))
		reply, err := socket.Recv()
		check(err)
		said := "changed"
		if bytes.Equal(reply, body(size)) {
			said = "same"
		}
		fmt.Println(said, size)
	}
}

// Answers with the received message or with data, or never answers.
func answer(socket mangos.Socket, option map[string]string) {
	_, echo := option["echo"]
	_, hold := option["hold"]
	for {
		message, err := socket.Recv()
		check(err)
		if echo {
			check(socket.Send(message))
			continue
		}
		show(message)
		if !hold {
			check(socket.Send([]byte(option["data"])))
		}
	}
}

// Sends data once, or repeatedly.
func send(socket mangos.Socket, data []byte, every time.Duration) {
	for {
		check(socket.Send(data))
		if every == 0 {
			return
		}
		time.Sleep(every)
	}
}

// Prints every message; goes on when a time limit has passed.
func receive(socket mangos.Socket) {
	for {
		message, err := socket.Recv()
		if err == nil {
			show(message)
		} else if err == mangos.ErrClosed {
			return
		} else {
			time.Sleep(time.Millisecond)
		}
	}
}

// Joins two raw sockets and runs until it is killed. The back is opened first: a peer that reaches the
// front reaches the whole device.
func device(option map[string]string) {
	front, err := rawMakers[option["front"]]()
	check(err)
	back, err := rawMakers[option["back"]]()
	check(err)
	check(mangos.Device(front, back))
	check(back.Dial(option["back-connect"]))
	check(front.Listen(option["bind"]))
	select {}
}

// The options of TLS for either end.
func withTLS(option map[string]string) map[string]interface{} {
	root, there := option["cacert"]
	if !there {
		return nil
	}
	pem, err := os.ReadFile(root)
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	own, err := tls.LoadX509KeyPair(option["cert"], option["key"])
	check(err)
	return map[string]interface{}{mangos.OptionTLSConfig: &tls.Config{
		Certificates: []tls.Certificate{own}, RootCAs: roots, ServerName: "localhost",
		ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
	}}
}

func main() {
	role, option := strings.TrimPrefix(os.Args[1], "--"), map[string]string{}
	words := os.Args[2:]
	for at := 0; at < len(words); at++ {
		name := strings.TrimPrefix(words[at], "--")
		switch name {
		case "quoted", "echo", "hold":
			option[name] = ""
		default:
			at++
			option[name] = words[at]
		}
	}
	if role == "device" {
		device(option)
	}
	socket, err := makers[role]()
	check(err)
	data := []byte(option["data"])
	if size, there := option["body"]; there {
		bytes, err := strconv.Atoi(size)
		check(err)
		data = body(bytes)
	}
	seconds, _ := strconv.Atoi(option["interval"])
	every := time.Duration(seconds) * time.Second
	if topic, there := option["subscribe"]; there {
		check(socket.SetOption(mangos.OptionSubscribe, []byte(topic)))
	}
	if limit, there := option["limit"]; there {
		bytes, err := strconv.Atoi(limit)
		check(err)
		check(socket.SetOption(mangos.OptionMaxRecvSize, bytes))
	}
	if role == "surveyor" {
		check(socket.SetOption(mangos.OptionSurveyTime, 10*time.Second))
	}
	if address, there := option["connect"]; there {
		check(socket.DialOptions(address, withTLS(option)))
	} else {
		check(socket.ListenOptions(option["bind"], withTLS(option)))
	}
	// A listener has no peers yet, and mangos discards messages without a receiver.
	time.Sleep(100 * time.Millisecond)
	if _, there := option["echo"]; there {
		answer(socket, option)
	}
	if sizes, there := option["sizes"]; there {
		askSizes(socket, sizes)
		select {}
	}
	switch role {
	case "push", "pub":
		send(socket, data, every)
	case "pull", "sub":
		receive(socket)
	case "req":
		check(socket.Send(data))
		receive(socket)
	case "rep", "respondent":
		answer(socket, option)
	case "surveyor":
		// Each survey accepts answers until the next one is sent.
		go send(socket, data, every)
		receive(socket)
	default:
		go send(socket, data, every)
		receive(socket)
	}
	select {}
}

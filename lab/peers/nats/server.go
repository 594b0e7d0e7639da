package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"lab"

	"github.com/nats-io/nats.go"
)

// serve starts the NATS server and answers what it delivers.
func serve() {
	port, stop := startBroker()
	connection := connected(port)
	if cell == "callers" || cell == "callers-each" {
		quote(connection)
	} else {
		receive(connection)
	}
	lab.Check(connection.Flush())
	lab.StopWithTheLab(func() { connection.SetClosedHandler(nil) }, stop)
	fmt.Println("READY", port)
	select {}
}

// startBroker returns the port of a server that serves, and what ends it. It has a group of its
// own, so that a signal to this program's does not end it first. The kernel ends it when this
// thread has gone, which therefore stays.
func startBroker() (port string, stop func()) {
	runtime.LockOSThread()
	port = freePort()
	broker := exec.Command("build/nats-server", "--addr", "127.0.0.1", "--port", port)
	broker.Stderr = os.Stderr
	broker.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	lab.Check(broker.Start())
	stop = func() {
		broker.Process.Kill()
		broker.Wait()
	}
	// The server has no other sign that it listens than that it accepts.
	for range 1_000 {
		if probe, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			probe.Close()
			return port, stop
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	lab.Check(fmt.Errorf("the NATS server does not listen on port %s after 10 s", port))
	return "", nil
}

func freePort() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	lab.Check(err)
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// receive takes note of messages, and answers those that want it. An empty one asks for the
// account; it has the same subject as the others, so that it comes behind them.
func receive(connection *nats.Conn) {
	var seen lab.Seen
	_, err := connection.Subscribe(work, func(message *nats.Msg) {
		if len(message.Data) == 0 {
			lab.Say(map[string]any{"senders": []lab.Seen{seen.Told()}})
			lab.Check(message.Respond(nil))
			return
		}
		number, payload := decode(message.Data)
		seen.Take(number, payload)
		if message.Reply != "" {
			sum := binary.LittleEndian.AppendUint64(nil, number+uint64(payload))
			lab.Check(message.Respond(sum))
		}
	})
	lab.Check(err)
}

// quote answers callers, who send and get JSON: all by one subscription, or each by its own.
func quote(connection *nats.Conn) {
	desks := lab.Desks(lab.Order("SENDERS"), cell == "callers-each")
	for at := range desks {
		subject := quotes + "." + strconv.Itoa(at)
		_, err := connection.Subscribe(subject, func(message *nats.Msg) {
			var enquiry lab.Enquiry
			lab.Check(json.Unmarshal(message.Data, &enquiry))
			offer, err := desks[at].Quote(&enquiry)
			lab.Check(err)
			answer, err := json.Marshal(offer)
			lab.Check(err)
			lab.Check(message.Respond(answer))
		})
		lab.Check(err)
	}
	_, err := connection.Subscribe(work, func(message *nats.Msg) {
		lab.SayDesks(desks)
		lab.Check(message.Respond(nil))
	})
	lab.Check(err)
}

// Package main is the lab's NATS participant: two clients and a NATS server between them, which the
// program of the receiving side starts as its child, so that its costs are that side's.
package main

import (
	"encoding/binary"
	"log"
	"os"

	"lab"

	"github.com/nats-io/nats.go"
)

// Subjects: messages and asks go to one, callers to one or to one for each of them.
const (
	work   = "work"
	quotes = "quotes"
)

var cell = os.Getenv("CELL")

func main() {
	log.SetFlags(0)
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch role {
	case "server":
		serve()
	case "client":
		drive()
	default:
		log.Fatalf("no such role: %q", role)
	}
}

// connected is a client of the server at a port. Failures that have no caller end the program, so
// whoever ends the server has the connection forget `closed` first.
func connected(port string) *nats.Conn {
	connection, err := nats.Connect("nats://127.0.0.1:"+port,
		nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Fatal(err) }),
		nats.ClosedHandler(closed))
	lab.Check(err)
	return connection
}

func closed(connection *nats.Conn) {
	log.Fatal("the connection was closed: ", connection.LastError())
}

// messageBytes is the length of a message: its number and its payload.
const messageBytes = 12

func encode(number uint64, payload uint32) []byte {
	bytes := make([]byte, messageBytes)
	binary.LittleEndian.PutUint64(bytes, number)
	binary.LittleEndian.PutUint32(bytes[8:], payload)
	return bytes
}

func decode(bytes []byte) (number uint64, payload uint32) {
	if len(bytes) != messageBytes {
		log.Fatalf("a message of %d bytes", len(bytes))
	}
	return binary.LittleEndian.Uint64(bytes), binary.LittleEndian.Uint32(bytes[8:])
}

// Package main is the lab's Go participant: goroutines and channels, the standard library only.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func main() {
	log.SetFlags(0)
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch role {
	case "pingpong-server":
		pingpongServer()
	case "pingpong-client":
		pingpongClient()
	case "counter":
		inside()
	case "remote-server":
		remoteServer()
	case "remote-client":
		remoteClient()
	case "http-server":
		httpServer()
	default:
		log.Fatalf("no such role: %q", role)
	}
}

// order reads an order of the lab from the environment.
func order(name string) int {
	value, err := strconv.ParseUint(os.Getenv(name), 10, 63)
	if err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	return int(value)
}

// say prints an account.
func say(account any) {
	line, err := json.Marshal(account)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

// inside plays the cell of counter that was ordered.
func inside() {
	switch os.Getenv("CELL") {
	case "slow":
		slow()
	case "ask":
		ask()
	case "bounce", "ring":
		ring()
	case "spawn":
		spawn()
	case "actors":
		actors()
	default:
		counter()
	}
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

// stopWithTheLab ends a server on SIGTERM or when its standard input ends.
func stopWithTheLab() {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	go func() {
		<-terminated
		os.Exit(0)
	}()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
}

// payloads are the numbers that a sender draws: xorshift32.
type payloads uint32

func payloadsOf(seed, sender uint32) payloads {
	x := seed ^ (sender+1)*2654435761
	if x == 0 {
		x = 1
	}
	return payloads(x)
}

func (p *payloads) next() uint32 {
	x := uint32(*p)
	x ^= x << 13
	x ^= x >> 17
	x ^= x << 5
	*p = payloads(x)
	return x
}

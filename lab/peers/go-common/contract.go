// Package lab is the lab's contract for participants in Go: orders, the two lines of a start,
// accounts and the end. It does not belong to the measured systems.
package lab

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

// Order reads an order of the lab from the environment.
func Order(name string) int {
	value, err := strconv.ParseUint(os.Getenv(name), 10, 63)
	if err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	return int(value)
}

// Check ends the program with an error, for a participant has no use for half of a run.
func Check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Say prints an account.
func Say(account any) {
	line, err := json.Marshal(account)
	Check(err)
	fmt.Println(string(line))
}

// ReadyAndWaitForGo returns when the lab writes GO: what is left of the input.
func ReadyAndWaitForGo() *bufio.Reader {
	fmt.Println("READY")
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadString('\n')
	if line != "GO\n" {
		log.Fatalf("no GO but %q: %v", line, err)
	}
	return input
}

// StopWithTheLab ends a server on SIGTERM or when its standard input ends, after `before`.
func StopWithTheLab(before ...func()) {
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGTERM)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		over <- syscall.SIGTERM
	}()
	go func() {
		<-over
		for _, last := range before {
			last()
		}
		os.Exit(0)
	}()
}

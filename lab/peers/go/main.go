// Package main is the lab's Go participant: goroutines and channels, the standard library only.
package main

import (
	"log"
	"os"
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

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"lab"
)

// fixed says that requests are Ping and replies Pong, instead of tokens.
var fixed = os.Getenv("PAYLOAD") == "fixed"

// pingpongServer serves each connection in a goroutine of its own, as the overview of package net
// shows it.
func pingpongServer() {
	expected := int64(lab.Order("CONNECTIONS"))
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lab.Order("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	lab.StopWithTheLab()
	fmt.Println("READY", listener.Addr().(*net.TCPAddr).Port)

	var opened, closed, requests atomic.Int64
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		opened.Add(1)
		go func() {
			total := requests.Add(serve(connection))
			if n := closed.Add(1); n >= expected && n == opened.Load() {
				lab.Say(map[string]int64{"requests": total})
			}
		}()
	}
}

// serve answers until the client closes and returns how many requests there were.
func serve(connection net.Conn) (requests int64) {
	defer connection.Close()
	token := make([]byte, 4)
	for {
		if _, err := io.ReadFull(connection, token); err != nil {
			return requests
		}
		requests++
		if fixed {
			copy(token, "Pong")
		} else {
			binary.LittleEndian.PutUint32(token, ^binary.LittleEndian.Uint32(token))
		}
		if _, err := connection.Write(token); err != nil {
			return requests
		}
	}
}

func pingpongClient() {
	address := fmt.Sprintf("127.0.0.1:%d", lab.Order("PORT"))
	messages, seed := lab.Order("MESSAGES"), uint32(lab.Order("SEED"))
	connections := make([]net.Conn, lab.Order("CONNECTIONS"))
	for sender := range connections {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			log.Fatal(err)
		}
		connections[sender] = connection
	}
	lab.ReadyAndWaitForGo()

	var replies, wrong atomic.Int64
	var all sync.WaitGroup
	for sender, connection := range connections {
		all.Add(1)
		go func(connection net.Conn, tokens lab.Payloads) {
			defer all.Done()
			defer connection.Close()
			wrong.Add(converse(connection, tokens, messages))
			replies.Add(int64(messages))
		}(connection, lab.PayloadsOf(seed, uint32(sender)))
	}
	all.Wait()
	lab.Say(map[string]int64{"replies": replies.Load(), "wrong": wrong.Load()})
}

// converse makes the round trips of one connection and returns how many replies were wrong.
func converse(connection net.Conn, tokens lab.Payloads, messages int) (wrong int64) {
	buffer := make([]byte, 4)
	for n := 0; n < messages; n++ {
		token := tokens.Next()
		binary.LittleEndian.PutUint32(buffer, token)
		if fixed {
			copy(buffer, "Ping")
		}
		if _, err := connection.Write(buffer); err != nil {
			log.Fatal(err)
		}
		if _, err := io.ReadFull(connection, buffer); err != nil {
			log.Fatal(err)
		}
		right := binary.LittleEndian.Uint32(buffer) == ^token
		if fixed {
			right = string(buffer) == "Pong"
		}
		if !right {
			wrong++
		}
	}
	return wrong
}

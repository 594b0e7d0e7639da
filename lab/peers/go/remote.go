package main

import (
	"fmt"
	"net"
	"net/rpc"
	"os"
	"sync"
	"time"

	"lab"
)

// tellsWindow is how many tells may wait for their empty answers: net/rpc has no call without one,
// and keeps whatever is not answered.
const tellsWindow = 16_384

// Message is a tell or an ask of the cells without callers.
type Message struct {
	Number  uint64
	Payload uint32
}

// Actor takes note of messages. Package rpc calls it from a goroutine for each call.
type Actor struct {
	lock sync.Mutex
	seen lab.Seen
}

// Tell takes note.
func (a *Actor) Tell(message *Message, _ *struct{}) error {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.seen.Take(message.Number, message.Payload)
	return nil
}

// Ask takes note and answers.
func (a *Actor) Ask(message *Message, sum *uint64) error {
	*sum = message.Number + uint64(message.Payload)
	return a.Tell(message, nil)
}

// Account prints the account.
func (a *Actor) Account(_ *struct{}, _ *struct{}) error {
	a.lock.Lock()
	defer a.lock.Unlock()
	lab.Say(map[string]any{"senders": []lab.Seen{a.seen.Told()}})
	return nil
}

// Desks is the service of callers, as the documentation of package rpc shows it.
type Desks struct{ all []lab.Desk }

// Quote answers a caller.
func (d *Desks) Quote(enquiry *lab.Enquiry, reply *lab.Offer) (err error) {
	*reply, err = d.all[int(enquiry.Sender)%len(d.all)].Quote(enquiry)
	return err
}

// Account prints the account of all.
func (d *Desks) Account(_ *struct{}, _ *struct{}) error {
	lab.SayDesks(d.all)
	return nil
}

func remoteServer() {
	switch cell := os.Getenv("CELL"); cell {
	case "callers", "callers-each":
		desks := lab.Desks(lab.Order("SENDERS"), cell == "callers-each")
		lab.Check(rpc.RegisterName("Server", &Desks{desks}))
	default:
		lab.Check(rpc.RegisterName("Server", &Actor{}))
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lab.Order("PORT")))
	lab.Check(err)
	lab.StopWithTheLab()
	fmt.Println("READY", listener.Addr().(*net.TCPAddr).Port)
	rpc.Accept(listener)
}

func remoteClient() {
	client, err := rpc.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", lab.Order("PORT")))
	lab.Check(err)
	lab.ReadyAndWaitForGo()
	account := drive(client)
	lab.Check(client.Call("Server.Account", &struct{}{}, &struct{}{}))
	lab.Say(account)
}

// drive does what was ordered and returns the account of the client.
func drive(client *rpc.Client) any {
	switch os.Getenv("CELL") {
	case "callers", "callers-each":
		replies := lab.Call(func(enquiry *lab.Enquiry) (offer lab.Offer, err error) {
			err = client.Call("Server.Quote", enquiry, &offer)
			return offer, err
		})
		return replies.Account(nil)
	case "ask":
		return askAll(client, lab.Order("WINDOW"))
	case "rtt":
		return askInTurn(client)
	case "naive":
		tellNaively(client)
		return map[string]int{"sent": lab.Order("MESSAGES")}
	default:
		tellAll(client)
		return map[string]int{"sent": lab.Order("MESSAGES")}
	}
}

// tellAll has at most a window of calls open, whose answers free places for others.
func tellAll(client *rpc.Client) {
	messages, drawn := lab.Order("MESSAGES"), lab.PayloadsOf(uint32(lab.Order("SEED")), 0)
	done := make(chan *rpc.Call, tellsWindow)
	for number := range messages {
		if number >= tellsWindow {
			lab.Check((<-done).Error)
		}
		client.Go("Server.Tell", &Message{uint64(number), drawn.Next()}, &struct{}{}, done)
	}
	for range min(messages, tellsWindow) {
		lab.Check((<-done).Error)
	}
}

// tellNaively calls from a goroutine for each message, as many as there are.
func tellNaively(client *rpc.Client) {
	messages, drawn := lab.Order("MESSAGES"), lab.PayloadsOf(uint32(lab.Order("SEED")), 0)
	var all sync.WaitGroup
	for number := range messages {
		message := &Message{uint64(number), drawn.Next()}
		all.Go(func() { lab.Check(client.Call("Server.Tell", message, &struct{}{})) })
	}
	all.Wait()
}

// askAll does the same with answers, each of which comes with its call.
func askAll(client *rpc.Client, window int) any {
	messages, drawn := lab.Order("MESSAGES"), lab.PayloadsOf(uint32(lab.Order("SEED")), 0)
	done, replies := make(chan *rpc.Call, window), lab.Replies{}
	hold := func(call *rpc.Call) {
		lab.Check(call.Error)
		asked := call.Args.(*Message)
		replies.Hold(*call.Reply.(*uint64), asked.Number+uint64(asked.Payload))
	}
	for number := range messages {
		if number >= window {
			hold(<-done)
		}
		client.Go("Server.Ask", &Message{uint64(number), drawn.Next()}, new(uint64), done)
	}
	for range min(messages, window) {
		hold(<-done)
	}
	return replies.Account(nil)
}

func askInTurn(client *rpc.Client) any {
	messages, drawn := lab.Order("MESSAGES"), lab.PayloadsOf(uint32(lab.Order("SEED")), 0)
	replies, times := lab.Replies{}, make([]time.Duration, 0, messages)
	for number := range messages {
		message, answer := Message{uint64(number), drawn.Next()}, uint64(0)
		begun := time.Now()
		lab.Check(client.Call("Server.Ask", &message, &answer))
		times = append(times, time.Since(begun))
		replies.Hold(answer, message.Number+uint64(message.Payload))
	}
	return replies.Account(times)
}

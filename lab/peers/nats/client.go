package main

import (
	"encoding/binary"
	"encoding/json"
	"log"
	"os"
	"strconv"
	"time"

	"lab"

	"github.com/nats-io/nats.go"
)

// replyMax is how long an answer may take before the run has failed.
const replyMax = 20 * time.Second

func drive() {
	connection := connected(os.Getenv("PORT"))
	lab.ReadyAndWaitForGo()
	account := act(connection)
	_, err := connection.Request(work, nil, replyMax)
	lab.Check(err)
	lab.Say(account)
	os.Exit(0)
}

// act does what was ordered and returns the account.
func act(connection *nats.Conn) any {
	switch cell {
	case "callers", "callers-each":
		replies := lab.Call(func(enquiry *lab.Enquiry) (lab.Offer, error) {
			return enquire(connection, enquiry)
		})
		return replies.Account(nil)
	case "ask":
		return askAll(connection, lab.Order("WINDOW"))
	case "rtt":
		return askInTurn(connection)
	default:
		messages, drawn := lab.Order("MESSAGES"), lab.PayloadsOf(uint32(lab.Order("SEED")), 0)
		for number := range messages {
			lab.Check(connection.Publish(work, encode(uint64(number), drawn.Next())))
		}
		return map[string]int{"sent": messages}
	}
}

// askAll names a subject of its own for all answers, which come in the order of their requests.
// One of each eighth of the window lets as many requests go.
func askAll(connection *nats.Conn, window int) any {
	messages, seed := lab.Order("MESSAGES"), uint32(lab.Order("SEED"))
	ahead, behind := lab.PayloadsOf(seed, 0), lab.PayloadsOf(seed, 0)
	part := max(1, window/8)
	room, done := make(chan struct{}, 8), make(chan lab.Replies, 1)
	for range 8 {
		room <- struct{}{}
	}
	var replies lab.Replies
	inbox := nats.NewInbox()
	_, err := connection.Subscribe(inbox, func(answer *nats.Msg) {
		due := replies.Count + uint64(behind.Next())
		replies.Hold(sumOf(answer), due)
		if replies.Count%uint64(part) == 0 {
			room <- struct{}{}
		}
		if replies.Count == uint64(messages) {
			done <- replies
		}
	})
	lab.Check(err)
	for number := range messages {
		if number%part == 0 {
			<-room
		}
		lab.Check(connection.PublishRequest(work, inbox, encode(uint64(number), ahead.Next())))
	}
	all := <-done
	return all.Account(nil)
}

func sumOf(answer *nats.Msg) uint64 {
	if len(answer.Data) != 8 {
		log.Fatalf("an answer of %d bytes, with the header %v", len(answer.Data), answer.Header)
	}
	return binary.LittleEndian.Uint64(answer.Data)
}

func askInTurn(connection *nats.Conn) any {
	messages, drawn := lab.Order("MESSAGES"), lab.PayloadsOf(uint32(lab.Order("SEED")), 0)
	replies, times := lab.Replies{}, make([]time.Duration, 0, messages)
	for number := range uint64(messages) {
		payload := drawn.Next()
		begun := time.Now()
		answer, err := connection.Request(work, encode(number, payload), replyMax)
		lab.Check(err)
		times = append(times, time.Since(begun))
		replies.Hold(sumOf(answer), number+uint64(payload))
	}
	return replies.Account(times)
}

func enquire(connection *nats.Conn, enquiry *lab.Enquiry) (offer lab.Offer, err error) {
	subject := quotes + ".0"
	if cell == "callers-each" {
		subject = quotes + "." + strconv.Itoa(int(enquiry.Sender))
	}
	data, err := json.Marshal(enquiry)
	lab.Check(err)
	answer, err := connection.Request(subject, data, replyMax)
	if err != nil {
		return offer, err
	}
	return offer, json.Unmarshal(answer.Data, &offer)
}

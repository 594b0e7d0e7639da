package main

import (
	"fmt"
	"sync"
)

// count is the message of a sender; one with a reply channel asks for the total instead.
type count struct {
	amount  uint64
	number  uint64
	sender  uint32
	payload uint32
	reply   chan<- totals
}

type totals struct {
	Total   uint64 `json:"total"`
	Senders []seen `json:"senders"`
}

// seen is what the counting goroutine saw of one sender.
type seen struct {
	Count     uint64 `json:"count"`
	Sum       string `json:"sum"`
	Reordered uint64 `json:"reordered"`
	sum       uint64
	next      uint64
}

// counter shares by communicating: one goroutine owns the total, the others send to it over a
// buffered channel ("Effective Go", section Channels).
func counter() {
	senders, amount, seed := order("SENDERS"), uint64(order("AMOUNT")), uint32(order("SEED"))
	each := uint64(order("MESSAGES") / senders)
	inbox := make(chan count, 1024)
	go countAll(inbox, senders)
	readyAndWaitForGo()

	var all sync.WaitGroup
	for sender := 0; sender < senders; sender++ {
		all.Add(1)
		go func(sender uint32) {
			defer all.Done()
			drawn := payloadsOf(seed, sender)
			for number := uint64(0); number < each; number++ {
				inbox <- count{amount: amount, number: number, sender: sender, payload: drawn.next()}
			}
		}(uint32(sender))
	}
	all.Wait()
	reply := make(chan totals)
	inbox <- count{reply: reply}
	say(<-reply)
}

// countAll is the counting goroutine.
func countAll(inbox <-chan count, senders int) {
	var total uint64
	all := make([]seen, senders)
	for message := range inbox {
		if message.reply != nil {
			for at := range all {
				all[at].Sum = fmt.Sprint(all[at].sum)
			}
			message.reply <- totals{total, all}
			total = 0
			continue
		}
		total += message.amount
		sender := &all[message.sender]
		sender.Count++
		sender.sum += uint64(message.payload)
		if message.number != sender.next {
			sender.Reordered++
		}
		sender.next = message.number + 1
	}
}

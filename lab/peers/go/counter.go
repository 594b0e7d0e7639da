package main

import (
	"sync"

	"lab"
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
	Total   uint64     `json:"total"`
	Senders []lab.Seen `json:"senders"`
}

// counter shares by communicating: one goroutine owns the total, the others send to it over a
// buffered channel ("Effective Go", section Channels).
func counter() {
	senders, amount, seed := lab.Order("SENDERS"), uint64(lab.Order("AMOUNT")), uint32(lab.Order("SEED"))
	each := uint64(lab.Order("MESSAGES") / senders)
	inbox := make(chan count, 1024)
	go countAll(inbox, senders)
	lab.ReadyAndWaitForGo()

	var all sync.WaitGroup
	for sender := 0; sender < senders; sender++ {
		all.Add(1)
		go func(sender uint32) {
			defer all.Done()
			drawn := lab.PayloadsOf(seed, sender)
			for number := uint64(0); number < each; number++ {
				inbox <- count{amount: amount, number: number, sender: sender, payload: drawn.Next()}
			}
		}(uint32(sender))
	}
	all.Wait()
	reply := make(chan totals)
	inbox <- count{reply: reply}
	lab.Say(<-reply)
}

// countAll is the counting goroutine.
func countAll(inbox <-chan count, senders int) {
	var total uint64
	all := make([]lab.Seen, senders)
	for message := range inbox {
		if message.reply != nil {
			for at := range all {
				all[at] = all[at].Told()
			}
			message.reply <- totals{total, all}
			total = 0
			continue
		}
		total += message.amount
		all[message.sender].Take(message.number, message.payload)
	}
}

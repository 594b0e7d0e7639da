package main

import (
	"bufio"
	"fmt"
	"io"
	"sync"

	"lab"
)

// sayAndStay prints an account and waits for the end of the input, so that memory can be read.
func sayAndStay(account any, input *bufio.Reader) {
	lab.Say(account)
	io.Copy(io.Discard, input)
}

// step is one draw of xorshift32.
func step(x uint32) uint32 {
	p := lab.Payloads(x)
	return p.Next()
}

// slow is the counter with draws of work on each message.
func slow() {
	senders, amount, seed := lab.Order("SENDERS"), uint64(lab.Order("AMOUNT")), uint32(lab.Order("SEED"))
	each, work := uint64(lab.Order("MESSAGES")/senders), lab.Order("WORK")
	inbox := make(chan count, 1024)
	input := lab.ReadyAndWaitForGo()
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
	go func() {
		all.Wait()
		close(inbox)
	}()
	var total, worked uint64
	tallies := make([]lab.Seen, senders)
	for message := range inbox {
		total += message.amount
		tallies[message.sender].Take(message.number, message.payload)
		x := message.payload
		for draw := 0; draw < work; draw++ {
			x = step(x)
		}
		worked += uint64(x)
	}
	for at := range tallies {
		tallies[at] = tallies[at].Told()
	}
	sayAndStay(struct {
		totals
		Worked string `json:"worked"`
	}{totals{total, tallies}, fmt.Sprint(worked)}, input)
}

// question carries the way back, as "Effective Go" has it (section "Channels of channels").
type question struct {
	number  uint64
	payload uint32
	reply   chan<- uint64
}

func ask() {
	messages, seed := uint64(lab.Order("MESSAGES")), uint32(lab.Order("SEED"))
	inbox, counted := make(chan question, 1024), make(chan lab.Seen)
	go func() {
		var tally lab.Seen
		for question := range inbox {
			tally.Take(question.number, question.payload)
			question.reply <- question.number + uint64(question.payload)
		}
		counted <- tally
	}()
	lab.ReadyAndWaitForGo()
	var answer, wrong, sum uint64
	drawn, reply := lab.PayloadsOf(seed, 0), make(chan uint64)
	for number := uint64(0); number < messages; number++ {
		payload := drawn.Next() ^ uint32(answer)
		inbox <- question{number, payload, reply}
		answer = <-reply
		if answer != number+uint64(payload) {
			wrong++
		}
		sum += answer
	}
	close(inbox)
	lab.Say(map[string]any{
		"senders": []lab.Seen{(<-counted).Told()},
		"replies": messages, "wrong": wrong, "sum": fmt.Sprint(sum),
	})
}

// token is what goes round.
type token struct {
	number uint64
	value  uint32
}

func ring() {
	actors, hops, seed := lab.Order("ACTORS"), uint64(lab.Order("MESSAGES")), uint32(lab.Order("SEED"))
	inboxes := make([]chan token, actors)
	for at := range inboxes {
		inboxes[at] = make(chan token, 1024)
	}
	ended, tallies := make(chan uint32), make([]lab.Seen, actors)
	var all sync.WaitGroup
	for at := range inboxes {
		drawn := lab.PayloadsOf(seed, uint32(at))
		key := drawn.Next()
		all.Add(1)
		go func(inbox <-chan token, next chan<- token, key uint32, tally *lab.Seen) {
			defer all.Done()
			defer close(next)
			for token := range inbox {
				tally.Take(token.number/uint64(actors), token.value)
				token.value = step(token.value ^ key)
				token.number++
				if token.number == hops {
					ended <- token.value
					return
				}
				next <- token
			}
		}(inboxes[at], inboxes[(at+1)%actors], key, &tallies[at])
	}
	lab.ReadyAndWaitForGo()
	inboxes[0] <- token{0, seed}
	value := <-ended
	all.Wait()
	for at := range tallies {
		tallies[at] = tallies[at].Told()
	}
	lab.Say(map[string]any{"value": value, "senders": tallies})
}

// here is what one of very many tells of itself.
type here struct {
	number, told uint64
	payload      uint32
}

func spawn() {
	actors, seed := lab.Order("MESSAGES"), uint32(lab.Order("SEED"))
	input := lab.ReadyAndWaitForGo()
	roll, inboxes := make(chan here, 1024), make([]chan uint32, actors)
	for at := range inboxes {
		inboxes[at] = make(chan uint32)
		go func(number uint64, inbox <-chan uint32) {
			var told uint64
			for payload := range inbox {
				told++
				roll <- here{number, told, payload}
			}
		}(uint64(at), inboxes[at])
	}
	go func() {
		drawn := lab.PayloadsOf(seed, 0)
		for _, inbox := range inboxes {
			inbox <- drawn.Next()
		}
	}()
	var sum, pairs, again uint64
	for range inboxes {
		one := <-roll
		sum += uint64(one.payload)
		pairs += one.number * uint64(one.payload)
		if one.told != 1 {
			again++
		}
	}
	sayAndStay(map[string]any{
		"alive": actors, "sum": fmt.Sprint(sum), "pairs": fmt.Sprint(pairs), "again": again,
	}, input)
}

// actors is a thousand counting goroutines; the payload says which one a message goes to.
func actors() {
	senders, amount, seed := lab.Order("SENDERS"), uint64(lab.Order("AMOUNT")), uint32(lab.Order("SEED"))
	each, actors := lab.Order("MESSAGES")/senders, lab.Order("ACTORS")
	inboxes, totals, tallies := make([]chan count, actors), make([]uint64, actors), make([]lab.Seen, actors*senders)
	var counting, sending sync.WaitGroup
	for at := range inboxes {
		inboxes[at] = make(chan count, 1024)
		counting.Add(1)
		go func() {
			defer counting.Done()
			mine := tallies[at*senders : (at+1)*senders]
			for message := range inboxes[at] {
				totals[at] += message.amount
				mine[message.sender].Take(message.number, message.payload)
			}
		}()
	}
	lab.ReadyAndWaitForGo()
	for sender := range uint32(senders) {
		sending.Add(1)
		go func() {
			defer sending.Done()
			drawn, numbers := lab.PayloadsOf(seed, sender), make([]uint64, actors)
			for range each {
				payload := drawn.Next()
				at := int(payload) % actors
				inboxes[at] <- count{amount: amount, number: numbers[at], sender: sender, payload: payload}
				numbers[at]++
			}
		}()
	}
	sending.Wait()
	for _, inbox := range inboxes {
		close(inbox)
	}
	counting.Wait()
	var total uint64
	for _, one := range totals {
		total += one
	}
	for at := range tallies {
		tallies[at] = tallies[at].Told()
	}
	lab.Say(map[string]any{"total": total, "senders": tallies})
}

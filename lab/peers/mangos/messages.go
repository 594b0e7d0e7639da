package main

import (
	"encoding/binary"
	"slices"
	"strconv"
	"time"
)

// stampBytes is the length of sender, number and payload, which every message has.
const stampBytes = 16

// end is the number of the mark behind a sender's last message.
const end = ^uint64(0)

type stamp struct {
	sender  uint32
	number  uint64
	payload uint32
}

// write fills a whole message.
func (s stamp) write(message []byte) {
	binary.LittleEndian.PutUint32(message, s.sender)
	binary.LittleEndian.PutUint64(message[4:], s.number)
	binary.LittleEndian.PutUint32(message[12:], s.payload)
	// What is there already is copied behind itself, twice as much each time.
	word := message[stampBytes-4:]
	for filled := 4; filled < len(word); filled *= 2 {
		copy(word[filled:], word[:filled])
	}
}

// read looks at three words of the filling.
func read(message []byte) (stamp, bool) {
	if len(message) != size {
		return stamp{}, false
	}
	s := stamp{
		sender:  binary.LittleEndian.Uint32(message),
		number:  binary.LittleEndian.Uint64(message[4:]),
		payload: binary.LittleEndian.Uint32(message[12:]),
	}
	words := size / 4
	isFilled := func(word int) bool {
		return binary.LittleEndian.Uint32(message[word*4:]) == s.payload
	}
	return s, words == 4 || isFilled(4) && isFilled((words+4)/2) && isFilled(words-1)
}

// seen is what a receiver saw of one sender.
type seen struct {
	Count     uint64 `json:"count"`
	Sum       string `json:"sum"`
	Reordered uint64 `json:"reordered"`
	sum       uint64
	next      uint64
}

// receipts are a receiver's account.
type receipts struct {
	Senders []seen `json:"senders"`
	Corrupt uint64 `json:"corrupt"`
}

// take takes a message; false when it is corrupt.
func (r *receipts) take(message []byte) (stamp, bool) {
	s, right := read(message)
	if !right || int(s.sender) >= len(r.Senders) {
		r.Corrupt++
		return s, false
	}
	if s.number != end {
		sender := &r.Senders[s.sender]
		sender.Count++
		sender.sum += uint64(s.payload)
		if s.number != sender.next {
			sender.Reordered++
		}
		sender.next = s.number + 1
	}
	return s, true
}

func (r *receipts) finish() *receipts {
	for at := range r.Senders {
		r.Senders[at].Sum = strconv.FormatUint(r.Senders[at].sum, 10)
	}
	return r
}

// sent is the account of a sender.
type sent struct {
	Sent int `json:"sent"`
}

// asked is the account of a requester.
type asked struct {
	Replies uint64             `json:"replies"`
	Wrong   uint64             `json:"wrong"`
	Sum     string             `json:"sum"`
	Rtt     map[string]float64 `json:"rtt_us"`
}

func percentiles(times []time.Duration) map[string]float64 {
	slices.Sort(times)
	at := func(share float64) float64 {
		index := min(int(share*float64(len(times))), len(times)-1)
		return float64(times[index].Nanoseconds()) / 1e3
	}
	return map[string]float64{"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": at(1)}
}

// payloads are the numbers that a sender draws: xorshift32.
type payloads uint32

func payloadsOf(sender uint32) payloads {
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

package lab

import (
	"fmt"
	"slices"
	"time"
)

// Payloads are the numbers that a sender draws: xorshift32.
type Payloads uint32

// PayloadsOf is the state of a sender before its first draw.
func PayloadsOf(seed, sender uint32) Payloads {
	x := seed ^ (sender+1)*2654435761
	if x == 0 {
		x = 1
	}
	return Payloads(x)
}

// Next draws a payload.
func (p *Payloads) Next() uint32 {
	x := uint32(*p)
	x ^= x << 13
	x ^= x >> 17
	x ^= x << 5
	*p = Payloads(x)
	return x
}

// Seen is what a receiver saw of one sender.
type Seen struct {
	Count     uint64 `json:"count"`
	Sum       string `json:"sum"`
	Reordered uint64 `json:"reordered"`
	sum       uint64
	next      uint64
}

// Take counts one message.
func (s *Seen) Take(number uint64, payload uint32) {
	s.Count++
	s.sum += uint64(payload)
	if number != s.next {
		s.Reordered++
	}
	s.next = number + 1
}

// Told is what was seen, ready to be printed.
func (s Seen) Told() Seen {
	s.Sum = fmt.Sprint(s.sum)
	return s
}

// Replies is what a client has been answered.
type Replies struct {
	Count, Wrong, Sum uint64
}

// Hold compares the answer to an ask with the one that is due.
func (r *Replies) Hold(answer, due uint64) {
	r.Count++
	r.Sum += answer
	if answer != due {
		r.Wrong++
	}
}

// Account is what the client prints, `rtt_us` with it where round trips were timed.
func (r *Replies) Account(times []time.Duration) map[string]any {
	account := map[string]any{"replies": r.Count, "wrong": r.Wrong, "sum": fmt.Sprint(r.Sum)}
	if times != nil {
		account["rtt_us"] = percentiles(times)
	}
	return account
}

func percentiles(times []time.Duration) map[string]float64 {
	slices.Sort(times)
	at := func(share float64) float64 {
		index := min(int(share*float64(len(times))), len(times)-1)
		return float64(times[index].Nanoseconds()) / 1e3
	}
	return map[string]float64{"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": at(1)}
}

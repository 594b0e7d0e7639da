package lab

import (
	"fmt"
	"sync"
)

// Enquiry is what a caller asks.
type Enquiry struct {
	Sender  uint32
	Number  uint64
	Payload uint32
}

// Offer is the answer to it.
type Offer struct {
	Sum    uint64
	Name   string
	Tags   []string
	Weight float64
}

// sides are texts that a payload selects one of.
var sides = [4]string{"north", "east", "south", "west"}

// Offer makes the answer that is due.
func (e *Enquiry) Offer() Offer {
	parity := "odd"
	if e.Payload%2 == 0 {
		parity = "even"
	}
	return Offer{
		Sum:    e.Number + uint64(e.Payload),
		Name:   fmt.Sprint("caller ", e.Sender),
		Tags:   []string{parity, sides[e.Payload>>30]},
		Weight: float64(e.Payload) / 4,
	}
}

// fits holds every part of an answer against the one that is due.
func (o *Offer) fits(due Offer) bool {
	return o.Sum == due.Sum && o.Name == due.Name && o.Weight == due.Weight &&
		len(o.Tags) == 2 && o.Tags[0] == due.Tags[0] && o.Tags[1] == due.Tags[1]
}

// Call has each caller, a goroutine, make its asks one after the other.
func Call(ask func(*Enquiry) (Offer, error)) Replies {
	callers, seed := Order("SENDERS"), uint32(Order("SEED"))
	each := uint64(Order("MESSAGES") / callers)
	replies := make([]Replies, callers)
	var all sync.WaitGroup
	for caller := range replies {
		all.Go(func() {
			drawn := PayloadsOf(seed, uint32(caller))
			for number := range each {
				enquiry := Enquiry{uint32(caller), number, drawn.Next()}
				answer, err := ask(&enquiry)
				Check(err)
				due := enquiry.Offer()
				replies[caller].Count++
				replies[caller].Sum += answer.Sum
				if !answer.fits(due) {
					replies[caller].Wrong++
				}
			}
		})
	}
	all.Wait()
	var total Replies
	for _, one := range replies {
		total.Count += one.Count
		total.Wrong += one.Wrong
		total.Sum += one.Sum
	}
	return total
}

// Desk is an object that answers one caller, or all of them.
type Desk struct {
	lock  sync.Mutex
	first uint32
	seen  []Seen
}

// Quote takes a note of an ask and answers it.
func (d *Desk) Quote(enquiry *Enquiry) (Offer, error) {
	at := int(enquiry.Sender - d.first)
	d.lock.Lock()
	defer d.lock.Unlock()
	if at >= len(d.seen) {
		return Offer{}, fmt.Errorf("there is no caller %d", enquiry.Sender)
	}
	d.seen[at].Take(enquiry.Number, enquiry.Payload)
	return enquiry.Offer(), nil
}

// Desks makes one for all callers, or one for each of them.
func Desks(callers int, each bool) []Desk {
	if !each {
		return []Desk{{seen: make([]Seen, callers)}}
	}
	desks := make([]Desk, callers)
	for at := range desks {
		desks[at].first, desks[at].seen = uint32(at), make([]Seen, 1)
	}
	return desks
}

// SayDesks prints the account of all callers.
func SayDesks(desks []Desk) {
	all := []Seen{}
	for at := range desks {
		desks[at].lock.Lock()
		defer desks[at].lock.Unlock()
		for _, one := range desks[at].seen {
			all = append(all, one.Told())
		}
	}
	Say(map[string]any{"senders": all})
}

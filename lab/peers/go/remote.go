package main

import (
	"fmt"
	"log"
	"net"
	"net/rpc"
	"os"
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

// offer makes the answer that is due.
func offer(enquiry *Enquiry) Offer {
	parity := "odd"
	if enquiry.Payload%2 == 0 {
		parity = "even"
	}
	return Offer{
		Sum:    enquiry.Number + uint64(enquiry.Payload),
		Name:   fmt.Sprint("caller ", enquiry.Sender),
		Tags:   []string{parity, sides[enquiry.Payload>>30]},
		Weight: float64(enquiry.Payload) / 4,
	}
}

// fits holds every part of an answer against the one that is due.
func (o *Offer) fits(due Offer) bool {
	return o.Sum == due.Sum && o.Name == due.Name && o.Weight == due.Weight &&
		len(o.Tags) == 2 && o.Tags[0] == due.Tags[0] && o.Tags[1] == due.Tags[1]
}

// desk answers one caller, or all of them: package rpc calls it from a goroutine for each call.
type desk struct {
	lock  sync.Mutex
	first uint32
	seen  []seen
}

func (d *desk) take(enquiry *Enquiry) error {
	at := int(enquiry.Sender - d.first)
	d.lock.Lock()
	defer d.lock.Unlock()
	if at >= len(d.seen) {
		return fmt.Errorf("there is no caller %d", enquiry.Sender)
	}
	d.seen[at].take(enquiry.Number, enquiry.Payload)
	return nil
}

// Desks is the service, as the documentation of package rpc shows it.
type Desks struct{ all []desk }

// Quote answers a caller.
func (d *Desks) Quote(enquiry *Enquiry, reply *Offer) error {
	at := 0
	if len(d.all) > 1 {
		at = int(enquiry.Sender) % len(d.all)
	}
	if err := d.all[at].take(enquiry); err != nil {
		return err
	}
	*reply = offer(enquiry)
	return nil
}

// Account prints the account of all.
func (d *Desks) Account(_ *struct{}, _ *struct{}) error {
	all := []seen{}
	for at := range d.all {
		d.all[at].lock.Lock()
		defer d.all[at].lock.Unlock()
		for _, one := range d.all[at].seen {
			all = append(all, one.told())
		}
	}
	say(map[string]any{"senders": all})
	return nil
}

func remoteServer() {
	callers := order("SENDERS")
	desks := &Desks{all: []desk{{seen: make([]seen, callers)}}}
	if os.Getenv("CELL") == "callers-each" {
		desks.all = make([]desk, callers)
		for at := range desks.all {
			desks.all[at].first, desks.all[at].seen = uint32(at), make([]seen, 1)
		}
	}
	if err := rpc.Register(desks); err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", order("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	stopWithTheLab()
	fmt.Println("READY", listener.Addr().(*net.TCPAddr).Port)
	rpc.Accept(listener)
}

func remoteClient() {
	client, err := rpc.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", order("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	callers, seed := order("SENDERS"), uint32(order("SEED"))
	each := uint64(order("MESSAGES") / callers)
	readyAndWaitForGo()
	wrong, sums := make([]uint64, callers), make([]uint64, callers)
	var all sync.WaitGroup
	for caller := range callers {
		all.Add(1)
		go func() {
			defer all.Done()
			wrong[caller], sums[caller] = call(client, uint32(caller), each, seed)
		}()
	}
	all.Wait()
	var wrongs, sum uint64
	for caller := range callers {
		wrongs += wrong[caller]
		sum += sums[caller]
	}
	if err := client.Call("Desks.Account", &struct{}{}, &struct{}{}); err != nil {
		log.Fatal(err)
	}
	say(map[string]any{
		"replies": each * uint64(callers), "wrong": wrongs, "sum": fmt.Sprint(sum),
	})
}

// call asks one question after the other: how many answers were wrong, and the sum of all.
func call(client *rpc.Client, sender uint32, asks uint64, seed uint32) (wrong, sum uint64) {
	drawn := payloadsOf(seed, sender)
	for number := range asks {
		enquiry := Enquiry{sender, number, drawn.next()}
		var answer Offer
		if err := client.Call("Desks.Quote", &enquiry, &answer); err != nil {
			log.Fatal(err)
		}
		sum += answer.Sum
		if !answer.fits(offer(&enquiry)) {
			wrong++
		}
	}
	return wrong, sum
}

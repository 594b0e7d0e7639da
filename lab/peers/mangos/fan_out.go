package main

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.nanomsg.org/mangos/v3"
	"go.nanomsg.org/mangos/v3/protocol/pub"
	"go.nanomsg.org/mangos/v3/protocol/pull"
	"go.nanomsg.org/mangos/v3/protocol/push"
	"go.nanomsg.org/mangos/v3/protocol/sub"
	"golang.org/x/sys/unix"
)

const (
	// greeting is the number of a message that is sent until GO.
	greeting = end - 1
	// rounding is how much a time may differ from that of its number: programs round differently.
	rounding = time.Microsecond
	// nap is the shortest sleep between two messages.
	nap = 50 * time.Microsecond
	// tooLate is the delay behind which a message was sent late.
	tooLate = time.Millisecond
)

func isPub() bool {
	return strings.HasPrefix(cell, "pub")
}

// monotonic is the clock that all processes of a system share, in nanoseconds.
func monotonic() uint64 {
	var now unix.Timespec
	check(unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	return uint64(now.Nano())
}

// offset is the time from the beginning until a message is due.
func offset(number, rate uint64) uint64 {
	high, low := bits.Mul64(number, 1e9)
	quotient, _ := bits.Div64(high, low, rate)
	return quotient
}

// sendDated sends a message that says when it is due.
func sendDated(socket mangos.Socket, s stamp, due uint64) {
	message := mangos.NewMessage(size)
	message.Body = message.Body[:size]
	s.write(message.Body)
	binary.LittleEndian.PutUint64(message.Body[stampBytes:], due)
	check(socket.SendMsg(message))
}

func sendFanOut() {
	open := push.NewSocket
	if isPub() {
		open = pub.NewSocket
	}
	socket := opened(open)
	check(socket.SetOption(mangos.OptionWriteQLen, order("QUEUE")))
	listener, err := socket.NewListener(address(), nil)
	check(err)
	check(listener.Listen())
	var begun atomic.Bool
	go func() {
		input := bufio.NewReader(os.Stdin)
		if line, err := input.ReadString('\n'); line != "GO\n" {
			log.Fatalf("no GO but %q: %v", line, err)
		}
		begun.Store(true)
		endWithTheInput(input)
	}()
	fmt.Println("READY", portOf(listener))
	for !begun.Load() {
		sendDated(socket, stamp{0, greeting, 0}, 0)
		time.Sleep(time.Millisecond)
	}
	late, rate, drawn, start := 0, uint64(order("RATE")), payloadsOf(0), monotonic()
	for number := uint64(0); number < uint64(messages); number++ {
		due := start + offset(number, rate)
		now := monotonic()
		for ; now < due; now = monotonic() {
			time.Sleep(max(time.Duration(due-now), nap))
		}
		if now > due+uint64(tooLate) {
			late++
		}
		sendDated(socket, stamp{0, number, drawn.next()}, due)
	}
	say(map[string]int{"sent": messages, "late": late})
	for {
		sendDated(socket, stamp{0, end, 0}, 0)
		time.Sleep(time.Millisecond)
	}
}

// intake is what one receiver saw.
type intake struct {
	Count     uint64 `json:"count"`
	Sum       string `json:"sum"`
	Reordered uint64 `json:"reordered"`
	Numbers   string `json:"numbers"`
	sum       uint64
	next      uint64
	corrupt   uint64
	start     uint64
	isDated   bool
	numbers   []byte
	took      []time.Duration
}

// take takes a message; false when it is the mark.
func (i *intake) take(message []byte, rate uint64) bool {
	now := monotonic()
	if len(message) != size {
		i.corrupt++
		return true
	}
	number := binary.LittleEndian.Uint64(message[4:])
	if number >= greeting {
		return number == greeting
	}
	payload := binary.LittleEndian.Uint32(message[12:])
	due := binary.LittleEndian.Uint64(message[stampBytes:])
	start := due - offset(number, rate)
	if !i.isDated {
		i.start, i.isDated = start, true
	}
	words := size / 4
	isFilled := func(word int) bool {
		return binary.LittleEndian.Uint32(message[word*4:]) == payload
	}
	if binary.LittleEndian.Uint32(message) != 0 || number >= uint64(messages) ||
		start-i.start+uint64(rounding) > 2*uint64(rounding) ||
		!isFilled(6) || !isFilled((words+6)/2) || !isFilled(words-1) {
		i.corrupt++
		return true
	}
	i.Count++
	i.sum += uint64(payload)
	if number < i.next {
		i.Reordered++
	}
	i.next = number + 1
	i.numbers[number/8] |= 1 << (number % 8)
	i.took = append(i.took, time.Duration(max(now, due)-due))
	return true
}

func receiveFanOut() {
	receivers, rate := order("RECEIVERS"), uint64(order("RATE"))
	work := time.Duration(order("WORK_US")) * time.Microsecond
	open := pull.NewSocket
	if isPub() {
		open = sub.NewSocket
	}
	intakes := make([]*intake, receivers)
	var greeted, done sync.WaitGroup
	greeted.Add(receivers)
	for at := range intakes {
		one := &intake{numbers: make([]byte, (messages+7)/8), took: make([]time.Duration, 0, messages)}
		intakes[at] = one
		socket := opened(open)
		check(socket.SetOption(mangos.OptionReadQLen, order("QUEUE")))
		if isPub() {
			check(socket.SetOption(mangos.OptionSubscribe, ""))
		}
		check(socket.Dial(address()))
		done.Add(1)
		go func() {
			defer done.Done()
			for isFirst := true; ; isFirst = false {
				message, err := socket.RecvMsg()
				check(err)
				more := one.take(message.Body, rate)
				message.Free()
				if isFirst {
					greeted.Done()
				}
				if !more {
					return
				}
				if work > 0 {
					time.Sleep(work)
				}
			}
		}()
	}
	greeted.Wait()
	go endWithTheInput(os.Stdin)
	fmt.Println("READY")
	done.Wait()
	var corrupt uint64
	var took []time.Duration
	for _, one := range intakes {
		one.Sum, one.Numbers = strconv.FormatUint(one.sum, 10), hex.EncodeToString(one.numbers)
		corrupt += one.corrupt
		took = append(took, one.took...)
	}
	say(map[string]any{"receivers": intakes, "corrupt": corrupt, "latency_us": histogram(took)})
	select {}
}

// histogram has the upper end of each bin in microseconds, and how many lie in it. A bin is 1/64 of
// a doubling wide.
func histogram(took []time.Duration) map[string]any {
	slices.Sort(took)
	bins := [][2]any{}
	last, count, most := 0.0, 0, 0.0
	for _, one := range took {
		nanoseconds := uint64(one)
		shift := max(bits.Len64(nanoseconds)-7, 0)
		end := float64((nanoseconds>>shift+1)<<shift) / 1e3
		if end != last && count > 0 {
			bins, count = append(bins, [2]any{last, count}), 0
		}
		last, count, most = end, count+1, float64(nanoseconds)/1e3
	}
	if count > 0 {
		bins = append(bins, [2]any{last, count})
	}
	return map[string]any{"bins": bins, "max": most}
}

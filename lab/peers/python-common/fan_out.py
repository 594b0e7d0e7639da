"""The cells of sp with one sender and several receivers, each on a thread of its own."""
import signal
from array import array
from threading import Event, Semaphore
from time import monotonic_ns, sleep

from contract import end_with_the_input, number_ordered, payloads, say, say_account
from contract import start, wait_for_go
from messages import DATED, END, GREETING, Layout, Tally

# A time may differ so much from that of its number: programs round differently.
ROUNDING_NS = 1_000
# Greetings and marks are sent so often.
EVERY_S = 0.001
# A sleep between two messages takes this long at least.
NAP_NS = 50_000
# A message that is sent later than this is late.
LATE_NS = 1_000_000
# Bins of the histogram are 1/64 of a doubling wide.
BIN_BITS = 7


def sockets_of(cell):
    """The sockets that send and receive."""
    return ("pub", "sub") if cell.startswith("pub") else ("push", "pull")


def send(library, orders):
    rate, queue = number_ordered("RATE"), number_ordered("QUEUE")
    layout = Layout(DATED, orders.size, library)
    socket = library.open(sockets_of(orders.cell)[0], orders.size, queue)
    port = library.listen(socket, orders.address())
    send_message = library.sender(socket, orders.size)
    begun = Event()

    def follow_the_input():
        wait_for_go()
        begun.set()
        end_with_the_input()

    start(follow_the_input)
    say(f"READY {port}")
    while not begun.wait(EVERY_S):
        send_message(layout.write(0, GREETING, 0, 0))
    late, began = 0, monotonic_ns()
    for number, payload in zip(range(orders.messages), payloads(orders.seed, 0)):
        due = began + number * 1_000_000_000 // rate
        now = monotonic_ns()
        while now < due:
            sleep(max(due - now, NAP_NS) / 1e9)
            now = monotonic_ns()
        late += now > due + LATE_NS
        send_message(layout.write(0, number, payload, due))
    say_account({"sent": orders.messages, "late": late})
    while True:
        send_message(layout.write(0, END, 0, 0))
        sleep(EVERY_S)


class Intake:
    """What one receiver has seen."""

    def __init__(self, layout, messages, rate):
        self.layout, self.messages, self.rate = layout, messages, rate
        self.tally = Tally()
        self.corrupt = 0
        self.start = None
        # A bit for each number.
        self.numbers = bytearray(-(-messages // 8))
        self.took = array("Q")

    def take(self, message):
        """Takes a message; False when it is the mark."""
        now = monotonic_ns()
        stamp = self.layout.read(message)
        if stamp is None:
            self.corrupt += 1
            return True
        sender, number, payload, due = stamp
        if number >= GREETING:
            return number == GREETING
        start = due - number * 1_000_000_000 // self.rate
        if self.start is None:
            self.start = start
        if sender or number >= self.messages or abs(start - self.start) > ROUNDING_NS:
            self.corrupt += 1
            return True
        tally = self.tally
        tally.count += 1
        tally.sum += payload
        tally.reordered += number < tally.next
        tally.next = number + 1
        self.numbers[number >> 3] |= 1 << (number & 7)
        self.took.append(max(now - due, 0))
        return True

    def account(self):
        return {**self.tally.account(), "numbers": self.numbers.hex()}


def receive(library, orders):
    rate, queue = number_ordered("RATE"), number_ordered("QUEUE")
    work = number_ordered("WORK_US") / 1e6
    layout = Layout(DATED, orders.size, library)
    greeted = Semaphore(0)

    def follow(receive_message, intake):
        more = intake.take(receive_message())
        greeted.release()
        while more:
            sleep(work) if work else None
            more = intake.take(receive_message())

    intakes, threads = [], []
    for _ in range(number_ordered("RECEIVERS")):
        kind = sockets_of(orders.cell)[1]
        socket = library.open(kind, orders.size, queue)
        if kind == "sub":
            library.subscribe(socket)
        library.dial(socket, orders.address())
        intakes.append(Intake(layout, orders.messages, rate))
        threads.append(start(follow, library.receiver(socket, orders.size), intakes[-1]))
    for _ in intakes:
        greeted.acquire()
    start(end_with_the_input)
    say("READY")
    for thread in threads:
        thread.join()
    say_account(
        {
            "receivers": [intake.account() for intake in intakes],
            "corrupt": sum(intake.corrupt for intake in intakes),
            "latency_us": histogram(intakes),
        }
    )
    while True:
        signal.pause()


def histogram(intakes):
    """The upper end of each bin in microseconds, and how many times lie in it."""
    bins, most = {}, 0
    for intake in intakes:
        for took in intake.took:
            shift = max(took.bit_length() - BIN_BITS, 0)
            end = ((took >> shift) + 1) << shift
            bins[end] = bins.get(end, 0) + 1
            most = max(most, took)
    return {"bins": [[end / 1e3, bins[end]] for end in sorted(bins)], "max": most / 1e3}

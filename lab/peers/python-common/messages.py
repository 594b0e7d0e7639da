"""The messages of sp of the lab's contract: how they are filled, and how they are checked."""
import struct
from array import array

# The number of the mark behind a sender's last message.
END = 2**64 - 1
# The number of a greeting, which one sender of several peers sends until GO.
GREETING = END - 1
# Sender, number and payload; in a dated message, also the time at which it was due.
STAMP = "<IQI"
DATED = "<IQIQ"
WORD = struct.Struct("<I")
# From so many bytes on it costs less to write into an array than to join bytes, which takes memory
# for each part and for the whole.
LONG_BYTES = 64 << 10


def inverted(payload):
    return payload ^ 0xFFFFFFFF


class Layout:
    """Messages of one size: a head, then the payload again and again."""

    def __init__(self, head, size, library):
        self.size = size
        self.head = struct.Struct(head)
        self.head_fields = len(self.head.unpack(bytes(self.head.size)))
        # The last word may be cut off.
        self.words = -(-size // WORD.size)
        self.fill = self.words - self.head.size // WORD.size
        is_long = library.takes_buffers and size > LONG_BYTES
        # Takes the fields of a head, the third of which is the payload; returns a whole message.
        self.write = self.write_array if is_long else self.write_bytes
        # The words that a receiver looks at. Some of them are one and the same if it is short.
        first, words = self.head.size // WORD.size, size // WORD.size
        looked_at = sorted({first, (words + first) // 2, words - 1}) if words > first else []
        self.looked_at = len(looked_at)
        form, end = head, first
        for word in looked_at:
            form += f"{(word - end) * WORD.size}xI"
            end = word + 1
        self.form = struct.Struct(form)

    def write_bytes(self, *head):
        filled = self.head.pack(*head) + WORD.pack(head[2]) * self.fill
        return filled[: self.size]

    def write_array(self, *head):
        words = array("I", (head[2],)) * self.words
        self.head.pack_into(words, 0, *head)
        return memoryview(words).cast("B")[: self.size]

    def read(self, message):
        """The fields of a message's head; None if it has another length or another filling."""
        if len(message) != self.size:
            return None
        fields = self.form.unpack_from(message)
        if fields[self.head_fields :] != (fields[2],) * self.looked_at:
            return None
        return fields[: self.head_fields]


class Tally:
    """What a receiver has seen of one sender."""

    __slots__ = ("count", "sum", "reordered", "next")

    def __init__(self):
        self.count = self.sum = self.reordered = self.next = 0

    def account(self):
        return {"count": self.count, "sum": str(self.sum), "reordered": self.reordered}


class Receipts:
    """What a receiver has seen of all senders."""

    def __init__(self, layout, senders):
        self.layout = layout
        self.tallies = [Tally() for _ in range(senders)]
        self.corrupt = 0
        # Marks that are still to come.
        self.open = senders

    def take(self, message):
        """Takes a message: sender, number and payload, or None if it is corrupt."""
        stamp = self.layout.read(message)
        if stamp is None or stamp[0] >= len(self.tallies):
            self.corrupt += 1
            return None
        sender, number, payload = stamp
        if number == END:
            self.open -= 1
            return stamp
        tally = self.tallies[sender]
        tally.count += 1
        tally.sum += payload
        tally.reordered += number != tally.next
        tally.next = number + 1
        return stamp

    def account(self):
        senders = [tally.account() for tally in self.tallies]
        return {"senders": senders, "corrupt": self.corrupt}


def percentiles(times):
    """The round trips of an account in microseconds, from times in nanoseconds."""
    times = sorted(times)
    at = lambda share: times[min(int(share * len(times)), len(times) - 1)] / 1e3
    return {"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": at(1)}

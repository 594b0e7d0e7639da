"""A client of the link protocol: dials a node, calls its actors, and survives cuts.

Written from docs/link-protocol.md alone, with the standard library alone. The client exports no
actors. One thread does everything: `pump` writes what waits and reads what came. Section numbers are
those of the page.
"""

import hashlib
import hmac
import os
import select
import socket
import struct
import time
from collections import deque

import wire
from connection import PATIENCE_SECONDS, Connection, Lost, Told
from wire import NAMES, SEQUENCED, Broken, Reader

# Section 1: feature bits.
STREAMS, RESUMING, RUNS, CANCELLING, MIXED_RUNS = 1 << 0, 1 << 3, 1 << 4, 1 << 7, 1 << 8
REFERENCES = 1 << 9
PIPES = 1 << 11
OFFERED = STREAMS | RESUMING | RUNS | CANCELLING | MIXED_RUNS | REFERENCES | PIPES
BATCH_BYTES = 64 * 1024  # of sequenced frames in one batch of this client, more for a larger frame
UNACKED_BYTES_MAX = 4 * 1024 * 1024  # section 5: calls stop beyond that
ACK_DELAY_SECONDS = 0.01  # section 5: an ack goes alone after that
ACK_BYTES = 1024 * 1024  # section 5: or at once after that many bytes


class Failed(Exception):
    """A call was answered with ERROR, or an ATTACH with DETACHED."""

    def __init__(self, code, text=""):
        super().__init__(f"{NAMES.get(code, hex(code))}: {text}")
        self.code = code


def random_id():
    return int.from_bytes(os.urandom(16), "little")


def node_id(name):
    """The id of the node with that name (section 1)."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")


def prove(token, nonces, session, epoch, recv_next):
    """The proof of a RESUME (section 7)."""
    claim = b"".join(value.to_bytes(16, "little") for value in (*nonces, session))
    claim += struct.pack("<QQ", epoch, recv_next)
    return hmac.new(token.to_bytes(16, "little"), claim, hashlib.sha256).digest()


class Channel:
    """A channel to an actor (section 4)."""

    def __init__(self, number, initial_units):
        self.number, self.limit, self.used, self.needed = number, initial_units, 0, 0
        self.is_attached, self.ended = False, None


class Answer:
    """What an ask will have been answered: `value`, or `error`."""

    def __init__(self):
        self.is_here, self.value, self.error = False, None, None

    def get(self):
        if self.error is not None:
            raise self.error
        return self.value


class Items(Answer):
    """What an ask has been answered so far, if items are wanted: `values`, and then an end (section 6)."""

    def __init__(self, window):
        super().__init__()
        self.values, self.window = deque(), window
        self.limit, self.used, self.freed = window, 0, 0

    def take(self, units, value):
        if self.used >= self.limit:
            raise Broken("an item beyond the limit of its stream")
        self.used += units
        self.values.append((units, value))


class Session:
    """A session that this client has dialed."""

    connect = Connection

    def __init__(self, address, name=None, offered=OFFERED, limits=None, incarnation=None):
        self.address, self.offered, self.limits = address, offered, limits or {}
        self.incarnation = incarnation or random_id()
        self.node = self.incarnation if name is None else node_id(name)
        self.session, self.epoch, self.recv_next = random_id(), 0, 0
        self.waiting, self.kept = deque(), deque()  # frames not yet written; written and unacked
        self.acked, self.unacked_bytes = 0, 0
        self.sent = 0  # the number behind the last frame that was ever written
        self.channels, self.generations, self.free_slots, self.asked = {}, [], deque(), {}
        self.resumed_times, self.frames_repeated = 0, 0
        self._begin()
        self.connection.send(bytes((wire.OPEN,)) + self.session.to_bytes(16, "little") + bytes(2))
        reader = self.connection.expect(wire.OPENED)
        self.token, self.ttl_ms = reader.fixed(16), reader.number()

    def _begin(self):
        """Dials, and exchanges HELLO: what OPEN and RESUME have in common."""
        self.item_limits = {}
        self.out, self.needs, self.pong, self.ack_due, self.ack_bytes = b"", {}, None, None, 0
        self.connection = self.connect(self.address)
        self.connection.greet()
        nonce = random_id()
        ours = wire.hello(self.node, self.incarnation, nonce, self.offered, 0, self.limits)
        self.connection.send(ours)
        self.peer = wire.parse_hello(bytes((wire.HELLO,)) + self.connection.expect(wire.HELLO).rest())
        self.nonces = (nonce, self.peer.nonce)
        both = max(self.peer.limits["heartbeat_ms"], self.limits.get("heartbeat_ms", 1_000))
        self.interval = min(max(both, 10), 60_000) / 1_000
        self.said = time.monotonic()

    def begin_resume(self):
        """Dials again and sends RESUME (section 7). Each try has an epoch of its own."""
        self.connection.close()
        self._begin()
        self.epoch += 1
        proof = prove(self.token, self.nonces, self.session, self.epoch, self.recv_next)
        session = self.session.to_bytes(16, "little") + bytes(2)
        numbers = wire.number(self.epoch) + wire.number(self.recv_next)
        self.connection.send(bytes((wire.RESUME,)) + session + numbers + proof)

    def resume(self, again=0):
        """Goes on with the session over a new connection.

        Up to `again` frames that the peer has accepted go again as well: the peer skips them, as it
        does when a segment that was accepted in part goes whole (section 7).
        """
        self.begin_resume()
        reader = self.connection.expect(wire.RESUMED)
        if reader.number() != self.epoch:
            raise Broken("RESUMED names the epoch of RESUME")
        theirs, self.token = reader.number(), reader.fixed(16)
        self._acknowledged(max(self.acked, theirs - again))
        # All that the peer has not accepted goes again, in order and with its numbers.
        self.frames_repeated += len(self.kept)
        self.waiting.extendleft(reversed(self.kept))
        self.kept.clear()
        stuck = (it for it in self.channels.values() if it.needed > it.limit)
        self.needs = {channel.number: channel.needed for channel in stuck}
        streams = ((asker, it) for asker, it in self.asked.items() if isinstance(it, Items))
        self.item_limits = {asker: items.limit for asker, items in streams}
        self.resumed_times += 1

    # What goes out (sections 3 and 5).

    def publish(self, kind, *fields):
        """Gives a sequenced frame its place in the order."""
        data = wire.frame(kind, *fields)
        self.unacked_bytes += len(data)
        self.waiting.append(data)

    def compose(self):
        """Adds batches to `out`, until nothing waits or enough is there."""
        while len(self.out) < 2 * BATCH_BYTES:
            control = b"".join(wire.frame(wire.NEED, *need) for need in self.needs.items())
            limits, self.needs, self.item_limits = self.item_limits, {}, {}
            control += b"".join(
                wire.frame(wire.ITEM_CREDIT, *asker, 1, limit) for asker, limit in limits.items())
            now = time.monotonic()
            if self.pong is not None:
                control += wire.frame(wire.PONG, self.pong)
                self.pong = None
            if now - self.said >= self.interval:
                control += wire.frame(wire.PING, 1, int(self.interval * 1_000))
            frames, size, first = [], 0, self.acked + len(self.kept)
            while self.waiting and (size == 0 or size + len(self.waiting[0]) <= BATCH_BYTES):
                size += len(self.waiting[0])
                frames.append(self.waiting.popleft())
            self.kept.extend(frames)
            self.sent = max(self.sent, first + len(frames))
            ack_now = self.ack_due is not None and now >= self.ack_due
            if not (control or frames or ack_now or self.ack_bytes >= ACK_BYTES):
                return
            content = wire.batch(self.ack(), first, len(frames), control + b"".join(frames))
            self.out += wire.message(content)
            self.ack_due, self.ack_bytes, self.said = None, 0, now

    def ack(self):
        """What each batch acknowledges."""
        return self.recv_next

    def pump(self, timeout=0.0):
        """Writes what can be written, and reads what came; waits up to `timeout` for that."""
        self.compose()
        deadline = min(self.said + self.interval, self.ack_due or float("inf"))
        timeout = max(0.0, min(timeout, deadline - time.monotonic()))
        there = self.connection.socket
        writes = [there] if self.out else []
        readable, writable, _ = select.select([there], writes, [], timeout)
        if writable:
            try:
                self.out = self.out[there.send(self.out, socket.MSG_DONTWAIT):]
            except BlockingIOError:
                pass
            except OSError:
                # Nothing more can be written. The last words of the peer may still be read.
                while True:
                    self._read()
        if readable:
            self._read()

    def _read(self):
        self.connection.fill()
        while (content := self.connection.next()) is not None:
            self._read_batch(content)

    def wait(self, until):
        """Pumps until the condition holds."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not until():
            if time.monotonic() > end:
                raise TimeoutError("the peer owes an answer")
            self.pump(0.5)

    # What comes in.

    def _read_batch(self, content):
        ack, first_seq, count, frames = wire.parse_batch(content)
        if first_seq > self.recv_next:
            raise Broken("sequence numbers have no gaps")
        self._acknowledged(ack)
        seq = first_seq
        for kind, data in frames:
            if kind & SEQUENCED:
                seq += self._frames_in(kind, data)
                if seq <= self.recv_next:
                    continue  # it came before the cut
                self.recv_next = seq
                self.ack_bytes += len(data)
                self.ack_due = self.ack_due or time.monotonic() + ACK_DELAY_SECONDS
            self._handle(kind, data)
        if seq != first_seq + count:
            raise Broken("a batch holds as many frames as it says")

    def _acknowledged(self, ack):
        if ack > self.sent:
            raise Broken("an ack of what was never sent")
        while self.acked < ack:
            # After a cut, what is to go again waits beside what was never written.
            self.unacked_bytes -= len((self.kept or self.waiting).popleft())
            self.acked += 1

    @classmethod
    def _frames_in(cls, kind, data):
        """How many numbers a frame takes."""
        return len(cls._replies(data)[2]) if kind == wire.REPLIES else 1

    @staticmethod
    def _replies(data):
        reader = Reader(data)
        return reader.number(), reader.number(), wire.items(reader.rest())

    def _handle(self, kind, data):
        if kind == wire.REPLIES:
            first, generation, values = self._replies(data)
            for slot, value in enumerate(values, first):
                self._complete(slot, generation, value=wire.unpack(value))
            return
        if kind not in wire.FIELDS:
            if kind & wire.MAY_BE_SKIPPED:
                return
            raise Broken(f"frame {kind:#04x} is not known")
        fields = wire.parse_frame(kind, data).fields
        if kind == wire.REPLY:
            self._complete(fields[0], fields[1], value=wire.unpack(fields[2]))
        elif kind == wire.ITEM:
            slot, generation, side, value = fields
            items = self.asked.get((slot, generation))
            if side != 1 or not isinstance(items, Items):
                raise Broken(f"an item for slot {slot}, generation {generation}, where none is wanted")
            items.take(max(1, -(-len(data) // 64)), wire.unpack(value))
        elif kind == wire.ERROR:
            self._complete(fields[0], fields[1], error=Failed(fields[2], fields[3].decode()))
        elif kind in (wire.ATTACHED, wire.CREDIT, wire.DETACHED, wire.REVOKE):
            self._change_channel(kind, fields)
        elif kind == wire.PING:
            self.pong = fields[0]
        elif kind == wire.CLOSE:
            raise Told("CLOSE", fields[0], fields[1].decode())
        elif kind == wire.ATTACH:
            self.publish(wire.DETACHED, fields[0], wire.CODES["NoSuchActor"], 0)
        elif kind in wire.CALLS:
            raise Broken("a call on a channel that was never attached")

    def _complete(self, slot, generation, value=None, error=None):
        """Section 6: each ask has exactly one completion, and its slot is free from then on."""
        answer = self.asked.pop((slot, generation), None)
        if answer is None:
            raise Broken(f"an answer to slot {slot}, generation {generation}, which is not open")
        answer.is_here, answer.value, answer.error = True, value, error
        self.generations[slot] = (generation + 1) % (1 << 32)
        self.free_slots.append(slot)

    def _change_channel(self, kind, fields):
        channel = self.channels.get(fields[0])
        if channel is None:
            return
        if kind == wire.DETACHED:
            channel.ended = Failed(fields[1])
            del self.channels[channel.number]
        elif kind == wire.REVOKE:
            channel.limit = min(channel.limit, max(channel.used, fields[1]))
            self.publish(wire.REVOKED, channel.number, channel.limit)
        else:
            channel.limit = max(channel.limit, fields[1])
            channel.is_attached |= kind == wire.ATTACHED

    # What the user of a session does (sections 4 and 6).

    def attach(self, target):
        """A channel to the actor that is exported as `target`, or that a reference leads to."""
        how, target = 0, target.encode() if isinstance(target, str) else target
        if isinstance(target, wire.Reference):
            how, target = 1, target.number.to_bytes(16, "little")
        number = next(at for at in range(self.peer.limits["channels_max"]) if at not in self.channels)
        channel = self.channels[number] = Channel(number, self.peer.limits["initial_units"])
        self.publish(wire.ATTACH, number, how, target, 0, 0)
        self.wait(lambda: channel.is_attached or channel.ended)
        if channel.ended:
            raise channel.ended
        return channel

    def detach(self, channel):
        self.publish(wire.DETACH, channel.number)
        self.wait(lambda: channel.ended)

    def _pay(self, channel, body):
        """Waits until a call with that body may go, and pays for it."""
        cost = max(1, -(-len(body) // 64))

        def may_go():
            if channel.ended:
                raise channel.ended
            if channel.used + cost > channel.limit and channel.used + cost > channel.needed:
                channel.needed = self.needs[channel.number] = channel.used + cost
            return channel.used + cost <= channel.limit and self.unacked_bytes < UNACKED_BYTES_MAX

        if len(body) > self.peer.limits["frame_max"]:
            raise OverflowError("the peer takes no frame of that size")
        if not may_go():
            self.wait(may_go)
        channel.used += cost

    def tell(self, channel, method, *arguments):
        fields = (channel.number, method, wire.pack(list(arguments)))
        self._pay(channel, wire.body(wire.TELL, *fields))
        self.publish(wire.TELL, *fields)

    def ask(self, channel, method, *arguments):
        """Sends an ask; gives what will have its answer."""
        return self._ask(channel, method, arguments, Answer(), b"")

    def stream(self, channel, method, *arguments, window=64):
        """Sends an ask that is answered with a stream, of which so many units may be under way."""
        extras = wire.sized(wire.number(6) + wire.sized(wire.number(window)))
        return self._ask(channel, method, arguments, Items(window), bytes((wire.ASK,)) + extras)

    def items(self, stream):
        """The items of a stream, and then the exception that it ends with, unless the end is clean."""
        while True:
            self.wait(lambda: stream.values or stream.is_here)
            if not stream.values:
                return stream.get()
            units, value = stream.values.popleft()
            stream.freed += units
            if 2 * (stream.freed + stream.window - stream.limit) >= stream.window:
                stream.limit = stream.freed + stream.window
                asker = next((key for key, it in self.asked.items() if it is stream), None)
                if asker is not None:
                    self.item_limits[asker] = stream.limit
            yield value

    def _ask(self, channel, method, arguments, answer, head):
        packed = wire.pack(list(arguments))
        self.wait(lambda: self.free_slots or len(self.generations) < self.peer.limits["slots_max"])
        if not self.free_slots:
            self.free_slots.append(len(self.generations))
            self.generations.append(0)
        slot = self.free_slots[0]
        # Nothing else takes the slot while the call waits for its credit.
        fields = (channel.number, slot, self.generations[slot], method, packed)
        body = head + wire.body(wire.ASK, *fields)
        self._pay(channel, body)
        self.free_slots.popleft()
        self.asked[slot, self.generations[slot]] = answer
        data = wire.raw_frame(wire.CALL_X if head else wire.ASK, body)
        self.unacked_bytes += len(data)
        self.waiting.append(data)
        return answer

    def get(self, answer):
        """Waits for an answer."""
        self.wait(lambda: answer.is_here)
        return answer.get()

    def settle(self):
        """Waits until everything is written, acknowledged and answered."""
        self.wait(lambda: not (self.waiting or self.kept or self.asked))

    def close(self):
        """Says goodbye behind everything that was published."""
        self.settle()
        head = wire.batch(self.recv_next, self.acked, 0, wire.frame(wire.CLOSE, wire.CODES["Bye"], b"", b""))
        self.connection.write(self.out + wire.message(head))
        try:
            while True:
                self.connection.receive()
        except Lost:
            self.connection.close()

"""What the table of breaches is made of: ways to break a rule, and what came of it as a word or two.

An outcome is `REFUSED code`, `CLOSE code`, `ERROR code`, `DETACHED code`, `silence` for a connection
that ends without any of these, `answered` for a session that goes on, or `OPENED` and `RESUMED`.
"""

import wire
from connection import Connection, Lost, Told
from session import OFFERED, Answer, Channel, Failed, Session, prove, random_id

TOTAL = 3  # the ledger's method that answers how much it has noted
ECHO = 4  # and the one that answers its argument
NUMBERS = 6  # and the one that answers with a stream of so many numbers
LONG_HEARTBEAT = {"heartbeat_ms": 60_000}  # sessions of the table need no signs of life


class Stage:
    """The node that is played against, and a session with it that breaks no rule."""

    def __init__(self, address, node_name):
        self.address, self.node_name = address, node_name
        self.neighbor = self.session()

    def session(self, kind=Session, **options):
        """A session with channel 0 to the ledger. An ask was answered, so the node has an ack as well."""
        session = kind(self.address, limits=LONG_HEARTBEAT, **options)
        session.ledger = session.attach("ledger")
        session.get(session.ask(session.ledger, TOTAL))
        session.settle()
        return session

    def ask_honestly(self):
        """An ask of the neighbor, and one of a newcomer."""
        newcomer = self.session()
        for session in (self.neighbor, newcomer):
            session.get(session.ask(session.ledger, TOTAL))
        newcomer.close()

    def connect(self, header=wire.SP_HEADER):
        connection = Connection(self.address)
        connection.write(header)
        return connection


def own_hello(**changes):
    """HELLO of a node that was never met."""
    values = {"node": random_id(), "incarnation": random_id(), "nonce": random_id()}
    return wire.hello(**(values | {"offered": OFFERED} | changes))


def open_message(lane=0):
    return bytes((wire.OPEN,)) + random_id().to_bytes(16, "little") + lane.to_bytes(2, "little")


def last_words(connection):
    """Reads an opening to its end: what it has come to."""
    del connection.input[:8]
    try:
        while True:
            content = connection.receive()
            if content[0] in (wire.OPENED, wire.RESUMED):
                return "OPENED" if content[0] == wire.OPENED else "RESUMED"
            if content[0] == wire.REFUSED:
                code = int.from_bytes(content[1:3], "little")
                return f"REFUSED {wire.NAMES[code]}"
    except Lost:
        return "silence"
    except TimeoutError:
        return "nothing"


def opening(stage, *contents, header=wire.SP_HEADER):
    """Sends opening messages without waiting for answers."""
    connection = stage.connect(header)
    try:
        for content in contents:
            connection.send(content)
    except Lost:
        pass  # it may have ended already; what it said last can still be read
    while len(connection.input) < 8:
        try:
            connection.fill()
        except Lost:
            return "silence"
    return last_words(connection)


def claim(owner, proof=None, **changes):
    """Sends RESUME beside the session's own connection, with some of its fields changed."""
    connection = Connection(owner.address)
    connection.greet()
    nonce = random_id()
    connection.send(wire.hello(owner.node, owner.incarnation, nonce, owner.offered))
    peer = wire.parse_hello(bytes((wire.HELLO,)) + connection.expect(wire.HELLO).rest())
    values = {
        "token": owner.token, "nonces": (nonce, peer.nonce), "session": owner.session,
        "epoch": owner.epoch + 1, "recv_next": owner.recv_next, "lane": 0,
    } | changes
    lane = values.pop("lane")
    proof = proof or prove(**values)
    head = bytes((wire.RESUME,)) + values["session"].to_bytes(16, "little") + lane.to_bytes(2, "little")
    numbers = wire.number(values["epoch"]) + wire.number(values["recv_next"])
    connection.input[:0] = bytes(8)  # in place of the SP header, which was read
    connection.send(head + numbers + proof)
    return last_words(connection)


def close_in(content):
    """The outcome if there is a CLOSE in that batch, or None."""
    for kind, data in wire.parse_batch(content)[3]:
        if kind == wire.CLOSE:
            return f"CLOSE {wire.NAMES[wire.parse_frame(kind, data).fields[0]]}"
    return None


def say(session, *frames):
    """Sends frames as they are, in their order, with the numbers that they must have."""
    for data in frames:
        if data[0] & wire.SEQUENCED:
            session.unacked_bytes += len(data)
            session.waiting.append(data)
        else:
            session.compose()
            next_seq = session.acked + len(session.kept)
            session.out += wire.message(wire.batch(session.recv_next, next_seq, 0, data))


def say_batch(session, frames=b"", count=0, word=wire.HOP_WORD, **changes):
    """Sends a batch with a header of its own."""
    values = {"ack": session.recv_next, "first_seq": session.acked, "count": count} | changes
    session.out += wire.message(wire.batch(frames=frames, **values), word)


def outcome(session, answer=None):
    """What has become of the session: whether it still answers, or that answer of it."""
    try:
        value = session.get(answer or session.ask(session.ledger, TOTAL))
        if answer is not None:
            session.get(session.ask(session.ledger, TOTAL))
        session.close()
        return "answered" if answer is None or value is not None else "nil"
    except Failed as failed:
        return f"ERROR {wire.NAMES[failed.code]}"
    except Told as told:
        return f"{told.how} {wire.NAMES[told.code]}"
    except Lost:
        return "silence"
    except TimeoutError:
        return "nothing"


def attaching(session, *fields):
    """What a node answers to an ATTACH of channel 1 with these fields."""
    session.channels[1] = channel = Channel(1, 0)
    say(session, wire.frame(wire.ATTACH, 1, *fields))
    try:
        session.wait(lambda: channel.is_attached or channel.ended)
    except Told as told:
        return f"{told.how} {wire.NAMES[told.code]}"
    if outcome(session) != "answered":
        return "the session has ended"
    return "attached" if channel.is_attached else f"DETACHED {wire.NAMES[channel.ended.code]}"


def asked(session, slot, generation, method=TOTAL, arguments=b"\x90", channel=0):
    """Sends an ASK of any slot and generation; gives what will have its answer."""
    answer = session.asked[slot, generation] = Answer()
    while len(session.generations) <= slot:
        session.generations.append(0)
    session.generations[slot] = generation
    say(session, wire.frame(wire.ASK, channel, slot, generation, method, arguments))
    return answer


class Withholding(Session):
    """A session that stops acknowledging what it takes."""

    acks_until = None

    def ack(self):
        return self.recv_next if self.acks_until is None else self.acks_until


def answers_without_acks(session, bytes_max):
    """Has the node answer until it has sent `bytes_max` bytes or ends the session: what came of it."""
    session.acks_until = session.recv_next
    taken = 0
    # Long replies first, fewer than those beyond which a node gives no credit.
    while taken < 20 * 1024 * 1024:
        taken += len(session.get(session.ask(session.ledger, ECHO, "e" * 60_000)))
    session.settle()
    # Then answers that cost no credit: ATTACHED and DETACHED, as many pairs at once as may be unanswered.
    pair = wire.frame(wire.ATTACH, 1, 0, b"ledger", 0, 0) + wire.frame(wire.DETACH, 1)
    pairs = session.peer.limits["attach_pending_max"]
    connection, next_seq = session.connection, session.acked
    try:
        while taken < bytes_max:
            connection.send(wire.batch(session.acks_until, next_seq, 2 * pairs, pair * pairs))
            next_seq += 2 * pairs
            answers = 0
            while answers < 2 * pairs:
                content = connection.receive()
                taken += len(content)
                count = wire.parse_batch_head(wire.Reader(content))[2]
                answers += count
                if count == 0 and (closed := close_in(content)):
                    return closed
    except Lost:
        return "silence"
    return "taken"

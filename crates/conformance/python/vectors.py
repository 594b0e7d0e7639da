"""Checks the client against docs/vectors/link, and writes the transcript of a resumption there.

    python3 vectors.py            checks all files that the client has a part in
    python3 vectors.py --write    writes resumption.json anew

The transcript is made of the functions of `wire.py`. Then the client's own `Session` plays its dialer
against the recorded listener, and must say the same bytes.
"""

import json
import sys
from collections import deque
from pathlib import Path

import session
import wire
from connection import Connection, Lost
from wire import Reader

ROOT = Path(__file__).resolve().parents[3] / "docs" / "vectors" / "link"

DIALER, LISTENER = session.node_id("dialer"), session.node_id("listener")
# What is drawn at random elsewhere.
LIVES = 0x101112131415161718191A1B1C1D1E1F, 0xE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEF
NONCES = (
    (0x202122232425262728292A2B2C2D2E2F, 0xD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDF),
    (0x505152535455565758595A5B5C5D5E5F, 0xC0C1C2C3C4C5C6C7C8C9CACBCCCDCECF),
)
SESSION = 0x30313233343536373839303132333435
TOKENS = 0x40414243444546474849404142434445, 0x60616263646566676869606162636465
LISTENER_LIMITS = {"initial_units": 4}

NAMES = {
    "ATTACH": "channel how target schema_hash codec", "CREDIT": "channel limit handled",
    "OUTCOMES": "channel tells rejected", "REJECTED": "channel method tells code text",
    "ATTACHED": "channel limit schema_hash codec reference", "TELL": "channel method arguments",
    "ASK": "channel slot generation method arguments", "REPLY": "slot generation value",
    "CLOSE": "code rule detail", "DETACH": "channel", "DETACHED": "channel code accepted",
    "PING": "id next_ms", "PONG": "id", "REVOKE": "channel limit_wanted",
    "NEED": "channel limit_wanted", "REVOKED": "channel limit", "ERROR": "slot generation code text data",
    "PARTS": "source type total bytes", "PART": "source bytes", "PARTS_DROP": "source",
    "ITEM": "slot generation side value", "ITEM_CREDIT": "slot generation side limit",
    "ITEM_END": "stream how code text", "LINK": "channel link actor", "UNLINK": "channel link reason",
    "CALL_X": "type extras call", "CANCEL": "slot generation", "RELEASE": "reference times", "DRAIN": "stop_seq",
}
TELL_5 = ("TELL", 0, 1, wire.pack([5]))
TELL_6 = ("TELL", 0, 1, wire.pack([6]))
ASK = ("ASK", 0, 0, 0, 2, wire.pack([]))
REPLY = ("REPLY", 0, 0, wire.pack(5))
CREDIT = ("CREDIT", 0, 6, 2)


def id_bytes(value):
    return value.to_bytes(16, "little")


def hellos(connection):
    """HELLO of both sides for that connection."""
    nonces = NONCES[connection]
    yield wire.hello(DIALER, LIVES[0], nonces[0], session.RESUMING)
    yield wire.hello(LISTENER, LIVES[1], nonces[1], session.RESUMING, limits=LISTENER_LIMITS)


def resumption():
    """The steps of resumption.json."""
    steps = []

    def step(side, means, data, **more):
        steps.append({"from": side, "means": means, **more, "hex": data.hex()})

    def say(side, means, content, **more):
        step(side, means, wire.message(content), **more)

    def send(side, means, ack, first_seq, *frames, **more):
        data = b"".join(wire.frame(getattr(wire, name), *fields) for name, *fields in frames)
        count = sum(getattr(wire, name) >= wire.SEQUENCED for name, *_ in frames)
        batch = {"ack": ack, "first_seq": first_seq, "frames": [fields_of(*frame) for frame in frames]}
        say(side, means, wire.batch(ack, first_seq, count, data), **more, batch=batch)

    def greet(connection):
        for side in ("dialer", "listener"):
            step(side, "SP header of PAIR1", wire.SP_HEADER)
        for side, content in zip(("dialer", "listener"), hellos(connection)):
            say(side, "HELLO", content)

    greet(0)
    say("dialer", "OPEN", bytes((wire.OPEN,)) + id_bytes(SESSION) + bytes(2))
    say("listener", "OPENED", bytes((wire.OPENED,)) + id_bytes(TOKENS[0]) + wire.number(60_000))
    send("dialer", "attach to the actor \"counter\"", 0, 0, ("ATTACH", 0, 0, b"counter", 0, 0))
    send("listener", "it is there, and 4 units may be used", 1, 0, ("ATTACHED", 0, 4, 7, 0, b""))
    send("dialer", "a tell of method 1 with [5], an ask of method 2 with []", 1, 1, TELL_5, ASK)
    lost = {"arrives": False}
    send("listener", "credit for 2 more units, and the reply: lost with the connection", 3, 1, CREDIT, REPLY,
         **lost)
    send("dialer", "two tells: lost with the connection", 1, 3, TELL_6, TELL_5, **lost)
    steps.append({"means": "the connection is cut", "cut": True})
    greet(1)
    claim = b"".join(map(id_bytes, (*NONCES[1], SESSION))) + (1).to_bytes(8, "little") * 2
    proof = session.prove(TOKENS[0], NONCES[1], SESSION, 1, 1)
    fields = {
        "session": f"{SESSION:#034x}", "epoch": 1, "recv_next": 1, "token": f"{TOKENS[0]:#034x}",
        "claim": claim.hex(), "proof": proof.hex(),
    }
    content = bytes((wire.RESUME,)) + id_bytes(SESSION) + bytes(2) + b"\x01\x01" + proof
    say("dialer", "RESUME: epoch 1, number 1 is the next", content, fields=fields)
    content = bytes((wire.RESUMED,)) + b"\x01\x03" + id_bytes(TOKENS[1])
    fields = {"epoch": 1, "recv_next": 3, "token": f"{TOKENS[1]:#034x}"}
    say("listener", "RESUMED: number 3 is the next", content, fields=fields)
    again = {"again": True}
    send("dialer", "what was not accepted goes again, with its numbers", 1, 3, TELL_6, TELL_5, **again)
    send("listener", "so does the reply, and the limit that had no number", 5, 1, CREDIT, REPLY, **again)
    send("dialer", "goodbye", 2, 5, ("CLOSE", 0x0100, b"", b""))
    return steps


def fields_of(name, *values):
    plain = (value.hex() if isinstance(value, bytes) else value for value in values)
    return {"frame": name, "fields": dict(zip(NAMES[name].split(), plain))}


def text_of(steps):
    """The file, a step a line."""
    describes = ("A session whose connection is cut and which is resumed: every byte on tcp, in the order in "
                 "which it is sent. Where `arrives` is false the other side never reads the bytes; where `again` is "
                 "true the sequenced frames were sent before.")
    lines = ",\n".join(f"    {json.dumps(step)}" for step in steps)
    return f'{{\n  "describes": {json.dumps(describes)},\n  "steps": [\n{lines}\n  ]\n}}\n'


class Recorded(Connection):
    """A connection to a listener that was written down."""

    steps = deque()

    def __init__(self, _address):
        self.input = bytearray()

    def write(self, data):
        step = self.steps.popleft()
        assert step.get("from") == "dialer" and step["hex"] == data.hex(), (step, data.hex())

    def fill(self):
        if self.steps[0].get("cut"):
            self.steps.popleft()
            raise Lost("the connection is cut")
        step = self.steps.popleft()
        assert step["from"] == "listener", step
        if step.get("arrives", True):
            self.input += bytes.fromhex(step["hex"])

    def close(self):
        pass


class Played(session.Session):
    """A session over recorded connections, which writes and reads in turn."""

    connect = Recorded

    def write(self):
        self.compose()
        if self.out:
            self.connection.write(self.out)
            self.out = b""

    def pump(self, timeout=0.0):
        self.write()
        self._read()


def play_resumption(steps):
    """The client's session as the dialer of the transcript."""
    Recorded.steps = deque(steps)
    drawn = deque((SESSION, NONCES[0][0], NONCES[1][0]))
    session.random_id = drawn.popleft
    played = Played("", "dialer", incarnation=LIVES[0], offered=session.RESUMING)
    counter = played.attach("counter")
    played.tell(counter, 1, 5)
    answer = played.ask(counter, 2)
    played.write()
    played.tell(counter, 1, 6)
    played.tell(counter, 1, 5)
    played._read()  # what the listener said, and was lost
    played.write()
    try:
        played.get(answer)
        raise AssertionError("the transcript has a cut")
    except Lost:
        played.resume()
    assert played.get(answer) == 5 and counter.limit == 6 and played.token == TOKENS[1]
    assert not played.kept, "all is acknowledged"
    bye = wire.frame(wire.CLOSE, wire.CODES["Bye"], b"", b"")
    played.connection.send(wire.batch(played.recv_next, played.acked, 0, bye))
    assert not Recorded.steps


def load(name):
    return json.loads((ROOT / name).read_text())


def whole(value):
    return int(value, 0) if isinstance(value, str) else value


def check_numbers():
    file = load("varint.json")
    for vector in file["vectors"]:
        reader = Reader(bytes.fromhex(vector["hex"]))
        assert wire.number(whole(vector["value"])).hex() == vector["hex"], vector
        assert reader.number() == whole(vector["value"]) and reader.is_empty(), vector
    for vector in file["refused"]:
        try:
            Reader(bytes.fromhex(vector["hex"])).number()
        except wire.Broken:
            continue
        raise AssertionError(vector)


def check_frames():
    for vector in load("frames.json")["vectors"]:
        name, fields = vector["frame"], vector["fields"]
        kind = getattr(wire, name)
        forms = zip(NAMES[name].split(), wire.FIELDS[kind], strict=True)
        values = [bytes.fromhex(fields[at]) if form in "br" else whole(fields[at]) for at, form in forms]
        # A field of the feature parts, which this client does not offer.
        more = wire.number(fields["units"]) if "units" in fields else b""
        assert wire.raw_frame(kind, wire.body(kind, *values) + more).hex() == vector["hex"], vector
        reader = Reader(bytes.fromhex(vector["hex"]))
        assert wire.parse_frame(reader.fixed(1), reader.sized()).fields == values, vector


def check_openings():
    for vector in load("opening.json")["vectors"]:
        name, fields = vector["message"], vector["fields"]
        if name == "HELLO":
            ids = (whole(fields[at]) for at in ("node", "incarnation", "nonce"))
            features = (whole(fields[f"features_{at}"]) for at in ("offered", "required"))
            assert wire.hello(*ids, *features, fields["limits"]).hex() == vector["hex"], vector
        elif name == "RESUME":
            nonces = whole(fields["dialer_nonce"]), whole(fields["listener_nonce"])
            claim = whole(fields["session"]), fields["epoch"], fields["recv_next"]
            assert session.prove(whole(fields["token"]), nonces, *claim).hex() == fields["proof"], vector


def main():
    steps = resumption()
    if "--write" in sys.argv:
        (ROOT / "resumption.json").write_text(text_of(steps))
    assert (ROOT / "resumption.json").read_text() == text_of(steps), "write it anew with --write"
    check_numbers()
    check_frames()
    check_openings()
    play_resumption(steps)
    print(f"steps={len(steps)}")


if __name__ == "__main__":
    main()

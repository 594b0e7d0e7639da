"""Bytes of the link protocol: numbers, frames, batches, SP messages, and a minimal MessagePack.

Everything here is a pure function of its arguments. Section numbers are those of
docs/link-protocol.md.
"""

import struct
from collections import namedtuple

SP_HEADER = bytes.fromhex("0053500000110000")  # section 0: PAIR1 is protocol 0x11
HOP_WORD = bytes.fromhex("00000001")
HOP_WORDS_ACCEPTED = (bytes.fromhex("00000000"), HOP_WORD)
MAGIC = b"WIGWAG\r\n"

# Section 1: opening messages.
HELLO, AUTH, OPEN, OPENED, RESUME, RESUMED, REFUSED = range(1, 8)

# Section 3: types of frames.
PING, PONG, CREDIT, ITEM_CREDIT, REVOKE, NEED = 0x01, 0x02, 0x03, 0x04, 0x06, 0x07
OUTCOMES, REJECTED, CLOSE = 0x08, 0x09, 0x0F
ATTACH, ATTACHED, DETACH, DETACHED, REVOKED = 0x81, 0x82, 0x83, 0x84, 0x85
LINK, UNLINK = 0x86, 0x87
TELL, ASK, CALL_X, REPLY, ERROR, CANCEL = 0x90, 0x91, 0x92, 0x93, 0x94, 0x95
ITEM, ITEM_END, PARTS, PART, PARTS_DROP = 0x96, 0x97, 0x98, 0x99, 0x9A
RELEASE, DRAIN, TELLS, ASKS, REPLIES = 0x9D, 0x9E, 0xA0, 0xA1, 0xA2
MIXED_TELLS, MIXED_ASKS = 0xA3, 0xA4
CALLS = (TELL, ASK, CALL_X, TELLS, ASKS, MIXED_TELLS, MIXED_ASKS)
SEQUENCED = 0x80
MAY_BE_SKIPPED = 0x40

# The fields of each frame: v a number, 1, 2 and 8 numbers of that many bytes, b bytes behind their
# length, r the rest.
FIELDS = {
    PING: "vv", PONG: "v", CREDIT: "vvv", REVOKE: "vv", NEED: "vv", CLOSE: "2bb",
    ITEM: "vv1r", ITEM_CREDIT: "vv1v", ITEM_END: "v12b",
    OUTCOMES: "vvv", REJECTED: "vvv2b",
    ATTACH: "v1b81", ATTACHED: "vv81b", DETACH: "v", DETACHED: "v2v", REVOKED: "vv",
    TELL: "vvr", ASK: "vvvvr", CALL_X: "1br", REPLY: "vvr", ERROR: "vv2bb", CANCEL: "vv",
    PARTS: "v1vr", PART: "vr", PARTS_DROP: "v",
    LINK: "vvb", UNLINK: "vvb", RELEASE: "bv", DRAIN: "v", TELLS: "vvr", ASKS: "vvvvr", REPLIES: "vvr",
    MIXED_TELLS: "vr", MIXED_ASKS: "vvvr",
}
WIDTHS = {"1": "<B", "2": "<H", "8": "<Q"}

# Section 8.
CODES = {
    "Ok": 0x0000, "Bye": 0x0100, "Protocol": 0x0101, "Version": 0x0102, "FeatureRequired": 0x0103,
    "AuthRequired": 0x0104, "AuthFailed": 0x0105, "SessionUnknown": 0x0106, "TokenBad": 0x0107,
    "DialTie": 0x0108, "Exists": 0x0109, "TooMany": 0x010A, "LimitExceeded": 0x010B,
    "UnknownFrame": 0x010C, "Gap": 0x010D, "AckBeyondSent": 0x010E, "CreditExceeded": 0x010F,
    "NoSuchActor": 0x0200, "NoSuchMethod": 0x0201, "BadArguments": 0x0202, "ActorStopped": 0x0203,
    "Panicked": 0x0204, "Overloaded": 0x0205, "Cancelled": 0x0206, "ReplyDropped": 0x0207,
    "Draining": 0x0208, "TooLarge": 0x0209, "CallCycle": 0x020A, "DeadlinePassed": 0x020B,
    "NotSerializable": 0x020C,
}
NAMES = {code: name for name, code in CODES.items()}

# Section 2: the tags of the limits in HELLO, and their defaults.
LIMITS = {
    "batch_max": (1, 262_144), "frame_max": (2, 65_536), "message_max": (3, 16_777_216),
    "initial_units": (4, 64), "attach_pending_max": (5, 16), "channels_max": (6, 8_192),
    "slots_max": (7, 65_536), "assembly_initial": (8, 1_048_576), "heartbeat_ms": (9, 1_000),
}

Frame = namedtuple("Frame", "kind fields")
Hello = namedtuple("Hello", "version_min version_max flags node incarnation nonce offered required limits")


class Broken(Exception):
    """Bytes that break a rule of the protocol."""


def number(value):
    """LEB128, the `v` of the page."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def sized(data):
    """Bytes behind their length, the `b` of the page."""
    return number(len(data)) + data


class Reader:
    """Takes fields off the front of some bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        end = self.at + count
        if end > len(self.data):
            raise Broken("a field reaches beyond its end")
        piece, self.at = self.data[self.at:end], end
        return piece

    def number(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if (byte == 0 and shift > 0) or value >= 1 << 64:
                    break
                return value
        raise Broken("a number is not in its shortest form, or has more than 64 bits")

    def fixed(self, width):
        return int.from_bytes(self.take(width), "little")

    def sized(self):
        return self.take(self.number())

    def rest(self):
        return self.take(len(self.data) - self.at)

    def is_empty(self):
        return self.at == len(self.data)


def body(kind, *fields):
    """The body of a frame."""
    out = []
    for form, field in zip(FIELDS[kind], fields, strict=True):
        if form == "v":
            out.append(number(field))
        elif form == "b":
            out.append(sized(field))
        elif form == "r":
            out.append(field)
        else:
            out.append(struct.pack(WIDTHS[form], field))
    return b"".join(out)


def raw_frame(kind, data):
    """A frame with that body, whatever it holds."""
    return bytes((kind,)) + sized(data)


def frame(kind, *fields):
    """A frame with its type and length."""
    return raw_frame(kind, body(kind, *fields))


def parse_frame(kind, data):
    """The fields of a frame; what stands behind the last known field is skipped."""
    reader = Reader(data)
    readers = {"v": reader.number, "b": reader.sized, "r": reader.rest}
    fields = [readers[form]() if form in readers else reader.fixed(int(form)) for form in FIELDS[kind]]
    return Frame(kind, fields)


def items(data):
    """The items of a run."""
    reader, found = Reader(data), []
    while not reader.is_empty():
        found.append(reader.take(reader.take(1)[0]))
    if not 1 <= len(found) <= 256 or any(len(item) > 48 for item in found):
        raise Broken("a run has 1 to 256 items of at most 48 bytes")
    return found


def batch(ack, first_seq, count, frames, flags=0):
    """A batch, without the word of PAIR1."""
    return bytes((flags,)) + number(ack) + number(first_seq) + number(count) + frames


def parse_batch_head(reader):
    """ack, first_seq and count of a batch."""
    if reader.fixed(1) != 0:
        raise Broken("the flags of a batch are zero")
    return reader.number(), reader.number(), reader.number()


def parse_batch(data):
    """ack, first_seq, count and the (type, body) pairs of a batch."""
    reader = Reader(data)
    ack, first_seq, count = parse_batch_head(reader)
    frames = []
    while not reader.is_empty():
        frames.append((reader.fixed(1), reader.sized()))
    return ack, first_seq, count, frames


def message(content, word=HOP_WORD):
    """An SP message on tcp."""
    return struct.pack(">Q", len(word) + len(content)) + word + content


def limits_bytes(limits):
    """Limits as HELLO tells them."""
    values = {name: limits.get(name, default) for name, (_, default) in LIMITS.items()}
    return b"".join(number(LIMITS[name][0]) + sized(number(value)) for name, value in values.items())


def hello(node, incarnation, nonce, offered=0, required=0, limits=None, versions=(1, 1), flags=0):
    """HELLO."""
    ids = b"".join(value.to_bytes(16, "little") for value in (node, incarnation, nonce))
    head = bytes((HELLO,)) + MAGIC + bytes(versions) + struct.pack("<H", flags)
    return head + ids + struct.pack("<QQ", offered, required) + limits_bytes(limits or {})


def parse_hello(data):
    """HELLO as its reader sees it."""
    reader = Reader(data)
    if reader.fixed(1) != HELLO or reader.take(8) != MAGIC:
        raise Broken("the first message is HELLO")
    versions = (reader.fixed(1), reader.fixed(1), reader.fixed(2))
    ids = [reader.fixed(16) for _ in range(3)]
    features = (reader.fixed(8), reader.fixed(8))
    limits = {name: default for name, (_, default) in LIMITS.items()}
    by_tag = {tag: name for name, (tag, _) in LIMITS.items()}
    while not reader.is_empty():
        tag, value = reader.number(), reader.sized()
        if tag in by_tag:
            limits[by_tag[tag]] = Reader(value).number()
    limits["frame_max"] = min(limits["frame_max"], limits["batch_max"] - 1_035)
    return Hello(*versions, *ids, *features, limits)


# Section 9: a reference to an actor.
Reference = namedtuple("Reference", "node incarnation number schema_hash addresses")
REFERENCE = 0x57


def _reference(value):
    ids = b"".join(it.to_bytes(16, "little") for it in value[:3]) + struct.pack("<Q", value.schema_hash)
    addresses = b"".join(number(len(it.encode())) + it.encode() for it in value.addresses)
    return b"\x01" + ids + number(len(value.addresses)) + addresses


def _parse_reference(data):
    reader = Reader(data)
    if reader.fixed(1) != 1:
        raise Broken("the form of a reference is 1")
    ids = [reader.fixed(16) for _ in range(3)]
    schema_hash = reader.fixed(8)
    count = reader.number()
    addresses = [bytes(reader.take(reader.number())).decode() for _ in range(count)]
    return Reference(*ids, schema_hash, tuple(addresses))


def pack(value):
    """MessagePack of None, whole numbers, texts, bytes, references and lists."""
    if isinstance(value, Reference):
        data = _reference(value)
        return _head(len(data), None, 0, (0xC7, 0xC8, 0xC9)) + bytes((REFERENCE,)) + data
    if value is None:
        return b"\xc0"
    if isinstance(value, int):
        if 0 <= value < 0x80:
            return bytes((value,))
        if -32 <= value < 0:
            return struct.pack(">b", value)
        for tag, form, top in ((0xCC, ">B", 8), (0xCD, ">H", 16), (0xCE, ">I", 32), (0xCF, ">Q", 64)):
            if 0 <= value < 1 << top:
                return bytes((tag,)) + struct.pack(form, value)
        for tag, form, top in ((0xD0, ">b", 7), (0xD1, ">h", 15), (0xD2, ">i", 31), (0xD3, ">q", 63)):
            if -(1 << top) <= value < 0:
                return bytes((tag,)) + struct.pack(form, value)
        raise OverflowError(value)
    if isinstance(value, str):
        data = value.encode()
        return _head(len(data), 0xA0, 32, (0xD9, 0xDA, 0xDB)) + data
    if isinstance(value, bytes):
        return _head(len(value), None, 0, (0xC4, 0xC5, 0xC6)) + value
    return _head(len(value), 0x90, 16, (None, 0xDC, 0xDD)) + b"".join(map(pack, value))


def _head(count, small, small_end, tags):
    if count < small_end:
        return bytes((small | count,))
    for tag, form, top in zip(tags, (">B", ">H", ">I"), (8, 16, 32)):
        if tag is not None and count < 1 << top:
            return bytes((tag,)) + struct.pack(form, count)
    raise OverflowError(count)


def unpack(data):
    """The one MessagePack value in `data`."""
    reader = Reader(data)
    value = _unpack(reader)
    if not reader.is_empty():
        raise Broken("bytes stand behind the value")
    return value


def _unpack(reader):
    tag = reader.fixed(1)
    if tag < 0x80 or tag >= 0xE0:
        return tag if tag < 0x80 else tag - 0x100
    if tag == 0xC0:
        return None
    if 0xC4 <= tag < 0xC7:
        return bytes(reader.take(int.from_bytes(reader.take(1 << tag - 0xC4), "big")))
    if 0xC7 <= tag < 0xCA:
        length = int.from_bytes(reader.take(1 << tag - 0xC7), "big")
        if reader.fixed(1) != REFERENCE:
            raise Broken("no extension but references in this codec")
        return _parse_reference(bytes(reader.take(length)))
    if tag < 0x90 or 0xC0 < tag < 0xCC or 0xD4 <= tag < 0xD9 or tag in (0xDE, 0xDF):
        raise Broken(f"no type {tag:#04x} in this codec")
    if tag < 0xA0 or tag in (0xDC, 0xDD):
        return [_unpack(reader) for _ in range(_count(reader, tag, 0x0F, 0xDB))]
    if tag < 0xC0 or tag in (0xD9, 0xDA, 0xDB):
        return reader.take(_count(reader, tag, 0x1F, 0xD9)).decode()
    width = 1 << (tag - 0xCC) % 4
    return int.from_bytes(reader.take(width), "big", signed=tag >= 0xD0)


def _count(reader, tag, mask, first_long):
    return tag & mask if tag < 0xC0 else int.from_bytes(reader.take(1 << tag - first_long), "big")

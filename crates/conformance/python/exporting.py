"""A session whose client has actors too, which it hands out as references (section 9).

Written from docs/link-protocol.md alone.
"""

import wire
from session import Session, random_id
from wire import Broken, Reader, Reference

LIMIT = 65_536  # units that a channel may use in its life: this client renews no credit


class Actor:
    """An actor of the client: `methods` are its schema, `handle` gets a method's name and arguments."""

    def __init__(self, name, methods, handle):
        self.name, self.methods, self.handle = name, methods, handle

    def describe(self):
        return [self.name, 0, self.methods]


class Exporting(Session):
    """A session over which the peer may call the actors that it was given references to."""

    def __init__(self, *positional, **named):
        self.actors, self.lent, self.inbound = {}, {}, {}
        super().__init__(*positional, **named)

    def refer(self, actor):
        """A reference to an actor, for one call: it counts as sent."""
        found = next((number for number, it in self.actors.items() if it is actor), None)
        number = found if found is not None else random_id()
        self.actors[number] = actor
        self.lent[number] = self.lent.get(number, 0) + 1
        return Reference(self.node, self.incarnation, number, 0, ())

    def release(self, reference, times=1):
        """A reference of the peer is no longer held."""
        self.publish(wire.RELEASE, reference.number.to_bytes(16, "little"), times)

    @classmethod
    def _frames_in(cls, kind, data):
        if kind in (wire.TELLS, wire.ASKS, wire.MIXED_TELLS, wire.MIXED_ASKS):
            return len(list(_calls(kind, data)))
        return super()._frames_in(kind, data)

    def _handle(self, kind, data):
        if kind in wire.CALLS:
            for channel, asker, method, arguments in _calls(kind, data):
                self._call(channel, asker, method, arguments)
            return
        fields = wire.parse_frame(kind, data).fields if kind in wire.FIELDS else ()
        if kind == wire.ATTACH:
            self._attached(*fields[:3])
        elif kind == wire.DETACH:
            if self.inbound.pop(fields[0], None):
                self.publish(wire.DETACHED, fields[0], wire.CODES["Ok"], 0)
        elif kind == wire.RELEASE:
            number = int.from_bytes(fields[0], "little")
            if self.lent.get(number, 0) < fields[1]:
                raise Broken("a reference is released as often as it was sent, and no more")
            self.lent[number] -= fields[1]
        else:
            super()._handle(kind, data)

    def _attached(self, channel, how, target):
        number = int.from_bytes(target, "little")
        actor = self.actors.get(number) if how == 1 else None
        if actor is None:
            self.publish(wire.DETACHED, channel, wire.CODES["NoSuchActor"], 0)
            return
        self.inbound[channel] = actor
        at = list(self.actors).index(number)
        ids = at.to_bytes(8, "little") + number.to_bytes(16, "little")
        self.publish(wire.ATTACHED, channel, LIMIT, 0, 0, ids)

    def _call(self, channel, asker, method, arguments):
        if channel not in self.inbound:
            raise Broken("a call on a channel that was never attached")
        actor = self.inbound[channel]
        if method == 0:
            answer = actor.describe()
        else:
            answer = actor.handle(actor.methods[method - 1][0], *wire.unpack(arguments))
        if asker is not None:
            self.publish(wire.REPLY, *asker, wire.pack(answer))


def _calls(kind, data):
    """The calls of a frame: channel, slot and generation or None, method, arguments."""
    if kind == wire.CALL_X:
        kind, _, body = wire.parse_frame(kind, data).fields
        yield from _calls(kind, bytes(body))
        return
    reader = Reader(data)
    channel = reader.number()
    is_ask = kind in (wire.ASK, wire.ASKS, wire.MIXED_ASKS)
    slot, generation = (reader.number(), reader.number()) if is_ask else (None, None)
    method = None if kind in (wire.MIXED_TELLS, wire.MIXED_ASKS) else reader.number()
    rest = reader.rest()
    if kind in (wire.TELL, wire.ASK):
        yield channel, (slot, generation) if is_ask else None, method, rest
        return
    for at, item in enumerate(wire.items(rest)):
        call = Reader(item)
        called = call.number() if method is None else method
        yield channel, (slot + at, generation) if is_ask else None, called, call.rest()

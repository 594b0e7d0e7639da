"""Breaks the rules of the link protocol one by one, and compares what comes of it with the page.

    python3 breaches.py tcp://127.0.0.1:PORT NAME [ROW...]

The node has that name, and exports the ledger of `storm.py` with a fourth method that answers its
argument, and a sixth one that answers with a stream of numbers. A row has a name, the outcome that docs/link-protocol.md gives, and the play. After each row a session
that breaks no rule still has its answer, and so has a new one.
"""

import sys

import wire
from breach import (
    ECHO, LONG_HEARTBEAT, NUMBERS, TOTAL, Stage, Withholding, answers_without_acks, asked,
    attaching, claim, close_in, open_message, opening, outcome, own_hello, say, say_batch,
)
from session import OFFERED, RESUMING, RUNS, Answer, Failed, node_id
from wire import frame, raw_frame

ROWS = []
U64_MAX = (1 << 64) - 1


def row(expected):
    """Enters a play into the table under the name of its function."""
    def enter(play):
        ROWS.append((play.__name__, expected, play))
        return play
    return enter


def rows_of_openings(rows):
    """Openings that say these messages."""
    for name, expected, *contents in rows:
        def play(stage, contents=contents):
            return opening(stage, *(it() if callable(it) else it for it in contents))
        ROWS.append((name, expected, play))


def rows_of_frames(rows):
    """Sessions over which these frames go, and an ask behind them; a frame may follow from the limits
    of the node."""
    for name, expected, *frames in rows:
        def play(stage, frames=frames):
            session = stage.session()
            say(session, *(it(session.peer.limits) if callable(it) else it for it in frames))
            return outcome(session)
        ROWS.append((name, expected, play))


def rows_of_batches(rows):
    """Sessions over which a batch goes whose header is as given."""
    for name, expected, header in rows:
        def play(stage, header=header):
            session = stage.session()
            say_batch(session, **header)
            return outcome(session)
        ROWS.append((name, expected, play))


TELL_TOTAL = frame(wire.TELL, 0, TOTAL, b"\x90")

# Section 1.
rows_of_openings([
    ("wrong_magic", "silence", b"\x01WIGWAG\n\n" + bytes(80)),
    ("no_hello", "silence", open_message),
    ("versions_from_two_on", "REFUSED Version", lambda: own_hello(versions=(2, 9))),
    ("versions_up_to_zero", "REFUSED Version", lambda: own_hello(versions=(0, 0))),
    ("flags_in_hello", "REFUSED Protocol", lambda: own_hello(flags=1)),
    ("hello_cut_short", "REFUSED Protocol", lambda: own_hello()[:40]),
    ("unknown_feature_required", "REFUSED FeatureRequired", lambda: own_hello(required=1 << 60)),
    ("batch_max_too_small", "REFUSED Protocol", lambda: own_hello(limits={"batch_max": 2_047})),
    ("frame_max_too_small", "REFUSED Protocol", lambda: own_hello(limits={"frame_max": 255})),
    ("initial_units_of_zero", "REFUSED Protocol", lambda: own_hello(limits={"initial_units": 0})),
    ("attach_pending_max_of_zero", "REFUSED Protocol",
     lambda: own_hello(limits={"attach_pending_max": 0})),
    ("unknown_auth_method", "REFUSED AuthFailed", own_hello, b"\x02\x07\x00\x00"),
    ("proof_of_a_key_to_a_node_without_keys", "REFUSED AuthFailed", own_hello,
     b"\x02\x02\x00\x22\x01a" + bytes(32)),
    ("five_auth_messages", "REFUSED Protocol", own_hello, *[b"\x02\x00\x00\x00"] * 5),
    ("open_of_lane_one", "REFUSED Protocol", own_hello, lambda: open_message(1)),
    ("hello_twice", "REFUSED Protocol", own_hello, own_hello),
    ("batch_before_open", "REFUSED Protocol", own_hello, wire.batch(0, 0, 0, b"")),
    ("opened_from_a_dialer", "REFUSED Protocol", own_hello, b"\x04" + bytes(17)),
    ("opening_message_too_long", "silence", own_hello, b"\x03" + bytes(4_096)),
])


@row("as the page says")
def id_of_a_name(stage):
    found = stage.neighbor.peer.node
    return "as the page says" if found == node_id(stage.node_name) else f"{found:#x}"


@row("silence")
def other_sp_protocol(stage):
    return opening(stage, own_hello(), header=bytes.fromhex("0053500000100000"))


@row("silence")
def no_sp_header(stage):
    return opening(stage, header=b"GET / HT")


@row("REFUSED Exists, answered")
def open_of_another_sessions_incarnation(stage):
    owner = stage.session()
    found = opening(stage, own_hello(node=owner.node, incarnation=owner.incarnation), open_message())
    return f"{found}, {outcome(owner)}"


@row("REFUSED Exists, answered")
def open_of_an_incarnation_whose_session_waits(stage):
    owner = stage.session()
    owner.connection.reset()
    found = opening(stage, own_hello(node=owner.node, incarnation=owner.incarnation), open_message())
    owner.resume()
    return f"{found}, {outcome(owner)}"


@row("CLOSE TooMany")
def nothing_said_after_opened(stage):
    connection = stage.connect()
    for content in (own_hello(limits=LONG_HEARTBEAT), open_message()):
        connection.send(content)
    while len(connection.input) < 8:
        connection.fill()
    del connection.input[:8]
    connection.expect(wire.HELLO)
    connection.expect(wire.OPENED)
    while not (closed := close_in(connection.receive())):
        pass
    return closed


# Section 7: RESUME.
def row_of_claim(name, expected, change, prepare=None):
    def play(stage):
        session = stage.session()
        if prepare:
            prepare(session)
        found = claim(session, **change(session))
        session.resume()
        return f"{found}, {outcome(session)}"
    ROWS.append((name, expected, play))


row_of_claim("resume_of_an_unknown_session", "REFUSED SessionUnknown, answered",
             lambda it: {"session": it.session ^ 1})
row_of_claim("resume_with_another_token", "REFUSED TokenBad, answered", lambda it: {"token": it.token ^ 1})
row_of_claim("resume_with_the_proof_of_another_connection", "REFUSED TokenBad, answered",
             lambda it: {"nonces": it.nonces})
row_of_claim("resume_with_an_epoch_that_was_used", "REFUSED TokenBad, answered",
             lambda it: {"epoch": it.epoch}, lambda it: it.resume())
row_of_claim("resume_of_lane_one", "REFUSED Protocol, answered", lambda it: {"lane": 1})
row_of_claim("resume_without_a_proof", "REFUSED TokenBad, answered", lambda it: {"proof": bytes(32)})


def row_of_broken_claim(name, expected, recv_next):
    """The proof is right and the number is not: the session is over."""
    def play(stage):
        session = stage.session()
        found = claim(session, recv_next=recv_next(session))
        session.epoch += 1
        return f"{found}, {claim(session)}"
    ROWS.append((name, expected, play))


row_of_broken_claim("resume_beyond_what_was_sent", "REFUSED AckBeyondSent, REFUSED SessionUnknown",
                    lambda it: it.recv_next + 1)
row_of_broken_claim("resume_below_what_was_acknowledged", "REFUSED Protocol, REFUSED SessionUnknown",
                    lambda it: 0)

# Sections 2, 3 and 5: batches and numbers.
rows_of_batches([
    ("flags_in_a_batch", "CLOSE Protocol", {"flags": 1}),
    ("count_too_high", "CLOSE Protocol", {"frames": TELL_TOTAL, "count": 2}),
    ("count_too_low", "CLOSE Protocol", {"frames": TELL_TOTAL * 2, "count": 1}),
    ("gap", "CLOSE Gap", {"first_seq": 5, "frames": TELL_TOTAL, "count": 1}),
    ("ack_beyond_sent", "CLOSE AckBeyondSent", {"ack": 1_000}),
    ("numbers_beyond_64_bits", "CLOSE Protocol", {"first_seq": U64_MAX, "count": 1}),
    ("frames_that_came_before", "answered", {"first_seq": 0, "frames": TELL_TOTAL, "count": 1}),
    ("two_hops", "CLOSE Protocol", {"word": bytes.fromhex("00000002")}),
    ("no_hops", "answered", {"word": bytes(4)}),
])


@row("CLOSE Protocol")
def number_not_in_its_shortest_form(stage):
    session = stage.session()
    session.out += wire.message(b"\x00\x81\x00\x01\x00")
    return outcome(session)


def row_of_message(name, expected, length):
    """An SP message of that length, made of frames that may be skipped."""
    def play(stage):
        session = stage.session()
        head = 4 + len(wire.batch(session.recv_next, session.acked, 0, b""))
        filler = b"".join(raw_frame(0x70, bytes(60_000)) for _ in range(4))
        left = length - head - len(filler)
        say_batch(session, filler + raw_frame(0x70, bytes(left - 4)))
        assert len(session.out) == 8 + length
        return outcome(session)
    ROWS.append((name, expected, play))


row_of_message("message_of_batch_max", "answered", 262_144)
row_of_message("message_one_byte_longer", "CLOSE LimitExceeded", 262_145)
row_of_message("message_a_little_longer", "CLOSE LimitExceeded", 263_168)
row_of_message("message_much_longer", "CLOSE LimitExceeded", 300_000)

rows_of_frames([
    ("frame_of_frame_max", "answered", raw_frame(0x70, bytes(65_536))),
    ("frame_one_byte_longer", "CLOSE LimitExceeded", raw_frame(0x70, bytes(65_537))),
    ("frame_beyond_its_batch", "CLOSE Protocol", b"\x70\x05abc"),
    ("frame_with_a_field_missing", "CLOSE Protocol", raw_frame(wire.CREDIT, b"\x00")),
    ("frame_with_a_field_more", "answered", raw_frame(wire.CANCEL, b"\x09\x09\x09")),
    ("unknown_frame", "CLOSE UnknownFrame", raw_frame(0x30, b"")),
    ("unknown_sequenced_frame", "CLOSE UnknownFrame", raw_frame(0xB0, b"")),
    ("unknown_frame_that_may_be_skipped", "answered", raw_frame(0x70, b"abc")),
    ("unknown_sequenced_frame_that_may_be_skipped", "answered", raw_frame(0xF0, b"abc")),
    ("reserved_frame", "CLOSE UnknownFrame", raw_frame(0x05, b"\x01")),
    ("run_without_items", "CLOSE Protocol", frame(wire.TELLS, 0, TOTAL, b"")),
    ("run_with_a_long_item", "CLOSE Protocol", frame(wire.TELLS, 0, TOTAL, b"\x31" + bytes(49))),
    ("run_of_method_zero", "CLOSE Protocol", frame(wire.TELLS, 0, 0, b"\x01\x90")),
    ("run_beyond_slots_max", "CLOSE Protocol",
     lambda limits: frame(wire.ASKS, 0, limits["slots_max"] - 1, 0, TOTAL, b"\x01\x90" * 2)),
    ("mixed_run_without_items", "CLOSE Protocol", frame(wire.MIXED_TELLS, 0, b"")),
    ("mixed_run_of_method_zero", "CLOSE Protocol",
     frame(wire.MIXED_TELLS, 0, bytes((2, TOTAL, 0x90, 2, 0, 0x90)))),
    ("mixed_run_with_an_empty_item", "CLOSE Protocol",
     frame(wire.MIXED_TELLS, 0, bytes((2, TOTAL, 0x90, 0)))),
    ("mixed_run_with_a_long_item", "CLOSE Protocol",
     frame(wire.MIXED_TELLS, 0, bytes((49, TOTAL)) + bytes(48))),
    ("mixed_run_beyond_slots_max", "CLOSE Protocol",
     lambda limits: frame(wire.MIXED_ASKS, 0, limits["slots_max"] - 1, 0, bytes((2, TOTAL, 0x90)) * 2)),
    ("extras_before_extras", "CLOSE Protocol", frame(wire.CALL_X, wire.CALL_X, b"", b"")),
    ("item_to_nothing", "CLOSE Protocol", frame(wire.ITEM, 0, 0, 1, b"\x05")),
    ("item_of_the_other_side", "CLOSE Protocol", frame(wire.ITEM, 0, 0, 0, b"\x05")),
    ("item_credit_of_nothing", "answered", frame(wire.ITEM_CREDIT, 9, 9, 1, 1_000)),
    ("items_wanted_of_a_tell", "answered",
     frame(wire.CALL_X, wire.TELL, b"\x06\x01\x05", wire.body(wire.TELL, 0, TOTAL, b"\x90"))),
    ("tell_with_an_unknown_extra", "answered",
     frame(wire.CALL_X, wire.TELL, b"\x64\x00", wire.body(wire.TELL, 0, TOTAL, b"\x90"))),
    ("hello_in_a_session", "CLOSE Protocol", raw_frame(0x01, b"")),
])


@row("CLOSE Protocol")
def run_of_257_items(stage):
    session = stage.session()
    say_batch(session, frame(wire.TELLS, 0, TOTAL, b"\x01\x90" * 257), 257)
    return outcome(session)


@row("CLOSE UnknownFrame")
def run_without_the_feature(stage):
    session = stage.session(offered=RESUMING)
    say(session, frame(wire.TELLS, 0, TOTAL, b"\x01\x90"))
    return outcome(session)


@row("CLOSE UnknownFrame")
def mixed_run_without_the_feature(stage):
    session = stage.session(offered=RESUMING | RUNS)
    say(session, frame(wire.MIXED_TELLS, 0, bytes((2, TOTAL, 0x90))))
    return outcome(session)


@row("CLOSE LimitExceeded")
def no_acks(stage):
    """The window of 4 MiB and 32 MiB more may be written without an ack."""
    session = stage.session(Withholding)
    return answers_without_acks(session, 48 * 1024 * 1024)


# Section 4: channels and credit.
ATTACH_NOBODY = frame(wire.ATTACH, 1, 0, b"nobody", 0, 0)
ATTACH_LEDGER = frame(wire.ATTACH, 1, 0, b"ledger", 0, 0)
DETACH_1 = frame(wire.DETACH, 1)


def long_tell(channel, body_bytes):
    """A TELL of the ledger's `total` whose body has that length; it takes no arguments and skips them."""
    head = len(wire.number(channel)) + 1
    text = body_bytes - head - 1 - 3
    return frame(wire.TELL, channel, TOTAL, b"\x91\xda" + text.to_bytes(2, "big") + bytes(text))


rows_of_frames([
    ("attach_of_an_open_channel", "CLOSE Protocol", frame(wire.ATTACH, 0, 0, b"ledger", 0, 0)),
    ("attach_beyond_channels_max", "CLOSE LimitExceeded",
     lambda limits: frame(wire.ATTACH, limits["channels_max"], 0, b"ledger", 0, 0)),
    ("attaches_beyond_attach_pending_max", "CLOSE LimitExceeded",
     *[frame(wire.ATTACH, 1 + at, 0, b"ledger", 0, 0) for at in range(17)]),
    ("call_on_a_channel_never_attached", "CLOSE Protocol", frame(wire.TELL, 7, TOTAL, b"\x90")),
    ("call_behind_detach", "CLOSE Protocol", ATTACH_LEDGER, DETACH_1, frame(wire.TELL, 1, TOTAL, b"\x90")),
    ("call_of_all_credit", "answered", ATTACH_LEDGER, long_tell(1, 4_096)),
    ("call_beyond_credit", "CLOSE CreditExceeded", ATTACH_LEDGER, long_tell(1, 4_097)),
    ("call_beyond_credit_with_an_unknown_extra", "CLOSE CreditExceeded", ATTACH_LEDGER,
     frame(wire.CALL_X, wire.TELL, b"\x64\x00", wire.body(wire.TELL, 1, TOTAL, bytes(4_096)))),
    ("call_to_nobody_beyond_credit_with_an_unknown_extra", "CLOSE CreditExceeded", ATTACH_NOBODY,
     frame(wire.CALL_X, wire.TELL, b"\x64\x00", wire.body(wire.TELL, 1, TOTAL, bytes(4_096)))),
    ("call_on_a_channel_never_attached_with_an_unknown_extra", "CLOSE Protocol",
     frame(wire.CALL_X, wire.TELL, b"\x64\x00", wire.body(wire.TELL, 7, TOTAL, b"\x90"))),
    ("call_of_all_credit_to_nobody", "answered", ATTACH_NOBODY, long_tell(1, 4_096)),
    ("call_beyond_credit_to_nobody", "CLOSE CreditExceeded", ATTACH_NOBODY, long_tell(1, 4_097)),
    ("detach_of_an_unknown_channel", "answered", frame(wire.DETACH, 9)),
    ("detached_of_an_unknown_channel", "answered", frame(wire.DETACHED, 9, 0, 0)),
    ("attached_unasked", "answered", frame(wire.ATTACHED, 9, 64, 0, 0, b"")),
    ("credit_of_an_unknown_channel", "answered", frame(wire.CREDIT, 9, 1_000, 0)),
    ("need_of_an_unknown_channel", "answered", frame(wire.NEED, 9, 1_000)),
    ("revoke_of_an_unknown_channel", "answered", frame(wire.REVOKE, 9, 1_000)),
    ("revoked_unasked", "answered", frame(wire.REVOKED, 0, 1_000)),
    ("tell_of_describe", "answered", frame(wire.TELL, 0, 0, b"\x90")),
    ("release_of_what_was_never_sent", "CLOSE Protocol", frame(wire.RELEASE, bytes(16), 1)),
    ("release_of_another_length", "CLOSE Protocol", frame(wire.RELEASE, b"abc", 1)),
])


def row_of_attach(name, expected, *fields):
    ROWS.append((name, expected, lambda stage: attaching(stage.session(), *fields)))


row_of_attach("attach_of_an_unknown_name", "DETACHED NoSuchActor", 0, b"nobody", 0, 0)
row_of_attach("attach_of_a_long_name", "DETACHED NoSuchActor", 0, b"n" * 256, 0, 0)
row_of_attach("attach_by_reference", "DETACHED NoSuchActor", 1, b"ledger", 0, 0)
row_of_attach("attach_by_an_unknown_reference", "DETACHED NoSuchActor", 1, bytes(16), 0, 0)
row_of_attach("attach_with_an_unknown_codec", "DETACHED NoSuchActor", 0, b"ledger", 0, 9)


def coming(slot, generation):
    """The target of an ATTACH to the actor that the answer to an ask leads to."""
    return slot.to_bytes(4, "little") + generation.to_bytes(4, "little")


row_of_attach("attach_to_an_answer", "attached", 3, coming(9, 5), 0, 0)
row_of_attach("attach_to_an_answer_beyond_slots_max", "DETACHED NoSuchActor", 3, coming(0xFFFF_FFFF, 0), 0, 0)
row_of_attach("attach_to_an_answer_of_another_length", "DETACHED NoSuchActor", 3, b"abc", 0, 0)


@row("DETACHED NoSuchActor")
def attach_to_an_answer_that_has_come(stage):
    session = stage.session()
    session.get(asked(session, 9, 5))
    return attaching(session, 3, coming(9, 5), 0, 0)


@row("DETACHED NoSuchActor")
def attach_to_an_answer_without_the_feature(stage):
    return attaching(stage.session(offered=RESUMING), 3, coming(9, 5), 0, 0)


@row("ERROR NoSuchActor")
def ask_through_an_answer_without_a_reference(stage):
    session = stage.session()
    say(session, frame(wire.ATTACH, 1, 3, coming(9, 5), 0, 0))
    held = asked(session, 10, 0, channel=1)
    asked(session, 9, 5)
    return outcome(session, held)


@row("CLOSE LimitExceeded")
def attaches_to_answers_beyond_1024(stage):
    session = stage.session()
    say(session, *(frame(wire.ATTACH, 1 + at, 3, coming(9 + at, 0), 0, 0) for at in range(1_025)))
    return outcome(session)


@row("ERROR NoSuchActor")
def ask_of_nobody(stage):
    session = stage.session()
    say(session, ATTACH_NOBODY)
    return outcome(session, asked(session, 9, 0, channel=1))


# Section 6: asks.
def row_of_asks(name, expected, *askers):
    """Asks with these slots and generations, one behind the other; the last one's outcome."""
    def play(stage):
        session = stage.session()
        for asker in askers[:-1]:
            answer = asked(session, *asker)
            session.wait(lambda: answer.is_here)
        return outcome(session, asked(session, *askers[-1]))
    ROWS.append((name, expected, play))


row_of_asks("generation_of_33_bits", "CLOSE LimitExceeded", (9, 1 << 32))
row_of_asks("slot_and_generation_asked_with_again", "CLOSE Protocol", (9, 0), (9, 0))
row_of_asks("generation_that_was_passed", "CLOSE Protocol", (9, 5), (9, 2))
row_of_asks("generation_before_the_first", "CLOSE Protocol", (9, (1 << 32) - 1))
row_of_asks("generations_that_leap", "answered", (9, 5), (9, 2_000_000_000), (9, 4_000_000_000), (9, 1))
row_of_asks("unknown_method", "ERROR NoSuchMethod", (9, 0, 99))
row_of_asks("wrong_arguments", "ERROR BadArguments", (9, 0, ECHO, b"\x91\x05"))
row_of_asks("arguments_that_are_no_array", "ERROR BadArguments", (9, 0, ECHO, b"\x05"))
row_of_asks("arguments_that_are_cut_short", "ERROR BadArguments", (9, 0, ECHO, b"\x91\xa5ab"))

rows_of_frames([
    ("slot_beyond_slots_max", "CLOSE LimitExceeded",
     lambda limits: frame(wire.ASK, 0, limits["slots_max"], 0, TOTAL, b"\x90")),
    ("reply_to_nothing", "CLOSE Protocol", frame(wire.REPLY, 0, 0, b"\x05")),
    ("error_to_nothing", "CLOSE Protocol", frame(wire.ERROR, 0, 0, 0x0205, b"", b"")),
    ("cancel_of_nothing", "answered", frame(wire.CANCEL, 3, 0)),
    ("close_with_bye", "silence", frame(wire.CLOSE, 0x0100, b"", b"")),
])


def row_of_cancels(name, expected, offered, *cancels):
    """CANCELs with these slots and generations behind an ASK from slot 9, generation 5.

    The ledger produces a stream for the neighbor until the node has accepted them, so the turn of the
    ASK comes behind the CANCELs.
    """
    def play(stage):
        session, neighbor = stage.session(offered=offered), stage.neighbor
        numbers = neighbor.stream(neighbor.ledger, NUMBERS, 3, window=1)
        neighbor.wait(lambda: numbers.values)
        answer = asked(session, 9, 5)
        say(session, *(frame(wire.CANCEL, *asker) for asker in cancels))
        session.wait(lambda: not (session.waiting or session.kept))
        if answer.is_here:
            return "an outcome before the turn"
        if list(neighbor.items(numbers)) != [0, 1, 2]:
            return "other items"
        return outcome(session, answer)
    ROWS.append((name, expected, play))


def ask_within(session, slot, extras):
    """Sends an ASK with these extras; gives what will have its answer."""
    answer = session.asked[slot, 0] = Answer()
    while len(session.generations) <= slot:
        session.generations.append(0)
    say(session, frame(wire.CALL_X, wire.ASK, extras, wire.body(wire.ASK, 0, slot, 0, TOTAL, b"\x90")))
    return answer


def row_of_deadlines(name, expected, offered, extras):
    def play(stage):
        session = stage.session(offered=offered)
        return outcome(session, ask_within(session, 9, extras))
    ROWS.append((name, expected, play))


row_of_deadlines("deadline_that_has_passed", "ERROR DeadlinePassed", OFFERED, b"\x02\x01\x00")
row_of_deadlines("deadline_in_a_minute", "answered", OFFERED, b"\x02\x03\xe0\xd4\x03")
row_of_deadlines("deadline_without_the_feature", "answered", RESUMING, b"\x02\x01\x00")
row_of_deadlines("milliseconds_that_are_no_number", "CLOSE Protocol", OFFERED, b"\x02\x01\x80")
row_of_cancels("cancel_before_the_turn", "ERROR Cancelled", OFFERED, (9, 5), (9, 5))
row_of_cancels("cancel_of_other_asks", "answered", OFFERED, (9, 4), (9, 6), (8, 5), (1 << 40, 5))
row_of_cancels("cancel_without_the_feature", "answered", RESUMING, (9, 5))


row_of_deadlines("one_value_where_items_are_wanted", "answered", OFFERED, b"\x06\x01\x05")
row_of_deadlines("items_wanted_without_the_feature", "ERROR BadArguments", RESUMING, b"\x06\x01\x05")
row_of_deadlines("limit_that_is_no_number", "CLOSE Protocol", OFFERED, b"\x06\x01\x80")


def row_of_items_without_the_feature(name, data):
    def play(stage):
        session = stage.session(offered=RESUMING)
        say(session, data)
        return outcome(session)
    ROWS.append((name, "CLOSE UnknownFrame", play))


row_of_items_without_the_feature("item_without_the_feature", frame(wire.ITEM, 0, 0, 1, b"\x05"))
row_of_items_without_the_feature("item_end_without_the_feature", frame(wire.ITEM_END, 0, 0, 0, b""))
row_of_items_without_the_feature(
    "item_credit_without_the_feature", frame(wire.ITEM_CREDIT, 0, 0, 1, 5))


@row("ERROR NotSerializable")
def stream_without_items_wanted(stage):
    session = stage.session()
    return outcome(session, asked(session, 9, 0, NUMBERS, b"\x91\x05"))


@row("answered")
def items_within_the_limit(stage):
    """The session counts what a node sends against the limit, and raises that as it takes items."""
    session = stage.session()
    for window, count in ((1, 50), (3, 1_000), (64, 10_000)):
        numbers = session.stream(session.ledger, NUMBERS, count, window=window)
        if list(session.items(numbers)) != list(range(count)):
            return "other items"
    return outcome(session)


@row("2 items, ERROR ReplyDropped")
def cancel_of_a_stream(stage):
    """The producer waits for credit, and is released."""
    session = stage.session()
    numbers = session.stream(session.ledger, NUMBERS, 1_000, window=2)
    session.wait(lambda: len(numbers.values) == 2)
    (asker,) = session.asked
    say(session, frame(wire.CANCEL, *asker))
    session.wait(lambda: numbers.is_here)
    try:
        numbers.get()
    except Failed as failed:
        return f"{len(numbers.values)} items, ERROR {wire.NAMES[failed.code]}"
    return "a clean end"


@row("CLOSE Protocol")
def slot_asked_with_twice_at_once(stage):
    session = stage.session()
    asked(session, 9, 0)
    return outcome(session, asked(session, 9, 0))


@row("ERROR BadArguments")
def ask_with_an_unknown_extra(stage):
    session = stage.session()
    answer = asked(session, 9, 0)
    call = wire.body(wire.ASK, 0, 9, 0, TOTAL, b"\x90")
    session.waiting[-1] = frame(wire.CALL_X, wire.ASK, b"\x64\x00", call)
    return outcome(session, answer)


def main():
    address, node_name, *names = sys.argv[1:]
    stage = Stage(address, node_name)
    failed = 0
    for name, expected, play in ROWS:
        if names and name not in names:
            continue
        try:
            found = play(stage)
        except Exception as error:  # the row is named, and the others are played
            found = f"{type(error).__name__}: {error}"
        stage.ask_honestly()
        if found != expected:
            failed += 1
            print(f"{name}: {found} in place of {expected}")
    print(f"breaches={len(ROWS)} failed={failed}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

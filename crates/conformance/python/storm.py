"""Calls a ledger over connections that the caller cuts, and checks that nothing is lost.

    python3 storm.py tcp://127.0.0.1:PORT [--calls N] [--cuts N] [--seed N]

The ledger is an actor exported as `ledger`. Method 1 notes a number and a text, method 2 does the
same and answers the checksum of all notes so far, method 3 answers how many there are and their
checksum. The checksum depends on the order, so each answer proves that exactly the calls before it
were handled, once each and in their order.
"""

import argparse
import random
import sys
import time

from connection import Lost
from session import Session

NOTE, COUNT, TOTAL = 1, 2, 3
PRIME = 0x100000001B3
MASK = (1 << 64) - 1
ASKS_IN_FLIGHT_MAX = 500
CUTS = ("reset", "end", "reset within a frame", "end within a frame", "RESUMED lost")


def checksum(state, number, text):
    """One more note. Multiplication makes the order count."""
    return ((state ^ number) * PRIME + len(text)) & MASK


def draw_text(draws):
    """A text: short most often, of some thousand bytes at times, near the largest frame at others."""
    kind = draws.random()
    if kind < 0.98:
        return "x" * draws.randrange(8)
    return "y" * (draws.randrange(5_000) if kind < 0.999 else draws.randrange(60_000, 65_000))


def cut(session, how, draws):
    """Ends the connection; with some bytes of what would go next, where it is to end within a frame."""
    connection = session.connection
    if how.endswith("within a frame"):
        session.compose()
        if len(session.out) > 1:
            try:
                connection.write(session.out[:draws.randrange(1, len(session.out))])
            except Lost:
                pass  # torn off earlier than meant
    if how.startswith("reset"):
        connection.reset()
    else:
        connection.close()
    if how == "RESUMED lost":
        session.begin_resume()
        session.connection.reset()
    session.resume(again=draws.randrange(50))


def run(address, calls, cuts, seed):
    draws = random.Random(seed)
    session = Session(address)
    ledger = session.attach("ledger")
    # The cuts are spread over the calls, some of them close behind each other.
    cut_at = sorted(draws.randrange(calls) for _ in range(cuts))
    state, in_flight, asks = 0, [], 0

    def check(most):
        while len(in_flight) > most:
            expected, answer = in_flight.pop(0)
            found = session.get(answer)
            assert found == expected, f"answered {found:#x}, expected {expected:#x}"

    for number in range(calls):
        while cut_at and cut_at[0] == number:
            cut(session, CUTS[len(cut_at) % len(CUTS)], draws)
            cut_at.pop(0)
        text = draw_text(draws)
        state = checksum(state, number, text)
        if draws.random() < 0.5:
            session.tell(ledger, NOTE, number, text)
        else:
            in_flight.append((state, session.ask(ledger, COUNT, number, text)))
            asks += 1
        if number % 16 == 0:
            session.pump()
        if len(in_flight) > ASKS_IN_FLIGHT_MAX:
            check(ASKS_IN_FLIGHT_MAX // 2)
    check(0)
    total = session.get(session.ask(ledger, TOTAL))
    assert total == [calls, state], f"the ledger has {total}, {[calls, state]} were sent"
    session.detach(ledger)
    session.close()
    assert session.resumed_times == cuts
    print(f"calls={calls} asks={asks} resumes={session.resumed_times} "
          f"repeated={session.frames_repeated} checksum={state}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--cuts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    options = parser.parse_args()
    print(f"seed={options.seed}", file=sys.stderr)
    run(options.address, options.calls, options.cuts, options.seed)


if __name__ == "__main__":
    main()

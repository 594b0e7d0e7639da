"""Sends bytes to an actor in both forms that it reads, and checks the form of the answer.

    python3 values.py tcp://127.0.0.1:PORT

Method 5 of the actor `ledger` answers the bytes that it is given.
"""

import sys

from session import Session

BLOB = 5
# Lengths around those at which the head of bin changes.
LENGTHS = (0, 1, 15, 16, 255, 256, 30_000)


def run(address):
    session = Session(address)
    ledger = session.attach("ledger")
    for length in LENGTHS:
        blob = bytes(number % 251 for number in range(length))
        for form in (blob, list(blob)):
            answer = session.get(session.ask(ledger, BLOB, form))
            assert answer == blob, f"{length} bytes as {type(form).__name__}: {answer!r:.60}"
    session.close()
    print(f"blobs={2 * len(LENGTHS)}")


if __name__ == "__main__":
    run(sys.argv[1])

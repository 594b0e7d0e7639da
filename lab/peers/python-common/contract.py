"""Orders, payloads, and the life of a program, as the lab's contract has them."""
import json
import os
import sys
import threading
import traceback


def order(name):
    """An order of the lab, from the environment."""
    text = os.environ.get(name)
    if text is None:
        sys.exit(f"no order {name}")
    return text


def number_ordered(name):
    text = order(name)
    if not text.isdecimal():
        sys.exit(f"{name} is {text!r}, not a number")
    return int(text)


def payloads(seed, sender):
    """The payloads of a sender, without an end: xorshift32."""
    x = (seed ^ (sender + 1) * 2654435761) & 0xFFFFFFFF or 1
    while True:
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        yield x


def start(work, *arguments):
    """Starts a thread. An exception in it ends the program, which would wait for it otherwise."""

    def run():
        try:
            work(*arguments)
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def wait_for_go():
    line = sys.stdin.readline()
    if line != "GO\n":
        raise EOFError(f"no GO but {line!r}")


def end_with_the_input():
    """Ends the program with its input, whatever its other threads wait for."""
    sys.stdin.read()
    os._exit(0)


def say(text):
    print(text, flush=True)


def say_account(account):
    say(json.dumps(account))

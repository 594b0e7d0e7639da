"""The cells of sp of the lab's contract for a library in Python.

A participant's program calls `run` with an object that says what its own sockets do:

    threads_share_a_socket              whether several threads may send on one socket
    takes_buffers                       whether it sends any buffer, and not only bytes
    open(kind, size, queue=None)        a socket; kind is one of `KINDS`, size that of its messages
                                        in bytes, queue how many may wait for a peer, where ordered
    listen(socket, address)             its port, if it has one
    dial(socket, address)
    subscribe(socket)                   a SUB, to everything
    sender(socket, size)                a function that sends the bytes of a message and waits
                                        until there is room for them
    receiver(socket, size)              a function that waits for a message and returns its bytes
"""
import os
import signal
import sys
from array import array
from time import perf_counter_ns

import fan_out
from contract import end_with_the_input, number_ordered, order, payloads, say, say_account
from contract import start, wait_for_go
from messages import END, STAMP, Layout, Receipts, inverted, percentiles

KINDS = ("req", "rep", "push", "pull", "pair", "pub", "sub")
# The sockets of a cell that sends and of one that receives.
SOCKETS = {"req": ("req", "rep"), "pair": ("pair", "pair")}


class Orders:
    def __init__(self, role):
        self.cell, self.transport = order("CELL"), order("TRANSPORT")
        self.size, self.senders = number_ordered("SIZE"), number_ordered("SENDERS")
        self.messages = number_ordered("MESSAGES")
        self.each = self.messages // max(self.senders, 1)
        # The lab gives the seed to the program that sends, and to no other.
        self.seed = 0 if role in ("server", "receiver") else number_ordered("SEED")
        self.sender_kind, self.receiver_kind = SOCKETS.get(self.cell, ("push", "pull"))

    def address(self):
        if self.transport == "inproc":
            return "inproc://lab"
        if self.transport == "ipc":
            return "ipc://" + order("SOCKET")
        scheme = {"tls": "tls+tcp"}.get(self.transport, self.transport)
        path = "/" if scheme in ("ws", "wss") else ""
        return f"{scheme}://127.0.0.1:{number_ordered('PORT')}{path}"


def send_all(send, layout, orders, sender):
    """Sends the messages of one sender and its mark."""
    for number, payload in zip(range(orders.each), payloads(orders.seed, sender)):
        send(layout.write(sender, number, payload))
    send(layout.write(sender, END, 0))


def send_in_turn(sends, layout, orders):
    """Sends message n of every socket, then n + 1."""
    senders = [(at, send, payloads(orders.seed, at)) for at, send in enumerate(sends)]
    for number in range(orders.each):
        for sender, send, drawn in senders:
            send(layout.write(sender, number, next(drawn)))
    for sender, send, _ in senders:
        send(layout.write(sender, END, 0))


def send_from_threads(sends, layout, orders):
    threads = [start(send_all, send, layout, orders, at) for at, send in enumerate(sends)]
    for thread in threads:
        thread.join()


def receive_all(receive, layout, orders):
    """Receives until the mark of every sender has come."""
    receipts = Receipts(layout, orders.senders)
    while receipts.open > 0:
        receipts.take(receive())
    return receipts.account()


def answer_all(receive, send, layout, orders, tell):
    """Answers requests until the mark; before that is answered, tells the account."""
    receipts = Receipts(layout, orders.senders)
    number = 0
    while number != END:
        stamp = receipts.take(receive())
        if stamp is None:
            raise ValueError("a request that nobody sent")
        sender, number, payload = stamp
        if number == END:
            tell(receipts.account())
        send(layout.write(sender, number, inverted(payload)))


def ask_all(send, receive, layout, orders):
    """Asks one request at a time, then sends the mark; returns the account."""
    times, wrong, total = array("Q"), 0, 0
    for number, payload in zip(range(orders.messages), payloads(orders.seed, 0)):
        begun = perf_counter_ns()
        send(layout.write(0, number, payload))
        message = receive()
        times.append(perf_counter_ns() - begun)
        reply = layout.read(message)
        wrong += reply != (0, number, inverted(payload))
        total += reply[2] if reply else 0
    send(layout.write(0, END, 0))
    receive()
    rtt_us = percentiles(times)
    return {"replies": len(times), "wrong": wrong, "sum": str(total), "rtt_us": rtt_us}


def serve(library, orders, layout):
    socket = library.open(orders.receiver_kind, orders.size)
    port = library.listen(socket, orders.address())
    receive = library.receiver(socket, orders.size)
    start(end_with_the_input)
    say(f"READY {port}")
    if orders.cell == "req":
        send = library.sender(socket, orders.size)
        answer_all(receive, send, layout, orders, say_account)
    else:
        say_account(receive_all(receive, layout, orders))
    while True:
        signal.pause()


def drive(library, orders, layout):
    shares = orders.cell == "threads" and library.threads_share_a_socket
    sockets = []
    for _ in range(1 if shares else orders.senders):
        sockets.append(library.open(orders.sender_kind, orders.size))
        library.dial(sockets[-1], orders.address())
    sends = [library.sender(socket, orders.size) for socket in sockets]
    if shares:
        sends *= orders.senders
    say("READY")
    wait_for_go()
    if orders.cell == "req":
        receive = library.receiver(sockets[0], orders.size)
        account = ask_all(sends[0], receive, layout, orders)
    else:
        account = {"sent": orders.messages}
        if orders.cell == "threads":
            send_from_threads(sends, layout, orders)
        elif orders.senders > 1:
            send_in_turn(sends, layout, orders)
        else:
            send_all(sends[0], layout, orders, 0)
    say_account(account)
    # The sockets stay open until the receiver has everything.
    end_with_the_input()


def play(library, orders, layout):
    """Both ends in one process, a thread each."""
    here = library.open(orders.receiver_kind, orders.size)
    there = library.open(orders.sender_kind, orders.size)
    library.listen(here, orders.address())
    library.dial(there, orders.address())
    receive, send = library.receiver(here, orders.size), library.sender(there, orders.size)
    say("READY")
    wait_for_go()
    if orders.cell == "req":
        received = {}
        answer = library.sender(here, orders.size)
        other = start(answer_all, receive, answer, layout, orders, received.update)
        sent = ask_all(send, library.receiver(there, orders.size), layout, orders)
    else:
        other = start(send_all, send, layout, orders, 0)
        received, sent = receive_all(receive, layout, orders), {"sent": orders.messages}
    other.join()
    say_account({**received, **sent})
    os._exit(0)


ROLES = {"server": serve, "client": drive, "inproc": play}


def run(library):
    """Plays the role that the command line names."""
    role = sys.argv[1] if len(sys.argv) > 1 else ""
    orders = Orders(role)
    if role in ROLES:
        ROLES[role](library, orders, Layout(STAMP, orders.size, library))
    elif role == "sender":
        fan_out.send(library, orders)
    elif role == "receiver":
        fan_out.receive(library, orders)
    else:
        sys.exit(f"no such role: {role!r}")

"""pyzmq: sockets after its manual, over ZeroMQ's own wire.

A socket belongs to one thread, so each thread has one. Messages are copied unless they are longer
than the library's own threshold of 64 KiB: to share the memory of shorter ones costs more than it
saves.
"""
import pathlib
import sys
from functools import partial

import zmq

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "python-common"))
import sp

KINDS = {
    "req": zmq.REQ,
    "rep": zmq.REP,
    "push": zmq.PUSH,
    "pull": zmq.PULL,
    "pair": zmq.PAIR,
    "pub": zmq.PUB,
    "sub": zmq.SUB,
}

# The default mark.
QUEUE_MESSAGES = 1_000
# Bytes that may wait in a queue. The default of 1,000 messages would hold a gigabyte of them on
# either side where each has a megabyte; the guide says to set the mark for such.
QUEUE_BYTES = 64 << 20


class Pyzmq:
    threads_share_a_socket = False
    takes_buffers = True

    def open(self, kind, size, queue=None):
        socket = zmq.Context.instance().socket(KINDS[kind])
        socket.hwm = queue or min(QUEUE_BYTES // size, QUEUE_MESSAGES)
        return socket

    def listen(self, socket, address):
        socket.bind(address)
        if not address.startswith("tcp:"):
            return 0
        return int(socket.last_endpoint.rpartition(b":")[2])

    def dial(self, socket, address):
        socket.connect(address)

    def subscribe(self, socket):
        socket.subscribe(b"")

    def sender(self, socket, size):
        if size <= zmq.COPY_THRESHOLD:
            return socket.send
        return partial(socket.send, copy=False)

    def receiver(self, socket, size):
        if size <= zmq.COPY_THRESHOLD:
            return socket.recv
        return lambda: socket.recv(copy=False).buffer


sp.run(Pyzmq())

"""SP messages of PAIR1 over tcp, and the two ways in which a connection ends (section 0)."""

import socket
import struct

import wire
from wire import NAMES, Broken, Reader

PATIENCE_SECONDS = 20.0  # turns a hang into an error


class Lost(Exception):
    """The connection has ended without CLOSE: the session can be resumed."""


class Told(Exception):
    """The peer has said REFUSED or CLOSE."""

    def __init__(self, how, code, rule):
        super().__init__(f"{how} {NAMES.get(code, hex(code))}: {rule}")
        self.how, self.code = how, code


class Connection:
    """SP messages of PAIR1 over tcp (section 0)."""

    def __init__(self, address):
        host, port = address.removeprefix("tcp://").rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = bytearray()

    def greet(self, header=wire.SP_HEADER):
        """Exchanges the SP headers."""
        self.write(header)
        while len(self.input) < 8:
            self.fill()
        if self.input[:8] != wire.SP_HEADER:
            raise Broken("the peer is no PAIR1 socket")
        del self.input[:8]

    def write(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Lost(str(error)) from error

    def send(self, content):
        self.write(wire.message(content))

    def fill(self):
        """Waits for bytes and reads them."""
        try:
            data = self.socket.recv(1 << 18)
        except TimeoutError:
            raise
        except OSError as error:
            raise Lost(str(error)) from error
        if not data:
            raise Lost("the peer has ended the connection")
        self.input += data

    def next(self):
        """The next whole message that was read, or None."""
        if len(self.input) < 8:
            return None
        end = 8 + struct.unpack_from(">Q", self.input)[0]
        if len(self.input) < end:
            return None
        content = bytes(self.input[8:end])
        del self.input[:end]
        if content[:4] not in wire.HOP_WORDS_ACCEPTED:
            raise Broken("a session has no device on its way")
        return content[4:]

    def receive(self):
        """Waits for the next message."""
        while (content := self.next()) is None:
            self.fill()
        return content

    def expect(self, kind):
        """Waits for an opening message of that type, and gives a reader of its fields (section 1)."""
        while True:
            reader = Reader(self.receive())
            found = reader.fixed(1)
            if found == kind:
                return reader
            if found == wire.REFUSED:
                raise Told("REFUSED", reader.fixed(2), reader.sized().decode())
            if found != wire.AUTH:
                raise Broken(f"message {found} in place of {kind}")

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends the connection with a reset: what is under way is thrown away."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

"""pynng: sockets after its manual, whose blocking `send` and `recv` take and return bytes.

NNG allows several threads on a socket, so they share one.
"""
import pathlib
import sys

import pynng

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "python-common"))
import sp
from contract import order

KINDS = {
    "req": pynng.Req0,
    "rep": pynng.Rep0,
    "push": pynng.Push0,
    "pull": pynng.Pull0,
    "pair": pynng.Pair1,
    "pub": pynng.Pub0,
    "sub": pynng.Sub0,
}
SENDS, RECEIVES = ("push", "pair", "pub"), ("pull", "pair", "sub")

# Messages that may wait, where none may by default.
BUFFER = 100


def has_tls(address):
    return address.startswith(("tls+", "wss:"))


def server_tls():
    certificate, key = (pathlib.Path(order(name)).read_text() for name in ("CERT", "KEY"))
    mode = pynng.TLSConfig.MODE_SERVER
    return pynng.TLSConfig(mode, own_cert_string=certificate, own_key_string=key)


def client_tls():
    """The certificate is held against its name."""
    return pynng.TLSConfig(
        pynng.TLSConfig.MODE_CLIENT,
        server_name="localhost",
        ca_files=order("CA"),
        auth_mode=pynng.TLSConfig.AUTH_MODE_REQUIRED,
    )


class Pynng:
    threads_share_a_socket = True
    takes_buffers = False

    def open(self, kind, size, queue=None):
        buffers = {}
        if kind in SENDS:
            buffers["send_buffer_size"] = queue or BUFFER
        if kind in RECEIVES:
            buffers["recv_buffer_size"] = queue or BUFFER
        return KINDS[kind](**buffers)

    def listen(self, socket, address):
        if has_tls(address):
            socket.tls_config = server_tls()
        listener = socket.listen(address)
        if address.startswith(("inproc:", "ipc:")):
            return 0
        return int(str(listener.local_address).rpartition(":")[2])

    def dial(self, socket, address):
        if has_tls(address):
            socket.tls_config = client_tls()
        socket.dial(address, block=True)

    def subscribe(self, socket):
        socket.subscribe(b"")

    def sender(self, socket, size):
        return socket.send

    def receiver(self, socket, size):
        return socket.recv


sp.run(Pynng())

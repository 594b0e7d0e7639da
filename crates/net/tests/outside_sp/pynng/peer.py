"""A pynng socket on the command line, in the manner of nanocat and nngcat.

--ROLE, --connect or --bind ADDRESS, --data TEXT, --interval SECONDS, --subscribe TOPIC. It prints
each received message on a line, in quotes. --echo answers with the received message, --hold receives
and never answers, --limit BYTES limits received messages (0: no limit), --body SIZE sends this many
bytes. --sizes 0,1,7 makes a req ask with bodies of those sizes and report whether they came back the
same. --contexts N holds N exchanges of a req or rep at once; --poly makes a pair1 that has many peers
and answers each. --device joins two raw sockets: --front and --back name their protocols, and the
second one dials --back-connect. --cacert, --cert and --key FILE are for tls+tcp:// and wss://; a
listener with --cacert wants a certificate of its dialer.
"""

import sys
import threading
import time

import pynng

FLAGS = {"quoted", "echo", "hold", "poly"}
KINDS = {
    "bus": pynng.Bus0, "pair0": pynng.Pair0, "pair1": pynng.Pair1, "pub": pynng.Pub0,
    "pull": pynng.Pull0, "push": pynng.Push0, "rep": pynng.Rep0, "req": pynng.Req0,
    "respondent": pynng.Respondent0, "sub": pynng.Sub0, "surveyor": pynng.Surveyor0,
}
printing = threading.Lock()
# Rounds of each context.
ROUNDS = 20


def body(size):
    """Bytes that differ from place to place and from size to size; 251 divides no power of two."""
    pattern = bytes((size + place) % 251 for place in range(251))
    return (pattern * (size // 251 + 1))[:size]


def take(socket):
    """The next message. pynng's own recv fails on an empty one, for which NNG has no address."""
    message = socket.recv_msg()
    return message.bytes if pynng.lib.nng_msg_len(message._nng_msg) else b""


def show(message):
    print('"%s"' % message.decode("utf-8", "backslashreplace"), flush=True)


def send(socket, data, every):
    """Sends data once, or repeatedly."""
    while True:
        socket.send(data)
        if every == 0:
            return
        time.sleep(every)


def receive(socket):
    """Prints every message; goes on when a survey is over, there is none, or the next one ends it."""
    while True:
        try:
            show(take(socket))
        except (pynng.Timeout, pynng.BadState, pynng.Canceled):
            time.sleep(0.001)


def answer(socket, option):
    while True:
        message = take(socket)
        if "echo" in option:
            socket.send(message)
            continue
        show(message)
        if "hold" not in option:
            socket.send(option["data"].encode())


def ask_sizes(socket, sizes):
    for size in map(int, sizes.split(",")):
        socket.send(body(size))
        same = take(socket) == body(size)
        print("same" if same else "changed", size, flush=True)


def ask_by_contexts(socket, contexts):
    """Each context asks its own questions and checks that the answers are its own."""
    def ask(who):
        with socket.new_context() as context:
            for round_ in range(ROUNDS):
                question = b"%d/%d" % (who, round_)
                context.send(question)
                reply = context.recv()
                assert reply == b"re " + question, reply
        # One write: print() writes in several pieces, which mix if threads print at once.
        with printing:
            print(f"done {who}", flush=True)

    for who in range(contexts):
        threading.Thread(target=ask, args=(who,), daemon=True).start()


def answer_by_contexts(socket, contexts):
    """Takes as many requests as there are contexts, then answers the last one first."""
    held = [socket.new_context() for _ in range(contexts)]
    while True:
        for context, request in reversed([(context, context.recv()) for context in held]):
            context.send(b"re " + request)


def answer_each_peer(socket):
    """Echoes each message to its own peer."""
    while True:
        message = socket.recv_msg()
        show(message.bytes)
        message.pipe.send(b"re " + message.bytes)


def check(code):
    if code != 0:
        sys.exit(pynng.ffi.string(pynng.lib.nng_strerror(code)).decode())


def raw(role):
    """pynng has no raw sockets of its own; the library that it wraps does."""
    socket = pynng.ffi.new("nng_socket *")
    version = "" if role[-1].isdigit() else "0"
    check(getattr(pynng.lib, "nng_%s%s_open_raw" % (role, version))(socket))
    return socket[0]


def device(option):
    """Joins two raw sockets and runs until it is killed. The back is opened first: a peer that reaches
    the front reaches the whole device."""
    front, back = raw(option["front"]), raw(option["back"])
    nothing = pynng.ffi.NULL
    check(pynng.lib.nng_dial(back, option["back-connect"].encode(), nothing, 0))
    check(pynng.lib.nng_listen(front, option["bind"].encode(), nothing, 0))
    check(pynng.lib.nng_device(front, back))


def tls(option):
    """The options of TLS for either end."""
    ca, cert, key = (open(option[name]).read() for name in ("cacert", "cert", "key"))
    dials = "connect" in option
    return pynng.TLSConfig(
        pynng.TLSConfig.MODE_CLIENT if dials else pynng.TLSConfig.MODE_SERVER,
        server_name="localhost" if dials else None, ca_string=ca, own_cert_string=cert,
        own_key_string=key, auth_mode=pynng.TLSConfig.AUTH_MODE_REQUIRED)


def main():
    role, option, words = sys.argv[1].removeprefix("--"), {}, iter(sys.argv[2:])
    for word in words:
        name = word.removeprefix("--")
        option[name] = "" if name in FLAGS else next(words)
    if role == "device":
        return device(option)
    more = {"polyamorous": True} if "poly" in option else {}
    socket = KINDS[role](recv_max_size=int(option.get("limit", 1024 * 1024)), **more)
    if "cacert" in option:
        socket.tls_config = tls(option)
    if role == "sub":
        socket.subscribe(option["subscribe"].encode())
    if role == "surveyor":
        socket.survey_time = 10_000
    if "connect" in option:
        socket.dial(option["connect"])
    else:
        socket.listen(option["bind"])
    contexts = int(option.get("contexts", 0))
    if role == "req" and "sizes" in option:
        ask_sizes(socket, option["sizes"])
    elif role == "req" and contexts:
        ask_by_contexts(socket, contexts)
    elif role == "rep" and contexts:
        answer_by_contexts(socket, contexts)
    elif "poly" in option:
        answer_each_peer(socket)
    elif role in ("rep", "respondent") or "echo" in option:
        answer(socket, option)
    elif role in ("pull", "sub"):
        receive(socket)
    else:
        # A listener has no peers yet, and messages without a receiver are discarded.
        time.sleep(0.1)
        talk(socket, role, option)
    threading.Event().wait()


def talk(socket, role, option):
    data = body(int(option["body"])) if "body" in option else option["data"].encode()
    every = int(option.get("interval", 0))
    if role in ("push", "pub"):
        send(socket, data, every)
    elif role == "req":
        socket.send(data)
        receive(socket)
    else:
        threading.Thread(target=send, args=(socket, data, every), daemon=True).start()
        receive(socket)


main()

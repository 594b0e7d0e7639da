"""Starts nginx on a port that is free, and ends it with the lab.

nginx cannot say which port it was given. So the socket is bound here and handed on, as nginx hands
it to its successor when it is replaced: by the variable NGINX, which holds the descriptor.
"""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

listener = socket.create_server(("127.0.0.1", 0), backlog=511)
# nginx takes a socket that it inherits as it is. One that blocks stops a worker, with all of its
# connections, when the other worker has accepted what both were woken for.
listener.setblocking(False)
port = listener.getsockname()[1]
prefix = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(prefix, "nginx.conf"), encoding="utf-8") as template:
    text = template.read().replace("@PORT@", str(port))
with tempfile.NamedTemporaryFile("w", suffix=".conf", dir=os.path.join(prefix, "build")) as conf:
    conf.write(text)
    conf.flush()
    fd = listener.fileno()
    server = subprocess.Popen(
        ["build/root/usr/sbin/nginx", "-p", prefix, "-c", conf.name],
        env={**os.environ, "NGINX": f"{fd};"},
        pass_fds=[fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    listener.close()

    def stop(*_):
        server.terminate()

    signal.signal(signal.SIGTERM, stop)
    threading.Thread(target=lambda: (sys.stdin.read(), stop()), daemon=True).start()
    # The socket listens already: what comes before nginx does waits in its queue.
    print(f"READY {port}", flush=True)
    sys.exit(server.wait())

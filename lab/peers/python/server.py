"""pingpong server, after "Streams" in the asyncio chapter of the Python library reference."""
import asyncio, json, os, signal, sys, threading


async def main():
    connections = int(os.environ["CONNECTIONS"])
    fixed = os.environ.get("PAYLOAD") == "fixed"
    seen = {"opened": 0, "open": 0, "requests": 0}

    async def serve(reader, writer):
        seen["opened"] += 1
        seen["open"] += 1
        try:
            while True:
                token = int.from_bytes(await reader.readexactly(4), "little")
                seen["requests"] += 1
                writer.write(b"Pong" if fixed else (token ^ 0xFFFFFFFF).to_bytes(4, "little"))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
        seen["open"] -= 1
        if seen["opened"] >= connections and seen["open"] == 0:
            print(json.dumps({"requests": seen["requests"]}), flush=True)

    server = await asyncio.start_server(serve, "127.0.0.1", int(os.environ["PORT"]), backlog=1024)
    print("READY", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def end_with_the_lab():
    sys.stdin.read()
    os._exit(0)


signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
threading.Thread(target=end_with_the_lab, daemon=True).start()
asyncio.run(main())

"""pingpong client, after "Streams" in the asyncio chapter of the Python library reference."""
import asyncio, json, os, sys

PORT, CONNECTIONS, MESSAGES, SEED = (
    int(os.environ[name]) for name in ("PORT", "CONNECTIONS", "MESSAGES", "SEED")
)
FIXED = os.environ.get("PAYLOAD") == "fixed"


def payloads(sender):
    x = SEED ^ ((sender + 1) * 2654435761 & 0xFFFFFFFF) or 1
    while True:
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        yield x


async def converse(sender, reader, writer):
    wrong = 0
    for _, token in zip(range(MESSAGES), payloads(sender)):
        ping, pong = token.to_bytes(4, "little"), (token ^ 0xFFFFFFFF).to_bytes(4, "little")
        if FIXED:
            ping, pong = b"Ping", b"Pong"
        writer.write(ping)
        wrong += await reader.readexactly(4) != pong
    writer.close()
    return wrong


async def main():
    opened = [await asyncio.open_connection("127.0.0.1", PORT) for _ in range(CONNECTIONS)]
    print("READY", flush=True)
    sys.stdin.readline()
    wrong = await asyncio.gather(*(converse(s, *pair) for s, pair in enumerate(opened)))
    print(json.dumps({"replies": CONNECTIONS * MESSAGES, "wrong": sum(wrong)}), flush=True)


asyncio.run(main())

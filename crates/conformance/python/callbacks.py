"""A client that is called back: it hands out references to its own actor, and uses those it gets.

    python3 callbacks.py tcp://127.0.0.1:PORT --texts N

The actor `room` of the node keeps the members that join it.
"""

import argparse

from exporting import Actor, Exporting

JOIN, SAY, MEMBERS, LEAVE_ALL = 1, 2, 3, 4
NAME = 2
METHODS = [["heard", [["text", "String"]], "()"], ["name", [], "String"]]


def run(address, texts):
    heard = []

    def handle(method, *arguments):
        if method == "name":
            return "python"
        heard.append(arguments[0])
        return None

    session = Exporting(address, name="python")
    room = session.attach("room")
    member = Actor("Member", METHODS, handle)
    # The same reference twice: it is released twice.
    for _ in range(2):
        session.get(session.ask(room, JOIN, session.refer(member)))
    for number in range(texts):
        session.tell(room, SAY, f"text {number}")
    session.wait(lambda: len(heard) == 2 * texts)
    expected = [f"text {number}" for number in range(texts) for _ in range(2)]
    assert heard == expected, heard[:10]

    members = session.get(session.ask(room, MEMBERS))
    own = [it for it in members if it.incarnation == session.incarnation]
    theirs = [it for it in members if it.incarnation != session.incarnation]
    assert [session.actors[it.number] for it in own] == [member, member]
    # The node keeps what it has lent, also to the client's own actor.
    for reference in own:
        session.release(reference)
    names = []
    for reference in theirs:
        channel = session.attach(reference)
        session.release(reference)
        names.append(session.get(session.ask(channel, NAME)))
        session.detach(channel)
    session.tell(room, LEAVE_ALL)
    session.wait(lambda: not any(session.lent.values()))
    session.close()
    print(f"texts={texts} names={','.join(names)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("--texts", type=int, default=1_000)
    arguments = parser.parse_args()
    run(arguments.address, arguments.texts)

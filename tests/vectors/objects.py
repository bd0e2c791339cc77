"""Objects of a circle, from docs/SYNC.md and the registry in docs/FORMAT.md."""

import circle
from given import Bytes, flipped, patches, seal
from header import Bad, check

# Those of a circle that the library's own tests have, so that they open the objects whole.
CIRCLE, KEY = bytes([7]) * 16, bytes([7]) * 32


def number(value):
    for limit, marker, width in ((251, b"", 1), (1 << 16, b"\xfb", 2), (1 << 32, b"\xfc", 4), (1 << 64, b"\xfd", 8)):
        if value < limit:
            return marker + value.to_bytes(width, "little")
    raise ValueError(value)


def text(value):
    return number(len(value)) + value


def listed(items):
    return number(len(items)) + b"".join(items)


def dot(log, position, tag):
    return log + number(position) + tag


def cases():
    some = Bytes("objects")
    log, file, other_file = some.take(16), some.take(16), some.take(16)
    made = []

    def add(position, previous, seen, texts, states):
        changes = text(b"my desk 2") + number(position) + number(1_700_000_000_000 + position) + listed(seen)
        changes += listed([text(each) for each in texts]) + listed(states) + b"\0"
        body, random = circle.padded(changes), some.take(24)
        nonce = circle.nonce_of(KEY, CIRCLE, log, position, random, body)
        key = circle.object_key(KEY, b"inmost/1 cir-obj", CIRCLE, log, position)
        aad = circle.associated_data(CIRCLE, log, position, previous)
        data = b"\1" + nonce + seal(key, aad, nonce, body)
        tag = data[-16:]
        opened = circle.open_object(KEY, CIRCLE, log, position, previous, tag, data)
        check(opened == body, "an object opens as another one")
        circle.check_changes(opened)
        made.append({"log": log, "number": position, "previous": previous, "random": random, "changes": changes,
                     "class": len(body), "object": data})  # fmt: skip
        return tag

    nothing = listed([])
    first = add(1, bytes(16), [], [b"milk\nbread\n"], [b"\0" + file + nothing + number(0) + text(b"list.md") + nothing])
    seen = [dot(log, 1, first)]
    base = listed(seen) + number(1)
    second = add(2, first, seen, [b"rye bread\n", b"milk\nbread\n"], [
        b"\0" + file + listed(seen) + number(0) + text(b"list.md") + listed([base]),
        b"\1" + file + listed(seen) + text("Grüße/list.md".encode()),
    ])  # fmt: skip
    seen = [dot(log, 2, second)]
    add(3, second, seen, [], [b"\2" + file + listed(seen) + listed(seen)])
    # One change too long for the class of 4 KiB, at a number that takes nine bytes.
    long = b"All work and no play.\n" * 200
    add((1 << 32) + 300, some.take(16), seen, [long], [b"\0" + other_file + nothing + number(0) + text(b"long.md") + nothing])
    add(1, bytes(16), [], [], [])

    refused, of = [], 1
    whole = made[of]["object"]

    def refuse(name, data=whole, **place):
        given = {"circle": CIRCLE, "key": KEY, "log": log, "number": 2, "previous": first, "tag": whole[-16:]} | place
        try:
            circle.open_object(*(given[part] for part in ("key", "circle", "log", "number", "previous", "tag")), data)
        except Bad:
            refused.append({"name": name, "of": of, **patches(whole, data), **given})
            return
        raise Bad(f"{name}: the reader opens it")

    for name, at in (("version", 0), ("nonce", 1), ("end of the nonce", 24), ("body", 25), ("padding", -17), ("tag", -1)):
        refuse(f"a bit flipped in the {name}", flipped(whole, at % len(whole)))
    changed = flipped(whole, len(whole) - 1)
    refuse("a bit flipped in the tag, and in the name", changed, tag=changed[-16:])
    refuse("a byte less", whole[:-1])
    refuse("a byte more", whole + b"\0")
    refuse("a byte less, named after its end", whole[:-1], tag=whole[-17:-1])
    refuse("no bytes", b"")
    refuse("named after another tag", tag=first)
    refuse("another circle", circle=bytes(16))
    refuse("another key", key=bytes(32))
    refuse("another log", log=bytes(16))
    refuse("an earlier number", number=1)
    refuse("a later number", number=3)
    refuse("another predecessor", previous=second)
    refuse("no predecessor", previous=bytes(16))

    files = []
    for path, content in (
        (b"list.md", b"milk\n"), (b"list.mdmilk", b"\n"), ("Grüße/a".encode(), "ß".encode()), (b"empty", b""),
    ):  # fmt: skip
        files.append({"path": path, "text": content, "id": circle.file_id(KEY, CIRCLE, path, content)})
    return {"circle": CIRCLE, "key": KEY, "opens": made, "refused": refused, "files": files}

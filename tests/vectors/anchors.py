"""Vectors for what an anchor says of a store: known, unknown, or refused."""

import struct

from anchor import EXTERNAL, Anchor
from given import GENERATION, Bytes, flipped, patches, seal
from header import Bad, Header

COMMIT, REVISION, ANCHORED = 41, 5, 90
ERRORS = {
    "the store is older than its anchor": "RolledBack",
    "the keys are from before a rotation": "ForeignAnchor",
    "the value kept elsewhere is of other keys": "ForeignAnchor",
}


def cases(store):
    some = Bytes("anchors")
    header = Header(store.header)
    header.raw_data_key(store.raw)
    anchor = Anchor(header)
    root = [COMMIT, GENERATION, REVISION, some.take(24), some.take(16)]
    noise = some.take(512)

    def mark(commit):
        """The mark of a commit of this history."""
        told = Bytes(f"root {commit}")
        return root if commit == COMMIT else [commit, GENERATION, REVISION, told.take(24), told.take(16)]

    def slot(index, sequence, commit=COMMIT, state=1, announced=0, zeros=bytes(5), place=None, of=None, key=None, store_id=None):
        text = struct.pack("<BBB5sQQQQ24s16s", index if place is None else place, state, announced, zeros, sequence, *of or mark(commit))
        aad = b"inmost/1 anchor\0" + (store_id or store.id) + bytes([index])
        nonce = some.take(24)
        return nonce + seal(key or anchor.key, aad, nonce, text)

    def with_slots(*slots):
        """Noise, with slots in their places: for each the index and the bytes."""
        data = bytearray(noise)
        for index, sealed in slots:
            data[128 * index : 128 * index + 120] = sealed
        return bytes(data)

    def pair(first=91, commits=(40, 41), at=0, **fields):
        """Two slots of two writes in a row, in their pair."""
        return [(at + n % 2, slot(at + n % 2, n, commit, **fields)) for n, commit in zip((first, first + 1), commits)]

    usual = with_slots(*pair())
    rows = []

    def add(name, expected, data, external=None, anchored=ANCHORED):
        try:
            found = {"freshness": anchor.freshness(data, root, anchored, external)}
        except Bad as reason:
            found = {"error": ERRORS[str(reason)]}
        assert expected in found.values(), (name, found)
        external = {} if external is None else {"external": external}
        rows.append({"name": name, "anchored": anchored, **patches(usual, data), **external, **found})

    def known(name, data, **more):
        add(name, "known", data, **more)

    def unknown(name, data, **more):
        add(name, "unknown", data, **more)

    def older(name, data, **more):
        add(name, "RolledBack", data, **more)

    def foreign(name, data, **more):
        add(name, "ForeignAnchor", data, **more)

    known("two writes in a row", usual)
    known("the later one at the even index", with_slots(*pair(93)))
    known("in the second pair, after a rotation", with_slots(*pair(at=2)))
    known("announced by a rotation that was interrupted", with_slots(*pair(at=2, announced=1)))
    known("one of them announced", with_slots((2, slot(2, 92, announced=1)), (3, slot(3, 93))))
    known("the same mark twice", with_slots(*pair(commits=(41, 41))))
    known("the first writes of a store", with_slots(*pair(0, commits=(41, 41))), anchored=0)
    known("a store that is ahead of every mark", with_slots(*pair(commits=(12, 13))))
    known("commits that are not neighbours", with_slots(*pair(commits=(3, 41))))
    known("the sequence that the root names", with_slots(*pair(89)))
    known("512 zero bytes behind the slots", usual + bytes(512))
    known("cut behind the second slot", usual[:248])
    known("other bytes behind the slots", usual + b"other")

    unknown("no file, or an empty one", b"")
    unknown("zeros", bytes(512))
    unknown("noise", noise)
    unknown("cut within the second slot", usual[:247])
    first, second = pair()
    unknown("only the later slot", with_slots(second))
    unknown("only the earlier slot", with_slots(first))
    unknown("slots that changed places", with_slots((first[0], second[1]), (second[0], first[1])))
    unknown("the later slot twice", with_slots((0, second[1]), (1, second[1])))
    unknown("both in the other pair", with_slots((2, second[1]), (3, first[1])))
    for what, at in (("the nonce", 3), ("the ciphertext", 30), ("the tag", 119)):
        unknown(f"a bit flipped in {what}", flipped(usual, at))
    unknown("sequences that are not neighbours", with_slots((1, slot(1, 91, 40)), (0, slot(0, 94))))
    unknown("the first and the last sequence there is", with_slots((0, slot(0, 0, 40)), (1, slot(1, 2**64 - 1))))
    unknown("one slot of each pair", with_slots((1, slot(1, 91, 40)), (2, slot(2, 92))))
    unknown("three slots", with_slots(*pair(), (3, slot(3, 93))))
    unknown("both pairs", with_slots(*pair(), *pair(93, commits=(41, 41), at=2)))
    unknown("the earlier slot in state 2", with_slots((1, slot(1, 91, 40, state=2)), (0, slot(0, 92))))
    unknown("the later slot in state 2", with_slots((1, slot(1, 91, 40)), (0, slot(0, 92, state=2))))
    unknown("both slots in state 2", with_slots(*pair(state=2)))
    unknown("the later slot of an earlier commit", with_slots(*pair(commits=(41, 40))))
    unknown("two marks of one commit", with_slots((1, slot(1, 91, 39)), (0, slot(0, 92, of=[39, *mark(38)[1:]]))))
    unknown("a sequence below the one that the root names", with_slots(*pair(87)))
    unknown("the first writes of a store, where the root names later ones", with_slots(*pair(0)), anchored=2)
    unknown("an odd sequence at an even index", with_slots((0, slot(0, 91, 40)), (1, slot(1, 92))))
    unknown("the index of another slot inside", with_slots(first, (0, slot(0, 92, place=1))))
    unknown("an index of the other pair inside", with_slots(first, (0, slot(0, 92, place=2))))
    for state in (0, 4, 255):
        unknown(f"state {state}", with_slots(first, (0, slot(0, 92, state=state))))
    unknown("a 2 at byte 2", with_slots(first, (0, slot(0, 92, announced=2))))
    for at in (0, 4):
        unknown(f"byte {3 + at} is not zero", with_slots(first, (0, slot(0, 92, zeros=bytes(at) + b"\1" + bytes(4 - at)))))
    unknown("a slot of another store", with_slots(first, (0, slot(0, 92, store_id=bytes(16)))))
    unknown("a slot under another key", with_slots(first, (0, slot(0, 92, key=bytes(32)))))
    unknown("a slot of another commit that does not count", with_slots(first, (0, slot(0, 92, 99, key=bytes(32)))))

    older("a newer commit", with_slots(*pair(commits=(41, 42))))
    older("two newer commits", with_slots(*pair(commits=(42, 43))))
    older("a newer commit in the only slot", with_slots((1, slot(1, 93, 42))))
    older("a newer commit in the earlier slot", with_slots(*pair(commits=(42, 41))))
    older("a newer commit in the other pair", with_slots(*pair(), (3, slot(3, 1, 42))))
    older("a newer commit in state 2", with_slots(*pair(commits=(41, 42), state=2)))
    older("a newer commit that a rotation announced", with_slots(*pair(at=2, commits=(42, 42), announced=1)))
    older("a newer commit in slots below the sequence of the root", with_slots(*pair(11, commits=(41, 42))))
    older("the last commit number there is", with_slots(first, (0, slot(0, 92, 2**64 - 1))))
    for field, what in enumerate(("generation", "revision", "nonce", "tag"), 1):
        other = list(root)
        other[field] = root[field] + 1 if field < 3 else flipped(root[field], 7)
        older(f"this commit with another {what}", with_slots(first, (0, slot(0, 92, of=other))))

    foreign("a pair in state 3", with_slots(*pair(state=3)))
    foreign("one slot in state 3", with_slots(first, (0, slot(0, 92, state=3))))
    foreign("slots in state 3 beside a pair of their own key", with_slots(*pair(), *pair(93, at=2, state=3)))

    value = slot(EXTERNAL, 92)
    others = slot(EXTERNAL, 93, 42, key=bytes(32))
    behind, of_state_2 = slot(EXTERNAL, 70, 30), slot(EXTERNAL, 92, state=2)
    known("a value elsewhere that is the root's", usual, external=value)
    known("the same, without slots", noise, external=value)
    known("the same, with slots in state 2", with_slots(*pair(state=2)), external=value)
    known("the same, and the value of the next keys behind it", noise, external=value + others)
    known("the same, and the value of the earlier keys before it", noise, external=others + value)
    known("a value elsewhere that the store has passed", usual, external=behind)
    known("a value elsewhere in state 2", usual, external=of_state_2)
    unknown("a value elsewhere that the store has passed, without slots", noise, external=behind)
    unknown("a value elsewhere in state 2, without slots", noise, external=of_state_2)
    older("a value elsewhere of a newer commit", usual, external=slot(EXTERNAL, 93, 42))
    older("a value elsewhere of another root", usual, external=slot(EXTERNAL, 92, of=[COMMIT, *mark(40)[1:]]))
    older("a slot of a newer commit beside a value elsewhere that is the root's", with_slots(*pair(commits=(41, 42))), external=value)
    foreign("an empty value elsewhere", usual, external=b"")
    foreign("a value elsewhere that is cut", usual, external=value[:119])
    foreign("a value elsewhere of other keys", usual, external=others)
    foreign("a value elsewhere of other keys, twice", usual, external=others + others)
    foreign("a value elsewhere of another store", usual, external=slot(EXTERNAL, 92, store_id=bytes(16)))
    foreign("a slot as the value elsewhere", usual, external=second[1])
    foreign("a value elsewhere that names a slot inside", usual, external=slot(EXTERNAL, 92, place=0))
    foreign("slots in state 3 beside a value elsewhere that is the root's", with_slots(*pair(state=3)), external=value)

    names = ("commit", "generation", "revision", "nonce", "tag")
    facts = {"header": store.header, "credential": store.credential(4), "root": dict(zip(names, root))}
    return {**facts, "anchor": usual, "cases": rows}

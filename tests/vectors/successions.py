"""Vectors for two copies of a header and the root below them: which copy is used, and whether it is the root's."""

import struct

from anchor import Anchor
from given import GENERATION, Bytes, flipped, patches, seal
from header import Bad, Header, check

COMMIT = 41


def unlock(copies, key):
    """Returns which of the copies a raw key opens, and its header. Where it opens none, the reason is that of the last one."""
    parsed = []
    for name, data in copies.items():
        try:
            parsed.append((name, Header(data)))
        except Bad:
            pass
    check(parsed, "HeaderDamaged")
    reason = "WrongCredential"
    for name, header in sorted(parsed, key=lambda copy: -copy[1].revision):
        try:
            header.raw_data_key(key)
            return name, header
        except Bad as failure:
            if "fits no keyslot" not in str(failure):
                reason = "Tampered"
    raise Bad(reason)


def judge(header, root, highest):
    """Returns `settled` for the root's header and `next` for the one after it. Refuses any other."""
    if (header.revision, header.mac) == root:
        return "settled"
    if header.follows(*root):
        return "next"
    is_newer = header.revision >= root[0] + 2 and header.revision >= highest
    raise Bad("RecordsBehindHeader" if is_newer else "HeaderRolledBack")


def cases(store):
    some = Bytes("successions")
    key = store.raw
    usual = store.header
    opened = Header(usual)
    opened.raw_data_key(key)
    anchor = Anchor(opened)
    roots_nonce, roots_tag = some.take(24), some.take(16)

    def header(revision, before, slots=None, noise=b""):
        changes = {32: struct.pack("<Q", revision), 2176: before[4032:4048]}
        if noise:
            changes[128 + 256 + 1] = noise
        return store.make(changes, slots)

    def anchored(revision):
        """An anchor with the mark of an earlier commit, whose root named a header of this revision."""
        text = struct.pack("<BBB5sQQQQ24s16s", 1, 1, 0, bytes(5), 91, COMMIT - 1, GENERATION, revision, bytes(24), bytes(16))
        nonce = some.take(24)
        slot = nonce + seal(anchor.key, b"inmost/1 anchor\0" + store.id + b"\1", nonce, text)
        return (bytes(128) + slot).ljust(512, b"\0")

    h4 = header(4, flipped(usual, 4033))
    h5 = usual
    h6, h6_other = header(6, h5), header(6, h5, noise=b"another")
    h6_stranger = header(6, h4)
    h7, h8 = header(7, h6), header(8, h6)
    without_key = header(6, h5, slots=[slot for slot in store.slots if slot[0] != 6])
    next_without_key = header(6, h5, slots=[slot for slot in store.slots if slot[0] in (0, 2)])
    assert without_key != next_without_key
    forged = store.mended(flipped(h6, 700))
    damaged, flagged = flipped(h6, 300), store.make({12: b"\1", 32: struct.pack("<Q", 6)})
    rows = []

    def add(name, a, b, root, expected, used=None, newest=None, credential=None):
        copies = {name: data for name, data in (("a", a), ("b", b)) if data is not None}
        root = root if isinstance(root, tuple) else (Header(root).revision, Header(root).mac)
        row = {"name": name, **{copy: patches(usual, data) for copy, data in copies.items()}}
        row |= {"root": {"revision": root[0], "mac": root[1]}}
        row |= {} if newest is None else {"anchor": anchored(newest)}
        row |= {} if credential is None else {"credential": credential}
        try:
            found_in, found = unlock(copies, (credential or store.credential(4))["key"])
            assert found_in == used, (name, found_in)
            row["used"] = found_in
            row["outcome"] = judge(found, root, newest or 0)
        except Bad as reason:
            row["error"] = str(reason)
        assert expected in (row.get("outcome"), row.get("error")), row
        rows.append(row)

    add("two copies of the root's header", h5, h5, h5, "settled", "a")
    add("only copy A", h5, None, h5, "settled", "a")
    add("only copy B", None, h5, h5, "settled", "b")
    add("copy A is damaged", damaged, h5, h5, "settled", "b")
    add("copy B is damaged", h5, damaged, h5, "settled", "a")
    add("copy A is empty", b"", h5, h5, "settled", "b")
    add("copy A has another magic", flipped(h6, 1), h5, h5, "settled", "b")
    add("copy A has another version", flipped(h6, 8), h5, h5, "settled", "b")
    add("copy A has an unknown flag", flagged, h5, h5, "settled", "b")
    add("copy A has the next header", h6, h5, h5, "next", "a")
    add("copy B has the next header", h5, h6, h5, "next", "b")
    add("both copies have the next header", h6, h6, h5, "next", "a")
    add("both copies have the header that the root names", h6, h6, h6, "settled", "a")
    add("copy B is older than the root's header", h6, h5, h6, "settled", "a")
    add("copy A is older than the root's header", h5, h6, h6, "settled", "b")
    add("copy A was changed on purpose", forged, h5, h5, "settled", "b")
    add("the credential opens only copy B, from before an interrupted change", without_key, h5, h5, "settled", "b")
    add("the next header of another history of the same root", h6_other, h6_other, h5, "next", "a")
    add("a newest revision in the anchor that is the header's", h6, h6, h5, "next", "a", newest=6)
    add("a newest revision in the anchor above the root's header", h5, h5, h5, "settled", "a", newest=9)

    add("a header older than the root's", h5, h5, h6, "HeaderRolledBack", "a")
    add("a header much older than the root's", h4, h4, h8, "HeaderRolledBack", "a")
    add("the older copy, because the newer one is damaged", damaged, h5, h6, "HeaderRolledBack", "b")
    add("the older copy, because the newer one was changed", forged, h5, h6, "HeaderRolledBack", "b")
    add("the older copy, because the credential was removed from the newer one", without_key, h5, h6, "HeaderRolledBack", "b")
    add("another header of the root's revision", h6_other, h6_other, h6, "HeaderRolledBack", "a")
    add("copy A is another header of the root's revision", h6_other, h6, h6, "HeaderRolledBack", "a")
    add("the next revision, of another header before it", h6_stranger, h6_stranger, h5, "HeaderRolledBack", "a")
    add("the next revision, where the root has another MAC", h6, h6, (5, flipped(h5[4032:4048], 0)), "HeaderRolledBack", "a")
    add("the root's revision, where the root has another MAC", h5, h5, (5, flipped(h5[4032:4048], 15)), "HeaderRolledBack", "a")
    add("the root has the header's MAC and another revision", h5, h5, (6, h5[4032:4048]), "HeaderRolledBack", "a")
    add("the root names the MAC before, and another revision", h6, h6, (6, h5[4032:4048]), "HeaderRolledBack", "a")
    add("the greatest revision in the root", h5, h5, (2**64 - 1, h5[4032:4048]), "HeaderRolledBack", "a")
    add("two revisions above the root, below the highest in the anchor", h7, h7, h5, "HeaderRolledBack", "a", newest=8)
    add("two revisions above the root", h7, h7, h5, "RecordsBehindHeader", "a")
    add("two revisions above the root, the highest in the anchor", h7, h7, h5, "RecordsBehindHeader", "a", newest=7)
    add("three revisions above the root, the last two missing in copy B", h8, h6, h5, "RecordsBehindHeader", "a", newest=6)

    wrong = {"kind": "raw key", "key": bytes(32)}
    add("a wrong key", h6, h5, h5, "WrongCredential", credential=wrong)
    add("a key that was removed from both copies", without_key, next_without_key, h5, "WrongCredential")
    add("both copies changed on purpose", forged, store.mended(flipped(h5, 700)), h5, "Tampered")
    add("a copy changed on purpose, and one that lacks the credential", forged, without_key, h5, "Tampered")
    add("both copies damaged", damaged, flipped(h5, 20), h5, "HeaderDamaged")
    add("one copy, and it is damaged", None, damaged, h5, "HeaderDamaged")

    facts = {"header": usual, "credential": store.credential(4)}
    root = {"commit": COMMIT, "generation": GENERATION, "nonce": roots_nonce, "tag": roots_tag}
    return {**facts, "root": root, "cases": rows}

"""Vectors for a journal and an engine: the records that they hold together, or why they are refused."""

import struct
import zlib

from given import Bytes, flipped, patches
from header import Bad, Header
from journal import Journal, mac_of_slots

BLOCK, HALF_BLOCKS = 4096, 4
ERRORS = {
    "a slot of the journal was written without the keys of the store": "SlotForged",
    "both slots of the journal are damaged": "SlotsDamaged",
    "the slots are of different journals": "TwoJournals",
    "the journal has the wrong length": "WrongLength",
    "the engine belongs to another journal": "OtherJournal",
    "journal and engine are of different days": "Apart",
    "the engine is older than the journal": "Apart",
    "the engine lacks a batch that bypassed the journal": "Apart",
    "an entry of the journal is damaged": "EntryLost",
}
# The position of the slot in most cases: the epoch, the number of the last entry in the engine, and the bypassing batches.
EPOCH, NUMBER, BYPASSED = 6, 20, 3


def with_crc(data):
    return data + struct.pack("<I", zlib.crc32(data))


def cases(store):
    some = Bytes("journals")
    header = Header(store.header)
    mac_of = mac_of_slots(header, header.raw_data_key(store.raw))
    journal_id, other_id = some.take(16), some.take(16)
    x, y, z = (bytes([n]) * 32 for n in (1, 2, 3))
    in_engine = {x: b"x in the engine", y: b"y in the engine"}

    def slot(place, revision, epoch=EPOCH, number=NUMBER, bypassed=BYPASSED, of=None, blocks=HALF_BLOCKS, version=1, zeros=0, mac=None):
        data = struct.pack("<8sHHI16sQQQ", b"\x89INMJNL\n", version, zeros, blocks, of or journal_id, epoch, number, bypassed)
        data += struct.pack("<Q24sQ", 0, bytes(24), revision)
        return with_crc((data + (mac or mac_of(place, data))).ljust(BLOCK - 4, b"\0"))

    def body_of(changes):
        body = b""
        for address, value in changes:
            body += address + struct.pack("<H", 65535 if value is None else len(value)) + (value or b"")
        return body

    def entry(number, changes, epoch=EPOCH + 1, bypassed=BYPASSED, of=None, body=None, count=None, length=None, magic=b"IJE1"):
        body = body_of(changes) if body is None else body
        count, length = len(changes) if count is None else count, len(body) if length is None else length
        data = struct.pack("<4sI16sQQQII32s36x", magic, length, of or journal_id, epoch, number, bypassed, count, zlib.crc32(body), bytes(32))
        whole = with_crc(data) + body
        return whole.ljust(-(-len(whole) // BLOCK) * BLOCK, b"\0")

    def journal(*entries, slots=None):
        """A journal with entries: for each the half, the block in it, and the bytes."""
        data = bytearray(2 * BLOCK * (1 + HALF_BLOCKS))
        for place, block in enumerate(slots or (slot(0, 8), slot(1, 7, EPOCH - 1, NUMBER - 4))):
            data[BLOCK * place : BLOCK * (place + 1)] = block or bytes(BLOCK)
        for half, block, part in entries:
            at = BLOCK * (2 + half * HALF_BLOCKS + block)
            data[at : at + len(part)] = part
        return bytes(data)

    def mark(epoch=EPOCH, number=NUMBER, bypassed=BYPASSED, of=None):
        return (of or journal_id) + struct.pack("<QQQ", epoch, number, bypassed)

    one, two = entry(NUMBER + 1, [(x, b"x 21")]), entry(NUMBER + 2, [(x, b"x 22"), (z, b"z 22")])
    three = entry(NUMBER + 3, [(y, None)], EPOCH + 2)
    now, later = (EPOCH + 1) % 2, (EPOCH + 2) % 2
    usual = journal((now, 0, one), (now, 1, two))
    rows = []

    def add(name, data, expected, mark_value=mark(), error=None):
        engine = in_engine | ({} if mark_value is None else {bytes(32): mark_value})
        try:
            records = Journal(data, mac_of).apply(engine)
            expected = {key: value for key, value in (in_engine | (expected or {})).items() if value is not None}
            assert error is None and records == expected, (name, records)
            found = {"records": sorted(records.items())}
        except Bad as reason:
            found = {"error": ERRORS[str(reason)]}
            assert found["error"] == error, (name, reason)
        rows.append({"name": name, **patches(usual, data), "mark": mark_value, **found})

    def refused(error, name, data, mark_value=mark()):
        add(name, data, None, mark_value, error)

    after_one, after_two = {x: b"x 21"}, {x: b"x 22", z: b"z 22"}
    add("two entries", usual, after_two)
    add("no entry", journal(), {})
    add("one entry", journal((now, 0, one)), after_one)
    add("two epochs", journal((now, 0, one), (now, 1, two), (later, 0, three)), after_two | {y: None})
    add("a record that is written and removed", journal((now, 0, one), (now, 1, entry(NUMBER + 2, [(x, None)]))), {x: None})
    add("a record that is removed and written", journal((now, 0, entry(NUMBER + 1, [(x, None)])), (now, 1, two)), after_two)
    long = [(y, b"y" * 4137)]
    add("an entry of two blocks, and one behind it", journal((now, 0, entry(NUMBER + 1, long)), (now, 2, two)), dict(long) | after_two)
    add("a half that is full", journal(*((now, n, entry(NUMBER + 1 + n, [(x, b"x %d" % n)])) for n in range(4))), {x: b"x 3"})
    add("entries of an earlier epoch behind the last", journal((now, 0, one), (now, 1, entry(17, [(x, b"old")], EPOCH - 1))), after_one)
    add("entries of an earlier epoch in the other half", journal((now, 0, one), (later, 0, entry(19, [(x, b"old")], EPOCH))), after_one)
    add("an entry of another journal", journal((now, 0, entry(NUMBER + 1, [(x, b"another")], of=other_id))), {})
    add("an entry of another magic", journal((now, 0, entry(NUMBER + 1, [(x, b"another")], magic=b"IJE2"))), {})

    add("the last entry torn in its body", journal((now, 0, one), (now, 1, flipped(two, 140))), after_one)
    add("the last entry torn in its first bytes", journal((now, 0, one), (now, 1, flipped(two, 60))), after_one)
    add("only the second block of the last entry", journal((now, 1, entry(NUMBER + 1, long)[BLOCK:])), {})
    add("only the first block of the last entry", journal((now, 0, entry(NUMBER + 1, long)[:BLOCK])), {})
    add("a torn entry that names another count of bypassing batches",
        journal((now, 0, flipped(entry(NUMBER + 1, [(x, b"x")], bypassed=BYPASSED - 1), 140))), {})  # fmt: skip
    add("the last entry of the second epoch torn", journal((now, 0, one), (later, 0, flipped(entry(NUMBER + 2, [(x, b"x")], EPOCH + 2), 140))),
        after_one)  # fmt: skip
    malformed = (
        ("addresses in another order", {"changes": [(y, b"y"), (x, b"x")]}), ("an address twice", {"changes": [(x, b"x"), (x, b"x")]}),
        ("the address of the mark", {"changes": [(bytes(32), b"x")]}), ("no change", {"changes": []}),
        ("a value of 4,138 bytes", {"changes": [(x, bytes(4138))]}), ("one change less than it says", {"changes": [(x, b"x")], "count": 2}),
        ("one change more than it says", {"changes": [(x, b"x"), (y, b"y")], "count": 1}),
        ("a byte behind its changes", {"changes": [(x, b"x")], "body": body_of([(x, b"x")]) + b"\0"}),
        ("a change that ends early", {"changes": [(x, b"x")], "body": body_of([(x, b"xx")])[:-1]}),
        ("a body beyond the half", {"changes": [(x, b"x")], "length": 16 * BLOCK}),
        ("a body longer than the bound", {"changes": [(x, b"x")], "length": 533889}),
    )  # fmt: skip
    for name, fields in malformed:
        add(f"the last entry has {name}", journal((now, 0, one), (now, 1, entry(NUMBER + 2, **fields))), after_one)

    add("only the first slot", journal((now, 0, one), slots=(slot(0, 8), None)), after_one)
    add("only the second slot", journal((now, 0, one), slots=(None, slot(1, 8))), after_one)
    add("the newer slot in the second place", journal((now, 0, one), slots=(slot(0, 7, 5, 16), slot(1, 8))), after_one)
    add("slots of one revision", journal((now, 0, one), slots=(slot(0, 8), slot(1, 8, 5, 16))), after_one)
    add("a torn newer slot, its MAC torn as well", journal((now, 0, one), slots=(slot(0, 8), flipped(slot(1, 9), 100))), after_one)
    add("a newer slot of another version", journal((now, 0, one), slots=(slot(0, 8), slot(1, 9, version=2))), after_one)
    add("a newer slot with a half of 3 blocks", journal((now, 0, one), slots=(slot(0, 8), slot(1, 9, blocks=3))), after_one)
    add("bytes that are not checked", journal((now, 0, one), slots=(slot(0, 8, zeros=7), slot(1, 7))), after_one)

    add("the engine has the next epoch, whose entries are there", usual, after_two, mark(EPOCH + 1, NUMBER + 2))
    add("the same, and an epoch after it", journal((now, 0, one), (now, 1, two), (later, 0, three)), after_two | {y: None},
        mark(EPOCH + 1, NUMBER + 2))  # fmt: skip
    add("the engine has the next epoch, whose half is empty", journal((later, 0, three)), {y: None}, mark(EPOCH + 1, NUMBER + 2))
    add("the same, whose half has another epoch", journal((later, 0, three), (now, 0, entry(NUMBER + 4, [(x, b"x 24")], EPOCH + 3))),
        {y: None, x: b"x 24"}, mark(EPOCH + 1, NUMBER + 2))  # fmt: skip
    add("the engine has more of the next epoch than is there", journal((now, 0, one)), {}, mark(EPOCH + 1, NUMBER + 2))
    newer = {"bypassed": BYPASSED + 1}
    add("the engine has a bypassing batch more than the slot", journal((now, 0, entry(NUMBER + 1, [(x, b"x")], **newer))), {x: b"x"},
        mark(**newer))  # fmt: skip

    refused("SlotsDamaged", "no slot", journal((now, 0, one), slots=(None, None)))
    refused("SlotsDamaged", "both slots torn", journal((now, 0, one), slots=(flipped(slot(0, 8), 40), flipped(slot(1, 7), 4095))))
    refused("SlotsDamaged", "both slots of another version", journal(slots=(slot(0, 8, version=2), slot(1, 7, version=0))))
    refused("SlotsDamaged", "both slots of another magic", journal(slots=(with_crc(b"\x89" + bytes(4091)),) * 2))
    refused("SlotsDamaged", "halves of 4,097 blocks", journal(slots=(slot(0, 8, blocks=4097), None)))
    refused("SlotsDamaged", "an empty file", b"")
    refused("SlotsDamaged", "a file cut within the first slot", usual[: BLOCK - 1])
    refused("SlotForged", "a newer slot without a MAC", journal(slots=(slot(0, 8), slot(1, 9, mac=bytes(32)))))
    refused("SlotForged", "an older slot without a MAC", journal(slots=(slot(0, 8), slot(1, 7, mac=bytes(32)))))
    refused("SlotForged", "a slot in the place of the other", journal(slots=(slot(1, 7), slot(1, 8))))
    for what, at in (("epoch", 32), ("number", 40), ("frontier", 56), ("proof of the frontier", 70), ("revision", 88), ("MAC", 127)):
        changed = with_crc(flipped(slot(0, 8), at)[:-4])
        refused("SlotForged", f"the {what} of a slot changed, CRC mended", journal((now, 0, one), slots=(changed, slot(1, 7))))
    refused("TwoJournals", "slots of two journals", journal(slots=(slot(0, 8), slot(1, 9, of=other_id))))
    refused("TwoJournals", "slots with halves of two lengths", journal(slots=(slot(0, 8), slot(1, 9, blocks=5))))
    refused("WrongLength", "a byte short", usual[:-1])
    refused("WrongLength", "a byte long", usual + b"\0")
    refused("WrongLength", "no halves", usual[: 2 * BLOCK])
    refused("WrongLength", "halves shorter than the slots say", journal(slots=(slot(0, 8, blocks=5), slot(1, 7, blocks=5))))

    refused("OtherJournal", "no mark", usual, None)
    refused("OtherJournal", "a mark of 39 bytes", usual, mark()[:-1])
    refused("OtherJournal", "a mark of another journal", usual, mark(of=other_id))
    refused("Apart", "a mark of an earlier epoch", usual, mark(EPOCH - 1, NUMBER))
    refused("Apart", "a mark of an earlier entry", usual, mark(number=NUMBER - 1))
    refused("Apart", "a mark of a later entry of the same epoch", usual, mark(number=NUMBER + 1))
    refused("Apart", "a mark two epochs ahead", usual, mark(EPOCH + 2, NUMBER + 2))
    refused("Apart", "a mark of fewer bypassing batches", usual, mark(bypassed=BYPASSED - 1))
    refused("Apart", "a mark of more bypassing batches than the entries", usual, mark(**newer))
    refused("Apart", "an entry of more bypassing batches", journal((now, 0, entry(NUMBER + 1, [(x, b"x")], **newer))))
    refused("Apart", "an entry three epochs ahead", journal((now, 0, one), (now, 1, entry(NUMBER + 9, [(x, b"x")], EPOCH + 3))))
    refused("Apart", "an entry four epochs ahead", journal((now, 0, one), (later, 2, entry(NUMBER + 9, [(x, b"x")], EPOCH + 4))))

    refused("EntryLost", "a damaged entry before a whole one", journal((now, 0, flipped(one, 140)), (now, 1, two)))
    refused("EntryLost", "an entry without its first block before a whole one", journal((now, 1, two)))
    refused("EntryLost", "a number that is skipped", journal((now, 0, one), (now, 1, entry(NUMBER + 3, [(x, b"x")]))))
    refused("EntryLost", "a number twice", journal((now, 0, one), (now, 1, one)))
    refused("EntryLost", "a block between two entries", journal((now, 0, one), (now, 2, two)))
    refused("EntryLost", "the first entry is not the next one", journal((now, 0, two)))
    refused("EntryLost", "the end of an epoch that another follows", journal((now, 0, one), (later, 0, three)))
    refused("EntryLost", "the same behind the mark", journal((later, 1, three)), mark(EPOCH + 1, NUMBER + 2))

    facts = {"header": store.header, "credential": store.credential(4), "engine": sorted(in_engine.items())}
    return {**facts, "journal": patches(bytes(len(usual)), usual), "cases": rows}

#!/usr/bin/env python3
"""Damages sample stores in every way that must be detected according to FORMAT.md, and expects the reader to refuse them.

The argument is a folder with a sample store, the same store after a purge, and a store in use, with entries in both halves of its
journal.
"""

import hashlib
import random
import struct
import sys
import unicodedata
import zlib
from pathlib import Path

import forgeries
from header import Bad, Header, prf
from journal import Journal, mac_of_slots, read_records
from records import Store

FOLDER = Path(sys.argv[1])
HEADER = (FOLDER / "store" / "header.a").read_bytes()
ANCHOR = (FOLDER / "store" / "anchor").read_bytes()
PASSPHRASE = unicodedata.normalize("NFC", (FOLDER / "passphrase").read_text()).encode()


def engine_of(folder):
    """Returns the content of the engine, with the mark, and the journal."""
    journal = next(folder.glob("store/gen-*/journal")).read_bytes()
    return read_records((folder / "records.bin").read_bytes()), journal


def records_of(folder):
    engine, journal = engine_of(folder)
    return Journal(journal, mac_in(folder)).apply(engine)


def mac_in(folder):
    header = Header((folder / "store" / "header.a").read_bytes())
    return mac_of_slots(header, header.data_key(PASSPHRASE))


RECORDS = records_of(FOLDER)


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def read(header=HEADER, records=RECORDS, passphrase=PASSPHRASE, anchor=ANCHOR):
    store = Store(Header(header), passphrase, records)
    store.read()
    store.check_anchor(anchor)


def with_checksum(data):
    checksum = hashlib.blake2b(data[:4064], digest_size=32, person=b"inmost/1 check\0\0").digest()
    return data[:4064] + checksum


def signed(fields):
    """Builds a header that a holder of the master key could write, with some bytes replaced."""
    data = bytearray(HEADER)
    for at, part in fields.items():
        data[at : at + len(part)] = part
    header = Header(HEADER)
    header.data_key(PASSPHRASE)
    data[4032:4064] = prf(header.master_key(b"inmost/1 hdr-key"), b"inmost/1 hdr-mac", header.store, data[:4032])
    return with_checksum(bytes(data))


def one_ahead(before):
    revision = int.from_bytes(HEADER[32:40], "little") + 1
    return signed({32: revision.to_bytes(8, "little"), 2176: before})


def cases():
    chance = random.Random(1)
    yield "another passphrase", {"passphrase": PASSPHRASE + b"x"}
    for at in (0, 8, 10, 11, 12, 20, 32, 40, 50, 125, 128, 130, 132, 150, 170, 200, 300, 500, 3000, 4040, 4070):
        yield f"byte {at} of the header", {"header": flipped(HEADER, at)}
        if at < 4064:
            yield f"byte {at} of the header, checksum mended", {"header": with_checksum(flipped(HEADER, at))}
    free = next(at for at in range(128, 2176, 256) if HEADER[at] == 0)
    yield "another header of the same revision", {"header": signed({free + 1: b"other noise"})}
    yield "a header one ahead that follows another", {"header": one_ahead(b"another's MAC...")}
    # The sample was never rotated, so it uses the first pair.
    slots = [ANCHOR[:128], ANCHOR[128:256]]
    for at in (0, 20, 24, 60, 104, 119, 128, 150, 247):
        yield f"byte {at} of the pair of slots", {"anchor": flipped(ANCHOR, at)}
    for what, changed in (
        ("blank slots", [bytes(128), bytes(128)]),
        ("a blank first slot", [bytes(128), slots[1]]),
        ("a blank second slot", [slots[0], bytes(128)]),
        ("the first slot twice", [slots[0]] * 2),
        ("the second slot twice", [slots[1]] * 2),
        ("slots that changed places", slots[::-1]),
    ):
        yield what, {"anchor": b"".join(changed) + ANCHOR[256:]}
    yield "slots in the place of the other pair", {"anchor": ANCHOR[256:512] + ANCHOR[:256] + ANCHOR[512:]}
    yield "a long anchor", {"anchor": ANCHOR + b"\0"}
    yield "an anchor with other bytes behind its slots", {"anchor": flipped(ANCHOR, 600)}
    yield "a short header", {"header": HEADER[:4095]}
    addresses = sorted(RECORDS)
    for address in chance.sample(addresses, 12):
        value = RECORDS[address]
        for at in (0, 1, 30, len(value) - 1):
            yield f"byte {at} of a record", {"records": RECORDS | {address: flipped(value, at)}}
        yield "a record missing", {"records": {key: RECORDS[key] for key in addresses if key != address}}
        yield "a record cut", {"records": RECORDS | {address: value[:-1]}}
        other = chance.choice([key for key in addresses if key != address])
        yield "two records swapped", {"records": RECORDS | {address: RECORDS[other], other: value}}
        yield "a record copied", {"records": RECORDS | {bytes(32): value}}
    yield "records of another generation", {"records": records_of(FOLDER / "purged")}
    header = (FOLDER / "purged" / "store" / "header.a").read_bytes()
    yield "the header of another generation", {"header": header}


# --- Journals -------------------------------------------------------------------------------------------------------------

IN_USE = FOLDER / "in-use"
ENGINE, JOURNAL = engine_of(IN_USE)
MAC = mac_in(IN_USE)
BLOCK, MARK = 4096, bytes(32)
HALF = (len(JOURNAL) - 2 * BLOCK) // 2
STALE = "the store is older than its anchor"


def numbers(at, data=JOURNAL):
    """Returns epoch, number and bypassing batches of an entry, or of the slot that begins 8 bytes later."""
    return struct.unpack("<QQQ", data[at + 24 : at + 48])


def entries(epoch):
    """Returns where the entries of an epoch begin, in the file."""
    start = 2 * BLOCK + epoch % 2 * HALF
    found = [at for at in range(start, start + HALF, BLOCK) if JOURNAL[at : at + 4] == b"IJE1" and numbers(at)[0] == epoch]
    assert len(found) >= 3, "the sample has too few entries"
    return found


def patched(fields, data=JOURNAL):
    data = bytearray(data)
    for at, part in fields.items():
        data[at : at + len(part)] = part
    return bytes(data)


def with_crc(data, at):
    """Mends the checksums of the slot or entry that begins here, as anybody can."""
    if at < 2 * BLOCK:
        return patched({at + 4092: zlib.crc32(data[at : at + 4092]).to_bytes(4, "little")}, data)
    body = data[at + 128 : at + 128 + int.from_bytes(data[at + 4 : at + 8], "little")]
    data = patched({at + 52: zlib.crc32(body).to_bytes(4, "little")}, data)
    return patched({at + 124: zlib.crc32(data[at : at + 124]).to_bytes(4, "little")}, data)


def mark_of(*position, journal=JOURNAL[16:32]):
    return journal + struct.pack("<QQQ", *position)


def revision_of(slot):
    return int.from_bytes(JOURNAL[slot + 88 : slot + 96], "little")


def slot_of(place, *position, later=0, length=JOURNAL[12:16], journal=JOURNAL[16:32]):
    """Returns a slot for this place, without a frontier, which is later than the newest one by so many revisions."""
    block = JOURNAL[:12] + length + journal + struct.pack("<QQQ", *position)
    revision = max(revision_of(0), revision_of(BLOCK)) + later
    fields = block.ljust(88, b"\0") + struct.pack("<Q", revision)
    return with_crc((fields + MAC(place // BLOCK, fields)).ljust(BLOCK, b"\0"), 0)


def read_journal(engine=ENGINE, journal=JOURNAL):
    """Reads the store in use. Returns its files."""
    header = Header((IN_USE / "store" / "header.a").read_bytes())
    store = Store(header, PASSPHRASE, Journal(journal, MAC).apply(engine))
    store.read()
    store.check_anchor((IN_USE / "store" / "anchor").read_bytes())
    return store.files


def checkpointed(epoch, number, bypassed):
    """Returns the engine after a checkpoint of this epoch, before the slot."""
    changes, last = Journal(JOURNAL, MAC).read_epoch(epoch, number, bypassed)
    engine = {address: value for address, value in (ENGINE | changes).items() if value is not None}
    return engine | {MARK: mark_of(epoch, last, bypassed)}, last


def journals():
    """Returns the cases that must be read, those that must be refused, and those that must be refused by the anchor alone."""
    epoch, number, bypassed = struct.unpack("<QQQ", ENGINE[MARK][16:])
    newest = BLOCK if revision_of(BLOCK) > revision_of(0) else 0
    assert numbers(newest + 8)[:2] == (epoch, number)
    frozen, active = entries(epoch + 1), entries(epoch + 2)
    assert numbers(frozen[0])[1] == number + 1 and numbers(active[0])[1] == numbers(frozen[-1])[1] + 1
    ahead, last = checkpointed(epoch + 1, number, bypassed)
    cut = struct.unpack("<I", JOURNAL[active[-1] + 4 : active[-1] + 8])[0]
    other = patched({newest: slot_of(newest, epoch + 1, last, bypassed)}, JOURNAL)
    moved = BLOCK - newest
    after = patched({moved: slot_of(moved, epoch + 1, last, bypassed, later=1)})
    wiped = patched({frozen[0]: bytes(HALF)}, after)

    read = [
        ("as it was taken", {}),
        ("the older slot damaged", {"journal": flipped(JOURNAL, (BLOCK - newest) + 20)}),
        ("a checkpoint without its slot", {"engine": ahead}),
        ("a checkpoint without its slot, and the half used again", {"engine": ahead, "journal": flipped(JOURNAL, frozen[1] + 9)}),
        ("a checkpoint with its slot", {"engine": ahead, "journal": after}),
        ("the newer slot damaged", {"engine": ahead, "journal": flipped(after, moved + 40)}),
        ("the newer slot damaged, its half wiped", {"engine": ahead, "journal": flipped(wiped, moved + 40)}),
        ("a byte that no entry uses", {"journal": flipped(JOURNAL, 2 * BLOCK + HALF - 1)}),
        ("an entry after the last that was torn", {"journal": patched({active[-1] + BLOCK * -(-(128 + cut) // BLOCK): b"IJE1torn"})}),
    ]
    refused = [
        ("the other slot copied over the newest", {"journal": patched({newest: JOURNAL[moved : moved + BLOCK]})}),
        ("both slots damaged", {"journal": flipped(flipped(JOURNAL, 20), BLOCK + 20)}),
        ("the mark missing", {"engine": {key: ENGINE[key] for key in ENGINE if key != MARK}}),
        ("a short mark", {"engine": ENGINE | {MARK: ENGINE[MARK][:-1]}}),
        ("the mark of another journal", {"engine": ENGINE | {MARK: mark_of(epoch, number, bypassed, journal=b"another journal!")}}),
        ("the mark of another day", {"engine": ENGINE | {MARK: mark_of(epoch, number + 1, bypassed)}}),
        ("an older engine", {"engine": ENGINE | {MARK: mark_of(epoch - 1, number, bypassed)}}),
        ("an older journal", {"engine": ENGINE | {MARK: mark_of(epoch + 2, number + 9, bypassed)}}),
        ("a batch beside the journal lost", {"engine": ENGINE | {MARK: mark_of(epoch, number, bypassed + 1)}}),
        ("a slot of another journal", {"journal": patched({newest: slot_of(newest, epoch, number, bypassed, journal=b"another journal!")})}),
        ("a slot of another length", {"journal": patched({newest: slot_of(newest, epoch, number, bypassed, length=b"\x08\0\0\0")})}),
        ("a slot with another number", {"journal": patched({newest: slot_of(newest, epoch, number + 1, bypassed)})}),
        ("the slot of another epoch", {"journal": other}),
        ("a journal that is shorter", {"journal": JOURNAL[:-BLOCK]}),
        ("a journal that is longer", {"journal": JOURNAL + bytes(BLOCK)}),
        ("the journal of another store", {"journal": engine_of(FOLDER)[1]}),
        ("an entry of a later epoch", {"journal": with_crc(patched({active[1] + 24: (epoch + 3).to_bytes(8, "little")}), active[1])}),
        ("an entry that changes the mark", {"journal": with_crc(patched({frozen[1] + 128: MARK}), frozen[1])}),
        ("an entry with a change too many", {"journal": with_crc(patched({frozen[1] + 48: b"\xff\0\0\0"}), frozen[1])}),
    ]
    for at in (newest, moved):
        for field in (32, 40, 48, 56, 64, 88, 96, 127):
            forged = with_crc(flipped(JOURNAL, at + field), at)
            refused.append((f"byte {field} of the slot at {at}, checksum mended", {"journal": forged}))
    for at in frozen + active[:-1]:
        for field in (0, 4, 8, 24, 32, 40, 48, 52, 60, 124, 128, 162):
            refused.append((f"byte {field} of the entry at {at}", {"journal": flipped(JOURNAL, at + field)}))
        refused.append((f"the entry at {at} wiped", {"journal": patched({at: bytes(BLOCK)})}))
        address = JOURNAL[at + 128 : at + 160]
        forged = with_crc(flipped(JOURNAL, at + 162 + 41), at)
        if int.from_bytes(JOURNAL[at + 160 : at + 162], "little") != 65535 and not superseded(at, address):
            refused.append((f"a value in the entry at {at}, checksums mended", {"journal": forged}))
    stale = [
        ("the last entry damaged", {"journal": flipped(JOURNAL, active[-1] + 130)}),
        ("the header of the last entry damaged", {"journal": flipped(JOURNAL, active[-1] + 30)}),
        ("the last entry wiped", {"journal": patched({active[-1]: bytes(BLOCK)})}),
        ("the journal emptied", {"journal": patched({2 * BLOCK: bytes(2 * HALF)})}),
    ]
    return read, refused, stale


def superseded(at, address):
    """Returns whether a later entry changes this address again."""
    later = [place for half in (0, 1) for place in range(2 * BLOCK + half * HALF, 2 * BLOCK + (half + 1) * HALF, BLOCK)]
    later = [place for place in later if JOURNAL[place : place + 4] == b"IJE1" and numbers(place)[1] > numbers(at)[1]]
    for place in later:
        length, count = (int.from_bytes(JOURNAL[place + field : place + field + 4], "little") for field in (4, 48))
        if address in Journal.changes(JOURNAL[place + 128 : place + 128 + length], count):
            return True
    return False


def refuse_forgeries():
    forgeries.read_forged([])
    count = 0
    for what, expected, *changes in forgeries.cases():
        reason = refusal(forgeries.read_forged, {"changes": changes})
        if not reason or expected not in reason:
            sys.exit(f"the reader does not refuse {what}: {reason}")
        count += 1
    return count


def refusal(function, changed):
    try:
        function(**changed)
    except Bad as reason:
        return str(reason)
    return None


def main():
    read()
    # The state that a crash leaves is not damage.
    read(header=one_ahead(HEADER[4032:4048]))
    count = 0
    for what, changed in cases():
        if not refusal(read, changed):
            sys.exit(f"the reader accepts {what}")
        count += 1
    files = read_journal()
    accepted, refused, stale = journals()
    for what, changed in accepted:
        if read_journal(**changed) != files:
            sys.exit(f"the reader reads other files from {what}")
    for what, changed in refused:
        reason = refusal(read_journal, changed)
        if not reason or reason == STALE:
            sys.exit(f"the reader accepts {what}: {reason}")
    for what, changed in stale:
        reason = refusal(read_journal, changed)
        if reason != STALE:
            sys.exit(f"{what} is not refused as older than the anchor: {reason}")
    count += refuse_forgeries()
    print(f"{count} damaged stores and {len(refused) + len(stale)} damaged journals refused, {len(accepted)} crashes read")


if __name__ == "__main__":
    main()

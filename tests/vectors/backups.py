"""Vectors for a backup in a folder: its manifest, and its packs."""

import struct

from backup import Pack, is_set, read_manifest, records_of
from checked import refused
from given import checksum, flipped, patches
from header import Bad, Header, check
from records import CLASSES

EARLIER, NUMBER, TIME = 0x0102, 0x0103, 1_700_000_000_123
MANIFEST, FIRST, OWN = (f"backup-{NUMBER:016x}", *(f"records-{number:016x}" for number in (EARLIER, NUMBER)))
# What the reader says when it refuses, and the reason in the vectors. The first that fits counts.
REASONS = (("unknown version", "UnknownFormat"), ("", "Damaged"))


def mended(data):
    return data + checksum(data)


def pack(total, entries):
    """A pack of these records: for each the ordinal, the address and the value."""
    counts = [sum(len(value) == size + 41 for _, _, value in entries) for size in CLASSES]
    head = mended(b"\x89INMPCK\n\1\0\0\0" + struct.pack("<6I", total, *counts) + bytes(28))
    listed = b"".join(ordinal.to_bytes(4, "little") + address for ordinal, address, _ in entries)
    return head + listed + b"".join(value for _, _, value in entries) + head


def use(number, *ordinals):
    bits = sum(1 << ordinal for ordinal in ordinals).to_bytes(max(ordinals, default=-8) // 8 + 1, "little")
    return struct.pack("<QI", number, len(bits)) + bits


def cases(store, records):
    def entries(ordinals, places):
        chosen = [(record["address"], record["value"]) for record in (records[place] for place in places)]
        chosen.sort(key=lambda record: (len(record[1]), record[0]))
        return [(ordinal, *record) for ordinal, record in zip(ordinals, chosen)]

    # Of the earlier pack, nine records are gone already, and one is not of this backup.
    first, own = entries((1, 9, 11), (0, 1, 3)), entries((0, 1, 2), (2, 4, 5))
    head = b"\x89INMBKP\n\1\0" + bytes(6) + struct.pack("<QQ", NUMBER, TIME) + store.header
    uses = use(EARLIER, 9, 11), use(NUMBER, 0, 1, 2)
    files = {MANIFEST: mended(head + b"".join(uses)), FIRST: pack(12, first), OWN: pack(3, own)}
    listed = [{"pack": number, "ordinal": ordinal, "address": address, "value": value}
              for number, entries in ((EARLIER, first), (NUMBER, own)) for ordinal, address, value in entries]  # fmt: skip
    rows = {"opens": [], "refused": [], "damaged": []}

    def read(changed):
        """The records of the backup, for a reader that wants all of them."""
        number, time, header, used = read_manifest(changed[MANIFEST])
        check(number == NUMBER, "the manifest has another number than its name")
        Header(header)
        named = {EARLIER: changed[FIRST], NUMBER: changed[OWN]}
        return time, header, records_of((named.get(number, b""), bits) for number, bits in used)

    def left(changed):
        """The records where the heads and the lists of the packs say they are, also in packs that such a reader refuses."""
        found, named = {}, {EARLIER: changed[FIRST], NUMBER: changed[OWN]}
        for number, bits in read_manifest(changed[MANIFEST])[3]:
            try:
                mine = Pack(named.get(number, b""), is_strict=False).records
            except Bad:
                continue
            found |= {address: value for ordinal, address, value in mine if is_set(bits, ordinal)}
        return found

    def add(section, name, file, data, **more):
        rows[section].append({"name": name, "file": file, **patches(files[file], data), **more})

    def opens(name, file, data, places=(1, 2, 3, 4, 5), time=TIME):
        found_time, header, found = read(files | {file: data})
        wanted = {record["address"]: record["value"] for record in (listed[place] for place in places)}
        check((found_time, header, found) == (time, store.header, wanted), f"{name}: the reader finds another backup")
        check(left(files | {file: data}) == wanted, f"{name}: other records are left")
        add("opens", name, file, data, time=time, records=places)

    def refuse(name, file, data, error="Damaged"):
        refused(error, REASONS, name, lambda: read(files | {file: data}))
        if file != MANIFEST:
            refused(error, REASONS, name, lambda: Pack(data, is_strict=False))
        add("refused", name, file, data, error=error)

    def damaged(name, file, data):
        refused("Damaged", REASONS, name, lambda: read(files | {file: data}))
        found = left(files | {file: data})
        places = [place for place, record in enumerate(listed) if found.get(record["address"]) == record["value"]]
        add("damaged", name, file, data, records=places)

    manifests(opens, refuse, damaged, head, uses)
    packs(opens, refuse, damaged, first, own)
    return {"number": NUMBER, "time": TIME, "header": store.header, "files": files, "records": listed, **rows}


def manifests(opens, refuse, damaged, head, uses):
    first, own = uses
    whole = head + first + own

    def patched(at, part):
        return mended(whole[:at] + part + whole[at + len(part) :])

    opens("the backup", MANIFEST, mended(whole))
    opens("another time", MANIFEST, patched(24, b"\xff" * 8), time=2**64 - 1)
    opens("no packs", MANIFEST, mended(head), ())
    opens("only the earlier pack", MANIFEST, mended(head + first), (1, 2))
    opens("the packs in another order", MANIFEST, mended(head + own + first))
    opens("no bits of the earlier pack", MANIFEST, mended(head + use(EARLIER) + own), (3, 4, 5))
    opens("another record of the earlier pack", MANIFEST, mended(head + use(EARLIER, 1) + own), (0, 3, 4, 5))
    opens("zero bits behind the last record", MANIFEST, mended(head + first + struct.pack("<QI", NUMBER, 3) + b"\7\0\0"))

    refuse("empty", MANIFEST, b"")
    refuse("31 bytes", MANIFEST, mended(whole)[:31])
    refuse("a byte short", MANIFEST, mended(whole)[:-1])
    refuse("a byte long", MANIFEST, mended(whole) + b"\0")
    places = (("magic", 0), ("version", 8), ("zero bytes", 10), ("number", 16), ("time", 24), ("header", 32), ("end of the header", 4127),
              ("number of a pack", 4128), ("length of bits", 4136), ("bits", 4140), ("checksum", -1))  # fmt: skip
    for what, at in places:
        refuse(f"a bit flipped in the {what}", MANIFEST, flipped(mended(whole), at % (len(whole) + 32)))
    # From here on, the checksum fits.
    for at in (0, 7):
        refuse(f"byte {at} of the magic is another", MANIFEST, mended(flipped(whole, at)))
    for version in (0, 2, 0x0100, 0x0101):
        refuse(f"version {version} of a manifest", MANIFEST, patched(8, version.to_bytes(2, "little")), "UnknownFormat")
    refuse("version 2 with other content", MANIFEST, mended(whole[:8] + b"\2\0" + b"\1" * 100), "UnknownFormat")
    refuse("version 2 and no more", MANIFEST, mended(whole[:8] + b"\2\0"), "UnknownFormat")
    refuse("version 2 with another magic", MANIFEST, mended(b"\x88" + whole[1:8] + b"\2\0" + whole[10:]))
    refuse("half a version", MANIFEST, mended(whole[:9]))
    for at in range(10, 16):
        refuse(f"byte {at} of a manifest is not zero", MANIFEST, patched(at, b"\1"))
    refuse("another number", MANIFEST, patched(16, b"\4"))
    for length in (0, 10, 16, 31, 4127):
        refuse(f"{length} bytes and a checksum", MANIFEST, mended(whole[:length]))
    for length in (7, 8, 11, 12, len(own) - 1):
        refuse(f"{length} bytes of the last pack", MANIFEST, mended(head + first + own[:length]))
    at = len(head) + len(first) + 8
    for length in (0, 2, 0xFFFFFFFF):
        refuse(f"bits of {length} bytes where there is one", MANIFEST, patched(at, length.to_bytes(4, "little")))

    damaged("a pack that is not there", MANIFEST, mended(head + use(EARLIER - 1, 9, 11) + own))
    damaged("the first pack that is not there", MANIFEST, mended(head + own + use(NUMBER + 1, 0)))
    damaged("a bit for a record that was removed", MANIFEST, mended(head + use(EARLIER, 8, 9, 11) + own))
    damaged("a bit for a record that the pack never had", MANIFEST, mended(head + first + use(NUMBER, 0, 1, 2, 3)))
    damaged("a pack twice", MANIFEST, mended(head + first + first + own))


def packs(opens, refuse, damaged, first, own):
    whole, end = pack(3, own), len(pack(3, own))

    def heads(at, part, data=whole):
        """The pack with other bytes in both of its heads, whose checksums fit."""
        head = mended(data[:at] + part + data[at + len(part) : 64])
        return head + data[96:-96] + head

    fields = (("magic", 0), ("version", 8), ("zero bytes", 10), ("records at first", 12), ("records of a class", 16), ("zero bytes behind", 36),
              ("checksum", 64), ("end of the checksum", 95))  # fmt: skip
    for what, at in fields:
        opens(f"a bit flipped in the {what} of the first head", OWN, flipped(whole, at))
        opens(f"a bit flipped in the {what} of the second head", OWN, flipped(whole, end - 96 + at))
        refuse(f"a bit flipped in the {what} of both heads", OWN, flipped(flipped(whole, at), end - 96 + at))
    opens("a first head of zeros", OWN, bytes(96) + whole[96:])
    opens("a first head of another version, whose checksum fits", OWN, heads(8, b"\2")[:96] + whole[96:])
    opens("a second head of zeros", OWN, whole[:-96] + bytes(96))
    opens("a pack that had more records", OWN, heads(12, b"\4"))
    opens("a pack whose unused record is gone", FIRST, pack(12, first[1:]))

    for at in (0, 7):
        refuse(f"byte {at} of the magic of both heads is another", OWN, heads(at, bytes([whole[at] ^ 1])))
    for version in (0, 2, 0x0100, 0x0101):
        refuse(f"version {version} of a pack", OWN, heads(8, version.to_bytes(2, "little")))
    for at in (10, 11, 36, 49, 63):
        refuse(f"byte {at} of both heads is not zero", OWN, heads(at, b"\1"))
    for length in (0, 95, 96, 96 + 3 * 36 - 1):
        refuse(f"cut to {length} bytes", OWN, whole[:length])
    refuse("the second head alone is whole, and a byte behind it", OWN, flipped(whole, 64) + b"\0")
    refuse("the second head alone is whole, and cut", OWN, flipped(whole, 64)[:-1])
    for count in (100, 0xFFFFFFFF):
        refuse(f"a list of {count} records that does not fit", OWN, heads(16, count.to_bytes(4, "little")))
    refuse("as many records of every class as there can be", OWN, heads(16, b"\xff" * 20))

    damaged("a byte behind the second head", OWN, whole + b"\0")
    damaged("the second head is cut", OWN, whole[:-1])
    damaged("the second head is missing", OWN, whole[:-96])
    damaged("the last value is cut", OWN, whole[:-97])
    damaged("two values are missing", OWN, whole[: 96 + 3 * 36 + len(own[0][2])])
    damaged("all values are missing", OWN, whole[: 96 + 3 * 36])
    damaged("a record of another class", OWN, heads(16, struct.pack("<II", 0, 2)))
    damaged("a record more of the first class", OWN, heads(16, b"\2"))
    damaged("a record less of the last class", OWN, heads(24, b"\0"))
    damaged("fewer records at first", OWN, heads(12, b"\2"))
    damaged("an ordinal that the pack never had", OWN, pack(3, [*own[:2], (3, *own[2][1:])]))
    damaged("an ordinal twice", OWN, pack(3, [own[0], (0, *own[1][1:]), own[2]]))
    damaged("ordinals that changed places", OWN, pack(3, [(1, *own[0][1:]), (0, *own[1][1:]), own[2]]))
    damaged("an ordinal of a record that was removed", FIRST, pack(12, [*first[:1], (8, *first[1][1:]), first[2]]))
    damaged("records of a class that changed places", FIRST, pack(12, [first[1], first[0], first[2]]))
    damaged("an address twice", OWN, pack(3, [own[0], (1, own[0][1], own[1][2]), own[2]]))

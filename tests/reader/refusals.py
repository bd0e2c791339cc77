#!/usr/bin/env python3
"""Damages a sample store in every way that must be detected according to FORMAT.md, and expects the reader to refuse it."""

import random
import sys
import unicodedata
from pathlib import Path

import inmost_reader as reader

FOLDER = Path(sys.argv[1])
HEADER = (FOLDER / "header.a").read_bytes()
ANCHOR = (FOLDER / "anchor").read_bytes()
RECORDS = reader.read_records((FOLDER / "records.bin").read_bytes())
PASSPHRASE = unicodedata.normalize("NFC", (FOLDER / "passphrase").read_text()).encode()


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def read(header=HEADER, records=RECORDS, passphrase=PASSPHRASE, anchor=ANCHOR):
    store = reader.Store(reader.Header(header), passphrase, records)
    store.read()
    store.check_anchor(anchor)


def with_checksum(data):
    checksum = reader.hashlib.blake2b(data[:4064], digest_size=32, person=b"inmost/1 check\0\0").digest()
    return data[:4064] + checksum


def signed(fields):
    """Builds a header that a holder of the master key could write, with some bytes replaced."""
    data = bytearray(HEADER)
    for at, part in fields.items():
        data[at : at + len(part)] = part
    header = reader.Header(HEADER)
    header.data_key(PASSPHRASE)
    data[4032:4064] = reader.prf(header.master_key(b"inmost/1 hdr-key"), b"inmost/1 hdr-mac", header.store, data[:4032])
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
    yield "an anchor with a flipped byte", {"anchor": flipped(ANCHOR, 20)}
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
    old = reader.read_records((FOLDER / "purged" / "records.bin").read_bytes())
    yield "records of another generation", {"records": old}
    header = (FOLDER / "purged" / "header.a").read_bytes()
    yield "the header of another generation", {"header": header}


def main():
    read()
    # The state that a crash leaves is not damage.
    read(header=one_ahead(HEADER[4032:4048]))
    count = 0
    for what, changed in cases():
        try:
            read(**changed)
        except reader.Bad:
            count += 1
            continue
        sys.exit(f"the reader accepts {what}")
    print(f"{count} damaged stores refused")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Computes the example store of docs/FORMAT.md from the document, and reads it back with the reader.

Without arguments: exits with 1 if the numbers in the document differ. With --print: prints the block for the document, after a
change of the format.
"""

import hashlib
import re
import struct
import sys
import textwrap
from pathlib import Path

from header import Header, prf
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt
from records import CLASSES, Store

PAGE = (Path(__file__).parents[2] / "docs" / "FORMAT.md").read_text()
TREE, SYSTEM, LONG, SHORT, PEOPLE, HISTORY, GONE, READINGS = (bytes([byte * 0x11]) * 16 for byte in range(1, 9))
LONG_TEXT = (b"0123456789abcde\n" * 255)[:4066]
REST_OF_LINE = b"23456789abcde\n"
SHORT_TEXT = "Zoë likes tea.\n".encode()
GONE_TEXT = b"Gone.\n"
CREATED, MODIFIED = 1_700_000_000_123, 1_700_000_600_000
DAY = 24 * 3600 * 1000
KEEP, ROOM, UNUSED_FOR = 30 * DAY, 256 << 20, 90 * DAY
# The sequence of the anchor that was on the disk before the root.
ANCHORED = 9
# The changes: 64 times the commit, plus the place in its group.
SHORT_CREATED, GONE_CREATED, LONG_CREATED, LONG_MODIFIED, GONE_DELETED = 128, 129, 256, 384, 385


def from_page(name):
    found = re.search(rf"^{re.escape(name)} += ([0-9a-f]+(?:\n +[0-9a-f]+)*)$", PAGE, re.M)
    return bytes.fromhex(re.sub(r"\s", "", found.group(1)))


def blake2b(data):
    return hashlib.blake2b(data, digest_size=32).digest()


def fixed(*values):
    return struct.pack(f"<{len(values)}Q", *values)


def number(value):
    for least, marker, width in ((1 << 32, 253, 8), (1 << 16, 252, 4), (251, 251, 2)):
        if value >= least:
            return bytes([marker]) + value.to_bytes(width, "little")
    return bytes([value])


def text(data):
    return number(len(data)) + data


def numbers(*values):
    return b"".join(map(number, values))


def reading(file, day):
    return f"{file:016x}{day:08x}".encode()


def file_entry(name, object_id, tag, size, lines, head, file, version):
    facts = numbers(size, lines, CREATED, MODIFIED, head, 0, file, version)
    return text(name.encode()) + object_id + tag + b"\1" + facts + b"\0" + b"\0"


def history_entry(change, file, path, size, lines, before, held):
    version, time, operation, channel, actor, previous = change
    age = time - CREATED
    retired = b"\1\0" + number(3) if before[:1] == b"\1" else b"\0"
    who = numbers(version, time, age, 0, operation, channel) + text(actor)
    where = numbers(file, previous) + text(path) + text(b"")
    return who + where + numbers(size, lines) + before + retired + number(held) + b"\0" + b"\0"


class Example:
    def __init__(self, changes=()):
        """With changes, makes a store that the document forbids: forgeries.py has them."""
        self.changes = changes
        self.store = from_page("store id")
        self.key, self.address_key = from_page("record key"), from_page("address key")
        self.lines = []
        self.records = {}

    def seal(self, what, kind, object_id, index, body, whole=False):
        """Adds a record and returns its tag."""
        for record, old, new in self.changes:
            body = body.replace(old, new, 1) if record == what else body
        name = struct.pack("<B16sQ", kind, object_id, index)
        address = prf(self.address_key, b"inmost/1 address", self.store, name)
        plaintext = name + struct.pack("<H", len(body)) + body
        plaintext = plaintext.ljust(min(size for size in CLASSES if len(plaintext) <= size), b"\0")
        nonce = bytes([len(self.records) + 1]) * 24
        aad = b"inmost/record/v1" + self.store + fixed(1) + address
        value = b"\1" + nonce + crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, aad, nonce, self.key)
        self.records[address] = value
        if len(body) <= 1024:
            self.give(f"{what} body", body)
        else:
            self.give(f"{what} body starts", body[:16])
            self.give(f"{what} body ends", body[-16:])
            self.give(f"{what} body hash", blake2b(body))
        self.give(f"{what} address", address)
        self.give(f"{what} aad", aad)
        if whole:
            self.give(f"{what} value", value)
        else:
            self.give(f"{what} value starts", value[:41])
            self.give(f"{what} value ends", value[-32:])
            self.give(f"{what} value hash", blake2b(value))
        self.lines.append("")
        return value[-16:]

    def give(self, name, data):
        indent = " " * 27
        rows = textwrap.wrap(data.hex(), 64)
        self.lines.append(f"{name:<24} = {rows[0]}")
        self.lines += [indent + row for row in rows[1:]]

    def build(self):
        chunk_tag = self.seal("chunk", 7, LONG, 1, text(LONG_TEXT))
        counts = numbers(4066, 254)
        tag = self.seal("file inner", 6, LONG, 2, b"\1\1" + number(1) + chunk_tag + counts)
        long_tag = self.seal("long file", 5, LONG, 4, fixed(4) + b"\1\2\1" + number(2) + tag + counts)
        tag = self.seal("old chunk", 7, LONG, 3, text(REST_OF_LINE))
        references = number(1) + chunk_tag + counts + number(3) + tag + numbers(14, 1)
        old_tag = self.seal("old long file", 5, LONG, 0, fixed(3) + b"\1\1\2" + references)
        short_tag = self.seal("short file", 5, SHORT, 0, fixed(0) + b"\0" + text(SHORT_TEXT))
        gone_tag = self.seal("deleted file", 5, GONE, 0, fixed(0) + b"\0" + text(GONE_TEXT))
        tree_tag = self.seal_tree(long_tag, short_tag)
        system_tag = self.seal("system folder", 2, SYSTEM, 0, fixed(0, 0, 0, 0, 0, 0) + b"\0\0")
        history_tag = self.seal_history(old_tag, gone_tag)
        readings_tag = self.seal_readings()
        header = fixed(1) + from_page("header mac")[:16]
        body = fixed(7) + header + fixed(2, 4066 + len(SHORT_TEXT)) + TREE + tree_tag + SYSTEM + system_tag
        roots = [bytes([0xA0 + commit]) * 8 for commit in range(1, 7)]
        chain = bytes(32)
        for root in roots:
            chain = prf(chain, b"inmost/1 chain", self.store, root)
        trail = b"".join(reversed(roots)) + bytes(14 * 8) + chain
        body += b"\0" + HISTORY + history_tag + fixed(KEEP, ROOM)
        body += READINGS + readings_tag + fixed(CREATED, MODIFIED, UNUSED_FOR, CREATED, ANCHORED) + trail
        root_tag = self.seal("root", 1, bytes(16), 0, body, whole=True)
        mark = bytes([1, 1, 0]) + bytes(5) + fixed(11, 7, 1, 1) + bytes([len(self.records)]) * 24 + root_tag
        nonce = b"\x0b" * 24
        aad = b"inmost/1 anchor\0" + self.store + b"\1"
        self.anchor = nonce + crypto_aead_xchacha20poly1305_ietf_encrypt(mark, aad, nonce, from_page("anchor key"))
        self.give("anchor plaintext", mark)
        self.give("anchor aad", aad)
        self.give("anchor nonce", nonce)
        self.give("anchor slot", self.anchor)
        return "\n".join(self.lines)

    def seal_tree(self, long_tag, short_tag):
        size = len(SHORT_TEXT)
        entries = b"\1" + file_entry("zoë.md", SHORT, short_tag, size, 1, 0, SHORT_CREATED, SHORT_CREATED)
        people_tag = self.seal("people", 2, PEOPLE, 0, fixed(0, 1, 0, size, 1, size) + b"\0" + entries)
        entries = b"\2" + file_entry("long.txt", LONG, long_tag, 4066, 255, 4, LONG_CREATED, LONG_MODIFIED)
        entries += text(b"people") + PEOPLE + people_tag + b"\0" + b"\0"
        tag = self.seal("folder leaf", 4, TREE, 1, entries)
        below = number(2) + text(b"long.txt")
        tag = self.seal("folder inner", 3, TREE, 2, b"\1\1" + number(1) + tag + below)
        totals = (2, 1, 4066 + size, 2, 4066 + size)
        return self.seal("tree", 2, TREE, 0, fixed(2, *totals) + b"\1\2\1" + number(2) + tag + below)

    def seal_history(self, old_tag, gone_tag):
        path, gone_path, agent = b"/memories/long.txt", b"/memories/gone.md", b"night-agent"
        created = (LONG_CREATED, CREATED, 0, 2, b"", 0)
        entries = b"\2" + history_entry(created, LONG_CREATED, path, 4080, 255, b"\0", 0)
        modified = (LONG_MODIFIED, MODIFIED, 1, 0, agent, LONG_CREATED)
        before = b"\1" + LONG + number(0) + old_tag + numbers(3, 4080, 255)
        entries += history_entry(modified, LONG_CREATED, path, 4066, 255, before, 4080)
        deleted = (GONE_DELETED, MODIFIED, 3, 0, agent, GONE_CREATED)
        before = b"\2" + file_entry("", GONE, gone_tag, 6, 1, 0, GONE_CREATED, GONE_CREATED)
        newest = b"\1" + history_entry(deleted, GONE_CREATED, gone_path, 6, 1, before, 6)
        tag = self.seal("history leaf", 10, HISTORY, 1, entries)
        below = numbers(2, LONG_CREATED)
        tag = self.seal("history inner", 9, HISTORY, 2, b"\1\1" + number(1) + tag + below)
        top = b"\1\2\1" + number(2) + tag + below
        seen = (MODIFIED - CREATED, MODIFIED, 0, 0, 0, 0)
        return self.seal("history", 8, HISTORY, 0, fixed(2, 4086, 0, 0, 6, *seen) + top + newest)

    def seal_readings(self):
        readings = reading(SHORT_CREATED, CREATED // DAY) + reading(LONG_CREATED, MODIFIED // DAY)
        return self.seal("readings", 5, READINGS, 0, fixed(1 << 63) + b"\0" + text(readings))


def header():
    data = bytearray(4096)
    for at, part in (
        (0, b"\x89INMOST\n\1\0\1"),
        (16, from_page("store id") + fixed(1, 1) + from_page("data nonce") + from_page("sealed data key")),
        (128, b"\1\0\0\0" + struct.pack("<III", 19456, 2, 1) + from_page("salt") + from_page("commitment")),
        (192, from_page("master nonce") + from_page("sealed master key")),
        (264, from_page("label nonce") + from_page("sealed label")),
        (4032, from_page("header mac") + from_page("checksum")),
    ):
        data[at : at + len(part)] = part
    return bytes(data)


def main():
    example = Example()
    block = example.build()
    if sys.argv[1:] == ["--print"]:
        print(block)
        return
    store = Store(Header(header()), from_page("passphrase"), example.records)
    store.read()
    # Slot 0, from the commit before, is not on the page. So slot 1 alone is authentic, which is not enough.
    if store.freshness((bytes(128) + example.anchor).ljust(4096, b"\0")) != "unknown":
        sys.exit("a slot alone makes the freshness of the example store known")
    files = [(file["path"], file["text"].encode()) for file in store.files]
    expected = [("/memories/long.txt", LONG_TEXT), ("/memories/people/zoë.md", SHORT_TEXT)]
    versions = store.versions()
    old = [(version["number"], version["path"], version["text"]) for version in versions]
    expected_old = [
        (LONG_CREATED, "/memories/long.txt", (LONG_TEXT + REST_OF_LINE).decode()),
        (LONG_MODIFIED, "/memories/long.txt", LONG_TEXT.decode()),
        (GONE_DELETED, "/memories/gone.md", None),
    ]
    held = [file for version in versions for file in version["held"]]
    expected_old.append([
        {"path": "/memories/long.txt", "version": LONG_CREATED, "text": (LONG_TEXT + REST_OF_LINE).decode()},
        {"path": "/memories/gone.md", "version": GONE_CREATED, "text": GONE_TEXT.decode()},
    ])
    if store.readings != {SHORT_CREATED: CREATED // DAY, LONG_CREATED: MODIFIED // DAY}:
        sys.exit("the example store in docs/FORMAT.md has other readings")
    if files != expected or old + [held] != expected_old or block not in PAGE:
        sys.exit("the example store in docs/FORMAT.md differs from its description")


if __name__ == "__main__":
    main()

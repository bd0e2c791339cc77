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

import inmost_reader as reader
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt

PAGE = (Path(__file__).parents[2] / "docs" / "FORMAT.md").read_text()
TREE, SYSTEM, LONG, SHORT, PEOPLE = (bytes([byte]) * 16 for byte in (0x11, 0x22, 0x33, 0x44, 0x55))
LONG_TEXT = (b"0123456789abcde\n" * 255)[:4066]
SHORT_TEXT = "Zoë likes tea.\n".encode()
CREATED, MODIFIED = 1_700_000_000_123, 1_700_000_600_000


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


def file_entry(name, object_id, tag, size, lines):
    numbers = map(number, (size, lines, CREATED, MODIFIED))
    return text(name.encode()) + object_id + tag + b"\1" + b"".join(numbers)


class Example:
    def __init__(self):
        self.store = from_page("store id")
        self.key, self.address_key = from_page("record key"), from_page("address key")
        self.lines = []
        self.records = {}

    def seal(self, what, kind, object_id, index, body, whole=False):
        """Adds a record and returns its tag."""
        name = struct.pack("<B16sQ", kind, object_id, index)
        address = reader.prf(self.address_key, b"inmost/1 address", self.store, name)
        plaintext = name + struct.pack("<H", len(body)) + body
        plaintext = plaintext.ljust(min(size for size in reader.CLASSES if len(plaintext) <= size), b"\0")
        nonce = bytes([len(self.records) + 1]) * 24
        aad = b"inmost/record/v1" + self.store + fixed(1) + address
        value = b"\1" + nonce + crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, aad, nonce, self.key)
        self.records[address] = value
        if len(body) <= 256:
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
        tag = self.seal("chunk", 7, LONG, 1, text(LONG_TEXT))
        counts = number(4066) + number(254)
        tag = self.seal("file inner", 6, LONG, 2, b"\1\1" + number(1) + tag + counts)
        long_tag = self.seal("long file", 5, LONG, 0, fixed(2) + b"\1\2\1" + number(2) + tag + counts)
        tag = self.seal("short file", 5, SHORT, 0, fixed(0) + b"\0" + text(SHORT_TEXT))
        size = len(SHORT_TEXT)
        entries = b"\1" + file_entry("zoë.md", SHORT, tag, size, 1)
        people_tag = self.seal("people", 2, PEOPLE, 0, fixed(0, 1, 0, size, 1, size) + b"\0" + entries)
        entries = b"\2" + file_entry("long.txt", LONG, long_tag, 4066, 255)
        entries += text(b"people") + PEOPLE + people_tag + b"\0"
        tag = self.seal("folder leaf", 4, TREE, 1, entries)
        below = number(2) + text(b"long.txt")
        tag = self.seal("folder inner", 3, TREE, 2, b"\1\1" + number(1) + tag + below)
        totals = (2, 1, 4066 + size, 2, 4066 + size)
        tree_tag = self.seal("tree", 2, TREE, 0, fixed(2, *totals) + b"\1\2\1" + number(2) + tag + below)
        system_tag = self.seal("system folder", 2, SYSTEM, 0, fixed(0, 0, 0, 0, 0, 0) + b"\0\0")
        header = fixed(1) + from_page("header mac")[:16]
        body = fixed(7) + header + fixed(2, 4066 + size) + TREE + tree_tag + SYSTEM + system_tag
        root_tag = self.seal("root", 1, bytes(16), 0, body, whole=True)
        mark = bytes([1, 1, 0]) + bytes(5) + fixed(11, 7, 1, 1) + b"\x0a" * 24 + root_tag
        nonce = b"\x0b" * 24
        aad = b"inmost/1 anchor\0" + self.store + b"\1"
        self.anchor = nonce + crypto_aead_xchacha20poly1305_ietf_encrypt(mark, aad, nonce, from_page("anchor key"))
        self.give("anchor plaintext", mark)
        self.give("anchor aad", aad)
        self.give("anchor nonce", nonce)
        self.give("anchor slot", self.anchor)
        return "\n".join(self.lines)


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
    store = reader.Store(reader.Header(header()), from_page("passphrase"), example.records)
    store.read()
    # Slot 0, from the commit before, is not on the page. So slot 1 alone is authentic, which is not enough.
    if store.freshness((bytes(128) + example.anchor).ljust(4096, b"\0")) != "unknown":
        sys.exit("a slot alone makes the freshness of the example store known")
    files = [(file["path"], file["text"].encode()) for file in store.files]
    expected = [("/memories/long.txt", LONG_TEXT), ("/memories/people/zoë.md", SHORT_TEXT)]
    if files != expected or block not in PAGE:
        sys.exit("the example store in docs/FORMAT.md differs from its description")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Reads a whole store independently: written only from docs/FORMAT.md, with third-party primitives.

It takes a header copy, the content of a generation's engine, its journal and a passphrase, and prints every file as JSON. It verifies
everything that the document allows a reader to verify, even where the program verifies only the records that it reads. At the first
mismatch it prints the reason to standard error and exits with code 1.

The content of the engine is a raw export: for each key, address {32}, length of the value {2}, value. With a journal it includes the
mark, which is no record.
"""

import argparse
import hashlib
import json
import struct
import sys
import unicodedata
import zlib

from argon2.low_level import ARGON2_VERSION, Type, core, ffi
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt
from nacl.exceptions import CryptoError

ROOT, FOLDER, FOLDER_INNER, FOLDER_LEAF, FILE, FILE_INNER, CHUNK = range(1, 8)
CLASSES = (256, 512, 1024, 2048, 4096)
PASSPHRASE = 1


class Bad(Exception):
    """The bytes are not an undamaged store of this format."""


def check(condition, reason):
    if not condition:
        raise Bad(reason)


# --- Keys -----------------------------------------------------------------------------------------------------------------


def prf(key, role, store, message=b""):
    return hashlib.blake2b(message, digest_size=32, key=key, salt=store, person=role.ljust(16, b"\0")).digest()


def argon2id(passphrase, salt, store, memory, passes, lanes):
    """Derives a key. The high-level interface of argon2-cffi has no associated data, so this uses its C context."""
    out = ffi.new("uint8_t[]", 32)
    inputs = [ffi.new("uint8_t[]", data) for data in (passphrase, salt, store)]  # each with a trailing zero
    context = ffi.new("argon2_context *", {
        "out": out, "outlen": 32, "version": ARGON2_VERSION,
        "pwd": inputs[0], "pwdlen": len(passphrase), "salt": inputs[1], "saltlen": len(salt),
        "secret": ffi.NULL, "secretlen": 0, "ad": inputs[2], "adlen": len(store),
        "t_cost": passes, "m_cost": memory, "lanes": lanes, "threads": lanes,
        "allocate_cbk": ffi.NULL, "free_cbk": ffi.NULL, "flags": 0,
    })  # fmt: skip
    check(core(context, Type.ID.value) == 0, "Argon2id refuses its parameters")
    return bytes(ffi.buffer(out))


def unseal(key, aad, sealed, what):
    """Opens bytes that are stored as nonce, ciphertext, tag."""
    try:
        return crypto_aead_xchacha20poly1305_ietf_decrypt(sealed[24:], aad, sealed[:24], key)
    except CryptoError:
        raise Bad(f"{what} does not authenticate") from None


# --- Header ---------------------------------------------------------------------------------------------------------------


class Header:
    def __init__(self, data):
        check(data[:8] == b"\x89INMOST\n", "no magic: this is no store")
        check(data[8:10] == b"\1\0", "unknown format version")
        check(len(data) == 4096, "the header is not 4,096 bytes long")
        checksum = hashlib.blake2b(data[:4064], digest_size=32, person=b"inmost/1 check\0\0").digest()
        check(data[4064:] == checksum, "the header's checksum does not fit")
        check(data[12:16] == bytes(4), "unknown flags")
        check(data[10] in (1, 2, 255), "unknown engine")
        check(not any(data[11:12] + data[120:128] + data[2192:4032]), "the header's padding is not zero")
        self.data = data
        self.engine = data[10]
        self.store = data[16:32]
        self.revision, self.generation = struct.unpack("<QQ", data[32:48])
        self.before, self.mac = data[2176:2192], data[4032:4048]
        self.slots = [data[at : at + 256] for at in range(128, 2176, 256)]
        for slot in self.slots:
            self.check_slot(slot)
        check(any(slot[0] for slot in self.slots), "no keyslot is in use")

    @staticmethod
    def check_slot(slot):
        kind = slot[0]
        check(kind <= 4, "unknown kind of keyslot")
        if kind == 0:
            return
        check(not any(slot[1:4] + slot[248:]), "a keyslot's padding is not zero")
        memory, passes, lanes = struct.unpack("<III", slot[4:16])
        if kind in (3, 4):
            check((memory, passes, lanes) == (0, 0, 0), "a keyslot without key derivation has a cost")
            return
        check(19456 <= memory <= 1048576 and 2 <= passes <= 32, "the cost of key derivation is out of bounds")
        check(1 <= lanes <= min(16, memory // 8), "the lanes of key derivation are out of bounds")
        check(memory * passes <= 2097152, "the work of key derivation is out of bounds")

    def data_key(self, passphrase):
        """Opens the first slot that the passphrase fits, verifies the header, and opens the data key."""
        costs = [struct.unpack("<II", slot[4:12]) for slot in self.slots if slot[0] == PASSPHRASE]
        check(sum(memory * passes for memory, passes in costs) <= 4194304, "unlocking would cost too much")
        for number, slot in enumerate(self.slots):
            if slot[0] != PASSPHRASE:
                continue
            pdk = argon2id(passphrase, slot[16:32], self.store, *struct.unpack("<III", slot[4:16]))
            place = bytes([number, PASSPHRASE])
            message = place + slot[16:32]
            if prf(pdk, b"inmost/1 commit", self.store, message) != slot[32:64]:
                continue
            aad = b"inmost/1 slot".ljust(16, b"\0") + self.store + place + slot[4:32]
            self.master = unseal(prf(pdk, b"inmost/1 kek", self.store, message), aad, slot[64:136], "the master key")
            mac = prf(self.master_key(b"inmost/1 hdr-key"), b"inmost/1 hdr-mac", self.store, self.data[:4032])
            check(mac == self.data[4032:4064], "the header's MAC does not fit")
            self.check_labels()
            aad = b"inmost/1 datakey" + self.store + self.data[40:48] + self.data[10:11]
            return unseal(self.master_key(b"inmost/1 wrap"), aad, self.data[48:120], "the data key")
        raise Bad("the passphrase fits no keyslot")

    def master_key(self, role):
        return prf(self.master, role, self.store)

    def check_labels(self):
        for number, slot in enumerate(self.slots):
            if slot[0]:
                aad = b"inmost/1 label".ljust(16, b"\0") + self.store + bytes([number, slot[0]]) + slot[16:32]
                label = unseal(self.master_key(b"inmost/1 label"), aad, slot[136:248], "a keyslot's label")
                length = label[8]
                check(length <= 63 and not any(label[9 + length :]), "a keyslot's label is malformed")
                label[9 : 9 + length].decode()


# --- Records --------------------------------------------------------------------------------------------------------------


class Body:
    """A cursor in the body of a record."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, n):
        check(self.at + n <= len(self.data), "a body ends early")
        self.at += n
        return self.data[self.at - n : self.at]

    def fixed(self):
        return struct.unpack("<Q", self.take(8))[0]

    def byte(self):
        return self.take(1)[0]

    def form(self):
        form = self.byte()
        check(form <= 1, "unknown form")
        return form

    def number(self):
        first = self.byte()
        if first < 251:
            return first
        check(first <= 253, "unknown marker of a number")
        width, least = {251: (2, 251), 252: (4, 1 << 16), 253: (8, 1 << 32)}[first]
        value = int.from_bytes(self.take(width), "little")
        check(value >= least, "a number is longer than it has to be")
        return value

    def text(self):
        try:
            return self.take(self.number()).decode()
        except UnicodeDecodeError:
            raise Bad("a text is not UTF-8") from None

    def list(self, item):
        return [item() for _ in range(self.number())]

    def end(self):
        check(self.at == len(self.data), "a body has bytes left over")

    # Parts that several kinds of records share.

    def entry(self):
        entry = {"name": self.text(), "id": self.take(16), "tag": self.take(16), "file": None}
        if self.form():
            entry["file"] = dict(zip(("bytes", "lines", "created", "modified"), (self.number() for _ in range(4))))
        return entry

    def folder_reference(self):
        return {"index": self.number(), "tag": self.take(16), "count": (self.number(),), "first": self.text()}

    def file_reference(self):
        return {"index": self.number(), "tag": self.take(16), "count": (self.number(), self.number()), "first": None}

    def inner(self, reference):
        return self.byte(), self.list(reference)


class Store:
    def __init__(self, header, passphrase, records):
        data_key = header.data_key(passphrase)
        self.header = header
        self.store = header.store
        generation = struct.pack("<Q", header.generation)
        self.record_key = prf(data_key, b"inmost/1 record", self.store, generation)
        self.address_key = prf(data_key, b"inmost/1 adr-key", self.store, generation)
        self.aad = b"inmost/record/v1" + self.store + generation
        self.records = records
        self.reached = set()
        self.files = []

    def load(self, kind, object_id, index, tag):
        """Returns the body of a record after all checks that do not depend on its meaning."""
        name = struct.pack("<B16sQ", kind, object_id, index)
        what = f"record {name.hex()}"
        address = prf(self.address_key, b"inmost/1 address", self.store, name)
        check(address in self.records, f"{what} is missing")
        check(address not in self.reached, f"{what} is referred to twice")
        self.reached.add(address)
        value = self.records[address]
        check(len(value) - 41 in CLASSES, f"{what} has an impossible length")
        check(value[0] == 1, f"{what} has an unknown version")
        plaintext = unseal(self.record_key, self.aad + address, value[1:], what)
        check(tag is None or value[-16:] == tag, f"{what} is not the version its parent refers to")
        check(plaintext[:25] == name, f"{what} says it is another")
        length = struct.unpack("<H", plaintext[25:27])[0]
        check(length <= len(plaintext) - 27, f"{what} has a body longer than itself")
        check(len(plaintext) == min(size for size in CLASSES if length + 27 <= size), f"{what} has the wrong class")
        check(not any(plaintext[27 + length :]), f"{what} has padding that is not zero")
        if kind in (FOLDER, FOLDER_INNER, FOLDER_LEAF, FILE_INNER):
            check(len(plaintext) <= 2048, f"{what} is larger than a node")
        return Body(plaintext[27 : 27 + length])

    # Trees. `below` returns the leaves under a node, after comparing its references with their targets.

    def leaves(self, shape, object_id, last_index, node):
        level, references = node
        inner_kind, leaf_kind, reference_of, leaf_of, count_of, first_of = shape
        check(level >= 1 and references, "an inner node without children or level")
        found = []
        for reference in references:
            check(1 <= reference["index"] <= last_index, "an index that was never given out")
            if level == 1:
                body = self.load(leaf_kind, object_id, reference["index"], reference["tag"])
                below = [leaf_of(body)]
                body.end()
                check(below[0], "an empty leaf")
            else:
                body = self.load(inner_kind, object_id, reference["index"], reference["tag"])
                child = body.inner(reference_of(body))
                body.end()
                check(child[0] == level - 1, "levels do not count down")
                below = self.leaves(shape, object_id, last_index, child)
            counts = tuple(map(sum, zip(*map(count_of, below))))
            check(counts == reference["count"], "a reference counts something else than is below it")
            check(first_of(below[0]) == reference["first"], "a reference names another first entry")
            found += below
        return found

    FOLDER_SHAPE = (
        FOLDER_INNER, FOLDER_LEAF, lambda body: body.folder_reference, lambda body: body.list(body.entry),
        lambda leaf: (len(leaf),), lambda leaf: leaf[0]["name"],
    )  # fmt: skip
    FILE_SHAPE = (
        FILE_INNER, CHUNK, lambda body: body.file_reference, lambda body: body.text(),
        lambda leaf: (len(leaf.encode()), leaf.count("\n")), lambda leaf: None,
    )  # fmt: skip

    def read_folder(self, object_id, tag, path, system=False):
        """Reads everything below a folder. Returns its computed totals."""
        body = self.load(FOLDER, object_id, 0, tag)
        last_index = body.fixed()
        stored = tuple(body.fixed() for _ in range(5))
        if body.form():
            leaves = self.leaves(self.FOLDER_SHAPE, object_id, last_index, body.inner(body.folder_reference))
            entries = [entry for leaf in leaves for entry in leaf]
        else:
            entries = body.list(body.entry)
        body.end()
        names = [entry["name"].encode() for entry in entries]
        check(names == sorted(set(names)), "entries are not in order")
        check(entries or len(path) <= 1, "an empty folder")
        totals = [0] * 5
        for entry in entries:
            name = entry["name"]
            check_name(name, system and len(path) == 1)
            if entry["file"]:
                self.read_file(entry, path + [name], system)
                weight = (1, 0, entry["file"]["bytes"], 1, entry["file"]["bytes"])
            else:
                below = self.read_folder(entry["id"], entry["tag"], path + [name], system)
                weight = (1, below[0], below[2], below[3], below[4])
            shown = not (name.startswith(".") or name == "node_modules")
            for at in range(5):
                totals[at] += weight[at] if shown or at >= 3 else 0
        if system:
            check(len(path) > 1 or stored == (0,) * 5, "the system folder has totals")
        else:
            check(stored == tuple(totals), f"totals {stored} of a folder are not {tuple(totals)}")
        return totals

    def read_file(self, entry, path, system):
        body = self.load(FILE, entry["id"], 0, entry["tag"])
        last_index = body.fixed()
        if body.form():
            chunks = self.leaves(self.FILE_SHAPE, entry["id"], last_index, body.inner(body.file_reference))
            text = "".join(chunks)
        else:
            text = body.text()
        body.end()
        if system:
            return
        info = entry["file"]
        check(len(text.encode()) == info["bytes"], "a file has another length than its entry says")
        lines = text.count("\n") + (text != "" and not text.endswith("\n"))
        check(lines == info["lines"], "a file has another number of lines than its entry says")
        path = "/".join(path)
        check(len(path.encode()) <= 1024 and path.count("/") <= 21, "a path is too long or too deep")
        self.files.append({"path": path, **info, "text": text})

    def read(self):
        body = self.load(ROOT, bytes(16), 0, None)
        self.commit, revision, mac = body.fixed(), body.fixed(), body.take(16)
        self.root_revision = revision
        files, size = body.fixed(), body.fixed()
        tree, tree_tag, system, system_tag = (body.take(16) for _ in range(4))
        body.end()
        of_header = (self.header.revision, self.header.mac), (self.header.revision - 1, self.header.before)
        check((revision, mac) in of_header, "the header is not the root's")
        totals = self.read_folder(tree, tree_tag, ["/memories"])
        check((files, size) == tuple(totals[3:]), "the root counts something else than the tree")
        self.read_folder(system, system_tag, ["system"], system=True)
        check(self.reached == self.records.keys(), "there are records that nothing refers to")

    def freshness(self, data):
        """Returns `known` or `unknown`. Refuses a store that is older than its anchor, or older than a rotation."""
        check(len(data) == 4096 and not any(data[512:]), "the anchor is not 512 bytes and zeros up to 4,096")
        key = self.header.master_key(b"inmost/1 anc-key")
        address = prf(self.address_key, b"inmost/1 address", self.store, struct.pack("<B16sQ", ROOT, bytes(16), 0))
        root = self.records[address]
        slots = []
        for index in range(4):
            aad = b"inmost/1 anchor\0" + self.store + bytes([index])
            sealed = data[128 * index : 128 * index + 120]
            try:
                text = crypto_aead_xchacha20poly1305_ietf_decrypt(sealed[24:], aad, sealed[:24], key)
            except CryptoError:
                continue
            place, state, announced, zeros, sequence, *mark = struct.unpack("<BBB5sQQQQ24s16s", text)
            check(place == index and state in (1, 2, 3) and announced in (0, 1), "a slot of the anchor has an unknown value")
            check(not any(zeros) and sequence % 2 == index % 2, "a slot of the anchor is in the wrong place")
            check(state != 3, "the keys are from before a rotation")
            slots.append((sequence, index // 2, state, mark))
        found = [self.commit, self.header.generation, self.root_revision, root[1:25], root[-16:]]
        for *_, mark in slots:
            check(mark[0] < found[0] or mark == found, "the store is older than its anchor")
        if len(slots) != 2:
            return "unknown"
        (first, pair, state, older), (second, other_pair, other_state, newer) = sorted(slots)
        in_order = second == first + 1 and (older[0] < newer[0] or older == newer)
        return "known" if in_order and pair == other_pair and state == other_state == 1 else "unknown"

    def check_anchor(self, data):
        check(self.freshness(data) == "known", "the freshness of the store is unknown")


def check_name(name, system):
    if system:
        check(len(name) == 16 and all(digit in "0123456789abcdef" for digit in name), "a name in the system folder")
        return
    check(1 <= len(name.encode()) <= 255, "a name is empty or too long")
    check(unicodedata.is_normalized("NFC", name), "a name is not NFC")
    check(name not in (".", "..") and not set(name) & set("/\\\0\u2028\u2029"), "a name could lead elsewhere")
    for character in name:
        category = unicodedata.category(character)
        check(category != "Cc" and (category != "Cf" or character in "\u200c\u200d"), "an invisible character")


# --- Journal --------------------------------------------------------------------------------------------------------------


class Journal:
    """The entries of a journal that an engine may lack."""

    BLOCK = 4096
    MARK = bytes(32)

    def __init__(self, data):
        self.data = data
        slots = [slot for slot in map(self.slot, (data[:4096], data[4096:8192])) if slot]
        check(slots, "both slots of the journal are damaged")
        check(len({slot[:2] for slot in slots}) == 1, "the slots are of different journals")
        half_blocks, self.id, self.epoch, self.number, self.bypassed = max(slots, key=lambda slot: slot[2])
        length = half_blocks * self.BLOCK
        check(len(data) == 8192 + 2 * length, "the journal has the wrong length")
        self.halves = [data[8192 : 8192 + length], data[8192 + length :]]
        self.begun = [self.begin(half) for half in self.halves]

    @staticmethod
    def slot(block):
        """Returns length of a half, id, epoch, number and bypassing batches; None for a slot that does not count."""
        if len(block) < 4096 or zlib.crc32(block[:4092]) != int.from_bytes(block[4092:], "little"):
            return None
        magic, version, _, half_blocks, journal, *position = struct.unpack("<8sHHI16sQQQ", block[:56])
        known = magic == b"\x89INMJNL\n" and version == 1 and 4 <= half_blocks <= 4096
        return (half_blocks, journal, *position) if known else None

    def begin(self, half):
        """Returns where entries begin in a half: for each place the length of the body, epoch, number, bypassing batches, changes,
        and CRC of the body."""
        found = {}
        for at in range(0, len(half), self.BLOCK):
            magic, body, journal, epoch, number, bypassed, changes, crc = struct.unpack("<4sI16sQQQII", half[at : at + 56])
            is_right = zlib.crc32(half[at : at + 124]) == int.from_bytes(half[at + 124 : at + 128], "little")
            if magic == b"IJE1" and is_right and journal == self.id and body <= 533888:
                found[at] = (body, epoch, number, bypassed, changes, crc)
        return found

    @staticmethod
    def changes(body, count):
        """Returns the changes of a body; None if it is not a list of changes."""
        changes, at, last = {}, 0, bytes(32)
        for _ in range(count):
            if at + 34 > len(body):
                return None
            address, length = body[at : at + 32], struct.unpack("<H", body[at + 32 : at + 34])[0]
            value = None if length == 65535 else body[at + 34 : at + 34 + length]
            at += 34 + len(value or b"")
            if address <= last or value is not None and not len(value) == length <= 4137:
                return None
            changes[address], last = value, address
        return changes if changes and at == len(body) else None

    def read_epoch(self, epoch, number, bypassed):
        """Returns the changes of an epoch whose entries follow one of this number, and the last number."""
        half, begun = self.halves[epoch % 2], self.begun[epoch % 2]
        changes, at = {}, 0
        while at in begun and begun[at][1:3] == (epoch, number + 1):
            length, _, _, count_of_bypassing, count, crc = begun[at]
            body = half[at + 128 : at + 128 + length]
            found = self.changes(body, count) if len(body) == length and zlib.crc32(body) == crc else None
            if found is None:
                break
            check(count_of_bypassing == bypassed, "the engine lacks a batch that bypassed the journal")
            changes |= found
            number += 1
            at += -(-(128 + length) // self.BLOCK) * self.BLOCK
        for place, (_, its_epoch, its_number, *_) in begun.items():
            is_next = (place, its_number) == (at, number + 1)
            check(place < at or its_epoch != epoch or is_next, "an entry of the journal is damaged")
        return changes, number

    def read_after(self, epoch, number, bypassed):
        """Returns the changes after an epoch, and the number of the last entry of the next one."""
        epochs = [entry[1] for begun in self.begun for entry in begun.values()]
        check(max(epochs, default=0) <= epoch + 2, "the engine is older than the journal")
        changes, last = self.read_epoch(epoch + 1, number, bypassed)
        if any(entry[1] == epoch + 2 for entry in self.begun[epoch % 2].values()):
            changes = changes | self.read_epoch(epoch + 2, last, bypassed)[0]
        return changes, last

    def read(self, mark):
        check(mark is not None and len(mark) == 40 and mark[:16] == self.id, "the engine belongs to another journal")
        epoch, number, bypassed = struct.unpack("<QQQ", mark[16:])
        check(bypassed >= self.bypassed, "journal and engine are of different days")
        if epoch == self.epoch:
            check(number == self.number, "journal and engine are of different days")
            return self.read_after(epoch, number, bypassed)[0]
        check(epoch == self.epoch + 1, "journal and engine are of different days")
        try:
            changes, last = self.read_after(self.epoch, self.number, bypassed)
            check(last == number, "the epoch of the mark is not there")
            return changes
        except Bad:
            return self.read_after(epoch, number, bypassed)[0]

    def apply(self, records):
        """Returns the records of a generation from the content of its engine."""
        records = dict(records)
        changes = self.read(records.pop(self.MARK, None))
        records |= {address: value for address, value in changes.items() if value is not None}
        return {address: value for address, value in records.items() if changes.get(address, value) is not None}


def read_records(data):
    records = {}
    at = 0
    while at < len(data):
        check(at + 34 <= len(data), "the export ends early")
        address, length = data[at : at + 32], struct.unpack("<H", data[at + 32 : at + 34])[0]
        check(address not in records, "the export has an address twice")
        records[address] = data[at + 34 : at + 34 + length]
        check(len(records[address]) == length, "the export ends early")
        at += 34 + length
    return records


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--header", required=True, help="a header copy")
    parser.add_argument("--records", required=True, help="the raw export of a generation")
    parser.add_argument("--journal", help="the journal of the generation; without it, the export must have no mark")
    parser.add_argument("--anchor", help="the anchor file, to be checked too")
    parser.add_argument("--passphrase-file", required=True, help="a file whose whole content is the passphrase")
    arguments = parser.parse_args()
    contents = {name: open(path, "rb").read() for name, path in vars(arguments).items() if path}
    try:
        passphrase = unicodedata.normalize("NFC", contents["passphrase_file"].decode()).encode()
        check(1 <= len(passphrase) <= 1024, "the passphrase is empty or too long")
        records = read_records(contents["records"])
        if "journal" in contents:
            records = Journal(contents["journal"]).apply(records)
        store = Store(Header(contents["header"]), passphrase, records)
        store.read()
        if "anchor" in contents:
            store.check_anchor(contents["anchor"])
    except Bad as reason:
        sys.exit(f"inmost_reader: {reason}")
    json.dump(store.files, sys.stdout, ensure_ascii=False, indent=1)
    print()


if __name__ == "__main__":
    main()

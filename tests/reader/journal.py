"""The journal of a generation, as docs/FORMAT.md describes it, and the raw export of an engine."""

import struct
import zlib

from header import Bad, check, prf


def mac_of_slots(header, data_key):
    """Returns the function of place and fields that is the MAC of a slot in this header's generation."""
    key = prf(data_key, b"inmost/1 jnl-key", header.store, struct.pack("<Q", header.generation))
    return lambda place, fields: prf(key, b"inmost/1 journal", header.store, bytes([place]) + fields)


class Journal:
    """The entries of a journal that an engine may lack."""

    BLOCK = 4096
    MARK = bytes(32)

    def __init__(self, data, mac):
        self.data = data
        blocks = (data[:4096], data[4096:8192])
        for place, block in enumerate(blocks):
            is_forged = self.slot(block) and block[96:128] != mac(place, block[:96])
            check(not is_forged, "a slot of the journal was written without the keys of the store")
        slots = [slot for slot in map(self.slot, blocks) if slot]
        check(slots, "both slots of the journal are damaged")
        check(len({slot[:2] for slot in slots}) == 1, "the slots are of different journals")
        half_blocks, self.id, self.epoch, self.number, self.bypassed, _ = max(slots, key=lambda slot: slot[5])
        length = half_blocks * self.BLOCK
        check(len(data) == 8192 + 2 * length, "the journal has the wrong length")
        self.halves = [data[8192 : 8192 + length], data[8192 + length :]]
        self.begun = [self.begin(half) for half in self.halves]

    @staticmethod
    def slot(block):
        """Returns length of a half, id, epoch, number, bypassing batches and revision; None for a slot that does not count."""
        if len(block) < 4096 or zlib.crc32(block[:4092]) != int.from_bytes(block[4092:], "little"):
            return None
        magic, version, _, half_blocks, journal, *position = struct.unpack("<8sHHI16sQQQ", block[:56])
        known = magic == b"\x89INMJNL\n" and version == 1 and 4 <= half_blocks <= 4096
        revision = int.from_bytes(block[88:96], "little")
        return (half_blocks, journal, *position, revision) if known else None

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

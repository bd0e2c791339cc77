"""Backups in a folder, as docs/FORMAT.md describes them: manifests, and packs of records."""

import hashlib
import struct

from header import check
from records import CLASSES


def checksum(data):
    return hashlib.blake2b(data, digest_size=32, person=b"inmost/1 check\0\0").digest()


def read_backup(path):
    """Returns the header of the backup with this manifest, and its records by address."""
    data = path.read_bytes()
    check(data[:16] == b"\x89INMBKP\n\1\0" + bytes(6), "no manifest of a backup")
    check(data[-32:] == checksum(data[:-32]), "the checksum of the manifest does not fit")
    check(path.name == f"backup-{struct.unpack('<Q', data[16:24])[0]:016x}", "the manifest has another number than its name")
    records, at, used = {}, 4128, data[:-32]
    while at < len(used):
        check(at + 12 <= len(used), "the manifest ends early")
        number, length = struct.unpack("<QI", used[at : at + 12])
        bits = used[at + 12 : at + 12 + length]
        check(len(bits) == length, "the manifest ends early")
        at += 12 + length
        pack = Pack(path.with_name(f"records-{number:016x}").read_bytes())
        for ordinal in range(8 * length):
            if bits[ordinal // 8] >> ordinal % 8 & 1:
                check(ordinal in pack.records, "a record of the backup is not in its pack")
                address, value = pack.records[ordinal]
                check(address not in records, "a backup has an address twice")
                records[address] = value
    return data[32:4128], records


class Pack:
    """The records of a pack, by ordinal: address and value."""

    def __init__(self, data):
        heads = [head for head in (data[:96], data[-96:]) if self.is_head(head)]
        check(heads, "both heads of a pack are damaged")
        first, *counts = struct.unpack("<6I", heads[0][12:36])
        lengths = [size + 41 for size, count in zip(CLASSES, counts) for _ in range(count)]
        at = 96 + 36 * len(lengths)
        check(len(data) == at + sum(lengths) + 96, "a pack has the wrong length")
        self.records, order = {}, []
        for place, length in enumerate(lengths):
            entry = data[96 + 36 * place : 132 + 36 * place]
            ordinal = int.from_bytes(entry[:4], "little")
            check(ordinal < first and ordinal not in self.records, "an ordinal that the pack never had, or has twice")
            self.records[ordinal] = entry[4:], data[at : at + length]
            order.append((length, entry[4:], ordinal))
            at += length
        check(order == sorted(order), "the records of a pack are not in order")
        check([ordinal for _, _, ordinal in order] == sorted(self.records), "ordinals do not follow the order of the records")

    @staticmethod
    def is_head(head):
        fixed = head[:12] == b"\x89INMPCK\n\1\0\0\0" and not any(head[36:64])
        return fixed and head[64:] == checksum(head[:64])

"""Backups in a folder, as docs/FORMAT.md describes them: manifests, and packs of records."""

import struct

from header import check, checksum
from records import CLASSES


def read_backup(path):
    """Returns the header of the backup with this manifest, and its records by address."""
    number, _, header, used = read_manifest(path.read_bytes())
    check(path.name == f"backup-{number:016x}", "the manifest has another number than its name")
    packs = ((path.with_name(f"records-{number:016x}"), bits) for number, bits in used)
    return header, records_of((pack.read_bytes() if pack.exists() else b"", bits) for pack, bits in packs)


def read_manifest(data):
    """Returns number, time and header, and for each pack that the backup uses its number and its bits."""
    check(data[-32:] == checksum(data[:-32]), "the checksum of the manifest does not fit")
    data = data[:-32]
    check(data[:8] == b"\x89INMBKP\n" and len(data) >= 10, "no manifest of a backup")
    check(data[8:10] == b"\1\0", "a manifest of an unknown version")
    check(not any(data[10:16]) and len(data) >= 4128, "the manifest ends early, or its padding is not zero")
    used, at = [], 4128
    while at < len(data):
        check(at + 12 <= len(data), "the manifest ends early")
        number, length = struct.unpack("<QI", data[at : at + 12])
        used.append((number, data[at + 12 : at + 12 + length]))
        at += 12 + length
    check(at == len(data), "the manifest ends early")
    return *struct.unpack("<QQ", data[16:32]), data[32:4128], used


def is_set(bits, ordinal):
    return ordinal < 8 * len(bits) and bits[ordinal // 8] >> ordinal % 8 & 1


def records_of(packs):
    """Returns the values of a backup by address. Takes packs, and the bits of each."""
    records = {}
    for data, bits in packs:
        pack = {ordinal: (address, value) for ordinal, address, value in Pack(data).records}
        for ordinal in (ordinal for ordinal in range(8 * len(bits)) if is_set(bits, ordinal)):
            check(ordinal in pack, "a record of the backup is not in its pack")
            address, value = pack[ordinal]
            check(address not in records, "a backup has an address twice")
            records[address] = value
    return records


class Pack:
    """The records of a pack: ordinal, address and value. One that is not strict has what is left of a damaged pack."""

    def __init__(self, data, is_strict=True):
        heads = [head for head in (data[:96], data[-96:]) if self.is_head(head)]
        check(heads, "both heads of a pack are damaged")
        first, *counts = struct.unpack("<6I", heads[0][12:36])
        at = 96 + 36 * sum(counts)
        check(at <= len(data), "a pack has no room for its list")
        self.records, order = [], []
        for place, length in enumerate(size + 41 for size, count in zip(CLASSES, counts) for _ in range(count)):
            entry = data[96 + 36 * place : 132 + 36 * place]
            ordinal, address = int.from_bytes(entry[:4], "little"), entry[4:]
            self.records.append((ordinal, address, data[at : at + length]))
            order.append((length, address))
            at += length
        if is_strict:
            check(len(data) == at + 96, "a pack has the wrong length")
            check(order == sorted(set(order)), "the records of a pack are not in order")
            ordinals = [ordinal for ordinal, _, _ in self.records]
            check(ordinals == sorted(set(ordinals)), "ordinals do not follow the order of the records, or are there twice")
            check(all(ordinal < first for ordinal in ordinals), "an ordinal that the pack never had")

    @staticmethod
    def is_head(head):
        fixed = head[:12] == b"\x89INMPCK\n\1\0\0\0" and not any(head[36:64])
        return fixed and head[64:] == checksum(head[:64])

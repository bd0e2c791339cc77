"""Passes headers and records through the Python reader, which must find in each what the vectors say of it."""

import struct

import records
from body import Body
from header import Bad, Header, argon2id, check

KINDS = ("passphrase", "passphrase and keyfile", "recovery key", "raw key")
# What the reader says when it refuses, and the reason in the vectors. The first that fits counts.
HEADERS = (
    ("no magic", "NotAStore"), ("unknown format version", "UnknownFormat"), ("unknown flags", "UnknownFlags"),
    ("unknown engine", "UnknownEngine"), ("out of bounds", "KdfOutOfBounds"), ("would cost too much", "KdfOutOfBounds"),
    ("fits no keyslot", "WrongCredential"), ("does not authenticate", "Tampered"), ("MAC does not fit", "Tampered"),
    ("", "Damaged"),
)  # fmt: skip
RECORDS = (
    ("impossible length", "Frame"), ("unknown version", "Frame"), ("does not authenticate", "NotAuthentic"),
    ("is not the version", "Stale"), ("", "Malformed"),
)  # fmt: skip


def unlock(data, credential):
    """Returns the header that this credential opens, and the data key."""
    header, kind = Header(data), 1 + KINDS.index(credential["kind"])

    def secret_of(slot):
        if kind > 2:
            return credential["key"]
        cost = struct.unpack("<III", slot[4:16])
        return argon2id(credential["passphrase"], slot[16:32], header.store, *cost) + credential.get("keyfile", b"")

    return header, header.data_key_of(kind, secret_of)


def refused(error, reasons, name, read):
    """Requires that the reader refuses something for the reason that the vectors give."""
    try:
        read()
    except Bad as bad:
        found = next(reason for part, reason in reasons if part in str(bad))
        check(found == error, f"{name}: the reader says {bad}, which is {found} and not {error}")
        return
    raise Bad(f"{name}: the reader does not refuse it")


def refused_header(name, error, data, credential):
    refused(error, HEADERS, name, lambda: unlock(data, credential))


class Reader:
    """Reads single records of a store."""

    def __init__(self, store):
        self.store = records.Store(Header(store.header), store.passphrase, {})

    def read(self, kind, object_id, index, value, tag, is_strict=True):
        """Returns the body. A strict reader also refuses what only a writer must not do."""
        store = self.store
        store.records, store.reached, store.below_head = {store.address(kind, object_id, index): value}, {}, set()
        if is_strict:
            body = store.load(kind, object_id, index, tag)
        else:
            plaintext, length = store.open(kind, object_id, index, tag)
            body = Body(plaintext[27 : 27 + length])
        body.whole(kind)
        return body.data

    def refused(self, name, error, kind, object_id, index, value, tag):
        refused(error, RECORDS, name, lambda: self.read(kind, object_id, index, value, tag, is_strict=False))

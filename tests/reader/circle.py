"""Objects of a circle, as docs/FORMAT.md and docs/SYNC.md describe them."""

import hashlib
import struct

from body import Body
from header import check, prf, unseal

CLASSES = [4096 << 2 * step for step in range(5)]


def checksum(data):
    return hashlib.blake2b(data, digest_size=32, person=b"inmost/1 check\0\0").digest()


def associated_data(circle, log, number, previous):
    return b"inmost/1 object".ljust(16, b"\0") + circle + log + struct.pack("<Q", number) + previous


def object_key(key, role, circle, log, number):
    return prf(key, role, circle, log + struct.pack("<Q", number))


def nonce_of(key, circle, log, number, random, body):
    nonce_key = object_key(key, b"inmost/1 cir-nky", circle, log, number)
    return prf(nonce_key, b"inmost/1 cir-non", circle, random + checksum(body))[:24]


def file_id(key, circle, path, text):
    return prf(key, b"inmost/1 cir-fil", circle, checksum(path + b"\0" + text))[:16]


def padded(changes):
    """The body of an object with these changes."""
    length = 4 + len(changes)
    size = next((size for size in CLASSES if length <= size), -(-length >> 20) << 20)
    return (struct.pack("<I", len(changes)) + changes).ljust(size, b"\0")


def open_object(key, circle, log, number, previous, tag, data):
    """Returns the body of an object whose name has this number and tag."""
    check(len(data) >= 41 and data[0] == 1, "this is no object of this version")
    check(data[-16:] == tag, "the object has another tag than its name")
    key = object_key(key, b"inmost/1 cir-obj", circle, log, number)
    return unseal(key, associated_data(circle, log, number, previous), data[1:], "the object")


def check_changes(body):
    """Reads the changes in a body, which are those of no snapshot."""
    length = struct.unpack("<I", body[:4])[0]
    check(length <= len(body) - 4, "an object with changes longer than itself")
    changes = Body(body[4 : 4 + length])

    def vector():
        return changes.list(lambda: (changes.take(16), changes.number(), changes.take(16)))

    def state():
        kind = changes.number()
        check(kind <= 2, "a state of an unknown kind")
        changes.take(16), vector()
        if kind == 2:
            vector()
            return
        text = changes.number() if kind == 0 else 0
        check(text < len(texts) or kind == 1, "a state without its text")
        changes.text()
        if kind == 0:
            bases = changes.list(lambda: (vector(), changes.number()))
            check(len(bases) <= 8 and all(text < len(texts) for _, text in bases), "wrong base texts")

    changes.text(), changes.numbers(2), vector()
    texts = changes.list(changes.text)
    changes.list(state)
    check(not changes.form(), "a snapshot, which this reader does not know")
    changes.end()

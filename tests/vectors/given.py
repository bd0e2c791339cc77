"""What the vectors are made from: bytes that look random, and a store whose secrets are known."""

import hashlib
import struct

from header import argon2id, checksum, prf
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt

GENERATION = 7
MEMORY, PASSES, LANES = 19456, 2, 1


class Bytes:
    """Bytes that look random and are always the same."""

    def __init__(self, name):
        self.name, self.count = name, 0

    def take(self, length):
        self.count += 1
        return hashlib.shake_256(f"{self.name} {self.count}".encode()).digest(length)


def seal(key, aad, nonce, plaintext):
    """Returns ciphertext and tag."""
    return crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, aad, nonce, key)


class Store:
    """A store whose secrets are known, with a header that has a slot of each kind."""

    def __init__(self):
        some = self.some = Bytes("header")
        self.id, self.master, self.data_key = some.take(16), some.take(32), some.take(32)
        self.passphrase = "Zoë's passphrase".encode()
        self.keyfile, self.recovery, self.raw = some.take(32), some.take(32), some.take(32)
        self.slots = [self.slot(number, kind) for number, kind in ((0, 1), (2, 2), (3, 3), (6, 4))]
        self.header = self.make()

    def credential(self, kind):
        names = ("passphrase", "passphrase and keyfile", "recovery key", "raw key")
        secrets = {"passphrase": self.passphrase} if kind in (1, 2) else {}
        secrets |= {2: {"keyfile": self.keyfile}, 3: {"key": self.recovery}, 4: {"key": self.raw}}.get(kind, {})
        return {"kind": names[kind - 1], **secrets}

    def role(self, role):
        return prf(self.master, role, self.id)

    def slot(self, number, kind, cost=(MEMORY, PASSES, LANES), label=None):
        some, has_cost = self.some, kind in (1, 2)
        salt, label = some.take(16), label or f"slot {number}".encode()
        if has_cost:
            secret = argon2id(self.passphrase, salt, self.id, *cost) + (self.keyfile if kind == 2 else b"")
        else:
            secret = self.recovery if kind == 3 else self.raw
        costs = struct.pack("<III", *(cost if has_cost else (0, 0, 0)))
        place = bytes([number, kind])
        message = place + salt
        nonce, label_nonce = some.take(24), some.take(24)
        aad = b"inmost/1 slot".ljust(16, b"\0") + self.id + place + costs + salt
        sealed = seal(prf(secret, b"inmost/1 kek", self.id, message), aad, nonce, self.master)
        text = (1_700_000_000_000 + number).to_bytes(8, "little") + bytes([len(label)]) + label.ljust(63, b"\0")
        aad = b"inmost/1 label".ljust(16, b"\0") + self.id + place + salt
        sealed_label = seal(self.role(b"inmost/1 label"), aad, label_nonce, text)
        commitment = prf(secret, b"inmost/1 commit", self.id, message)
        slot = bytes([kind, 0, 0, 0]) + costs + salt + commitment + nonce + sealed + label_nonce + sealed_label
        return number, slot.ljust(256, b"\0")

    def make(self, changes=None, slots=None, data_key_aad=None):
        """The header, with bytes replaced before its MAC."""
        data = bytearray(4096)
        data[:12] = b"\x89INMOST\n\1\0\1\0"
        data[16:32] = self.id
        data[32:48] = struct.pack("<QQ", 5, GENERATION)
        nonce = Bytes("data key").take(24)
        aad = data_key_aad or self.data_key_aad()
        data[48:120] = nonce + seal(self.role(b"inmost/1 wrap"), aad, nonce, self.data_key)
        noise = Bytes("free slots")
        used = dict(self.slots if slots is None else slots)
        for number in range(8):
            at = 128 + 256 * number
            data[at : at + 256] = used.get(number, b"\0" + noise.take(255))
        data[2176:2192] = Bytes("before").take(16)
        for at, part in (changes or {}).items():
            data[at : at + len(part)] = part
        data[4032:4064] = prf(self.role(b"inmost/1 hdr-key"), b"inmost/1 hdr-mac", self.id, bytes(data[:4032]))
        return self.mended(bytes(data))

    def data_key_aad(self, engine=1, generation=GENERATION):
        return b"inmost/1 datakey" + self.id + struct.pack("<QB", generation, engine)

    @staticmethod
    def mended(data):
        return data[:4064] + checksum(data[:4064])

    def address(self, kind, object_id, index):
        generation = struct.pack("<Q", GENERATION)
        key = prf(self.data_key, b"inmost/1 adr-key", self.id, generation)
        return prf(key, b"inmost/1 address", self.id, struct.pack("<B16sQ", kind, object_id, index))


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def patches(whole, changed):
    """The runs of bytes in which a changed header differs: for each the place, and the bytes there."""
    length, runs = min(len(whole), len(changed)), []
    differs = [at for at in range(length) if whole[at] != changed[at]] + list(range(length, len(changed)))
    for at in differs:
        if runs and at - sum(runs[-1]) < 8:
            runs[-1][1] = at - runs[-1][0] + 1
        else:
            runs.append([at, 1])
    return {"length": len(changed), "patches": [[at, changed[at : at + count]] for at, count in runs]}

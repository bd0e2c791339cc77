"""Keys and header of a store, as docs/FORMAT.md describes them."""

import hashlib
import struct

from argon2.low_level import ARGON2_VERSION, Type, core, ffi
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt
from nacl.exceptions import CryptoError

PASSPHRASE, RAW_KEY = 1, 4


class Bad(Exception):
    """The bytes are not an undamaged store of this format."""


def check(condition, reason):
    if not condition:
        raise Bad(reason)


def prf(key, role, store, message=b""):
    return hashlib.blake2b(message, digest_size=32, key=key, salt=store, person=role.ljust(16, b"\0")).digest()


def checksum(data):
    return hashlib.blake2b(data, digest_size=32, person=b"inmost/1 check\0\0").digest()


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


class Header:
    def __init__(self, data):
        magic = b"\x89INMOST\n"
        check(data[:8] == magic[: len(data)], "no magic: this is no store")
        check(len(data) >= 10, "the header is cut")
        check(data[8:10] == b"\1\0", "unknown format version")
        check(len(data) == 4096, "the header is not 4,096 bytes long")
        check(data[4064:] == checksum(data[:4064]), "the header's checksum does not fit")
        check(data[12:16] == bytes(4), "unknown flags")
        check(data[10] in (1, 2, 3, 255), "unknown engine")
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

        def derive(slot):
            return argon2id(passphrase, slot[16:32], self.store, *struct.unpack("<III", slot[4:16]))

        return self.data_key_of(PASSPHRASE, derive)

    def raw_data_key(self, key):
        """As data_key, with a raw key."""
        return self.data_key_of(RAW_KEY, lambda _: key)

    def data_key_of(self, kind, secret_of):
        costs = [struct.unpack("<II", slot[4:12]) for slot in self.slots if slot[0] == kind]
        check(sum(memory * passes for memory, passes in costs) <= 4194304, "unlocking would cost too much")
        for number, slot in enumerate(self.slots):
            if slot[0] != kind:
                continue
            secret = secret_of(slot)
            place = bytes([number, kind])
            message = place + slot[16:32]
            if prf(secret, b"inmost/1 commit", self.store, message) != slot[32:64]:
                continue
            aad = b"inmost/1 slot".ljust(16, b"\0") + self.store + place + slot[4:32]
            self.master = unseal(prf(secret, b"inmost/1 kek", self.store, message), aad, slot[64:136], "the master key")
            mac = prf(self.master_key(b"inmost/1 hdr-key"), b"inmost/1 hdr-mac", self.store, self.data[:4032])
            check(mac == self.data[4032:4064], "the header's MAC does not fit")
            self.check_labels()
            aad = b"inmost/1 datakey" + self.store + self.data[40:48] + self.data[10:11]
            return unseal(self.master_key(b"inmost/1 wrap"), aad, self.data[48:120], "the data key")
        raise Bad("the credential fits no keyslot")

    def follows(self, revision, mac):
        """Whether this header was made from that of this revision and MAC by one change."""
        return (self.revision - 1, self.before) == (revision, mac)

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

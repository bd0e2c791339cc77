"""The anchor of a store, as docs/FORMAT.md describes it."""

import struct

from header import check, prf
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt
from nacl.exceptions import CryptoError

KNOWN, RETIRED = 1, 3
EXTERNAL = 4


class Anchor:
    def __init__(self, header):
        self.store, self.key = header.store, header.master_key(b"inmost/1 anc-key")

    def open(self, sealed, index):
        """Returns sequence, state and mark of a slot; None if it does not count at this index."""
        aad = b"inmost/1 anchor\0" + self.store + bytes([index])
        try:
            text = crypto_aead_xchacha20poly1305_ietf_decrypt(sealed[24:120], aad, sealed[:24], self.key)
        except (CryptoError, ValueError):
            return None
        place, state, announced, zeros, sequence, *mark = struct.unpack("<BBB5sQQQQ24s16s", text)
        is_defined = place == index and state in (1, 2, 3) and announced in (0, 1) and not any(zeros)
        return (sequence, state, mark) if is_defined and index in (EXTERNAL, sequence % 2, sequence % 2 + 2) else None

    def freshness(self, data, root, anchored, external=None):
        """Returns `known` or `unknown`. Refuses a store that is older than its anchor, or older than a rotation.

        `root` is the mark of the root: commit, generation, revision of the header, nonce and tag."""
        opened = [(index, self.open(data[128 * index : 128 * index + 120], index)) for index in range(4)]
        slots = [(*slot, index // 2) for index, slot in opened if slot]
        check(all(state != RETIRED for _, state, _, _ in slots), "the keys are from before a rotation")
        marks = [mark for _, _, mark, _ in slots]
        if external is not None:
            values = [self.open(external[at : at + 120], EXTERNAL) for at in range(0, len(external), 120)]
            values = [value for value in values if value]
            check(values, "the value kept elsewhere is of other keys")
            marks.append(values[0][2])
        for mark in marks:
            check(mark[0] < root[0] or mark == root, "the store is older than its anchor")
        if external is not None and values[0][1:] == (KNOWN, root):
            return "known"
        if len(slots) != 2:
            return "unknown"
        (first, state, older, pair), (second, other_state, newer, other_pair) = sorted(slots)
        in_order = second == first + 1 and (older[0] < newer[0] or older == newer) and second >= anchored
        return "known" if in_order and pair == other_pair and state == other_state == KNOWN else "unknown"

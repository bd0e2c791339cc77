"""Credentials outside the store, as docs/FORMAT.md describes them: keyfiles, and recovery keys as text."""

import re

from header import check, checksum

SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# The characters with the property White_Space, which are fewer than those of `str.isspace`, and the dashes.
SEPARATORS = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\u2010-\u2015\u2212-"


def keyfile_secret(data):
    magic = b"\x89INMKEY\n"
    check(data and data[:8] == magic[: len(data)], "this is no keyfile")
    check(len(data) >= 10, "the keyfile is cut")
    check(data[8:10] == b"\1\0", "a keyfile of an unknown version")
    check(len(data) == 80, "the keyfile is not 80 bytes long")
    check(data[48:] == checksum(data[:48]), "the keyfile's checksum does not fit")
    check(not any(data[10:16]), "the keyfile's padding is not zero")
    return data[16:48]


def check_symbol(number, group):
    """The check character of a group, as its number: a, b, c and d are too."""
    value = 0
    for symbol in reversed(group):
        value = (value ^ symbol) << 1
        value ^= 37 if value >= 32 else 0
    return value ^ number


def recovery_key(text):
    """The key of a text. A refusal names the first group that is wrong, where one is."""
    check(len(text.encode()) <= 616, "a recovery key has 13 groups, which is less")
    symbols, pieces = [], re.split(f"[{SEPARATORS}]", text)
    for char in "".join(pieces):
        # Only ASCII has two cases here: for Python, the lower case of the Kelvin sign is a k.
        char = {"O": "0", "I": "1", "L": "1"}.get(char.upper(), char.upper()) if char.isascii() else char
        check(char in SYMBOLS, f"group {len(symbols) // 5 + 1} has a foreign character")
        symbols.append(SYMBOLS.index(char))
    at = 0
    # Where the last piece ends, nothing shows that its group should be longer.
    for piece in pieces[:-1] if len(symbols) != 65 else ():
        check(len(piece) % 5 == 0, f"group {at // 5 + 1} has not five characters")
        at += len(piece)
    groups = [symbols[at : at + 5] for at in range(0, len(symbols), 5)]
    for number, group in enumerate(groups[:13]):
        check(group[4:] == [check_symbol(number, group[:4])], f"group {number + 1} has another check character")
    check(len(symbols) == 65, "a recovery key has 13 groups")
    bits = 0
    for symbol in (symbol for group in groups for symbol in group[:4]):
        bits = bits << 5 | symbol
    check(bits & 15 == 0, "group 13 has bits behind the key")
    return (bits >> 4).to_bytes(32, "big")

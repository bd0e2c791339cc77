"""Names and sizes, as docs/FORMAT.md describes them."""

import re
import unicodedata

from header import check

# UTF-8 sequences of two to six bytes, as RFC 2279 allowed them.
OVERLONG = b"|".join(rb"[\x%02x-\x%02x][\x80-\xbf]{%d}" % (0x100 - (0x100 >> n), 0xFF - (0x80 >> n), n - 1) for n in range(2, 7))


def check_size(text, said):
    check(len(text.encode()) == said["bytes"], "a text has another length than its entry says")
    lines = text.count("\n") + (text != "" and not text.endswith("\n"))
    check(lines == said["lines"], "a text has another number of lines than its entry says")


def check_name(name, system):
    if system:
        check(len(name) == 16 and all(digit in "0123456789abcdef" for digit in name), "a name in the system folder")
        return
    check(1 <= len(name.encode()) <= 255, "a name is empty or too long")
    check(unicodedata.is_normalized("NFC", name), "a name is not NFC")
    check(name not in (".", "..") and not set(name) & set("/\\\0\u2028\u2029"), "a name could lead elsewhere")
    check(not name[0].isspace() and not name[-1].isspace(), "white space at an end of a name")
    check(not all(map(is_invisible, name)), "a name that nobody sees")
    decoded = percent_decoded(name.encode())
    characters = re.sub(OVERLONG, as_character, decoded)
    check(0 not in decoded and characters not in (b".", b"..") and not set(characters) & set(b"/\\"), "an escaped name")
    for character in name:
        category = unicodedata.category(character)
        check(category != "Cc" and (category != "Cf" or character in "\u200c\u200d"), "an invisible character")


def percent_decoded(data):
    """Decodes until nothing is left to decode."""
    once = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), data)
    return once if once == data else percent_decoded(once)


def as_character(found):
    """The ASCII character of an overlong form; other bytes as they are."""
    lead, *rest = found[0]
    value = lead & (0x7F >> len(found[0]))
    for byte in rest:
        value = value << 6 | byte & 0x3F
    return bytes([value]) if value < 0x80 else found[0]


def is_invisible(character):
    selectors = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
    return character.isspace() or character in "\u200c\u200d\u3164" or any(ord(character) in them for them in selectors)

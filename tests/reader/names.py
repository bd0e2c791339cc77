"""Names and sizes, as docs/FORMAT.md describes them."""

import unicodedata

from header import check


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
    for character in name:
        category = unicodedata.category(character)
        check(category != "Cc" and (category != "Cf" or character in "\u200c\u200d"), "an invisible character")


def is_invisible(character):
    selectors = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
    return character.isspace() or character in "\u200c\u200d\u3164" or any(ord(character) in them for them in selectors)

"""Vectors for credentials outside the store: keyfiles, and recovery keys as text."""

from checked import refused
from credential import SYMBOLS, check_symbol, keyfile_secret, recovery_key
from example import from_page
from given import Bytes, checksum, flipped, patches
from header import check

# What the reader says when it refuses, and the reason in the vectors. The first that fits counts.
KEYFILES = (("no keyfile", "NotAKeyfile"), ("unknown version", "UnknownVersion"), ("", "Damaged"))
TEXTS = (("has a foreign character", "NotACharacter"), ("has not five characters", "GroupLength"), ("has", "Typo"))
BLANKS = (*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
DASHES = (0x2D, *range(0x2010, 0x2016), 0x2212)


def cases():
    some = Bytes("credentials")
    return {"keyfiles": keyfiles(some), "recovery_keys": recovery_keys(some)}


def keyfile(secret, version=b"\1\0", zeros=bytes(6)):
    data = b"\x89INMKEY\n" + version + zeros + secret
    return data + checksum(data)


def keyfiles(some):
    secrets = [from_page("keyfile"), some.take(32), bytes(32)]
    opens = [{"secret": secret, "keyfile": keyfile(secret)} for secret in secrets]
    for case in opens:
        check(keyfile_secret(case["keyfile"]) == case["secret"], "a keyfile has another secret for the reader")
    check(opens[0]["keyfile"] == from_page("keyfile file"), "the keyfile of the page is another one")
    rows, secret, whole = [], secrets[1], opens[1]["keyfile"]

    def refuse(name, error, data):
        refused(error, KEYFILES, name, lambda: keyfile_secret(data))
        rows.append({"name": name, "of": 1, **patches(whole, data), "error": error})

    refuse("empty", "NotAKeyfile", b"")
    refuse("another first byte", "NotAKeyfile", flipped(whole, 0))
    refuse("another last byte of the magic", "NotAKeyfile", flipped(whole, 7))
    refuse("a line feed that became two characters", "NotAKeyfile", whole.replace(b"\n", b"\r\n", 1))
    refuse("another magic and a byte short", "NotAKeyfile", flipped(whole, 7)[:-1])
    refuse("another magic and another version", "NotAKeyfile", b"\x88" + keyfile(secret, b"\2\0")[1:])
    refuse("one byte that is not the magic's", "NotAKeyfile", b"I")
    for version in (0, 2, 0x0100, 0x0101, 0xFFFF):
        refuse(f"version {version}", "UnknownVersion", keyfile(secret, version.to_bytes(2, "little")))
    other = keyfile(secret, b"\2\0")
    refuse("version 3 without a checksum that fits", "UnknownVersion", flipped(other, 8))
    for length in (10, 79):
        refuse(f"version 2 with {length} bytes", "UnknownVersion", other[:length])
    refuse("version 2 with 81 bytes", "UnknownVersion", other + b"\0")
    refuse("version 2 with padding that is not zero", "UnknownVersion", keyfile(secret, b"\2\0", b"\1" * 6))
    for length in (1, 7, 8, 9, 10, 48, 79):
        refuse(f"cut to {length} bytes", "Damaged", whole[:length])
    refuse("a byte long", "Damaged", whole + b"\0")
    refuse("4,097 bytes", "Damaged", whole.ljust(4097, b"\n"))
    for what, at in (("secret", 16), ("end of the secret", 47), ("checksum", 48), ("end of the checksum", 79)):
        refuse(f"a bit flipped in the {what}", "Damaged", flipped(whole, at))
    for at in range(6):
        zeros = bytes(at) + b"\1" + bytes(5 - at)
        refuse(f"byte {10 + at} is not zero", "Damaged", keyfile(secret, zeros=zeros))
        refuse(f"byte {10 + at} is not zero, without a checksum that fits", "Damaged", flipped(whole, 10 + at))
    return {"opens": opens, "refused": rows}


def group_text(number, data):
    return "".join(SYMBOLS[symbol] for symbol in (*data, check_symbol(number, data)))


def recovery_text(key):
    bits = int.from_bytes(key, "big") << 4
    symbols = [bits >> 5 * (51 - at) & 31 for at in range(52)]
    return "-".join(group_text(number, symbols[4 * number : 4 * number + 4]) for number in range(13))


def recovery_keys(some):
    page, other = from_page("recovery key"), some.take(32)
    opens = [{"key": key, "text": recovery_text(key)} for key in (page, other, bytes(32), b"\xff" * 32, bytes(31) + b"\1")]
    for case in opens:
        check(recovery_key(case["text"]) == case["key"], "a text is another key for the reader")
    texts = [case["text"] for case in opens]
    text, zeros, read, rows = texts[1], texts[2], [], []
    groups = text.split("-")

    def reads(name, typed, of=1):
        check(recovery_key(typed) == opens[of]["key"], f"{name}: another key for the reader")
        read.append({"name": name, "of": of, "text": typed})

    def refuse(name, error, typed, group=None):
        reasons = [(f"group {group} {part}", reason) for part, reason in TEXTS]
        refused(error, [*reasons, ("13 groups", "WrongLength"), ("", "another")], name, lambda: recovery_key(typed))
        rows.append({"name": name, "text": typed, "error": error, **({"group": group} if group else {})})

    def with_group(at, changed):
        return "-".join([*groups[:at], changed, *groups[at + 1 :]])

    reads("lower case", text.lower())
    reads("every second character in lower case", "".join(char.lower() if at % 2 else char for at, char in enumerate(text)))
    for of in (1, 2):
        for zero, one in ("OI", "oi", "OL", "ol"):
            reads(f"{zero} and {one} for 0 and 1", texts[of].replace("0", zero).replace("1", one), of)
    reads("without dashes", text.replace("-", ""))
    reads("blanks around it, and a line break", f" \t{text}\r\n")
    reads("dashes around it", f"--{text}-")
    reads("a blank behind each character", "".join(f"{char} " for char in text.replace("-", "")))
    reads("groups of other lengths", "-".join(text.replace("-", "")[at : at + 7] for at in range(0, 65, 7)))
    for what, separators in (("blank", BLANKS), ("dash", DASHES)):
        for code in separators:
            reads(f"the {what} U+{code:04X}", text.replace("-", chr(code)))
    reads("616 bytes", text.ljust(616))
    reads("616 bytes of fewer characters", text + "\u2003" * 179 + "  ")

    for number, group in enumerate(groups):
        at = number % 5
        wrong = SYMBOLS[SYMBOLS.index(group[at]) ^ 1 << number % 5]
        refuse(f"character {at + 1} of group {number + 1} is wrong", "Typo", with_group(number, group[:at] + wrong + group[at + 1 :]), number + 1)
        one, two = next((one, two) for one in range(at, at + 5) for two in range(one + 1, at + 5) if group[one % 5] != group[two % 5])
        swapped = list(group)
        swapped[one % 5], swapped[two % 5] = group[two % 5], group[one % 5]
        what = f"characters {one % 5 + 1} and {two % 5 + 1} of group {number + 1} changed places"
        refuse(what, "Typo", with_group(number, "".join(swapped)), number + 1)
    for one, two in ((0, 1), (0, 12), (3, 8), (11, 12)):
        swapped = list(groups)
        swapped[one], swapped[two] = groups[two], groups[one]
        refuse(f"groups {one + 1} and {two + 1} changed places", "Typo", "-".join(swapped), one + 1)
    swapped = zeros.split("-")
    refuse("groups 1 and 2 of the key of zeros changed places", "Typo", "-".join([swapped[1], swapped[0], *swapped[2:]]), 1)
    refuse("wrong characters in groups 5 and 9", "Typo", zeros[:24] + "2" + zeros[25:48] + "2" + zeros[49:], 5)
    for bit in (1, 2, 4, 8):
        data = [SYMBOLS.index(char) for char in groups[12][:4]]
        refuse(f"{bit} behind the key", "Typo", with_group(12, group_text(12, [*data[:3], data[3] | bit])), 13)

    for number in (0, 6, 11):
        for at in (0, 4):
            shorter = groups[number][:at] + groups[number][at + 1 :]
            refuse(f"group {number + 1} without character {at + 1}", "GroupLength", with_group(number, shorter), number + 1)
        refuse(f"group {number + 1} with a character more", "GroupLength", with_group(number, groups[number] + "0"), number + 1)
    refuse("the last character is missing", "Typo", text[:-1], 13)
    refuse("a character more at the end", "WrongLength", text + "0")
    for count in (0, 1, 12):
        refuse(f"{count} groups", "WrongLength", "-".join(groups[:count]))
    refuse("14 groups", "WrongLength", f"{text}-{group_text(13, bytes(4))}")
    refuse("12 groups, the third of them wrong", "Typo", with_group(2, groups[3])[:71], 3)
    refuse("the key twice", "WrongLength", f"{text}-{text}")
    refuse("only blanks and dashes", "WrongLength", " -" * 308)
    refuse("617 bytes", "WrongLength", text.ljust(617))
    refuse("617 bytes of fewer characters", "WrongLength", text + "\u2003" * 180)
    refuse("617 bytes and a foreign character", "WrongLength", text.ljust(616) + "!")

    for char in "Uu!_\0é":
        refuse(f"U+{ord(char):04X} in group 4", "NotACharacter", with_group(3, groups[3][:4] + char), 4)
    # Those that other definitions take for a blank or a dash, and those that are a letter or a digit in another case or width.
    for code in (0x1C, 0x1F, 0xAD, 0x180E, 0x200B, 0x200F, 0x2016, 0x2043, 0x2060, 0xFE58, 0xFEFF, 0xFF0D):
        refuse(f"U+{code:04X} for a dash", "NotACharacter", text.replace("-", chr(code)), 2)
    for code in (0x131, 0x17F, 0x212A, 0xFF10, 0x660):
        refuse(f"U+{code:04X} as the first character", "NotACharacter", chr(code) + text[1:], 1)
    return {"opens": opens, "read": read, "refused": rows}

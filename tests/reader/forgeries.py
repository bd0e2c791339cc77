"""Stores that a holder of the keys could write against docs/FORMAT.md: the example store with one field changed, sealed anew."""

from example import CREATED, DAY, GONE, HISTORY, LONG, MODIFIED, READINGS, SHORT, Example
from example import fixed, from_page, header, number, numbers, reading, text
from header import Header
from records import Store


def read_forged(changes):
    """Reads the example store with changed bodies: for each record its name, the bytes to replace, and what replaces them."""
    example = Example(changes)
    example.build()
    store = Store(Header(header()), from_page("passphrase"), example.records)
    store.read()
    return store


def cases():
    """Returns for each case what is wrong, the reason for which it must be refused, and the changes."""
    path, agent = text(b"/memories/long.txt"), text(b"night-agent")
    # An entry of the history from its channel to its number of lines.
    created = b"\2" + text(b"") + numbers(256, 0) + path + text(b"") + numbers(4080, 255)
    modified = b"\1\0" + agent + numbers(256, 256) + path + text(b"") + numbers(4066, 255)
    facts, of_short = numbers(4, 0, 256, 384), numbers(0, 0, 128, 128) + b"\0"
    counts = numbers(4066, 254)
    last, last_age = MODIFIED // DAY, MODIFIED - CREATED
    of_files = reading(128, CREATED // DAY) + reading(256, last)
    yield from (
        ("flags of the root", "unknown flags", ("root", b"\0" + HISTORY, b"\1" + HISTORY)),
        ("a tag of no history", "no history has a tag", ("root", HISTORY, bytes(16))),
        ("a gap in the trail", "the trail", ("root", b"\xa4" * 8, bytes(8))),
        ("a trail of more roots than there were", "the trail", ("root", bytes(8), b"\xff" * 8)),
        ("flags of a file", "unknown flags", ("folder leaf", facts + b"\0", facts + b"\1")),
        ("a writer in the tree", "still being written", ("people", of_short + b"\0", of_short + b"\1" + bytes(17))),
        ("an unknown form of a writer", "unknown form", ("people", of_short + b"\0", of_short + b"\2")),
        ("a head at another index", "missing", ("folder leaf", facts, numbers(3, 0, 256, 384))),
        ("a lowest head above the head", "no head that may be shown", ("folder leaf", facts, numbers(4, 5, 256, 384))),
        ("a head with an index above the last", "never given out", ("long file", fixed(4), fixed(3))),
        ("a partial text in the tree", "is partial", ("long file", fixed(4), fixed(4 + (1 << 63)))),
        ("a history that holds less than its entries", "it holds", ("history", fixed(4086), fixed(4085))),
        ("a text without room", "no room", ("history", fixed(4086, 0), fixed(4086, 385))),
        ("an entry from before the history began", "before it began", ("history", fixed(4086, 0, 0), fixed(4086, 0, 257))),
        ("a coming commit of the history", "never was", ("history", fixed(4086, 0, 0, 6), fixed(4086, 0, 0, 8))),
        ("an age that falls", "the age of the history falls", ("history", fixed(last_age, MODIFIED), fixed(1, MODIFIED))),
        ("a clock that went back", "another clock went back", ("history", fixed(MODIFIED, 0, 0), fixed(MODIFIED, 0, 1))),
        ("an index of the history above the last", "never given out", ("history", fixed(2, 4086), fixed(1, 4086))),
        ("a first entry with another number", "another first entry", ("history inner", numbers(2, 256), numbers(2, 257))),
        ("another number of entries", "counts something else", ("history inner", numbers(2, 256), numbers(3, 256))),
        ("entries out of order", "not in order", ("history leaf", number(384) + b"\xfd", number(386) + b"\xfd")),
        ("two entries of one number", "not in order", ("history", number(385) + b"\xfd", number(384) + b"\xfd")),
        ("an entry of a coming commit", "never was", ("history", number(385) + b"\xfd", number(512) + b"\xfd")),
        ("an unknown operation", "unknown operation", ("history leaf", modified, b"\x08" + modified[1:])),
        ("an unknown channel", "unknown operation", ("history leaf", created, b"\5" + created[1:])),
        ("a long actor", "actor is too long", ("history leaf", created, b"\2" + text(b"a" * 65) + created[2:])),
        ("a path outside", "is no path", ("history leaf", created, created.replace(b"/memories", b"/elsewher"))),
        ("a path of no rename", "an old path", ("history leaf", created, created.replace(path + b"\0", path + path))),
        ("an earlier change that is later", "before the one it follows", ("history leaf", numbers(256, 0), numbers(256, 257))),
        ("an unknown form of what an entry holds", "unknown form", ("history leaf", created + b"\0", created + b"\5")),
        ("retired records without a head", "retired records", ("history leaf", created + b"\0\0", created + b"\0\1\0\1")),
        (
            "an entry that holds nothing, but bytes", "of bytes than it says",
            ("history leaf", created + bytes(3), created + b"\0\0\1"), ("history", fixed(4086), fixed(4087)),
        ),
        (
            "an entry that holds too much", "more bytes",
            ("history leaf", b"\1\0\3" + number(4080), b"\1\0\3" + number(4081)), ("history", fixed(4086), fixed(4087)),
        ),
        ("an extension of an entry", "unknown extension", ("history leaf", created + bytes(5), created + bytes(4) + b"\1")),
        ("an earlier head of another size", "another length", ("history leaf", numbers(3, 4080, 255), numbers(3, 4079, 255))),
        ("another last index", "another last index", ("history leaf", numbers(3, 4080, 255), numbers(4, 4080, 255))),
        ("a retired record that is not below", "not below", ("history leaf", b"\1\0\3" + number(4080), b"\1\0\4" + number(4080))),
        ("an object with a name", "has a name", ("history", b"\0" + GONE, text(b"gone.md") + GONE)),
        ("another version of the object", "another version", ("history", numbers(0, 129, 129), numbers(0, 129, 130))),
        ("the object of a file of the tree", "twice", ("history", GONE, SHORT)),
        ("the present head as an earlier one", "twice", ("history leaf", b"\1" + LONG + b"\0", b"\1" + LONG + b"\4")),
        ("a tag of no readings", "no file of readings has a tag", ("root", READINGS, bytes(16))),
        ("readings that are not recorded", "says more", ("root", fixed(CREATED, MODIFIED), fixed(0, MODIFIED))),
        ("readings that seem to be a file", "not marked as partial", ("readings", fixed(1 << 63), fixed(0))),
        ("a reading in capitals", "another form", ("readings", b"4cdb", b"4CDB")),
        ("a reading that is cut off", "another form", ("readings", text(of_files), text(of_files[:-1]))),
        ("a reading of a coming file", "never was", ("readings", reading(256, last), reading(512, last))),
        ("readings out of order", "not in order", ("readings", reading(256, last), reading(127, last))),
        ("a record twice below one head", "twice", ("old long file", counts + b"\3", counts + b"\1")),
    )

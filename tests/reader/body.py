"""The bodies of records, as docs/FORMAT.md describes them."""

import struct

from header import Bad, check

ROOT, FOLDER, FOLDER_INNER, FOLDER_LEAF, FILE, FILE_INNER, CHUNK, HISTORY, HISTORY_INNER, HISTORY_LEAF = range(1, 11)
OPERATIONS = ("created", "modified", "renamed", "deleted", "restored", "expired", "imported", "forgotten")
CHANNELS = ("tool", "files", "program", "import", "expiry")
NOTHING, OLD_HEAD, OBJECT, RESTORED = range(4)


class Body:
    """A cursor in the body of a record."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, n):
        check(self.at + n <= len(self.data), "a body ends early")
        self.at += n
        return self.data[self.at - n : self.at]

    def fixed(self):
        return struct.unpack("<Q", self.take(8))[0]

    def byte(self):
        return self.take(1)[0]

    def form(self):
        form = self.byte()
        check(form <= 1, "unknown form")
        return form

    def number(self):
        first = self.byte()
        if first < 251:
            return first
        check(first <= 253, "unknown marker of a number")
        width, least = {251: (2, 251), 252: (4, 1 << 16), 253: (8, 1 << 32)}[first]
        value = int.from_bytes(self.take(width), "little")
        check(value >= least, "a number is longer than it has to be")
        return value

    def numbers(self, count):
        return [self.number() for _ in range(count)]

    def one_of(self, names):
        code = self.byte()
        check(code < len(names), "unknown operation or channel")
        return names[code]

    def zero(self, what):
        check(self.byte() == 0, f"unknown {what}")

    def text(self):
        try:
            return self.take(self.number()).decode()
        except UnicodeDecodeError:
            raise Bad("a text is not UTF-8") from None

    def list(self, item):
        return [item() for _ in range(self.number())]

    def end(self):
        check(self.at == len(self.data), "a body has bytes left over")

    def whole(self, kind):
        """Reads a body to its end. Does not look at other records."""
        if kind == ROOT:
            self.take(112), self.zero("flags of the root"), self.take(312)
        else:
            numbers, leaf, reference = (
                (6, lambda: self.list(self.entry), self.folder_reference),
                (1, self.text, self.file_reference),
                (11, lambda: self.list(self.version), self.history_reference),
            )[(kind - 2) // 3]
            is_head, is_inner = kind in (FOLDER, FILE, HISTORY), kind in (FOLDER_INNER, FILE_INNER, HISTORY_INNER)
            if is_head:
                self.take(8 * numbers)
                is_inner = self.form()
            self.inner(reference) if is_inner else leaf()
            if kind == HISTORY:
                leaf()
        self.end()

    # Parts that several kinds of records share.

    FACTS = ("bytes", "lines", "created", "modified", "head", "lowest", "number", "version")

    def entry(self):
        entry = {"name": self.text(), "id": self.take(16), "tag": self.take(16), "file": None}
        if self.form():
            entry["file"] = dict(zip(self.FACTS, self.numbers(8)))
            self.zero("flags of a file")
        entry["is_written"] = self.form()
        if entry["is_written"]:
            self.take(16), self.number()
        return entry

    def version(self):
        version = dict(zip(("number", "time", "age", "late"), self.numbers(4)))
        version["operation"], version["channel"] = self.one_of(OPERATIONS), self.one_of(CHANNELS)
        version["actor"] = self.text()
        version["file"], version["previous"] = self.numbers(2)
        version["path"], version["old_path"] = self.text(), self.text()
        version["bytes"], version["lines"] = self.numbers(2)
        version["before"] = self.before()
        version["retired"] = self.list(lambda: (FILE_INNER if self.form() else CHUNK, self.number()))
        version["held"] = self.number()
        version["forgotten"] = self.list(lambda: self.take(16))
        self.zero("extension of an entry")
        return version

    def before(self):
        form = self.byte()
        check(form <= RESTORED, "unknown form")
        if form == OLD_HEAD:
            names = ("id", "head", "tag", "last_index", "bytes", "lines")
            return form, dict(zip(names, (self.take(16), self.number(), self.take(16), *self.numbers(3))))
        rest = {NOTHING: lambda: None, OBJECT: self.entry, RESTORED: self.number}
        return form, rest[form]()

    def folder_reference(self):
        return {"index": self.number(), "tag": self.take(16), "count": (self.number(),), "first": self.text()}

    def file_reference(self):
        return {"index": self.number(), "tag": self.take(16), "count": (self.number(), self.number()), "first": None}

    def history_reference(self):
        return {"index": self.number(), "tag": self.take(16), "count": (self.number(),), "first": self.number()}

    def inner(self, reference):
        return self.byte(), self.list(reference)

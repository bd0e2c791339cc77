"""The records of a store, as docs/FORMAT.md describes them: root, folders and files, and the anchor."""

import re
import struct

from anchor import Anchor
from body import CHUNK, FILE, FILE_INNER, FOLDER, FOLDER_INNER, FOLDER_LEAF, HISTORY, HISTORY_INNER, ROOT, Body
from header import check, prf, unseal
from history import History
from names import check_name, check_size

CLASSES = (256, 512, 1024, 2048, 4096)


class Store:
    def __init__(self, header, passphrase, records):
        data_key = header.data_key(passphrase)
        self.header = header
        self.store = header.store
        generation = struct.pack("<Q", header.generation)
        self.record_key = prf(data_key, b"inmost/1 record", self.store, generation)
        self.address_key = prf(data_key, b"inmost/1 adr-key", self.store, generation)
        self.aad = b"inmost/record/v1" + self.store + generation
        self.records = records
        self.reached = {}
        self.below_head = set()
        self.in_history = False
        self.files = []
        self.history = None
        self.readings = {}

    def address(self, kind, object_id, index):
        return prf(self.address_key, b"inmost/1 address", self.store, struct.pack("<B16sQ", kind, object_id, index))

    def open(self, kind, object_id, index, tag):
        """Returns the plaintext of a record and the length of its body, after the checks that every reader makes."""
        name = struct.pack("<B16sQ", kind, object_id, index)
        what = f"record {name.hex()}"
        address = self.address(kind, object_id, index)
        check(address in self.records, f"{what} is missing")
        self.check_reached(kind, address, tag, what)
        value = self.records[address]
        check(len(value) - 41 in CLASSES, f"{what} has an impossible length")
        check(value[0] == 1, f"{what} has an unknown version")
        plaintext = unseal(self.record_key, self.aad + address, value[1:], what)
        check(tag is None or value[-16:] == tag, f"{what} is not the version its parent refers to")
        check(plaintext[:25] == name, f"{what} says it is another")
        length = struct.unpack("<H", plaintext[25:27])[0]
        check(length <= len(plaintext) - 27, f"{what} has a body longer than itself")
        return plaintext, length

    def load(self, kind, object_id, index, tag):
        """Returns the body of a record after all checks that do not depend on its meaning, also of what only a writer must do."""
        plaintext, length = self.open(kind, object_id, index, tag)
        what = f"record {plaintext[:25].hex()}"
        check(len(plaintext) == min(size for size in CLASSES if length + 27 <= size), f"{what} has the wrong class")
        check(not any(plaintext[27 + length :]), f"{what} has padding that is not zero")
        if kind in (FOLDER, FOLDER_INNER, FOLDER_LEAF, FILE_INNER, HISTORY, HISTORY_INNER):
            check(len(plaintext) <= 2048, f"{what} is larger than a node")
        check(kind != ROOT or len(plaintext) == 512, f"{what} is not of the class 512")
        return Body(plaintext[27 : 27 + length])

    def check_reached(self, kind, address, tag, what):
        """Versions of a file may share its inner nodes and chunks. Everything else is referred to once."""
        is_shared = self.in_history and kind in (FILE_INNER, CHUNK) and self.reached.get(address) == tag
        check(is_shared or address not in self.reached, f"{what} is referred to twice")
        check(address not in self.below_head, f"{what} is referred to twice by one version")
        self.reached[address] = tag
        if kind in (FILE_INNER, CHUNK):
            self.below_head.add(address)

    # Trees. These return the leaves, after comparing the references with their targets.

    def content(self, shape, object_id, last_index, body):
        """Returns the content of a head that follows its own fields, up to the end: a list, or a text."""
        content = self.tree(shape, object_id, last_index, body)
        body.end()
        return content

    def tree(self, shape, object_id, last_index, body):
        _, _, reference_of, leaf_of, _, _ = shape
        if body.form():
            first, *more = self.leaves(shape, object_id, last_index, body.inner(reference_of(body)))
            return "".join([first, *more]) if isinstance(first, str) else sum(more, first)
        return leaf_of(body)

    def leaves(self, shape, object_id, last_index, node):
        level, references = node
        inner_kind, leaf_kind, reference_of, leaf_of, count_of, first_of = shape
        check(level >= 1 and references, "an inner node without children or level")
        found = []
        for reference in references:
            check(1 <= reference["index"] <= last_index, "an index that was never given out")
            if level == 1:
                body = self.load(leaf_kind, object_id, reference["index"], reference["tag"])
                below = [leaf_of(body)]
                body.end()
                check(below[0], "an empty leaf")
            else:
                body = self.load(inner_kind, object_id, reference["index"], reference["tag"])
                child = body.inner(reference_of(body))
                body.end()
                check(child[0] == level - 1, "levels do not count down")
                below = self.leaves(shape, object_id, last_index, child)
            counts = tuple(map(sum, zip(*map(count_of, below))))
            check(counts == reference["count"], "a reference counts something else than is below it")
            check(first_of(below[0]) == reference["first"], "a reference names another first entry")
            found += below
        return found

    FOLDER_SHAPE = (
        FOLDER_INNER, FOLDER_LEAF, lambda body: body.folder_reference, lambda body: body.list(body.entry),
        lambda leaf: (len(leaf),), lambda leaf: leaf[0]["name"],
    )  # fmt: skip
    FILE_SHAPE = (
        FILE_INNER, CHUNK, lambda body: body.file_reference, lambda body: body.text(),
        lambda leaf: (len(leaf.encode()), leaf.count("\n")), lambda leaf: None,
    )  # fmt: skip

    def read_folder(self, object_id, tag, path, files, system=False, is_top=True):
        """Reads everything below a folder and adds its files to a list. Returns its computed totals."""
        body = self.load(FOLDER, object_id, 0, tag)
        last_index = body.fixed()
        stored = tuple(body.fixed() for _ in range(5))
        entries = self.content(self.FOLDER_SHAPE, object_id, last_index, body)
        names = [entry["name"].encode() for entry in entries]
        check(names == sorted(set(names)), "entries are not in order")
        check(entries or is_top, "an empty folder")
        totals = [0] * 5
        for entry in entries:
            name = entry["name"]
            check_name(name, system and len(path) == 1)
            check(system or not entry["is_written"], "an entry outside the system folder is still being written")
            if entry["file"]:
                self.read_file(entry, path + [name], files, system)
                weight = (1, 0, entry["file"]["bytes"], 1, entry["file"]["bytes"])
            else:
                below = self.read_folder(entry["id"], entry["tag"], path + [name], files, system, is_top=False)
                weight = (1, below[0], below[2], below[3], below[4])
            shown = not (name.startswith(".") or name == "node_modules")
            for at in range(5):
                totals[at] += weight[at] if shown or at >= 3 else 0
        if system:
            check(len(path) > 1 or stored == (0,) * 5, "the system folder has totals")
        else:
            check(stored == tuple(totals), f"totals {stored} of a folder are not {tuple(totals)}")
        return totals

    def read_head(self, object_id, index, tag):
        """Returns the last index, the text of a head of a file, and whether it is partial."""
        self.below_head = set()
        body = self.load(FILE, object_id, index, tag)
        stored = body.fixed()
        last_index, is_partial = stored & (1 << 63) - 1, stored >> 63
        check(index <= last_index, "a head at an index that was never given out")
        return last_index, self.content(self.FILE_SHAPE, object_id, last_index, body), is_partial

    def read_file(self, entry, path, files, system=False):
        info = entry["file"]
        check(info["lowest"] <= info["head"], "a file has no head that may be shown")
        _, text, is_partial = self.read_head(entry["id"], info["head"], entry["tag"])
        if system:
            return
        check(not is_partial, "the text of a file in the tree is partial")
        check_size(text, info)
        path = "/".join(path)
        check(len(path.encode()) <= 1024 and path.count("/") <= 21, "a path is too long or too deep")
        files.append({"path": path, **info, "text": text})

    def read_readings(self, object_id, tag):
        """Returns the day of the last reading of each file, by the number of the file."""
        _, text, is_partial = self.read_head(object_id, 0, tag)
        check(is_partial, "the readings are not marked as partial")
        check(re.fullmatch("(?:[0-9a-f]{24})*", text), "the readings have another form")
        entries = [text[at : at + 24] for at in range(0, len(text), 24)]
        readings = [(int(entry[:16], 16), int(entry[16:], 16)) for entry in entries]
        files = [file for file, _ in readings]
        check(files == sorted(set(files)), "the readings are not in order")
        check(all(128 <= file < 64 * (self.commit + 1) for file in files), "a reading of a file that never was")
        return dict(readings)

    def read(self):
        body = self.load(ROOT, bytes(16), 0, None)
        self.commit, revision, mac = body.fixed(), body.fixed(), body.take(16)
        self.root_revision = revision
        files, size = body.fixed(), body.fixed()
        tree, tree_tag, system, system_tag = (body.take(16) for _ in range(4))
        body.zero("flags of the root")
        history, history_tag = body.take(16), body.take(16)
        self.keep, self.room = body.fixed(), body.fixed()
        readings, readings_tag = body.take(16), body.take(16)
        self.reads_since, last_used, unused_for, last_expiry = (body.fixed() for _ in range(4))
        self.anchored = body.fixed()
        trail = [body.take(8) for _ in range(20)]
        body.take(32)  # the chain, which is for other hosts
        body.end()
        is_named = (self.header.revision, self.header.mac) == (revision, mac)
        check(is_named or self.header.follows(revision, mac), "the header is not the root's")
        known = [root for root in trail if any(root)]
        check(trail[: len(known)] == known and len(known) < max(self.commit, 1), "the trail has a gap or too many roots")
        totals = self.read_folder(tree, tree_tag, ["/memories"], self.files)
        check((files, size) == tuple(totals[3:]), "the root counts something else than the tree")
        self.read_folder(system, system_tag, ["system"], [], system=True)
        if any(history):
            self.in_history = True
            self.history = History(self, history, history_tag)
        else:
            check(not any(history_tag), "no history has a tag")
        if self.reads_since == 0:
            check(not any(readings) and last_used == unused_for == last_expiry == 0, "a store without readings says more")
        if any(readings):
            self.in_history = False
            self.readings = self.read_readings(readings, readings_tag)
        else:
            check(not any(readings_tag), "no file of readings has a tag")
        check(self.reached.keys() == self.records.keys(), "there are records that nothing refers to")

    def versions(self):
        return self.history.versions(self.files) if self.history else []

    def freshness(self, data):
        check(len(data) == 4096 and not any(data[512:]), "the anchor is not 512 bytes and zeros up to 4,096")
        root = self.records[self.address(ROOT, bytes(16), 0)]
        mark = [self.commit, self.header.generation, self.root_revision, root[1:25], root[-16:]]
        return Anchor(self.header).freshness(data, mark, self.anchored)

    def check_anchor(self, data):
        check(self.freshness(data) == "known", "the freshness of the store is unknown")

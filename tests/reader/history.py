"""The history of a store, as docs/FORMAT.md describes it."""

from body import HISTORY, HISTORY_INNER, HISTORY_LEAF, NOTHING, OBJECT, OLD_HEAD, RESTORED
from header import check
from names import check_name, check_size

SHAPE = (
    HISTORY_INNER, HISTORY_LEAF, lambda body: body.history_reference, lambda body: body.list(body.version),
    lambda leaf: (len(leaf),), lambda leaf: leaf[0]["number"],
)  # fmt: skip


class History:
    """The entries of a history, and the texts that they hold."""

    def __init__(self, store, object_id, tag):
        self.store = store
        body = store.load(HISTORY, object_id, 0, tag)
        last_index, held, texts_from, lost_before, commit, age = (body.fixed() for _ in range(6))
        latest, former, other_from, other_to, passed = (body.fixed() for _ in range(5))
        check(commit <= store.commit, "the history was changed by a commit that never was")
        self.entries = store.tree(SHAPE, object_id, last_index, body)
        self.entries += body.list(body.version)
        body.end()
        changes = [entry["number"] for entry in self.entries]
        check(changes == sorted(set(changes)), "the history is not in order")
        check(all(128 <= change < 64 * (store.commit + 1) for change in changes), "a change of a commit that never was")
        ages = [entry["age"] for entry in self.entries] + [age]
        check(ages == sorted(ages), "the age of the history falls")
        check(former <= latest or not former, "a clock that was believed before came later")
        check(other_from <= other_to and (other_from or not passed), "another clock went back")
        check(not changes or lost_before <= changes[0], "the history has an entry from before it began")
        check(held == sum(entry["held"] for entry in self.entries), "the history counts something else than it holds")
        for entry in self.entries:
            check_entry(entry)
            is_held = entry["before"][0] in (OLD_HEAD, OBJECT)
            check(not is_held or entry["number"] >= texts_from, "an entry holds a text that there was no room for")
            entry["holds"] = self.read_before(entry)

    def read_before(self, entry):
        """Returns the files that an entry holds."""
        form, what = entry["before"]
        held, found, path = 0, [], entry["path"].split("/")
        check(form == OLD_HEAD or not entry["retired"], "an entry without an earlier head retired records")
        if form == OLD_HEAD:
            last_index, text, _ = self.store.read_head(what["id"], what["head"], what["tag"])
            check(last_index == what["last_index"], "an earlier head has another last index than its entry says")
            check_size(text, what)
            retired = {self.store.address(kind, what["id"], index) for kind, index in entry["retired"]}
            check(len(retired) == len(entry["retired"]), "a record retired twice")
            check(retired <= self.store.below_head, "a record retired that is not below the earlier head")
            found = [{"path": entry["path"], "number": entry["file"], "version": entry["previous"], "text": text}]
            check(entry["held"] <= what["bytes"], "an entry holds more bytes than the text has")
            held = entry["held"]
        elif form == OBJECT:
            check(what["name"] == "", "an object of the history has a name")
            check(not what["is_written"], "an object of the history is still being written")
            if what["file"]:
                self.store.read_file(what, path, found)
                held, info = what["file"]["bytes"], what["file"]
                is_right = (info["number"], info["version"]) == (entry["file"], entry["previous"])
                check(is_right, "an entry holds another version than the one before it")
            else:
                held = self.store.read_folder(what["id"], what["tag"], path, found)[4]
        check(entry["held"] == held, "an entry holds another number of bytes than it says")
        return found

    def versions(self, files):
        """Returns what the entries say, with the text that each change made and the files that the entry holds."""
        # What a change ended is in the entry of that change. The newest versions are those of the present files.
        held = [file for entry in self.entries for file in entry["holds"]] + files
        texts = {(file["number"], file["version"]): file["text"] for file in held}
        following = {(entry["file"], entry["previous"]): entry for entry in self.entries if entry["file"]}
        return [describe(entry, texts, following) for entry in self.entries]


def describe(entry, texts, following):
    private = ("age", "late", "before", "retired", "held", "holds", "forgotten")
    shown = {key: value for key, value in entry.items() if key not in private}
    held = [{key: file[key] for key in ("path", "version", "text")} for file in entry["holds"]]
    return {**shown, "text": text_of(entry, texts, following), "held": held}


def text_of(entry, texts, following):
    """Returns the text that a change of a file made; None if there is none, or not any more."""
    if not entry["file"] or entry["operation"] in ("deleted", "expired"):
        return None
    file, version = entry["file"], entry["number"]
    while (file, version) not in texts:
        later = following.get((file, version))
        if not later:
            return None
        form = later["before"][0]
        # Without the old path, what was before a rename is forgotten.
        has_moved = later["operation"] in ("renamed", "restored") and later["old_path"]
        if form != RESTORED and not (form == NOTHING and has_moved):
            return None
        version = later["number"]
    return texts[file, version]


def check_entry(entry):
    """Checks what an entry says by itself."""
    operation = entry["operation"]
    check(len(entry["actor"].encode()) <= 64, "the label of an actor is too long")
    check(entry["previous"] < entry["number"] and entry["file"] <= entry["number"], "a change before the one it follows")
    check(operation in ("renamed", "restored") or not entry["old_path"], "a change that moves nothing has an old path")
    if operation != "forgotten":
        for path in filter(None, (entry["path"], entry["old_path"])):
            names = path.split("/")
            check(names[:2] == ["", "memories"] and 3 <= len(names) <= 22, "a path of the history is no path")
            check(len(path.encode()) <= 1024, "a path of the history is too long")
            for name in names[2:]:
                check_name(name, False)

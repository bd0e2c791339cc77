#!/usr/bin/env python3
"""Computes the test vectors in this folder from docs/FORMAT.md, with the code of the Python reader and none of the library's.

Without arguments: exits with 1 if a file differs. With --write: writes the files, after a change of the format.
All keys, salts and nonces are made from a counter; bytes are hexadecimal. README.md says what each file holds.
"""

import json
import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "reader"))

import anchors  # noqa: E402
import backups  # noqa: E402
import checked  # noqa: E402
import credentials  # noqa: E402
import journals  # noqa: E402
import objects  # noqa: E402
import successions  # noqa: E402
from given import GENERATION, Bytes, Store, flipped, patches, seal  # noqa: E402
from header import Bad, argon2id, check, checksum, prf  # noqa: E402
from names import check_name  # noqa: E402

CLASSES = (256, 512, 1024, 2048, 4096)


# --- Keys -----------------------------------------------------------------------------------------------------------------


def keys():
    some = Bytes("keys")
    derivations = []
    for passphrase, memory, passes, lanes in (
        (b"correct horse battery staple", 19456, 2, 1),
        ("Grüße aus Köln".encode(), 19456, 3, 2),
        (b" leading and trailing spaces ", 32768, 2, 4),
    ):
        salt, store = some.take(16), some.take(16)
        key = argon2id(passphrase, salt, store, memory, passes, lanes)
        cost = {"memory_kib": memory, "passes": passes, "lanes": lanes}
        derivations.append({"passphrase": passphrase, "salt": salt, "store": store, **cost, "key": key})
    roles = (
        ("kek", 32, 18), ("kek", 64, 18), ("commit", 32, 18), ("commit", 64, 18), ("wrap", 32, 0), ("hdr-key", 32, 0),
        ("label", 32, 0), ("anc-key", 32, 0), ("syn-key", 32, 0), ("record", 32, 8), ("adr-key", 32, 8), ("jnl-key", 32, 8),
        ("address", 32, 25), ("hdr-mac", 32, 4032), ("journal", 32, 97), ("chain", 32, 8), ("cir-obj", 32, 24),
        ("cir-nky", 32, 24), ("cir-non", 32, 56), ("cir-fil", 32, 32),
    )  # fmt: skip
    outputs = []
    for role, key_bytes, message_bytes in roles:
        key, store, message = some.take(key_bytes), some.take(16), some.take(message_bytes)
        output = prf(key, b"inmost/1 " + role.encode(), store, message)
        outputs.append({"role": role, "key": key, "store": store, "message": message, "output": output})
    messages = [b"", b"\0", some.take(64), some.take(4064)]
    checksums = [{"message": message, "output": checksum(message)} for message in messages]
    labels = (("datakey", 25), ("slot", 46), ("label", 34), ("anchor", 17), ("sync", 16), ("object", 56), ("record", 56))
    sealed = []
    for label, width in labels:
        first = b"inmost/record/v1" if label == "record" else f"inmost/1 {label}".encode().ljust(16, b"\0")
        for length in (0, 1, 32, 300):
            fields, key, nonce, plaintext = some.take(width), some.take(32), some.take(24), some.take(length)
            whole = seal(key, first + fields, nonce, plaintext)
            case = {"kind": label, "fields": fields, "key": key, "nonce": nonce, "plaintext": plaintext}
            sealed.append({**case, "ciphertext": whole[:-16], "tag": whole[-16:]})
    return {"argon2id": derivations, "prf": outputs, "checksum": checksums, "sealed": sealed}


# --- Headers --------------------------------------------------------------------------------------------------------------


def headers(store):
    whole, raw = store.header, store.credential(4)
    opens = [
        {"name": f"slot {slot} opens with its {credential['kind']}", "credential": credential, "slot": slot}
        for slot, credential in zip((0, 2, 3, 6), map(store.credential, (1, 2, 3, 4)))
    ]
    for case in opens:
        _, data_key = checked.unlock(whole, case["credential"])
        check(data_key == store.data_key, f"{case['name']}, but not for the reader")
    engines = []
    for engine in (2, 3, 255):
        header = store.make({10: bytes([engine])}, data_key_aad=store.data_key_aad(engine))
        check(checked.unlock(header, raw)[0].engine == engine, "the reader finds another engine")
        engines.append({"engine": engine, **patches(whole, header)})
    refused = []

    def refuse(name, error, header, credential=raw):
        checked.refused_header(name, error, header, credential)
        refused.append({"name": name, **patches(whole, header), "credential": credential, "error": error})

    wrong = {1: {"passphrase": b"another"}, 2: {"keyfile": bytes(32)}, 3: {"key": bytes(32)}, 4: {"key": bytes(32)}}
    for kind, change in wrong.items():
        refuse(f"a wrong {store.credential(kind)['kind']}", "WrongCredential", whole, store.credential(kind) | change)
    refuse("a recovery key given as a raw key", "WrongCredential", whole, {"kind": "raw key", "key": store.recovery})
    refuse("empty", "Damaged", b"")
    refuse("shortened within the magic", "Damaged", whole[:5])
    refuse("another magic", "NotAStore", flipped(whole, 1))
    refuse("another version", "UnknownFormat", flipped(whole, 8))
    refuse("one byte short", "Damaged", whole[:-1])
    refuse("one byte long", "Damaged", whole + b"\0")
    for at in (16, 40, 300, 3000, 4040, 4064):
        refuse(f"bit flipped in byte {at}", "Damaged", flipped(whole, at))
    refuse("a flag", "UnknownFlags", store.make({12: b"\1"}))
    for engine in (0, 4, 9, 254):
        refuse(f"unknown engine {engine}", "UnknownEngine", store.make({10: bytes([engine])}))
    for at in (11, 120, 127, 2192, 4031):
        refuse(f"byte {at} of the padding is not zero", "Damaged", store.make({at: b"\1"}))
    refuse("a slot of kind 5", "Damaged", store.make({128: b"\5"}))
    refuse("padding inside a slot", "Damaged", store.make({129: b"\1"}))
    refuse("padding behind a slot", "Damaged", store.make({128 + 255: b"\1"}))
    refuse("a raw key with a cost", "Damaged", store.make({128 + 6 * 256 + 4: b"\1"}))
    refuse("no slot in use", "Damaged", store.make(slots=[]))
    for name, cost in (
        ("little memory", (19455, 2, 1)), ("one pass", (19456, 1, 1)), ("no lanes", (19456, 2, 0)), ("17 lanes", (19456, 2, 17)),
        ("much memory", (1048577, 2, 1)), ("33 passes", (19456, 33, 1)), ("much work", (1048576, 3, 1)),
    ):  # fmt: skip
        refuse(f"a slot that asks for {name}", "KdfOutOfBounds", store.make({132: struct.pack("<III", *cost)}))
    heavy = [(number, bytes([1, 0, 0, 0]) + struct.pack("<III", 1048576, 2, 1) + bytes(240)) for number in range(3)]
    passphrase = store.credential(1)
    refuse("three slots that cost too much together", "KdfOutOfBounds", store.make(slots=heavy), passphrase)
    for what, at in (("the sealed data key", 48), ("the nonce of the data key", 60), ("the MAC of the header before", 2176),
                     ("the revision", 32), ("the generation", 40), ("the noise of a free slot", 700), ("the MAC", 4032)):  # fmt: skip
        refuse(f"{what} changed, checksum mended", "Tampered", store.mended(flipped(whole, at)))
    at = 128 + 6 * 256
    refuse("the sealed master key changed", "Tampered", store.make({at + 96: bytes([whole[at + 96] ^ 1])}))
    refuse("another commitment", "WrongCredential", store.make({at + 32: bytes(32)}))
    refuse("another salt", "WrongCredential", store.make({at + 16: bytes(16)}))
    moved = [(5 if number == 6 else number, slot) for number, slot in store.slots]
    refuse("a slot in another place", "WrongCredential", store.make(slots=moved))
    aad = store.data_key_aad(1, GENERATION + 1)
    refuse("the data key of another generation", "Tampered", store.make(data_key_aad=aad))
    refuse("the data key of another engine", "Tampered", store.make({10: b"\2"}))
    root = store.address(1, bytes(16), 0)
    facts = {"store": store.id, "generation": GENERATION, "revision": 5, "root": root}
    return {**facts, "header": whole, "opens": opens, "engines": engines, "refused": refused}


# --- Records --------------------------------------------------------------------------------------------------------------


def records(store):
    some = Bytes("records")
    generation = struct.pack("<Q", GENERATION)
    record_key = prf(store.data_key, b"inmost/1 record", store.id, generation)

    def value(kind, object_id, index, body, size=None, address=None, version=1, length=None, pad=b"\0"):
        address = address or store.address(kind, object_id, index)
        length = len(body) if length is None else length
        plaintext = struct.pack("<B16sQH", kind, object_id, index, length) + body
        plaintext = plaintext.ljust(size or min(size for size in CLASSES if len(plaintext) <= size), pad)
        nonce = some.take(24)
        aad = b"inmost/record/v1" + store.id + generation + address
        return bytes([version]) + nonce + seal(record_key, aad, nonce, plaintext)

    def text(length):
        """The body of a chunk: its length and its text."""
        return objects.text((b"All work and no play. " * 200)[:length])

    opens, refused, reader = [], [], checked.Reader(store)

    def opened(name, kind, body, index=1, is_strict=True, **form):
        object_id = bytes(16) if kind == 1 else some.take(16)
        stored = value(kind, object_id, index, body, **form)
        place = {"kind": kind, "object": object_id, "index": index}
        found = reader.read(*place.values(), stored, stored[-16:], is_strict)
        check(found == body, f"{name}: the reader finds another body")
        place["address"] = store.address(*place.values())
        opens.append({"name": name, **place, "value": stored, "tag": stored[-16:], "body": body})

    # The longest text of each class but the last, and one byte more.
    for length in (1, 100, 228, 229, 482, 483, 994, 995, 2018, 2019, 3000, 4066):
        opened(f"a chunk of {length} bytes", 7, text(length), length)
    check({len(case["value"]) - 41 for case in opens} == set(CLASSES), "a size class is missing")
    for kind, name, body in bodies(some):
        opened(name, kind, body, 0 if kind in (1, 2, 5, 8) else 3)
    opened("padding that is not zero", 7, text(100), is_strict=False, pad=b"\xff")
    opened("a larger class than it needs", 7, text(100), is_strict=False, size=1024)
    object_id, body = some.take(16), text(100)
    place = {"kind": 7, "object": object_id, "index": 1}
    whole = value(7, object_id, 1, body)

    def refuse(name, error, stored, tag=None):
        tag = tag or stored[-16:]
        reader.refused(name, error, *place.values(), stored, tag)
        refused.append({"name": name, **place, "value": stored, "tag": tag, "error": error})

    for name, at in (("the nonce", 1), ("the ciphertext", 30), ("the last byte of the ciphertext", -17), ("the tag", -1)):
        refuse(f"a bit flipped in {name}", "NotAuthentic", flipped(whole, at % len(whole)))
    refuse("another version", "Frame", b"\2" + whole[1:])
    refuse("an impossible length", "Frame", whole[:-1])
    refuse("no bytes", "Frame", b"", whole[-16:])
    refuse("an older value", "Stale", value(7, object_id, 1, text(99)), whole[-16:])
    refuse("the value of another index", "NotAuthentic", value(7, object_id, 2, body))
    here = store.address(7, object_id, 1)
    refuse("sealed at this address under another name", "Malformed", value(7, object_id, 2, body, address=here))
    refuse("a body longer than the record", "Malformed", value(7, object_id, 1, body, length=4000))
    refuse("a text that ends early", "Malformed", value(7, object_id, 1, text(100)[:-1]))
    refuse("bytes behind the text", "Malformed", value(7, object_id, 1, body + b"x"))
    refuse("a text that is not UTF-8", "Malformed", value(7, object_id, 1, b"\2\xff\xff"))
    refuse("a kind without a meaning", "Malformed", value(99, object_id, 1, body, address=here))
    return {"store": store.id, "generation": GENERATION, "credential": store.credential(4), "header": store.header,
            "opens": opens, "refused": refused}  # fmt: skip


def bodies(some):
    """A body of each kind but a chunk."""
    number, text, listed, take = objects.number, objects.text, objects.listed, some.take
    times = number(1_700_000_000_000) + number(1_700_000_100_000)
    file = text("Zoë.md".encode()) + take(16) + take(16) + b"\1" + number(300) + number(7) + times
    file += number(4) + number(2) + number(128) + number(70_000) + b"\0\0"
    folder = text(b"notes") + take(16) + take(16) + b"\0\0"
    written = text(b"z") + take(16) + take(16) + b"\0\1" + take(16) + number(1_700_000_000_000)
    entries = listed([file, folder])

    def fixed(*values):
        return struct.pack(f"<{len(values)}Q", *values)

    def node(*rest):
        return b"\1" + listed([number(index) + take(16) + after for index, after in enumerate(rest, 1)])

    def version(change, before):
        facts = number(change) + number(1_700_000_000_000) + number(250) + number(0) + b"\1\0" + text(b"agent")
        paths = number(128) + number(128) + text(b"/memories/a.md") + text(b"")
        retired, forgotten = listed([b"\0" + number(3), b"\1" + number(251)]), listed([take(16)])
        return facts + paths + number(10) + number(1) + before + retired + number(4096) + forgotten + b"\0"

    old = b"\1" + take(16) + number(2) + take(16) + number(4) + number(20) + number(2)
    versions = [version(256, b"\0"), version(257, old), version(258, b"\2" + text(b"") + folder[6:]), version(259, b"\3\5")]
    references = node(number(5) + number(256), number(2) + number(1 << 32))
    root = fixed(9, 2) + take(16) + fixed(3, 1000) + take(64) + b"\0" + take(32) + fixed(1 << 40, 1 << 30) + take(32)
    yield 1, "a root", root + fixed(*range(5)) + take(160) + take(32)
    yield 2, "a folder", fixed(3, 2, 0, 300, 1, 300) + b"\0" + entries
    yield 2, "a long folder", fixed(3, 2, 0, 300, 1, 300) + b"\1" + node(number(40) + text(b"a"), number(41) + text(b"n"))
    yield 3, "an inner node of a folder", node(number(40) + text(b"a"), number(251) + text(b"n"))
    yield 4, "a leaf of a folder", listed([file, folder, written])
    yield 5, "a file", fixed(0) + b"\0" + text(b"short\n")
    yield 5, "a partial text", fixed(1 << 63 | 4) + b"\0" + text(b"short\n")
    yield 5, "a long file", fixed(5) + b"\1" + node(number(4000) + number(80), number(66_000) + number(0))
    yield 6, "an inner node of a file", node(number(4000) + number(80), number(250) + number(0))
    yield 8, "a history", fixed(*range(11)) + b"\0" + listed([]) + listed(versions)
    yield 8, "a long history", fixed(*range(11)) + b"\1" + references + listed(versions[:1])
    yield 9, "an inner node of the history", references
    yield 10, "a leaf of the history", listed(versions)


# --- Names ----------------------------------------------------------------------------------------------------------------


def names():
    cases = [
        "a", "notes.md", "Zoë", "Zoe\u0308", "日本語", "a b", " a", "a ", "\ta", "a\u00a0", ".", "..", "...", ".hidden", "a/b", "a\\b",
        "a\0b", "a\nb", "a\rb", "a\x1bb", "a\x7fb", "a\u0085b", "a\u2028b", "a\u2029b", "\u200b", "a\u200bb", "a\u200cb", "\u200c",
        "\u3164", "\ufe0f", "\u2764\ufe0f", "a\u202eb", "a\ufeffb", "\u00ad", "👩\u200d👩\u200d👧", "", "x" * 255, "x" * 256, "é" * 127,
        "é" * 128, "%", "100%", "%41", "%00", "%2500", "%2e", "%2e%2E", "%252e", ".%2e", "%2e%2e%2e", "a%2fb", "a%5Cb", "a%252fb", "%%32e", "%c0%ae",
        "a%c0%afb", "%c1%9c", "%e0%c0%af", "%e0%80%af", "%c0%80", "é%2f", "%c3%a9", "a:b", "CON", "a\u0300\u0301", "\u212b", "\u00c5", "ﬁ",
    ]  # fmt: skip
    rows = []
    for name in cases:
        try:
            check_name(name, False)
            rows.append({"name": name, "is_valid": True})
        except Bad:
            rows.append({"name": name, "is_valid": False})
    check(any(row["is_valid"] for row in rows), "no name is valid")
    return rows


def as_json(value):
    def plain(value):
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, dict):
            return {key: plain(part) for key, part in value.items()}
        return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value

    return json.dumps(plain(value), indent=1, ensure_ascii=True) + "\n"


def main():
    store = Store()
    files = {"keys": keys(), "headers": headers(store), "records": records(store), "names": names(),
             "anchors": anchors.cases(store), "journals": journals.cases(store),
             "successions": successions.cases(store), "objects": objects.cases(),
             "credentials": credentials.cases()}  # fmt: skip
    files["backups"] = backups.cases(store, files["records"]["opens"])
    for name, content in files.items():
        path, text = HERE / f"{name}.json", as_json(content)
        if sys.argv[1:] == ["--write"]:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path.name} differs from what docs/FORMAT.md says")


if __name__ == "__main__":
    main()

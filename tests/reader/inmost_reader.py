#!/usr/bin/env python3
"""Reads a whole store independently: written only from docs/FORMAT.md, with third-party primitives.

It takes a header copy, the content of a generation's engine and its journal, or a backup, and a passphrase, and prints every file as JSON, or with
--history every version that the history knows, each with its text if that is still there, or with --readings the number of files
with a recorded reading. It verifies
everything that the document allows a reader to verify, even where the program verifies only the records that it reads. At the first
mismatch it prints the reason to standard error and exits with code 1.

The content of the engine is a raw export: for each key, address {32}, length of the value {2}, value. With a journal it includes the
mark, which is no record.
"""

import argparse
import json
import sys
import unicodedata
from pathlib import Path

from backup import read_backup
from header import Bad, Header, check
from journal import Journal, mac_of_slots, read_records
from records import Store


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backup", help="a manifest of a backup, in place of the four next")
    parser.add_argument("--header", help="a header copy")
    parser.add_argument("--records", help="the raw export of a generation")
    parser.add_argument("--journal", help="the journal of the generation; without it, the export must have no mark")
    parser.add_argument("--anchor", help="the anchor file, to be checked too")
    parser.add_argument("--passphrase-file", required=True, help="a file whose whole content is the passphrase")
    parser.add_argument("--history", action="store_true", help="print the versions of the history, not the files")
    parser.add_argument("--readings", action="store_true", help="print the number of files with a reading")
    arguments = vars(parser.parse_args())
    history, readings = arguments.pop("history"), arguments.pop("readings")
    backup = arguments.pop("backup")
    contents = {name: open(path, "rb").read() for name, path in arguments.items() if path}
    try:
        passphrase = unicodedata.normalize("NFC", contents["passphrase_file"].decode()).encode()
        check(1 <= len(passphrase) <= 1024, "the passphrase is empty or too long")
        if backup:
            contents["header"], records = read_backup(Path(backup))
        else:
            records = read_records(contents["records"])
        header = Header(contents["header"])
        if "journal" in contents:
            mac = mac_of_slots(header, header.data_key(passphrase))
            records = Journal(contents["journal"], mac).apply(records)
        store = Store(header, passphrase, records)
        store.read()
        if "anchor" in contents:
            store.check_anchor(contents["anchor"])
    except Bad as reason:
        sys.exit(f"inmost_reader: {reason}")
    shown = ("path", "bytes", "lines", "created", "modified", "text")
    files = [{key: file[key] for key in shown} for file in store.files]
    things = store.versions() if history else [len(store.readings)] if readings else files
    json.dump(things, sys.stdout, ensure_ascii=False, indent=1)
    print()


if __name__ == "__main__":
    main()

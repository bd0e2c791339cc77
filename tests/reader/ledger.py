"""The ledger of readings of a store, as docs/FORMAT.md describes it."""

from body import LEDGER, LEDGER_INNER, LEDGER_LEAF
from header import check

SHAPE = (
    LEDGER_INNER, LEDGER_LEAF, lambda body: body.ledger_reference, lambda body: body.list(body.reading),
    lambda leaf: (len(leaf),), lambda leaf: leaf[0][0],
)  # fmt: skip


def read_ledger(store, object_id, tag):
    """Returns the day of the last reading of each file, by the number of the file."""
    body = store.load(LEDGER, object_id, 0, tag)
    last_index = body.fixed()
    readings = store.content(SHAPE, object_id, last_index, body)
    files = [file for file, _ in readings]
    check(files == sorted(set(files)), "the ledger is not in order")
    check(all(128 <= file < 64 * (store.commit + 1) for file in files), "a reading of a file that never was")
    return dict(readings)

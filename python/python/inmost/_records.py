"""Values that calls take and return. None of them shows a text or a path when it is printed.

A time after the year 9999, which a file may have, is 9999-12-31 here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol

from .errors import FileError

VersionKind = Literal[
    "created", "modified", "renamed", "deleted", "restored", "expired", "imported", "forgotten"
]
VersionChannel = Literal["tool", "files", "program", "import", "expiry"]
VersionText = Literal["kept", "gone", "none", "unknown"]
SlotKind = Literal["passphrase", "passphrase and keyfile", "recovery key", "raw key"]
Freshness = Literal["known", "unknown", "was_missing", "failing", "none"]


class Block(Protocol):
    """A block as an SDK has it: a model of Pydantic."""

    def model_dump(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The state of a file: what a later change can be conditional on."""

    version: int
    """The number of its last change. A rename is a change too."""
    bytes: int
    """Bytes of its text."""
    sha256: str = field(repr=False)
    """The SHA-256 of its bytes, in hexadecimal digits. Not printed: it confirms a guess of the text."""


@dataclass(frozen=True, slots=True)
class Precondition:
    """What must be at a path for a change to be made. Without a number and a hash: neither a file nor a folder."""

    version: int | None = None
    sha256: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.version is not None and self.sha256 is not None:
            raise ValueError("a precondition has a version or a hash, not both")

    @staticmethod
    def absent() -> Precondition:
        """Neither a file nor a folder."""
        return Precondition()

    @staticmethod
    def of_version(number: int) -> Precondition:
        """The file whose last change has this number."""
        return Precondition(version=number)

    @staticmethod
    def of_sha256(digits: str) -> Precondition:
        """A file whose bytes have this SHA-256."""
        return Precondition(sha256=digits)


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata of a file or folder."""

    bytes: int
    """Bytes of the file, or of all files below the folder."""
    is_folder: bool
    lines: int | None
    """Lines of text; `None` for a folder."""
    created: datetime | None
    modified: datetime | None
    """The time of the last change to its text."""


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry of a folder."""

    name: str = field(repr=False)
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class WalkEntry:
    """A file or folder found by a walk."""

    path: str = field(repr=False)
    depth: int
    """The number of folders between it and the start of the walk."""
    metadata: Metadata

    @property
    def name(self) -> str:
        """The last name of the path."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """A matching line."""

    path: str = field(repr=False)
    line: int
    """The number of the line, from 1."""
    text: str = field(repr=False)
    """The line without its line end."""
    ranges: tuple[tuple[int, int], ...]
    """The matches in the text: `text[start:end]` for each pair; the first 1,000."""


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file that holds words of a ranked search."""

    path: str = field(repr=False)
    score: float
    """The BM25 score, above 0. It compares files of one search only."""
    modified: datetime
    """The last change of the text."""
    lines: list[tuple[int, str]] = field(repr=False)
    """Up to three lines with the rarest words: the number from 1, and the first 400 characters."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The result of `Files.rank`."""

    files: list[RankedFile]
    """The best first."""
    found: int
    """All files that hold a word."""
    damaged: list[str] = field(repr=False)
    """The paths of files that were not searched, because they are damaged."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file for `Files.write_many`."""

    path: str = field(repr=False)
    text: str = field(repr=False)
    created: datetime | None = None
    """The creation time; by default that of the file that it replaces, else the time of the change."""
    modified: datetime | None = None
    """The time of the last change; now by default."""
    replaces: bool = True
    """Whether an existing file with another text is replaced. If not, it is refused with `AlreadyExists`."""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Counts and sizes of a store."""

    files: int
    bytes: int
    """Bytes of text."""
    commit: int
    """Commits since the store was made."""
    disk_bytes: int
    """Bytes that the engine's files occupy on disk, without the journal, the headers and the reserve for a full disk."""
    freshness: Freshness
    """Whether it would be noticed if the newest changes were missing.

    `known`; `unknown`, because the anchor was missing or damaged; `was_missing`, because the anchor of the application is new;
    `failing`, because an anchor cannot be used; `none` in memory, and in a database without an anchor.
    """


@dataclass(frozen=True, slots=True)
class Keyslot:
    """A keyslot: one credential that opens the store."""

    number: int
    """From 0 to 7."""
    kind: SlotKind
    label: str
    """Chosen by the owner; the kind by default."""
    created: datetime
    """When its credential was added, by the clock of that machine."""
    is_current: bool
    """Whether this store was opened through it."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """Records in the folder of a store that the store no longer uses. They may be the only copy of what they hold."""

    number: int
    bytes: int
    """Bytes on disk."""
    name: str
    """The name of their folder, in the folder of the store."""


@dataclass(frozen=True, slots=True)
class VerifiedCopy:
    """A copy that was read back."""

    records: int
    """Records that were read and authenticated."""
    files: int
    bytes: int
    """Bytes of text."""


@dataclass(frozen=True, slots=True)
class BackupReport:
    """A backup that was made and read back."""

    number: int
    """Its number in the folder."""
    verified: VerifiedCopy
    added_bytes: int
    """Bytes that it added to the folder."""
    removed: tuple[int, ...]
    """The numbers of the earlier backups that were removed by age and count."""
    is_cleared: bool
    """Whether the records of removed backups are gone. If not, a file of the folder is damaged, of another version, or cannot be
    removed."""


@dataclass(frozen=True, slots=True)
class BackupInfo:
    """A backup in a folder. Nothing of it is authenticated yet."""

    number: int
    time: datetime | None
    """When it was made; `None` if its manifest is damaged or of a version that this build does not know."""
    own_bytes: int
    """Bytes of the files that only this backup brought. Later ones use them too."""
    store: str
    """The id of its store, in hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """A problem in a store."""

    names: tuple[str, ...] = field(repr=False)
    """The names on the way from the root; empty for what has no path."""
    what: str
    """What is affected, in general words."""
    how: str
    """The problem, in general words."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a check."""

    records: int
    """Records read."""
    files: int
    bytes: int
    """Bytes of text."""
    orphans: int
    """Intact records without a reference to them. They are harmless; `compact` removes them."""
    problems: tuple[StoreProblem, ...]
    """The problems in the order in which they were found; the first 10,000."""
    unlisted: int
    """The number of further problems."""

    @property
    def is_clean(self) -> bool:
        """Whether the check found no problem."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class VersionInfo:
    """One change, and the version that it made."""

    number: int
    time: datetime
    kind: VersionKind
    channel: VersionChannel
    """The part of the program that made the change: `tool` is a model."""
    actor: str = field(repr=False)
    """Who made it, as the caller claimed; empty without a label."""
    file: int | None
    """The file, by the number of the change that created it; `None` for a folder."""
    previous: int | None
    """The number of the file's previous version."""
    path: str | None = field(repr=False)
    """The path after the change; for a deletion, the path before it. `None` for a note of what was forgotten."""
    old_path: str | None = field(repr=False)
    """The path before a rename; `None` if everything before it was forgotten."""
    bytes: int
    lines: int
    text: VersionText
    """Whether the text can still be read: `gone` if it was forgotten, dropped for lack of room or lost to damage; `none` for a
    deletion and for a folder; `unknown` in an undo plan, where damage hides it, and far back in a long history."""
    restored: int | None
    """For the deletion of a folder: the change that moved it back."""


def version_info(
    change: tuple[int, datetime, VersionKind, VersionChannel],
    where: tuple[str, int | None, int | None, str | None, str | None],
    rest: tuple[int, int, VersionText, int | None],
) -> VersionInfo:
    """The change with these fields, which the extension module passes in groups."""
    actor, file, previous, path, old_path = where
    return VersionInfo(*change, actor, file, previous, path, old_path, *rest)


@dataclass(frozen=True, slots=True)
class HistoryStatus:
    """The settings of a history, and what it holds."""

    keep: timedelta | None
    """How long versions are kept; `None` if they are not."""
    max_bytes: int
    entries: int
    bytes: int
    """Bytes of earlier texts that are kept."""
    is_damaged: bool
    unreadable: int
    """Entries that cannot be read, because records of the history are damaged."""
    lost_before: int | None


ExpiryHindrance = Literal["not_recording", "ledger_damaged", "clock_in_doubt"]


@dataclass(frozen=True, slots=True)
class ExpiryStatus:
    """The settings of the expiry of unused files, and what is recorded."""

    is_recording: bool
    """Whether the store records which files are read."""
    at_unlock: timedelta | None
    """How long a file must have been unused to expire at an unlock; `None` if no file does."""
    since: datetime | None
    """No file counts as unused for longer than since this time."""
    last_expiry: datetime | None
    """When files last expired at an unlock."""
    readings: int
    """Files with a recorded reading."""
    is_damaged: bool
    """Whether the record cannot be read. No file expires then; the next change begins a new one."""


@dataclass(frozen=True, slots=True)
class ExpiredFile:
    """A file that expired, or would expire."""

    path: str = field(repr=False)
    bytes: int
    last_use: datetime
    """When it was last read or changed, as far as the store knows. A reading is known to the day."""
    version: int | None
    """The number of the change that deleted it, for `History.restore`; `None` in a dry run."""


@dataclass(frozen=True, slots=True)
class ExpiryReport:
    """What expired, or would expire."""

    files: tuple[ExpiredFile, ...]
    """The files in the order of their paths; the first 10,000."""
    unlisted: int
    """The number of further files."""
    bytes: int
    """Bytes of text in all of them."""
    hindrance: ExpiryHindrance | None
    """Why no file could expire: the store records no readings; its record is damaged; or the clock is far from the time of the
    last change, so it may be wrong, or the store was not used for long."""


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a synchronisation did."""

    sent: int
    """Objects that were put into the place."""
    received: int
    """Objects of other devices that were read."""
    changed: int
    """Changes of files in the store."""
    waiting: int
    """Objects that cannot be read yet, because an earlier one is missing or they are not whole."""
    copies: list[str] = field(repr=False)
    """Paths of conflict copies that are shown, below `/memories/`."""
    held: list[str] = field(repr=False)
    """Paths of files that the store does not take, below `/memories/`."""
    unforgotten: int
    """Objects in the place that may have forgotten texts. They go as the other devices synchronise."""
    kept: list[str] = field(repr=False)
    """Paths of files that were changed while another device forgot texts of them, below `/memories/`. Their texts stay."""


@dataclass(frozen=True, slots=True)
class SyncMember:
    """Another device of a circle. Both are claims."""

    name: str
    time: datetime | None
    """The time of its clock when it published last."""


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """What is known of a circle of devices."""

    name: str
    """The name of this device."""
    place: str
    members: list[SyncMember]
    """The other devices. One that was restored or copied is there several times."""
    outbox: int
    """Objects that the place or the other devices may not have."""
    conflicts: int
    """Files with several texts or paths that nobody has chosen from."""
    forks: int
    """Logs that copies of one device have written to."""


@dataclass(frozen=True, slots=True)
class UndoStep:
    """One step of an undo: one file or folder goes back."""

    newest: VersionInfo
    """The newest change of the file, which the step undoes. If there is a newer one by then, it changes nothing."""
    to: int | None
    """The version that the file goes back to; `None` if it did not exist."""
    path: str | None = field(repr=False)
    """The path that it goes back to; `None` if it is not known any more."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of a step of an undo."""

    version: int | None
    """The version that it made; `None` if it changed nothing."""
    reason: FileError | None
    """Why it changed nothing."""

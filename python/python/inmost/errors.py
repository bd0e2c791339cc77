"""Exceptions: one for each fact, all below `Error`.

A `StoreError` is one that the application or its user must act on, a `FileError` one of a file operation that changed
nothing. No message contains a path or a text of the memory, so that a traceback in a log shows neither. Where an error
is about a path, the path is an attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._records import FileVersion


class Error(Exception):
    """An operation of this package failed."""

    advice: str
    """One sentence that says what to do; may be empty."""

    def __init__(self, message: str = "", advice: str = "") -> None:
        super().__init__(message, advice)
        self.advice = advice

    def __str__(self) -> str:
        message, advice = self.args
        return f"{message} {advice}" if advice else str(message)


class StoreError(Error):
    """An operation on a store failed."""


class FileError(Error):
    """A file operation failed and changed nothing."""


class InvalidCredential(Error, ValueError):
    """A passphrase, a keyfile, a recovery key or a raw key that no store could have."""


class StoreAlreadyExists(StoreError):
    """The destination of a new store already exists, or is not an empty folder."""


class Damaged(StoreError):
    """The records are damaged and were not opened. No file of the store has changed."""


class DiskFull(StoreError):
    """The disk is full. Nothing that was acknowledged is lost."""


class Forked(StoreError):
    """This process was forked from one that had opened the store, which belongs to that process."""


class EngineNotBuilt(StoreError):
    """The store's header names an engine that this build does not include."""


class Halted(StoreError):
    """A commit failed. The state on disk is known only after the store is opened again."""


class ClockBefore1970(StoreError):
    """The clock of this machine shows a time before 1970. Nothing was opened or changed."""


class FilesReplaced(StoreError):
    """Another program has replaced files of the open store. Nothing was saved since; check the last changes."""


class FreshnessUnknown(StoreError):
    """It is not known whether this is the newest state of the store. Nothing has changed."""


class ForeignAnchor(StoreError):
    """The freshness anchor was written under keys that are not this store's."""


class HeaderDamaged(StoreError):
    """Both copies of the header are damaged or missing."""


class RecordsBehindHeader(StoreError):
    """The records are older than the header: the newest commits are lost."""

    expected: int
    found: int


class HeaderRolledBack(StoreError):
    """The header was rolled back. A removed passphrase may be valid in it."""

    expected: int
    found: int


class InMemory(StoreError):
    """The store lives in memory and has no keyslots."""


class CopyNotVerified(StoreError):
    """A copy of the store was written, but it does not read back as it should."""

    copy: str


class AnchorUnavailable(StoreError):
    """The freshness anchor cannot be read or written. Nothing has changed."""


class InUse(StoreError):
    """Another process holds the store."""

    process: int | None


class Io(StoreError):
    """The operating system returned an error."""

    errno: int | None


class KeyDaemon(StoreError):
    """The key daemon could not carry out the request, or cannot be reached."""


class NoKeyDaemon(KeyDaemon):
    """No key daemon holds the store."""


class KdfOutOfBounds(StoreError):
    """The header asks for a key derivation outside the accepted bounds."""


class LastSlot(StoreError):
    """The store has only one keyslot left."""


class Locked(StoreError):
    """The store was locked."""


class NoSuchSlot(StoreError):
    """No keyslot of this number is in use."""

    slot: int


class NotAStore(StoreError):
    """There is no store at this path."""


class OtherOwner(StoreError):
    """The store, or a file of it, belongs to another user. Nothing was opened or written."""


class OutOfMemory(StoreError):
    """There is not enough memory to derive the key."""


class UntrustedFile(StoreError):
    """A file of the store is not safe to use, for example a link to another file."""


class OutcomeUnknown(StoreError):
    """The key daemon ended before it reported whether a change was made."""


class CommitUnknown(StoreError):
    """The connection to a shared store was lost, and it is unknown whether a change is stored."""


class Unavailable(StoreError):
    """The server of a shared store cannot be reached. Nothing has changed."""


class PassphraseNotOneLine(StoreError):
    """A new passphrase has a line break or a NUL, so that nobody could type it. One that is in use still unlocks."""


class RandomnessFailed(StoreError):
    """The operating system returned no random bytes."""


class RolledBack(StoreError):
    """The store is older than a state that was seen before."""

    expected: int
    found: int


class OldRecordsRemain(StoreError):
    """The store was rewritten, but the old records could not be removed."""


class SlotsFull(StoreError):
    """All eight keyslots are in use."""


class Storage(StoreError):
    """The engine failed."""


class SubtreeIsFile(StoreError):
    """The memory tool is confined to a folder, but there is a file at its path or above it."""


class SyncError(StoreError):
    """A store did not synchronise, or its circle of devices refuses something. Nothing is lost: the next round goes on."""


class AlreadyMember(SyncError):
    """The store is in a circle of devices already."""


class ChangeTooLarge(SyncError):
    """One change, with the earlier texts that it carries, is larger than 512 MiB."""


class InvalidDeviceName(SyncError):
    """A device cannot have this name."""


class InvalidInvitation(SyncError):
    """An invitation is mistyped or cut."""


class KeptChanging(SyncError):
    """The store was changed all the time while changes of other devices were to be shown."""


class NoFolder(SyncError):
    """The store has no folder of its own: it is in a database or in memory."""


class NotAMember(SyncError):
    """The store is in no circle of devices."""


class OtherCircle(SyncError):
    """The place has no circle of devices, or another one than this device is in."""


class PlaceNotEmpty(SyncError):
    """A place for a new circle has objects already."""


class PlaceOverlapsStore(SyncError):
    """The place is inside the folder of the store, or around it."""


class PlaceUnavailable(SyncError):
    """The place could not be read or written."""


class StateUnavailable(SyncError):
    """The file that holds the state of synchronisation could not be read or written."""


class StateUnreadable(SyncError):
    """The state of synchronisation is damaged, or was sealed before the keys of the store were replaced."""


class UnknownDevice(SyncError):
    """No other device of the circle has this name."""


class Tampered(StoreError):
    """Stored bytes differ from those that were written. Damage and tampering look alike."""


class TooLarge(StoreError):
    """One change touches more records than a single durable step may."""


class UnknownFormat(StoreError):
    """The format of the store is unknown to this version."""

    version: int


class WrongKey(StoreError):
    """No keyslot of this kind opens with the credential."""

    kind: str


class WrongPassphrase(StoreError):
    """The passphrase opens no keyslot of this store."""


class AlreadyExists(FileError):
    """A file or folder already exists at the path or at the destination."""


class Changed(FileError):
    """Someone else changed the file. `current` is what is there now; `None` if there is no file."""

    current: FileVersion | None


class EmptySearch(FileError):
    """The text to search for is empty."""


class FileTooLarge(FileError):
    """The file would be larger than `limit` bytes."""

    limit: int


class InvalidPattern(FileError):
    """The search pattern is not a valid regular expression."""


class IsAFolder(FileError):
    """The path is a folder, but the operation needs a file."""

    path: str


class IntoItself(FileError):
    """A folder cannot move into itself."""


class InvalidPath(FileError):
    """The path is not valid."""


class NoSuchLine(FileError):
    """The line does not exist. The file has `lines` lines."""

    lines: int


class NoSuchVersion(FileError):
    """The history has no version of this number."""

    version: int


class NoMatch(FileError):
    """The text to search for does not occur in the file."""


class NotFound(FileError):
    """No file or folder exists at the path, or none of the kind that the operation needs."""


class NotAFolder(FileError):
    """The path is a file, but the operation needs a folder."""

    path: str


class PathBelow(FileError):
    """A path below a moved folder would not be valid."""


class Root(FileError):
    """The root folder cannot be moved, replaced or deleted."""


class SeveralMatches(FileError):
    """The text to search for occurs more than once."""

    lines: list[int]
    more: int


class TooManyFiles(FileError):
    """The store already has this many files, its maximum."""

    limit: int


class TooMuchText(FileError):
    """The store would exceed its maximum of this many bytes of text."""

    limit: int


class VersionGone(FileError):
    """The text of the version is not kept, or the change deleted the file."""

    version: int

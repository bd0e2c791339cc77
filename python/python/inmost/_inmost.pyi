"""The native half of the package."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from os import PathLike
from types import TracebackType
from typing import Any, Literal, final

from ._records import (
    BackupInfo,
    BackupReport,
    Block,
    CheckReport,
    ExpiryReport,
    ExpiryStatus,
    FileVersion,
    FolderEntry,
    HistoryStatus,
    Keyslot,
    Metadata,
    NewFile,
    Precondition,
    Ranked,
    SearchMatch,
    SetAside,
    StoreStatus,
    SyncReport,
    SyncStatus,
    UndoStep,
    Undone,
    VerifiedCopy,
    VersionChannel,
    VersionInfo,
    VersionKind,
    WalkEntry,
)
from .errors import FileError, StoreError

__all__ = [
    "Backups",
    "Expiry",
    "Files",
    "History",
    "Keyslots",
    "MemoryTool",
    "Postgres",
    "Store",
    "Sync",
    "TOOL_DEFINITION",
    "ToolResult",
    "UndoPlan",
    "Vault",
    "__version__",
    "generate_keyfile",
    "generate_recovery_key",
]

TOOL_DEFINITION: str
__version__: str

def generate_recovery_key() -> str:
    """A new recovery key, as text for paper. Anyone who sees it can open the store."""

def generate_keyfile() -> bytes:
    """The content of a new keyfile. Keep the file apart from the store, readable for its owner only."""

@final
class Postgres:
    """A PostgreSQL database with vaults, and the pool of connections to it, which all its stores share.

    Make one in each process, after a fork. `url` is `postgres://USER@HOST/DATABASE`. `size` is the most connections at once, 8
    by default. `password` is that of the role; without it, it comes from `PGPASSWORD`, else from the file that `PGPASSFILE`
    names, else from `~/.pgpass`. Connects when a store is first used. `inmost postgres-schema` prints the tables.

    Raises `ValueError` for an invalid URL, and `Unavailable` for a password file that others may read.
    """

    def __new__(cls, url: str, *, size: int | None = None, password: str | bytes | bytearray | None = None) -> Postgres: ...
    def vault(self, id: str | None = None) -> Vault:
        """The vault with this id, 32 hexadecimal digits; one with a new random id if none is given. Asks no server."""

@final
class Vault:
    """The place of one store in a database: what `Store.create` and `Store.open` take."""

    @property
    def id(self) -> str:
        """The id: 32 hexadecimal digits. Keep it with the user's account. It is no secret; the server sees it."""

    def destroy(self) -> None:
        """Destroys the store. Needs no passphrase. Raises `NotAStore` and `Unavailable`.

        The server keeps deleted rows until it vacuums them, and longer in its write-ahead log and its backups.
        """

@final
class Store:
    """An unlocked store. Use it in a `with` statement, which locks it at the end.

    Threads can share it. It belongs to the process that opened it. In a forked child, calls that read or change the store
    raise `Forked`; a tool call returns a result with `Forked` as its `store_error`; `is_locked` is true; and `lock` and
    `close` do nothing.

    A text with a lone surrogate, which has no encoding, is a `ValueError` that does not show it.
    """

    @staticmethod
    def create(
        path: str | PathLike[str] | Vault,
        *,
        passphrase: str | bytes | bytearray | None = None,
        keyfile: str | PathLike[str] | bytes | bytearray | None = None,
        recovery_key: str | bytes | bytearray | None = None,
        raw_key: bytes | bytearray | None = None,
        history: timedelta | None = None,
        anchor: str | PathLike[str] | None = None,
        actor: str | None = None,
        idle_lock: timedelta | None = None,
        max_file_bytes: int | None = None,
        max_files: int | None = None,
        max_store_bytes: int | None = None,
    ) -> Store:
        """Creates a store and unlocks it. A crash leaves a complete store or none.

        `path` is a new or empty folder; the URL of a vault in a PostgreSQL database,
        `postgres://USER@HOST/DATABASE?vault=ID`; or a vault of `Postgres`, whose stores share their connections.

        The credential is one of `passphrase`, `passphrase` and `keyfile` (a path, or the bytes of the file),
        `recovery_key` (see `generate_recovery_key`), and `raw_key` (32 random bytes).

        `history` is how long earlier versions of files are kept; they are not by default. `anchor` is a file outside
        the store that detects an older copy of it. `actor` labels the changes of `files` in the history. `idle_lock`
        locks the store once it was unused for this long. The other arguments are quotas.

        Raises `StoreAlreadyExists`, `InvalidCredential`, `Unavailable` and other errors of `inmost.errors`.
        """

    @staticmethod
    def open(
        path: str | PathLike[str] | Vault,
        *,
        passphrase: str | bytes | bytearray | None = None,
        keyfile: str | PathLike[str] | bytes | bytearray | None = None,
        recovery_key: str | bytes | bytearray | None = None,
        raw_key: bytes | bytearray | None = None,
        anchor: str | PathLike[str] | None = None,
        at_least: bytes | None = None,
        require_fresh: bool = False,
        accept_rollback: bool = False,
        actor: str | None = None,
        idle_lock: timedelta | None = None,
        max_file_bytes: int | None = None,
        max_files: int | None = None,
        max_store_bytes: int | None = None,
    ) -> Store:
        """Unlocks an existing store. The arguments are those of `create`.

        `at_least` is what `mark` returned earlier, here or in another process: a store that has not come that far is
        `RolledBack`. `require_fresh` refuses a store whose freshness is not known, as `FreshnessUnknown`: its anchor is missing,
        damaged or older, or there is none.

        `accept_rollback` takes a store that is refused as `RolledBack`, `ForeignAnchor` or `RecordsBehindHeader`, or whose
        freshness is not known, as the newest state, and writes the anchors anew. Give it once, when a person knows the reason,
        such as a restored backup. The credentials of that state are valid again, also those that were removed since: look at
        `keyslots.list()`.

        Raises `NotAStore`, `InUse`, `WrongPassphrase`, `WrongKey`, `RolledBack` and other errors of `inmost.errors`.
        """

    @staticmethod
    def in_memory(
        *,
        history: timedelta | None = None,
        actor: str | None = None,
        idle_lock: timedelta | None = None,
        max_file_bytes: int | None = None,
        max_files: int | None = None,
        max_store_bytes: int | None = None,
    ) -> Store:
        """Creates a store that never touches the disk, for tests and for agents that must leave nothing behind."""

    @staticmethod
    def connect(
        path: str | PathLike[str],
        *,
        anchor: str | PathLike[str] | None = None,
        actor: str | None = None,
    ) -> Store:
        """Connects to the key daemon that holds a store since `inmost unlock`. Needs no passphrase.

        Calls go through one connection, one after the other; connect again for calls in parallel.

        Raises `NoKeyDaemon` and `KeyDaemon`.
        """

    @property
    def files(self) -> Files:
        """The files of the store, for programs that are not agents."""

    @property
    def history(self) -> History:
        """The history of the store."""

    @property
    def expiry(self) -> Expiry:
        """The expiry of unused files. Off by default."""

    @property
    def sync(self) -> Sync:
        """Its part in a circle of devices, which keep their stores in step without a server."""

    @property
    def keyslots(self) -> Keyslots:
        """The credentials that open the store."""

    def memory_tool(
        self,
        *,
        read_only: bool = False,
        subtree: str | None = None,
        create_overwrites: bool = False,
        delete_forgets: bool = False,
        actor: str | None = None,
        screen: Literal["redact", "refuse"] | None = None,
        locked_hint: str | None = None,
        max_file_bytes: int | None = None,
        max_files: int | None = None,
        max_store_bytes: int | None = None,
        max_view_characters: int | None = None,
        max_range_characters: int | None = None,
        max_listing_entries: int | None = None,
    ) -> MemoryTool:
        """Claude's memory tool on this store.

        `read_only` refuses every change. `subtree` shows one folder of the store as the model's `/memories`.
        `create_overwrites` lets `create` replace a file. `actor` labels the tool's changes in the history. `screen`
        keeps private keys, API keys, card numbers and IBANs out: `redact` replaces them, `refuse` saves nothing.
        `locked_hint` is a sentence that the model reads after `Error: Memory is locked.`

        `delete_forgets` lets an edit forget every earlier version of its file, and a `delete` every version of the path. It
        cannot be undone. The ciphertext stays until `Store.compact` or `Store.purge`.

        `max_file_bytes`, `max_files` and `max_store_bytes` are quotas of the model; those of the store hold as well.
        The last two count everything in the store. The other arguments bound what a call shows, in characters and in
        entries.
        """

    def status(self) -> StoreStatus:
        """Counts and sizes."""

    def check(self, *, progress: Callable[[int], object] | None = None) -> CheckReport:
        """Checks the whole store: authenticates every record and compares it with the references to it. Changes nothing.

        Damage is not an error here; the report lists it. Writers wait meanwhile, readers do not. `progress` gets the number of
        records read so far, a few times a second and at the end; each record is read twice. It runs in this thread while
        writers wait, so a call of this store from there is a `RuntimeError`. An exception that it raises comes when the work is done. This holds for
        every `progress` of this package.
        """

    def compact(self, *, progress: Callable[[int], object] | None = None) -> None:
        """Rewrites the store under a fresh data key, with the versions that it keeps. Deleted and overwritten content is then
        gone from its files, and its space is free. `progress` gets the number of records written.

        Raises `Tampered` if a live record is damaged. After another error nothing has changed, unless the store has halted.
        """

    def purge(self, *, progress: Callable[[int], object] | None = None) -> None:
        """As `compact`, and drops every version that the history keeps. Backups are not purged."""

    def compaction_due(self) -> bool:
        """Whether `compact` is worth its cost: the store takes more than four times the live bytes plus 16 MiB on disk."""

    def backup_into(
        self,
        folder: str | PathLike[str],
        *,
        with_versions: bool = False,
        keep: int = 10,
        keep_within: timedelta = timedelta(days=30),
        progress: Callable[[int], object] | None = None,
    ) -> BackupReport:
        """Makes a backup in a folder that may have earlier ones, and reads it back. `Backups` lists and restores them.

        What has not changed since the newest backup is shared with it. Of the earlier ones, the newest `keep`, this one
        included, and those younger than `keep_within` stay. `with_versions` copies the history too. `progress` gets the number
        of records copied, then the number read back. The backups open with the credentials that the store had when they
        were made.

        Raises `StoreAlreadyExists` if the folder holds something else, and `InUse` while another process makes a backup there.
        """

    def migrate(self, to: str | PathLike[str] | Vault, *, progress: Callable[[int], object] | None = None) -> None:
        """Copies the store with its versions to a new place, and reads the copy back: a new or empty folder, the URL of a new vault,
        or a new vault of `Postgres`. It opens with the same credentials. Writers wait meanwhile. The old store stays as it is;
        use one of the two from then on.

        `progress` gets the number of records written, then the number read. Raises `StoreAlreadyExists`, `CopyNotVerified`,
        `Tampered` if a live record is damaged, and `InMemory`; for a vault also `Unavailable`, and `KeyDaemon` if a key daemon
        holds the store.
        """

    def set_aside(self) -> list[SetAside]:
        """Records in the folder of the store that the store no longer uses: damaged files that a repair kept, or those of a newer
        store that an older copy was put over. No unlock and no rewrite removes them.
        """

    def discard_set_aside(self, number: int) -> None:
        """Removes records that were set aside. They cannot be restored. An absent number is not an error."""

    def mark(self) -> bytes:
        """How far the store has come, sealed: what `at_least` of a later `open` takes. Keep it with the user's account, and a
        database that goes back behind it is noticed. Raises `KeyDaemon` for a store that a key daemon holds.
        """

    def is_locked(self) -> bool:
        """Whether the store is locked, or not usable in this process."""

    def lock(self) -> None:
        """Locks the store and wipes its keys. A store that a key daemon holds is locked for all programs."""

    def close(self) -> None:
        """Locks a store that this process opened; disconnects from a key daemon, which goes on. Can be repeated."""

    def __enter__(self) -> Store: ...
    def __exit__(
        self,
        exception_type: type[BaseException] | None = None,
        exception: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None: ...

@final
class Keyslots:
    """The keyslots of a store: up to eight credentials, each of which opens it. A key derivation takes a part of a second."""

    def add(
        self,
        *,
        passphrase: str | bytes | bytearray | None = None,
        keyfile: str | PathLike[str] | bytes | bytearray | None = None,
        recovery_key: str | bytes | bytearray | None = None,
        raw_key: bytes | bytearray | None = None,
        label: str | None = None,
    ) -> int:
        """Adds a keyslot for a credential, which is given as to `Store.create`. Returns its number. `label` has at most 63 bytes.

        Raises `SlotsFull`, and `InMemory` for a store that has no keyslots.
        """

    def replace(
        self,
        number: int,
        *,
        passphrase: str | bytes | bytearray | None = None,
        keyfile: str | PathLike[str] | bytes | bytearray | None = None,
        recovery_key: str | bytes | bytearray | None = None,
        raw_key: bytes | bytearray | None = None,
        label: str | None = None,
    ) -> None:
        """Replaces the credential of a keyslot: this is how a passphrase is changed. Raises `NoSuchSlot`."""

    def remove(self, number: int) -> None:
        """Removes a keyslot. Raises `NoSuchSlot` and `LastSlot`.

        Someone who has the credential and an older copy of the store's header can still get the keys; `rotate` ends that.
        """

    def rotate(
        self,
        *,
        passphrase: str | bytes | bytearray | None = None,
        keyfile: str | PathLike[str] | bytes | bytearray | None = None,
        recovery_key: str | bytes | bytearray | None = None,
        raw_key: bytes | bytearray | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> list[Keyslot]:
        """Replaces every key of the store, for when one may have leaked, and rewrites the store like `Store.compact`.

        The credential must already open the store, and is kept. All other keyslots are dropped and returned, so that they can
        be added again. Raises `WrongPassphrase` and `WrongKey`.
        """

    def list(self) -> list[Keyslot]:
        """The keyslots in use, in the order of their numbers."""

@final
class Backups:
    """The backups in a folder, as they were when it was opened. `Store.backup_into` makes them."""

    @staticmethod
    def open(folder: str | PathLike[str]) -> Backups:
        """Lists the backups in a folder. Needs no credential and writes nothing. Raises `NotAStore` if there is none."""

    def list(self) -> list[BackupInfo]:
        """The backups, the oldest first."""

    def check(
        self,
        number: int,
        *,
        passphrase: str | bytes | bytearray | None = None,
        keyfile: str | PathLike[str] | bytes | bytearray | None = None,
        recovery_key: str | bytes | bytearray | None = None,
        raw_key: bytes | bytearray | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> CheckReport:
        """Reads and authenticates every record of a backup. Raises `NotAStore` for a number without a backup."""

    def restore(
        self,
        number: int,
        path: str | PathLike[str],
        *,
        passphrase: str | bytes | bytearray | None = None,
        keyfile: str | PathLike[str] | bytes | bytearray | None = None,
        recovery_key: str | bytes | bytearray | None = None,
        raw_key: bytes | bytearray | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> VerifiedCopy:
        """Restores a backup to a new folder. The restored store opens with this credential and with no other. It has a new id
        and new keys, so an anchor of the old store refuses it. Raises `StoreAlreadyExists` and `Tampered`.
        """

@final
class MemoryTool:
    """Claude's memory tool (`memory_20250818`) on a store. Threads can share it; no parallel change is lost."""

    def call(self, call: dict[str, Any] | Block | str | bytes | bytearray) -> ToolResult:
        """Runs a call: the `input` of a `tool_use` block or the whole block, as a dict, as the SDK's object, or as JSON.

        Raises nothing for a mistake of the model or a failing store: the result always has a text for the model.
        """

    def clear(self) -> ToolResult:
        """Deletes everything in the tool's memory, hidden files included. Each entry is one atomic step; the whole is
        not. Earlier versions stay in the history, if that is on and the tool does not forget them.

        Raises nothing, as `call`. If an entry cannot be deleted, the result says why, and the entries before it are gone.
        """

@final
class ToolResult:
    """The result of a call."""

    @property
    def content(self) -> str:
        """The text for the model."""

    @property
    def is_error(self) -> bool:
        """Whether the result must be marked as an error."""

    @property
    def tool_use_id(self) -> str | None:
        """The id of the `tool_use` block, if a whole block was sent."""

    @property
    def store_error(self) -> StoreError | None:
        """Why the store failed, for the application. The model reads only that its memory is not available."""

    def to_dict(self) -> Any:
        """The result as a `tool_result` block: a dict. Its type is `Any`, because each SDK has one of its own for it."""

@final
class Files:
    """The files of a store. Paths are those of the tool: `/memories` or a path below it."""

    def read(self, path: str) -> str:
        """The whole text of a file."""

    def read_lines(self, path: str, first: int, last: int | None = None) -> str:
        """The lines `first` to `last`, counted from 1, with their line ends; to the end without `last`."""

    def metadata(self, path: str) -> Metadata:
        """The metadata of a file or folder. Does not read its text."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""

    def write(self, path: str, text: str) -> None:
        """Writes a file, replacing an existing one."""

    def append(self, path: str, text: str) -> None:
        """Appends text to a file, byte for byte; creates a missing one."""

    def read_many(self, paths: Iterable[str]) -> list[str | FileError | StoreError]:
        """The whole texts of files, in the order of their paths, or why one cannot be read: a `Tampered` for a damaged one.

        In a store that hosts share, this makes far fewer round trips than single calls, if the paths are in the order of a walk.
        """

    def write_many(self, files: Iterable[NewFile]) -> list[Literal["written", "unchanged"] | FileError | StoreError]:
        """Writes files in their order, several in a commit, and returns the result of each.

        Each file is one atomic step; the call as a whole is not. A file that already has the text is `unchanged`.
        """

    def list(self, path: str = "/memories") -> list[FolderEntry]:
        """The entries of a folder in code-point order, hidden ones included."""

    def walk(self, path: str = "/memories", *, max_depth: int | None = None) -> Iterator[WalkEntry]:
        """Everything below a folder, depth first, a folder before its entries. Reads the store page by page."""

    def search(
        self,
        text: str,
        path: str = "/memories",
        *,
        ignore_case: bool = False,
        max_matches_per_file: int | None = None,
    ) -> Iterator[SearchMatch]:
        """The lines that contain a text, in the files below a folder or in one file."""

    def grep(
        self,
        pattern: str,
        path: str = "/memories",
        *,
        ignore_case: bool = False,
        max_matches_per_file: int | None = None,
    ) -> Iterator[SearchMatch]:
        """The lines that match a regular expression of Rust's crate `regex`, in time linear in the text."""

    def rank(
        self,
        words: str,
        path: str = "/memories",
        *,
        limit: int = 10,
        skip: int = 0,
        since: datetime | None = None,
    ) -> Ranked:
        """The files that say most about some words, by BM25: in other forms of the same stem, in any case, with or without accents.

        A file need not have all of the words; those of its path count too. The first search reads every text, later ones only
        what has changed. `limit` is at most 100. Raises `EmptySearch` if there is no word.
        """

    def remove(self, path: str) -> None:
        """Deletes a file, or a folder with everything below it."""

    def rename(self, old: str, new: str) -> None:
        """Moves a file, or a folder with everything below it."""

    def version(self, path: str) -> FileVersion | None:
        """The state of a file, for a later change that is conditional on it; `None` if there is no file."""

    def write_if(self, path: str, text: str, condition: FileVersion | Precondition | None) -> FileVersion:
        """Writes a file if the condition holds, in one atomic step; `None` means that there must be nothing yet.

            now = files.version(path)
            files.write_if(path, edited(files.read(path)), now)

        Raises `Changed`, with the state that is there now, if someone else changed the file.
        """

    def remove_if(self, path: str, condition: FileVersion | Precondition) -> None:
        """Deletes a file if the condition holds."""

    def rename_if(self, old: str, new: str, condition: FileVersion | Precondition) -> int:
        """Moves a file if the condition holds for the old path. Returns the number of the change."""

    def replace_if(
        self, old: str, new: str, moved: FileVersion | Precondition, replaced: FileVersion | Precondition
    ) -> FileVersion:
        """Moves a file into the place of another if the conditions hold for the old and the new path.

        This is one atomic step. The file at the new path keeps its history. Returns its new state.
        """

@final
class History:
    """The history of a store. While it is on, every change of a file leaves a version behind, encrypted."""

    def log(
        self,
        path: str | None = None,
        *,
        confined: bool = False,
        file: int | None = None,
        actor: str | None = None,
        kind: VersionKind | None = None,
        channel: VersionChannel | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Iterator[VersionInfo]:
        """The changes, the newest first, of a path or below it. Times need a time zone.

        `confined` leaves out changes with a path outside the folder `path`. Entries that cannot be read, because the history
        is damaged, are left out: `status().unreadable` counts them.
        """

    def text(self, number: int) -> str:
        """The text of a file as the change of this number made it."""

    def restore(self, number: int, to: str | None = None) -> int:
        """Brings a version back, to its path then or to another. Returns the number of the new version."""

    def plan_undo(
        self,
        path: str | None = None,
        *,
        confined: bool = False,
        file: int | None = None,
        actor: str | None = None,
        kind: VersionKind | None = None,
        channel: VersionChannel | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> UndoPlan:
        """Plans to undo the changes that `log` lists with the same arguments. Changes nothing."""

    def undo(self, plan: UndoPlan, *, progress: Callable[[int], object] | None = None) -> list[Undone]:
        """Makes the steps of a plan. A step whose file has changed since the plan changes nothing."""

    def forget(
        self, path: str, *, until: int | None = None, progress: Callable[[int], object] | None = None
    ) -> int:
        """Removes versions of what is or was at or below a path: all, or those up to and including the version `until`.

        Returns how many entries. The ciphertext stays in the store's files until `Store.compact` or `Store.purge`.
        """

    def status(self) -> HistoryStatus:
        """The settings, and what the history holds."""

    def set(self, keep: timedelta | None, *, max_bytes: int | None = None) -> None:
        """Sets how long versions are kept; `None` keeps none and drops those that are kept."""

@final
class Expiry:
    """The expiry of files that were neither read nor changed for long. Off by default.

    A store that records readings keeps, for each file, the day of its last reading: a `view` of one file by a tool that may
    write, or a `read`. A reading is written along with the next change. A file that expires becomes a version of the
    history; if the store keeps no versions, it is gone.
    """

    def status(self) -> ExpiryStatus:
        """The settings, and what is recorded."""

    def set(self, record: bool, *, at_unlock: timedelta | None = None) -> None:
        """Sets whether readings are recorded. With `at_unlock`, at an unlock, once a day at most, the files expire that
        were unused for this long, a day at least. Stored, so it holds for every program that opens the store.

        Copies of the store then hold the days on which files were last read, encrypted like everything else.
        """

    def expire(
        self, unused_for: timedelta, *, dry_run: bool = False, progress: Callable[[int], object] | None = None
    ) -> ExpiryReport:
        """Deletes the files that were neither read nor changed for this long, or only lists them.

        No file counts as unused for longer than readings are recorded. Each file is deleted in a change of its own, unless
        it was used meanwhile. If nothing can expire, `hindrance` says why.
        """

@final
class Sync:
    """A store's part in a circle of devices. They exchange sealed objects in a place that nobody has to trust.

    A place is a folder that exists, and that a sync program, a network drive or a stick carries between the devices; not the
    folder of the store. `docs/SYNC.md` says what is promised. Calls on one store wait for each other. They raise
    what is below `SyncError`, such as `NoFolder` for a store in memory or in a database, and errors of the store and of files.
    """

    def init(self, place: str | PathLike[str], name: str) -> None:
        """Begins a circle in an empty place. `name` is that of this device: 1 to 32 letters, digits, spaces, `-`, `_` and `.`."""

    def join(self, place: str | PathLike[str], invitation: str, name: str) -> None:
        """Joins the circle of an invitation. Files that the store already has become files of the circle."""

    def remove(self, names: list[str], to: str | PathLike[str]) -> None:
        """Goes on in a new, empty place with a new key, without the devices of these names. `run` once before and once after it."""

    def follow(self, place: str | PathLike[str], invitation: str) -> None:
        """Follows the other devices into the place that they have gone on in, with its new invitation."""

    def invitation(self) -> str:
        """The invitation for another device: a secret. With it and the place, anyone reads and changes everything."""

    def run(self, *, progress: Callable[[int], object] | None = None) -> SyncReport:
        """Sends what has changed, reads what the others have sent, and shows both, once.

        An error loses nothing, and the next run goes on. `progress` gets the number of objects read.
        """

    def status(self) -> SyncStatus:
        """The other devices, and what waits."""

    def leave(self) -> None:
        """Leaves the circle. The files stay, here and on the other devices. `run` before it, so that they get all changes."""

@final
class UndoPlan:
    """What an undo would do."""

    @property
    def steps(self) -> list[UndoStep]:
        """The steps, the newest change first."""

    @property
    def left(self) -> list[VersionInfo]:
        """Files that someone else changed afterwards, by their newest change. An undo leaves them."""

    @property
    def gone(self) -> list[VersionInfo]:
        """Files that cannot go back, by their newest change. An undo leaves them.

        The text before was forgotten or dropped for lack of room, is damaged, or the history does not have every
        change in between.
        """

    @property
    def unreadable(self) -> int:
        """Entries of the history that cannot be read, among those that the plan had to look at."""

"""Encrypted memory for AI agents: Claude's memory tool, with nothing readable on disk.

    import inmost

    with inmost.Store.open("claude.inmost", passphrase="correct horse battery staple") as store:
        memory = store.memory_tool()
        result = memory.call({"command": "view", "path": "/memories"})
        print(result.content)

`inmost.anthropic` has the same tool for the `tool_runner` of the package `anthropic`. `inmost.errors` has the exceptions.

Every call blocks, on the disk or on key derivation, and runs without the lock of the interpreter. Every change is one
atomic step and is on disk when its call returns. Threads can share a store. A store belongs to the process that opened
it: in a forked child, a call that reads or changes it raises `inmost.errors.Forked`.

Keys are wiped when a store is locked. Python strings cannot be wiped: a passphrase that was given as `str` or `bytes`,
and every text that a call returned, stay in memory until the interpreter uses that memory again. A passphrase in a
`bytearray` can be overwritten by its owner; a store that a key daemon holds (`Store.connect`) needs none.
"""

import json as _json
from typing import Any as _Any

from . import errors
from ._inmost import (
    TOOL_DEFINITION as _TOOL_DEFINITION,
    Backups,
    Expiry,
    Files,
    History,
    Keyslots,
    MemoryTool,
    Postgres,
    Store,
    Sync,
    ToolResult,
    UndoPlan,
    Vault,
    __version__,
    generate_keyfile,
    generate_recovery_key,
)
from ._records import (
    BackupInfo,
    BackupReport,
    CheckReport,
    ExpiredFile,
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
    RankedFile,
    SearchMatch,
    StoreProblem,
    SetAside,
    StoreStatus,
    SyncMember,
    SyncReport,
    SyncStatus,
    UndoStep,
    Undone,
    VerifiedCopy,
    VersionInfo,
    WalkEntry,
)
from .errors import Error, FileError, StoreError

TOOL_DEFINITION: _Any = _json.loads(_TOOL_DEFINITION)
"""The memory tool's entry in the `tools` of a request: a dict. Its type is `Any`, because each SDK has one of its own for it."""

__all__ = [
    "BackupInfo",
    "BackupReport",
    "Backups",
    "CheckReport",
    "Error",
    "ExpiredFile",
    "Expiry",
    "ExpiryReport",
    "ExpiryStatus",
    "FileError",
    "FileVersion",
    "Files",
    "FolderEntry",
    "History",
    "HistoryStatus",
    "Keyslot",
    "Keyslots",
    "MemoryTool",
    "Metadata",
    "NewFile",
    "Postgres",
    "Precondition",
    "Ranked",
    "RankedFile",
    "SearchMatch",
    "Store",
    "StoreError",
    "StoreProblem",
    "SetAside",
    "StoreStatus",
    "Sync",
    "SyncMember",
    "SyncReport",
    "SyncStatus",
    "TOOL_DEFINITION",
    "ToolResult",
    "UndoPlan",
    "UndoStep",
    "Undone",
    "Vault",
    "VerifiedCopy",
    "VersionInfo",
    "WalkEntry",
    "__version__",
    "errors",
    "generate_keyfile",
    "generate_recovery_key",
]

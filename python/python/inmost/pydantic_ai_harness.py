"""The files of the capability `Memory` of pydantic-ai-harness, encrypted. For any model.

    from pydantic_ai import Agent
    from pydantic_ai_harness.memory import Memory
    from inmost.pydantic_ai_harness import MemoryStore

    with inmost.Store.open("claude.inmost", passphrase=...) as store:
        agent = Agent("openai:gpt-5.2", capabilities=[Memory(store=MemoryStore(store))])
        result = agent.run_sync("Plan the garden with me.")

Calls run on threads of anyio. A failing store raises an exception of `inmost.errors`, which ends the run.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from anyio import to_thread
from pydantic_ai_harness.memory import (
    MemoryConflictError,
    MemoryFile,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemorySearchMatch,
    MemorySearchResult,
)

from ._inmost import Store
from ._records import FolderEntry, Precondition
from .errors import Changed, EmptySearch, NotAFolder, NotFound

__all__ = ["MemoryStore"]


class MemoryStore:
    """A `MemoryStore` of the framework in a folder of a store.

    The version of a file is the SHA-256 of its text, and a write is conditional on it in one atomic step, so no change of
    another thread, process or agent is lost. An operation leaves a receipt, so that a call that is repeated after a crash
    is made once. The newest 1,024 receipts or a little more are kept, in the folder `.receipts~`. They are files like the
    others: a history has versions of them.
    """

    def __init__(self, store: Store, *, folder: str = "/memories") -> None:
        self._files = store.files
        self._folder = folder.rstrip("/")
        # A name that no path of the framework can have.
        self._receipts = f"{self._folder}/.receipts~"
        self._lock = threading.Lock()
        self._until_trimming = 0

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        """The file at `path`, its text cut to `max_chars`; `None` if there is none."""
        place = self._place(path)
        if max_chars <= 0:
            raise ValueError("max_chars must be positive")
        text = await to_thread.run_sync(self._text, place)
        if text is None:
            return None
        return MemoryFile(text[:max_chars], _version(text), operation_id=None, truncated=len(text) > max_chars)

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        """The result of an operation that was made before."""
        return await to_thread.run_sync(self._locked_replay, operation)

    async def write(
        self, path: str, content: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Writes a file if it has the expected version; `None` stands for no file."""
        return await to_thread.run_sync(self._change, path, content, expected_version, operation)

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Deletes a file if it has the expected version."""
        return await to_thread.run_sync(self._change, path, None, expected_version, operation)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """The first `limit` paths that begin with `prefix`."""
        if prefix:
            self._place(prefix.removesuffix("/"))
        if limit <= 0:
            raise ValueError("limit must be positive")
        return await to_thread.run_sync(lambda: heapq.nsmallest(limit, self._paths(prefix)))

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        """The files directly below `prefix` that say most about a query, by the ranked search of the store.

        It finds other forms of the words and reads no more than has changed, so `max_files` and `max_file_chars`, which bound a
        scan, only bound how many files count and how much of a line is shown.
        """
        if prefix:
            self._place(prefix.removesuffix("/"))
        if min(limit, max_files, max_chars, max_file_chars) <= 0:
            return MemorySearchResult(matches=[], scanned=0, truncated=False)
        return await to_thread.run_sync(self._search, prefix, query, limit, max_files, max_chars)

    def _search(self, prefix: str, query: str, limit: int, max_files: int, max_chars: int) -> MemorySearchResult:
        matches: list[MemorySearchMatch] = []
        folder, seen, found = f"{self._folder}/{prefix}".rstrip("/"), 0, 1
        try:
            while seen < min(found, max_files):
                ranked = self._files.rank(query, folder, limit=100, skip=seen)
                seen, found = seen + (len(ranked.files) or found), ranked.found
                for file in ranked.files:
                    path = file.path.removeprefix(f"{self._folder}/")
                    # A folder below belongs to someone else.
                    if "/" in path.removeprefix(prefix) or file.path.startswith(f"{self._receipts}/"):
                        continue
                    room = max_chars - len(path.removeprefix(prefix))
                    if len(matches) >= limit or room <= 0:
                        return MemorySearchResult(matches, scanned=min(found, max_files), truncated=True)
                    snippet = "\n".join(line for _, line in file.lines)[:room]
                    max_chars = room - len(snippet)
                    matches.append(MemorySearchMatch(path, snippet, file.score))
        except (EmptySearch, NotFound, NotAFolder):
            return MemorySearchResult(matches=[], scanned=0, truncated=False)
        return MemorySearchResult(matches, scanned=min(found, max_files), truncated=found > max_files)

    def _place(self, path: str) -> str:
        """The path of a file in the store."""
        if not all(_SEGMENT.fullmatch(part) and part != "." and ".." not in part for part in path.split("/")):
            raise ValueError(f"invalid memory path: {path!r}")
        return f"{self._folder}/{path}"

    def _text(self, place: str) -> str | None:
        try:
            return self._files.read(place)
        except NotFound:
            return None

    def _paths(self, prefix: str) -> Iterator[str]:
        parent = prefix.rpartition("/")[0]
        try:
            for entry in self._files.walk(f"{self._folder}/{parent}".rstrip("/")):
                path = entry.path.removeprefix(f"{self._folder}/")
                is_receipt = entry.path.startswith(f"{self._receipts}/")
                if not entry.metadata.is_folder and not is_receipt and path.startswith(prefix):
                    yield path
        except (NotFound, NotAFolder):
            return

    def _change(
        self, path: str, content: str | None, expected: str | None, operation: MemoryOperation | None
    ) -> MemoryMutation:
        place = self._place(path)
        with self._lock:
            if operation is None:
                return self._apply(place, content, expected)
            replayed = self._replay(operation)
            if replayed is not None:
                return replayed
            # First the intention: after a crash, the file tells whether the change was made.
            version = None if content is None else _version(content)
            receipt = _Receipt(operation.fingerprint, place, version, expected is not None, done=False)
            self._trim()
            self._keep(operation, receipt)
            try:
                mutation = self._apply(place, content, expected)
            except MemoryConflictError:
                self._files.remove(self._receipt(operation))
                raise
            self._keep(operation, replace(receipt, done=True))
            return mutation

    def _apply(self, place: str, content: str | None, expected: str | None) -> MemoryMutation:
        try:
            condition = Precondition.absent() if expected is None else Precondition.of_sha256(expected)
            if content is not None:
                self._files.write_if(place, content, condition)
            elif expected is not None:
                self._files.remove_if(place, condition)
            elif self._files.exists(place):
                raise MemoryConflictError("the memory file exists by now")
        except (Changed, NotFound) as error:
            raise MemoryConflictError("the memory file has changed") from error
        version = None if content is None else _version(content)
        return MemoryMutation(version, replayed=False, existed=expected is not None)

    def _receipt(self, operation: MemoryOperation) -> str:
        return f"{self._receipts}/{_version(operation.id)}"

    def _keep(self, operation: MemoryOperation, receipt: _Receipt) -> None:
        self._files.write(self._receipt(operation), json.dumps(asdict(receipt)))

    def _locked_replay(self, operation: MemoryOperation) -> MemoryMutation | None:
        with self._lock:
            return self._replay(operation)

    def _replay(self, operation: MemoryOperation) -> MemoryMutation | None:
        kept = self._text(self._receipt(operation))
        if kept is None:
            return None
        try:
            receipt = _Receipt(**json.loads(kept))
        except (ValueError, TypeError):
            # Someone else has written to it.
            return None
        if receipt.fingerprint != operation.fingerprint:
            raise MemoryOperationConflictError(f"operation id {operation.id!r} was reused with different arguments")
        if not receipt.done:
            # A process ended between the intention and the end.
            text = self._text(receipt.path)
            if (None if text is None else _version(text)) != receipt.version:
                return None
            self._keep(operation, replace(receipt, done=True))
        return MemoryMutation(receipt.version, replayed=True, existed=receipt.existed)

    def _trim(self) -> None:
        """Removes the oldest receipts now and then."""
        if self._until_trimming > 0:
            self._until_trimming -= 1
            return
        self._until_trimming = _TRIM_EVERY
        try:
            receipts = self._files.list(self._receipts)
        except NotFound:
            return
        for old in heapq.nsmallest(len(receipts) - _KEPT, receipts, key=_time):
            self._files.remove(f"{self._receipts}/{old.name}")


@dataclass(frozen=True)
class _Receipt:
    fingerprint: str
    path: str
    version: str | None
    existed: bool
    done: bool


def _version(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _time(receipt: FolderEntry) -> float:
    modified = receipt.metadata.modified
    return modified.timestamp() if modified else 0.0


_SEGMENT = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_KEPT = 1_024
_TRIM_EVERY = 64

"""The files of a deep agent (package `deepagents`), encrypted. For any model.

    from deepagents import create_deep_agent
    from deepagents.backends import CompositeBackend, StateBackend
    from inmost.deepagents import InmostBackend

    with inmost.Store.open("claude.inmost", passphrase=...) as store:
        backend = CompositeBackend(default=StateBackend(), routes={"/memories/": InmostBackend(store)})
        agent = create_deep_agent(model=..., backend=backend)
        agent.invoke({"messages": [{"role": "user", "content": "Plan the garden with me."}]})

With `backend=InmostBackend(store)`, all files of the agent are in the store, also those that the framework writes itself.
Asynchronous agents run it on threads.

If the store fails, the model reads that its memory is unavailable, and the application gets the `inmost.StoreError`
through `on_store_error`; by default it is logged.

The framework logs two things itself: a glob pattern that it cannot compile, and the pattern and the path of an asynchronous
`grep` that takes longer than 35 seconds.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from deepagents.backends.protocol import (
    FILE_NOT_FOUND,
    INVALID_PATH,
    IS_DIRECTORY,
    PERMISSION_DENIED,
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import (
    InvalidGlobPatternError,
    compile_grep_include_glob,
    perform_string_replacement,
    slice_read_response,
)

from ._calls import OnStoreError, log_store_error
from ._inmost import Store
from ._records import Metadata
from .errors import Changed, Error, FileError, InvalidPath, IsAFolder, NotAFolder, NotFound, Root, StoreError

__all__ = ["InmostBackend"]


class InmostBackend(BackendProtocol):
    """A backend of the framework in a folder of a store: its `/` is `/memories`, or the folder `subtree`.

    An edit is conditional on the text that it was made from, in one atomic step, and is repeated if someone else was
    faster. So no edit of another thread, process or agent is lost. A `write` replaces an existing file, as the protocol
    demands.

    A path that is not in Unicode's form NFC is refused, so that permissions of the framework hold for every spelling of a name.

    `read_only` refuses every change. A store holds text only: an upload of bytes that are not UTF-8 is refused.
    """

    def __init__(
        self,
        store: Store,
        *,
        read_only: bool = False,
        subtree: str = "/memories",
        on_store_error: OnStoreError | None = None,
    ) -> None:
        # Raises `InvalidPath` for a path that no folder can have.
        store.memory_tool(subtree=subtree)
        self._files = store.files
        self._root = "/" + "/".join(name for name in subtree.split("/") if name)
        self._read_only = read_only
        self._on_store_error = on_store_error or log_store_error

    def ls(self, path: str) -> LsResult:
        """The entries of a folder."""
        try:
            place = self._place(path)
            # The root is an empty folder until something is written.
            found = [] if place == self._root and not self._files.exists(place) else self._files.list(place)
            return LsResult(entries=_sorted(self._info(f"{place}/{entry.name}", entry.metadata) for entry in found))
        except _REFUSALS as error:
            return LsResult(error=self._reason(error))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Lines of a file."""
        try:
            text = self._files.read(self._place(file_path))
            return slice_read_response({"content": text, "encoding": "utf-8"}, offset, limit)
        except _REFUSALS as error:
            return ReadResult(error=self._reason(error))

    def write(self, file_path: str, content: str) -> WriteResult:
        """Writes a file, replacing an existing one."""
        try:
            self._files.write(self._writable(file_path), content)
            return WriteResult(path=file_path)
        except _REFUSALS as error:
            return WriteResult(error=self._reason(error))

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces a text that occurs once in a file, or every occurrence of it."""
        try:
            place = self._writable(file_path)
            while True:
                # In this order: a change between the two calls must be noticed.
                version = self._files.version(place)
                text = self._files.read(place)
                replaced = perform_string_replacement(text, old_string, new_string, replace_all)
                if isinstance(replaced, str):
                    return EditResult(error=replaced)
                try:
                    self._files.write_if(place, replaced[0], version)
                    return EditResult(path=file_path, occurrences=replaced[1])
                except Changed:
                    continue
        except _REFUSALS as error:
            return EditResult(error=self._reason(error))

    def delete(self, file_path: str) -> DeleteResult:
        """Deletes a file, or a folder with everything below it."""
        try:
            self._files.remove(self._writable(file_path))
            return DeleteResult(path=file_path)
        except _REFUSALS as error:
            return DeleteResult(error=self._reason(error))

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """The lines that contain a text, in the files below a folder or in one file."""
        matches: list[GrepMatch] = []
        try:
            place = self._place(path or "/")
            is_included = compile_grep_include_glob(glob) if glob else None
            for found in self._files.search(pattern, place):
                if is_included and not is_included(_relative(found.path, place)):
                    continue
                if max_count is not None and len(matches) >= max_count:
                    return GrepResult(matches=matches, truncated=True)
                matches.append({"path": self._shown(found.path), "line": found.line, "text": found.text})
        except NotFound:
            pass
        except _REFUSALS as error:
            return GrepResult(error=self._reason(error))
        return GrepResult(matches=matches)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """The files below a folder that a pattern matches."""
        matches: list[FileInfo] = []
        try:
            place = self._place(path or "/")
            is_match = compile_grep_include_glob(pattern)
            for entry in self._files.walk(place):
                if not entry.metadata.is_folder and is_match(_relative(entry.path, place)):
                    matches.append(self._info(entry.path, entry.metadata))
        except NotFound:
            pass
        except _REFUSALS as error:
            return GlobResult(error=self._reason(error))
        return GlobResult(matches=_sorted(matches))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Writes files, replacing existing ones. Each file is one atomic step; the call as a whole is not."""
        responses: list[FileUploadResponse] = []
        for path, content in files:
            try:
                self._files.write(self._writable(path), content.decode())
                responses.append(FileUploadResponse(path))
            except _REFUSALS as error:
                responses.append(FileUploadResponse(path, error=self._reason(error)))
        return responses

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """The whole texts of files."""
        responses: list[FileDownloadResponse] = []
        for path in paths:
            try:
                responses.append(FileDownloadResponse(path, self._files.read(self._place(path)).encode()))
            except _REFUSALS as error:
                responses.append(FileDownloadResponse(path, error=self._reason(error)))
        return responses

    def _place(self, path: str) -> str:
        """The path in the store. The store refuses `..` and what else no path may have."""
        first, *names = path.removesuffix("/").split("/")
        if first or not path or "" in names or not unicodedata.is_normalized("NFC", path):
            raise InvalidPath
        return "/".join([self._root, *names])

    def _writable(self, path: str) -> str:
        """The path in the store of what is to be changed."""
        if self._read_only:
            raise _ReadOnly
        place = self._place(path)
        if place == self._root:
            raise Root("The root folder cannot be replaced or deleted.")
        return place

    def _shown(self, place: str) -> str:
        """The path that the agent knows."""
        return f"/{_relative(place, self._root)}"

    def _info(self, place: str, metadata: Metadata) -> FileInfo:
        info: FileInfo = {"path": self._shown(place), "is_dir": metadata.is_folder, "size": metadata.bytes}
        if metadata.is_folder:
            info["path"] += "/"
        if metadata.modified:
            info["modified_at"] = metadata.modified.isoformat()
        return info

    def _reason(self, error: Error | ValueError) -> str:
        """The text for the model. Reports a failing store to the application."""
        if isinstance(error, StoreError):
            self._on_store_error(error)
            return "Memory is unavailable."
        if isinstance(error, (FileError, InvalidGlobPatternError)):
            return _CODES.get(type(error), str(error))
        # A lone surrogate, or bytes that are not UTF-8.
        return "The text is not valid Unicode."


class _ReadOnly(FileError):
    """The backend changes nothing."""


def _relative(place: str, folder: str) -> str:
    """The path below a folder; the name of a file that is itself the place of a search.

    Names are counted and not compared, because the store normalizes them.
    """
    names = place.split("/")
    return "/".join(names[folder.count("/") + 1 :]) or names[-1]


def _sorted(infos: Iterable[FileInfo]) -> list[FileInfo]:
    return sorted(infos, key=lambda info: info["path"])


_REFUSALS = (Error, ValueError)
_CODES: dict[type[Exception], str] = {
    InvalidPath: INVALID_PATH,
    IsAFolder: IS_DIRECTORY,
    NotAFolder: "not_a_directory",
    NotFound: FILE_NOT_FOUND,
    _ReadOnly: PERMISSION_DENIED,
}

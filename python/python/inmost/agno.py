"""The files of Agno's agents, encrypted. For any model.

    from agno.agent import Agent
    from agno.fs import FileSystem
    from inmost.agno import InmostFS

    with inmost.Store.open("claude.inmost", passphrase=...) as store:
        agent = Agent(model=..., filesystem=FileSystem(backend=InmostFS(store), namespace="notes"))

If the store fails, the model reads that its memory is unavailable: the calls raise the framework's `FileSystemError`. Its cause is
the `inmost.StoreError`, which the application gets through `on_store_error`; by default it is logged.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar
from urllib.parse import quote, unquote

from agno.fs._paths import build_chunk, path_in_directory
from agno.fs.base import BaseFS
from agno.fs.errors import FileSystemError, InvalidPathError, QuotaExceededError, VersionConflictError
from agno.fs.types import FileData, FileMeta

from ._calls import OnStoreError, log_store_error
from ._inmost import Store
from ._records import FileVersion, Precondition
from .errors import AlreadyExists, Changed, FileError, FileTooLarge, IsAFolder, NotAFolder, NotFound, StoreError

__all__ = ["InmostFS"]

P = ParamSpec("P")
T = TypeVar("T")


def _reported(method: Callable[Concatenate[InmostFS, P], T]) -> Callable[Concatenate[InmostFS, P], T]:
    """A method that keeps the reason of a failing store from the model, to which the framework shows every message."""

    @functools.wraps(method)
    def call(self: InmostFS, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except StoreError as error:
            self._on_store_error(error)
            raise FileSystemError("Memory is unavailable.") from error

    return call


class InmostFS(BaseFS):
    """A `BaseFS` of the framework in a folder of a store: a folder for each namespace, and for each user of one.

    Files have versions, so `expected_version` holds in one atomic step; 0 means that there must be no file. Appending loses no
    line of another agent, thread or process.
    """

    def __init__(
        self, store: Store, *, folder: str = "/memories", on_store_error: OnStoreError | None = None
    ) -> None:
        self._files = store.files
        self._folder = folder.rstrip("/")
        self._on_store_error = on_store_error or log_store_error

    def read(self, namespace: str, path: str, *, user_id: str = "") -> str | None:
        """The text of a file; `None` if there is none."""
        found = self.read_with_meta(namespace, path, user_id=user_id)
        return None if found is None else found.content

    @_reported
    def read_with_meta(self, namespace: str, path: str, *, user_id: str = "") -> FileData | None:
        """The text of a file with the version that it has."""
        place = self._place(namespace, user_id, path)
        while True:
            try:
                version, text = self._files.version(place), self._files.read(place)
                modified = self._files.metadata(place).modified
            except _ABSENT:
                return None
            except FileError as error:
                raise InvalidPathError(str(error)) from error
            if version and version.sha256 == hashlib.sha256(text.encode()).hexdigest():
                meta = _meta(path, version, user_id)
                meta.updated_at = int(modified.timestamp()) if modified else None
                return FileData(text, meta)

    @_reported
    def write(
        self, namespace: str, path: str, content: str, *, expected_version: int | None = None, user_id: str = ""
    ) -> FileMeta:
        """Writes a file, if it has the expected version."""
        return self._change(namespace, user_id, path, lambda _: content, expected_version)

    @_reported
    def append(
        self, namespace: str, path: str, content: str, *, max_file_bytes: int | None = None, user_id: str = ""
    ) -> FileMeta:
        """Appends lines in one atomic step."""
        chunk = build_chunk(content)

        def appended(before: str | None) -> str:
            end = "\n" if before and chunk and not before.endswith("\n") else ""
            text = f"{before or ''}{end}{chunk}"
            size = len(text.encode())
            if chunk and max_file_bytes is not None and size > max_file_bytes:
                message = f"{path} would be {size} bytes (limit {max_file_bytes} per file)"
                raise QuotaExceededError(message, scope="file", current=size, limit=max_file_bytes)
            return text

        if not chunk:
            found = self.read_with_meta(namespace, path, user_id=user_id)
            return found.metadata if found else FileMeta(path=path, size_bytes=0, user_id=user_id or None)
        return self._change(namespace, user_id, path, appended, None)

    @_reported
    def list(self, namespace: str, directory: str = "", *, user_id: str = "") -> builtins.list[FileMeta]:
        """The files below a folder."""
        root = self._root(namespace, user_id)
        found: list[FileMeta] = []
        try:
            for entry in self._files.walk(root):
                path = entry.path.removeprefix(f"{root}/")
                modified = entry.metadata.modified
                if modified and path_in_directory(path, directory):
                    size, time = entry.metadata.bytes, int(modified.timestamp())
                    found.append(FileMeta(path, size, updated_at=time, user_id=user_id or None))
        except _ABSENT:
            pass
        return found

    @_reported
    def delete(self, namespace: str, path: str, *, user_id: str = "", expected_version: int | None = None) -> bool:
        """Deletes a file, if it has the expected version. Returns whether there was one."""
        place = self._place(namespace, user_id, path)
        while True:
            try:
                version = self._files.version(place)
                if version is None:
                    return False
                if expected_version not in (None, version.version):
                    raise _conflict(path, expected_version or 0, version)
                self._files.remove_if(place, version)
                return True
            except Changed:
                continue
            except _ABSENT:
                return False
            except FileError as error:
                raise InvalidPathError(str(error)) from error

    @_reported
    def move(self, namespace: str, src: str, dst: str, *, overwrite: bool = False, user_id: str = "") -> FileMeta:
        """Moves a file, in one atomic step."""
        old, new = self._place(namespace, user_id, src), self._place(namespace, user_id, dst)
        while True:
            try:
                version = self._files.version(old)
                if version is None:
                    raise FileNotFoundError(f"file not found: {src}")
                if old != new:
                    replaced = self._files.version(new) if overwrite else None
                    if replaced is None:
                        number = self._files.rename_if(old, new, version)
                        version = FileVersion(number, version.bytes, version.sha256)
                    else:
                        version = self._files.replace_if(old, new, version, replaced)
                return _meta(dst, version, user_id)
            except Changed:
                continue
            except _ABSENT:
                raise FileNotFoundError(f"file not found: {src}") from None
            except AlreadyExists:
                if not overwrite or self._is_folder(new):
                    raise FileExistsError(f"file exists: {dst}") from None
            except FileError as error:
                raise InvalidPathError(str(error)) from error

    @_reported
    def partitions(self, namespace: str) -> builtins.list[str]:
        """The users with files in a namespace."""
        prefix = f"{_name(namespace)}{_USER}"
        try:
            names = [entry.name for entry in self._files.list(self._folder)]
        except _ABSENT:
            return []
        return [unquote(name.removeprefix(prefix).replace("=", "%")) for name in names if name.startswith(prefix)]

    def _change(
        self, namespace: str, user_id: str, path: str, text_of: Callable[[str | None], str], expected: int | None
    ) -> FileMeta:
        place = self._place(namespace, user_id, path)
        while True:
            found = self.read_with_meta(namespace, path, user_id=user_id)
            now = found.metadata.version if found else None
            if expected is not None and expected != (now or 0):
                raise VersionConflictError(
                    f"version conflict on {path}: expected {expected}, actual {now}", expected=expected, actual=now
                )
            text = text_of(found.content if found else None)
            try:
                condition = None if now is None else Precondition.of_version(now)
                return _meta(path, self._files.write_if(place, text, condition), user_id)
            except (Changed, NotFound):
                if now is None and self._is_folder(place):
                    raise InvalidPathError(f"the path is a folder: {path}") from None
            except FileTooLarge as error:
                size = len(text.encode())
                raise QuotaExceededError(str(error), scope="file", current=size, limit=error.limit) from error
            except FileError as error:
                raise InvalidPathError(str(error)) from error

    def _is_folder(self, place: str) -> bool:
        try:
            return self._files.metadata(place).is_folder
        except _ABSENT:
            return False

    def _root(self, namespace: str, user_id: str) -> str:
        """The folder of a namespace, or of a user of one."""
        user = f"{_USER}{_name(user_id)}" if user_id else ""
        return f"{self._folder}/{_name(namespace)}{user}"

    def _place(self, namespace: str, user_id: str, path: str) -> str:
        return f"{self._root(namespace, user_id)}/{path}"


def _name(identifier: str) -> str:
    """An identifier as the name of a folder, without a slash or `==`. A store refuses an encoded slash, so `=` stands for `%`."""
    return quote(identifier, safe="").replace("%", "=")


def _meta(path: str, version: FileVersion, user_id: str) -> FileMeta:
    return FileMeta(path=path, size_bytes=version.bytes, version=version.version, user_id=user_id or None)


def _conflict(path: str, expected: int, actual: FileVersion) -> VersionConflictError:
    message = f"version conflict on {path}: expected {expected}, actual {actual.version}"
    return VersionConflictError(message, expected=expected, actual=actual.version)


_ABSENT = (NotFound, NotAFolder, IsAFolder)
_USER = "=="

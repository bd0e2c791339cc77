"""The files of Microsoft's Agent Framework, encrypted. For any model.

    from agent_framework import Agent, FileAccessProvider
    from inmost.agent_framework import InmostFileStore

    with inmost.Store.open("claude.inmost", passphrase=...) as store:
        provider = FileAccessProvider(InmostFileStore(store))
        agent = Agent(client, context_providers=[provider])

Calls run on threads. A failing store raises an exception of `inmost.errors`; the framework tells the model that its function
failed, and no more unless the client has `include_detailed_errors`.
"""

from __future__ import annotations

from agent_framework import AgentFileStore, FileStoreEntry

from ._inmost import Store
from .aio import Files
from .errors import Changed, FileError, IsAFolder, NotAFolder, NotFound, PathBelow

__all__ = ["InmostFileStore"]


class InmostFileStore(AgentFileStore):
    """An `AgentFileStore` of the framework in a folder of a store.

    Names differ by case. Folders exist as long as there is a file in them, so `create_directory` makes none. A path that the
    store refuses is a `ValueError`, as in the framework's own stores.
    """

    def __init__(self, store: Store, *, folder: str = "/memories") -> None:
        self._files = Files(store.files)
        self._folder = folder.rstrip("/")

    async def write(self, path: str, content: str, *, overwrite: bool = True) -> None:
        """Writes a file. Without `overwrite`, an existing one is a `FileExistsError`, in one atomic step."""
        place = self._place(path)
        try:
            if overwrite:
                await self._files.write(place, content)
            else:
                await self._files.write_if(place, content, None)
        except Changed:
            raise FileExistsError(f"File already exists: {path!r}") from None
        except FileError as error:
            raise ValueError(str(error)) from error

    async def read(self, path: str) -> str | None:
        """The text of a file; `None` if there is none."""
        try:
            return await self._files.read(self._place(path))
        except _ABSENT:
            return None
        except FileError as error:
            raise ValueError(str(error)) from error

    async def delete(self, path: str) -> bool:
        """Deletes a file, and no folder. Returns whether there was one."""
        place = self._place(path)
        while True:
            try:
                version = await self._files.version(place)
                if version is None:
                    return False
                await self._files.remove_if(place, version)
                return True
            except Changed:
                continue
            except _ABSENT:
                return False
            except FileError as error:
                raise ValueError(str(error)) from error

    async def list_children(self, directory: str = "") -> list[FileStoreEntry]:
        """What is directly in a folder, folders first."""
        try:
            entries = await self._files.list(self._place(directory) if directory else self._folder)
        except _ABSENT:
            return []
        except FileError as error:
            raise ValueError(str(error)) from error
        entries.sort(key=lambda entry: not entry.metadata.is_folder)
        kinds = {True: FileStoreEntry.DIRECTORY, False: FileStoreEntry.FILE}
        return [FileStoreEntry(entry.name, kinds[entry.metadata.is_folder]) for entry in entries]

    async def file_exists(self, path: str) -> bool:
        """Whether there is a file."""
        try:
            return not (await self._files.metadata(self._place(path))).is_folder
        except _ABSENT:
            return False
        except FileError as error:
            raise ValueError(str(error)) from error

    async def create_directory(self, path: str) -> None:
        """Makes nothing: a folder exists as long as there is a file in it."""
        self._place(path)

    def _place(self, path: str) -> str:
        """The path in the store. The store refuses `..` and what else no path may have."""
        names = path.replace("\\", "/").split("/")
        if "" in names or "." in names or ".." in names:
            raise ValueError("Invalid path: it must be relative, without empty names, '.' and '..'.")
        return "/".join([self._folder, *names])


_ABSENT = (NotFound, NotAFolder, IsAFolder, PathBelow)

"""A deep agent of LangChain (package `deepagents`) whose files below /memories are in an encrypted store.

    pip install deepagents
    export ANTHROPIC_API_KEY=... INMOST_PASSPHRASE='correct horse battery staple'
    python deep_agent.py claude.inmost 'Plan the garden with me.'

The agent has file tools of its own, so this is a backend for them, and not the memory tool. Other files stay in the state of
the agent.
"""

import logging
import os
import sys
from collections.abc import Callable
from posixpath import basename
from typing import TypeVar

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileData,
    FileInfo,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from langchain_anthropic import ChatAnthropic
from wcmatch import glob as patterns

import inmost

ROOT = "/memories"
Result = TypeVar("Result", LsResult, ReadResult, WriteResult, EditResult, DeleteResult, GrepResult, GlobResult)


class InmostBackend(BackendProtocol):
    """The files of a store. The backend's `/` is the store's `/memories`."""

    def __init__(self, store: inmost.Store) -> None:
        self._files = store.files

    def ls(self, path: str) -> LsResult:
        def entries() -> LsResult:
            found = self._files.list(inside(path))
            folder = path.rstrip("/")
            return LsResult(entries=[info(f"{folder}/{entry.name}", entry.metadata) for entry in found])

        return reported(LsResult, entries)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        def lines() -> ReadResult:
            total, first = self._files.metadata(inside(file_path)).lines or 0, max(offset, 0) + 1
            if limit <= 0 or total == 0:
                text = self._files.read(inside(file_path))[:0]
                return ReadResult(file_data={"content": text, "encoding": "utf-8"})
            last = max(first, min(first + limit - 1, total))
            text = self._files.read_lines(inside(file_path), first, last)
            data: FileData = {"content": text, "encoding": "utf-8"}
            return ReadResult(file_data=data, total_lines=total, start_line=first, end_line=last)

        return reported(ReadResult, lines)

    def write(self, file_path: str, content: str) -> WriteResult:
        def write() -> WriteResult:
            self._files.write(inside(file_path), content)
            return WriteResult(path=file_path)

        return reported(WriteResult, write)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        def edit() -> EditResult:
            while True:
                # In this order: a change between the two calls must be noticed.
                state = self._files.version(inside(file_path))
                text = self._files.read(inside(file_path))
                found = text.count(old_string) if old_string else 0
                if found == 0 or (found > 1 and not replace_all):
                    return EditResult(error=f"The text to replace occurs {found} times.")
                try:
                    self._files.write_if(inside(file_path), text.replace(old_string, new_string), state)
                    return EditResult(path=file_path, occurrences=found)
                except inmost.errors.Changed:
                    pass  # someone else was faster, so the edit is made on what is there now

        return reported(EditResult, edit)

    def delete(self, file_path: str) -> DeleteResult:
        def delete() -> DeleteResult:
            self._files.remove(inside(file_path))
            return DeleteResult(path=file_path)

        return reported(DeleteResult, delete)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        def grep() -> GrepResult:
            matches: list[GrepMatch] = []
            for found in self._files.search(pattern, inside(path or "/")):
                place = found.path.removeprefix(ROOT)
                if glob is not None and not matching(place, path or "/", glob):
                    continue
                if max_count is not None and len(matches) >= max_count:
                    return GrepResult(matches=matches, truncated=True)
                matches.append({"path": place, "line": found.line, "text": found.text})
            return GrepResult(matches=matches)

        return reported(GrepResult, grep)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        def glob() -> GlobResult:
            found = self._files.walk(inside(path or "/"))
            files = [(entry.path.removeprefix(ROOT), entry.metadata) for entry in found if not entry.metadata.is_folder]
            return GlobResult(matches=[info(*file) for file in files if matching(file[0], path or "/", pattern)])

        return reported(GlobResult, glob)


def inside(path: str) -> str:
    """The path in the store."""
    return ROOT + "/" + path.strip("/") if path.strip("/") else ROOT


def info(path: str, metadata: inmost.Metadata) -> FileInfo:
    return {"path": path + "/" if metadata.is_folder else path, "is_dir": metadata.is_folder, "size": metadata.bytes}


def matching(path: str, folder: str, pattern: str) -> bool:
    """Whether a pattern is of this file: of its name, or with a slash of its path below the folder."""
    place = path.removeprefix(folder.rstrip("/")).lstrip("/") if "/" in pattern else basename(path)
    return bool(patterns.globmatch(place, pattern.lstrip("/"), flags=patterns.BRACE | patterns.GLOBSTAR))


def reported(result: Callable[..., Result], work: Callable[[], Result]) -> Result:
    """The result, or what the model may read about a failure. No message names a text or a path."""
    try:
        return work()
    except inmost.FileError as error:
        return result(error=str(error))
    except inmost.StoreError as error:
        logging.getLogger("inmost").error("%s", error)
        return result(error="Memory is unavailable.")


def main() -> None:
    path, task = sys.argv[1:]
    with inmost.Store.open(path, passphrase=os.environ["INMOST_PASSPHRASE"], actor="deep-agent") as store:
        model = ChatAnthropic(model_name=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5"), timeout=None, stop=None)
        backend = CompositeBackend(default=StateBackend(), routes={"/memories/": InmostBackend(store)})
        agent = create_deep_agent(model=model, backend=backend)
        reply = agent.invoke({"messages": [{"role": "user", "content": task}]})
        print(reply["messages"][-1].text)


if __name__ == "__main__":
    main()

"""A web service that keeps the memory of each of its users in a vault of its own, in one PostgreSQL database. Any number of
its processes can serve the same users.

    pip install fastapi uvicorn
    export PGPASSWORD=...
    python web_service.py setup postgres://inmost_app@db.example/memories accounts.json 20
    python web_service.py serve postgres://inmost_app@db.example/memories accounts.json 127.0.0.1:8000

`setup` makes the users `user-0`, `user-1` and so on, each with a vault, and writes the file of accounts. It stands for the
service's own table of users: it holds the id and the key of each vault, so its place is not the database that holds the
vaults. `serve` answers `POST /memory/USER`. The body is the `input` of a `tool_use` block; the reply is the `tool_result`
block for the model, or the status 503 and a reason if the store failed.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse

import inmost


class User:
    """A user's vault. It stays open: opening it costs some round trips to the database."""

    def __init__(self, vault: inmost.Vault, key: bytes) -> None:
        self.vault, self.key = vault, key
        self.opening = threading.Lock()
        self.store: inmost.Store | None = None

    def open(self) -> inmost.Store:
        """The open store. One that was locked, for example by a rotation of the keys elsewhere, is opened anew."""
        with self.opening:
            if self.store is None or self.store.is_locked():
                self.store = inmost.Store.open(self.vault, raw_key=self.key)
            return self.store


def setup(database: inmost.Postgres, accounts: Path, users: int) -> None:
    """A raw key needs no key derivation, so a vault opens in a few round trips."""
    made = {}
    for number in range(users):
        vault, key = database.vault(), os.urandom(32)
        inmost.Store.create(vault, raw_key=key).close()
        made[f"user-{number}"] = [vault.id, key.hex()]
    accounts.touch(mode=0o600)
    accounts.write_text(json.dumps(made))


def service(database: inmost.Postgres, accounts: Path) -> FastAPI:
    """The application. With several workers, each process calls this after it was started: a pool cannot be forked."""
    app = FastAPI()
    users = {
        name: User(database.vault(id), bytes.fromhex(key)) for name, (id, key) in json.loads(accounts.read_text()).items()
    }

    # Not `async`: calls of a store block, so FastAPI runs this function on a thread.
    @app.post("/memory/{name}")
    def memory(name: str, call: dict[str, Any]) -> JSONResponse:
        user = users.get(name)
        if user is None:
            return JSONResponse({"error": "there is no such user"}, 404)
        try:
            result = user.open().memory_tool().call(call)
        except inmost.StoreError as error:
            return JSONResponse({"error": type(error).__name__}, 503)
        if result.store_error is not None:
            return JSONResponse({"error": type(result.store_error).__name__}, 503)
        return JSONResponse({"type": "tool_result", "content": result.content, "is_error": result.is_error})

    return app


def main() -> None:
    command, url, accounts, last = sys.argv[1:]
    database = inmost.Postgres(url, size=16)
    if command == "setup":
        setup(database, Path(accounts), int(last))
        return
    host, _, port = last.rpartition(":")
    listener = socket.create_server((host, int(port)))
    print(f"listening on {host}:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(service(database, Path(accounts)), log_level="warning")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()

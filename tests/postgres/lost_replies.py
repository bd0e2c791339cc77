"""Loses requests and replies between a load and its server: lost_replies.py LOAD_PROGRAM --schema FILE [--seconds 10].

A proxy ends connections at random, in three ways: after the server has replied and before the client reads it, before the server
gets the request, and after the request is passed on but before its reply. No acknowledged call may be missing, none may be there
that was not tried, and every vault must be whole. Since the server can be reached, nearly every outcome is found out: one stays
unknown only if the resubmitted batch is lost too and other hosts have committed more than the root's trail holds by then.
"""

import argparse
import os
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from cluster import DATABASE, PASSWORD, ROLE, Failure, Place, Server, on_signals, prepare
from protocol import Listener

VAULTS, THREADS = 2, 5


class Proxy(Listener):
    """A TCP proxy in front of a server. `rate` of the messages from either side are lost with their connection."""

    def __init__(self, port: int, rate: float, seed: int):
        self.target, self.rate, self.random = port, rate, random.Random(seed)
        self.faults = {"reply": 0, "request": 0, "behind": 0}
        super().__init__()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        for side in (client, server):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._pump, args=(client, server, "request"), daemon=True).start()
        self._pump(server, client, "reply")

    def _pump(self, source: socket.socket, sink: socket.socket, kind: str) -> None:
        passed = 0
        try:
            while data := source.recv(1 << 16):
                # The login is left alone, or nothing would ever begin.
                passed += 1
                if passed > 6 and self.random.random() < self.rate:
                    if kind == "request" and self.random.random() < 0.5:
                        sink.sendall(data)
                        kind = "behind"
                    self.faults[kind] += 1
                    break
                sink.sendall(data)
        except OSError:
            pass
        for side in (source, sink):
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def numbers(lines: list[str], word: str) -> dict[int, int]:
    found: dict[int, int] = {}
    for line in lines:
        parts = line.split()
        if parts[0] == word:
            found[int(parts[1])] = int(parts[2])
    return found


def run(program: Path, *arguments: str) -> list[str]:
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, timeout=180,
                          env={**os.environ, "PGPASSWORD": PASSWORD})
    if done.returncode != 0:
        raise Failure(f"the load ended with {done.returncode}")
    return done.stdout.splitlines()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--version", default="15")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    on_signals()
    program = arguments.program.resolve()
    place, server = Place(), None
    try:
        server = Server(place, arguments.version).init().start()
        prepare(server, arguments.schema.read_text())
        direct = server.url()
        # The vaults are made on a sound connection.
        run(program, direct, "run", str(VAULTS), str(THREADS), "0")
        proxy = Proxy(server.port, 0.02, arguments.seed)
        lines = run(program, f"postgres://{ROLE}@127.0.0.1:{proxy.port}/{DATABASE}", "run", str(VAULTS), str(THREADS),
                    str(arguments.seconds))
        acked = numbers(lines, "ack")
        outcomes: dict[str, int] = {}
        tried: dict[int, int] = {}
        for line in lines:
            parts = line.split()
            outcomes[parts[0]] = outcomes.get(parts[0], 0) + 1
            if len(parts) > 3:
                tried[int(parts[1])] = int(parts[2])
        # A backend that lost its client may still be at work.
        deadline = time.monotonic() + 20
        while server.sql("SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND usename = 'inmost_app'") != "0":
            if time.monotonic() > deadline:
                raise Failure("the server is still at work")
            time.sleep(0.05)
        lines = run(program, direct, "check", str(VAULTS), str(THREADS))
        stored = numbers(lines, "stored")
        lost = {it: number for it, number in acked.items() if stored.get(it, 0) < number}
        ghosts = {it: number for it, number in stored.items() if number > tried.get(it, 0)}
        damaged = [line for line in lines if line.startswith("damaged")]
        bad = {name: count for name, count in outcomes.items() if name in ("failed", "rolledback")}
        print(f"{sum(proxy.faults.values())} connections lost {proxy.faults}, outcomes {outcomes}; "
              f"lost {lost}, ghosts {ghosts}, damaged {damaged}")
        if min(proxy.faults.values()) < 5:
            raise Failure("too few connections were lost to prove anything")
        if outcomes.get("unknown", 0) * 10 > sum(proxy.faults.values()):
            raise Failure(f"too many outcomes stay unknown: {outcomes}")
        if lost or ghosts or damaged or bad:
            raise Failure(f"acknowledged calls are lost, or others are there: {lost} {ghosts} {damaged} {bad}")
        return 0
    except Failure as failure:
        print("FAILED", failure)
        return 1
    finally:
        if server is not None:
            server.stop()
        place.remove()


sys.exit(main())

"""Fails a server over under load: failover.py LOAD_PROGRAM [ROUNDS] [--version 15].

Each round starts a primary and a standby, puts load on them, kills every process of the primary with SIGKILL, promotes the
standby and goes on. Then every acknowledged call must be there and every vault must be whole:

- `sync`: commits wait for the standby.
- `frozen`: the standby gets nothing from half a second before on, so commits hang. Nothing may be acknowledged that the standby lacks.
- `cancelled`: the same, and an operator cancels the waiting commits, which PostgreSQL then reports as done.
- `async`: the control. No commit waits, and the standby gets nothing from half a second before on. Calls must be lost, and every session whose
  calls are lost must say so. If none is lost, the test proves nothing and fails.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from cluster import DATABASE, PASSWORD, ROLE, Failure, Place, Server, on_signals, prepare

VAULTS, THREADS = 3, 6
SECONDS = 8


class Load:
    """The program that works on the vaults, and what it has printed."""

    def __init__(self, program: Path, url: str, seconds: int):
        self.acked: dict[int, int] = {}
        self.tried: dict[int, int] = {}
        self.outcomes: dict[str, int] = {}
        self.noticed: set[int] = set()
        self.failures: list[str] = []
        self.times: list[float] = []
        self.process = subprocess.Popen(
            [program, url, "run", str(VAULTS), str(THREADS), str(seconds)],
            stdout=subprocess.PIPE, env={**os.environ, "PGPASSWORD": PASSWORD}, text=True,
        )
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if not self.ready.wait(30):
            self.process.kill()
            raise Failure("the load has not begun within 30 s")

    def _read(self) -> None:
        for line in self.process.stdout:
            outcome, *rest = line.split(maxsplit=3)
            if outcome == "ready":
                self.ready.set()
                continue
            if outcome == "trips":
                continue
            thread, number = int(rest[0]), int(rest[1])
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
            self.tried[thread] = number
            if outcome == "ack":
                self.acked[thread] = number
                self.times.append(time.monotonic())
            elif outcome == "rolledback":
                self.noticed.add(thread)
            elif outcome == "failed":
                self.failures.append(line.strip())

    def wait(self) -> None:
        try:
            self.process.wait(SECONDS + 90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure("the load does not end") from None
        self.reader.join(10)


def stored(program: Path, url: str) -> tuple[dict[int, int], int]:
    done = subprocess.run(
        [program, url, "check", str(VAULTS), str(THREADS)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PGPASSWORD": PASSWORD}, text=True, timeout=120,
    )
    if done.returncode != 0:
        raise Failure(f"the vaults do not open: {done.stderr}")
    lines = [line.split() for line in done.stdout.splitlines()]
    if any(line[0] == "damaged" for line in lines):
        raise Failure(f"a vault is damaged: {done.stdout}")
    return {int(line[1]): int(line[2]) for line in lines if line[0] == "stored"}, len(lines)


def cancel_waiting(primary: Server) -> int:
    return int(primary.sql("SELECT count(*) FROM (SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                           "WHERE wait_event = 'SyncRep') cancelled") or 0)


def one_round(program: Path, version: str, kind: str, schema: str) -> str:
    place = Place()
    primary = standby = None
    try:
        primary = Server(place, version, "a").init().start()
        prepare(primary, schema)
        standby = Server(place, version, "b").follow(primary).start()
        if kind != "async":
            primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'b'")
            primary.sql("SELECT pg_reload_conf()")
        url = (f"postgres://{ROLE}@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/{DATABASE}"
               "?connect_timeout=2")
        load = Load(program, url, SECONDS)
        time.sleep(2)
        cancelled = 0
        if kind != "sync":
            # The sender of the log, on the primary: what is sent already would be read from the socket after the failover.
            os.kill(int(primary.sql("SELECT pid FROM pg_stat_replication")), signal.SIGSTOP)
            time.sleep(0.6)
            if kind == "cancelled":
                for _ in range(4):
                    cancelled += cancel_waiting(primary)
                    time.sleep(0.1)
        killed = time.monotonic()
        primary.kill()
        standby.promote()
        promoted = time.monotonic()
        load.wait()
        if not any(at > promoted for at in load.times) and kind != "async":
            raise Failure(f"{kind}: no call succeeded after the promotion: {load.outcomes} {load.failures}")
        found, _ = stored(program, f"postgres://{ROLE}@127.0.0.1:{standby.port}/{DATABASE}")
        lost = {it: number - found.get(it, 0) for it, number in load.acked.items() if number > found.get(it, 0)}
        ghosts = {it: number for it, number in found.items() if number > load.tried.get(it, 0)}
        if ghosts or load.failures:
            raise Failure(f"{kind}: ghosts {ghosts}, failures {load.failures}")
        judge(kind, lost, load, cancelled)
        gap = min((at for at in load.times if at > killed), default=killed) - promoted
        return (f"{kind}: {load.outcomes.get('ack', 0)} acknowledged, {sum(lost.values())} of them lost, "
                f"{len(load.noticed)} of {THREADS} sessions noticed, {cancelled} commits cancelled, "
                f"first call {max(gap, 0):.2f} s after the promotion, outcomes {load.outcomes}")
    finally:
        for server in (primary, standby):
            if server is not None:
                server.stop()
        place.remove()


def judge(kind: str, lost: dict[int, int], load: Load, cancelled: int) -> None:
    if kind != "async":
        if lost:
            raise Failure(f"{kind}: acknowledged calls are lost: {lost}, outcomes {load.outcomes}")
        if kind == "cancelled" and cancelled == 0:
            raise Failure("cancelled: no commit waited, so nothing was cancelled")
        return
    # A session that goes on after its vault went back would have written higher numbers than it lost.
    if len(load.noticed) != THREADS:
        raise Failure(f"async: only {sorted(load.noticed)} noticed, outcomes {load.outcomes}")
    if not lost:
        raise Failure("async: nothing was lost, so this proves nothing")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("rounds", type=int, nargs="?", default=1)
    parser.add_argument("--version", default="15")
    parser.add_argument("--schema", type=Path, required=True)
    arguments = parser.parse_args()
    on_signals()
    kinds = ["sync", "frozen", "cancelled", "async"]
    failed = 0
    for number in range(arguments.rounds):
        for kind in kinds:
            try:
                print(number + 1, one_round(arguments.program.resolve(), arguments.version, kind,
                                            arguments.schema.read_text()), flush=True)
            except Failure as failure:
                failed += 1
                print(number + 1, "FAILED", failure, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""A server that lies: liar.py HOSTS_PROGRAM --schema FILE [--seconds 3] [--vaults 6] [--seed 1].

HOSTS_PROGRAM is the example `postgres_distrust`. Two hosts work on each vault through a proxy that understands the protocol of
PostgreSQL and lies in some of the replies; behind it is a sound server. The program judges every text that a host gets and stops
at the first that is wrong. Here it must not stop, and it must have noticed each kind of lie:

- `truth`: the control. Nothing may fail.
- `applied`: commits are not passed on, and a reply says that they were applied.
- `refused`: commits are passed on, and a reply says that they were refused.
- `older`: a reading gets the reply of an earlier one, of this vault or another.
- `hidden`: rows are missing, or their values.
- `exchanged`: rows have each other's values.
- `added`: rows of other replies are added.
- `flipped`: one bit of a value is different.
- `numbers`: numbers and truth values are others, the largest and the smallest among them.
- `swapped`: a statement is run for another vault.
- `errors`: a reply is an error of any kind, whether the statement was run or not.
- `garbage`: bytes of the protocol itself are others.
- `restored`: the database is put back to an earlier state.
- `forked`: each host works on a copy of its own, then they exchange them.

Prints a table: each kind, how often it was told, and what the hosts said.
"""

import argparse
import json
import os
import random
import struct
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster import DATABASE, PASSWORD, ROLE, Failure, Place, Server, on_signals, prepare
from protocol import Ask, Message, Proxy, Row, as_values, packed, parameters, statement, values

# Of the replies that a lie applies to, the share that it is told in.
SHARE = 0.04
# How much longer the runs are in which it must be noticed, one after the other.
PATIENCE = (1, 3, 9)
# What the counts say besides failures.
CALLS = {"read", "appended", "replaced", "checked", "purged", "compacted", "whole at the end"}
CODES = ["40001", "40P01", "57P01", "57014", "23505", "22012", "42P01", "25006", "53300", "XX000", "99999"]
NUMBERS = [0, 1, 2, 3, -1, -2, 1 << 62, (1 << 63) - 1, -(1 << 63)]

def is_commit(text: str) -> bool:
    return "inmost.replace_root(" in text or text.startswith("WITH") and "root AS (" in text and "gone AS (" in text


def is_reading(text: str) -> bool:
    changes = ("UPDATE", "INSERT", "DELETE", "inmost.replace_root(")
    return text.startswith(("SELECT", "WITH")) and not any(word in text for word in changes)


class Liar:
    """What the proxies of one run lie about."""

    def __init__(self, kind: str, seed: int):
        self.kind, self.random = kind, random.Random(seed)
        self.told, self.passed = 0, 0
        self.lies = False
        # What the server has said to each statement, and every vault that was named.
        self.said: dict[str, list[list[Message]]] = defaultdict(list)
        self.vaults: list[bytes] = []
        self.lock = threading.Lock()

    def answer(self, group: list[Message], ask: Ask) -> bytes:
        """The reply to a group of messages. `ask` passes it on to the server."""
        text = statement(group)
        with self.lock:
            self.passed += 1
            for kind, body in group:
                if kind == b"B":
                    vault = parameters(body)[1][:1]
                    if vault and vault[0] is not None and len(vault[0]) == 16 and vault[0] not in self.vaults:
                        self.vaults.append(vault[0])
            lie = getattr(self, self.kind, None) if self.lies and self.random.random() < SHARE else None
        if lie is None:
            reply = ask(group)
        elif (told := lie(text, group, ask)) is not None:
            self.told += 1
            return told if isinstance(told, bytes) else packed(told)
        else:
            reply = ask(group)
        with self.lock:
            said = self.said[text]
            if not any(kind == b"E" for kind, _ in reply):
                said.append(reply)
                del said[:-100]
        return packed(reply)

    def some(self, text: str) -> list[Message] | None:
        with self.lock:
            said = self.said[text]
            return self.random.choice(said) if said else None

    def with_rows(self, text: str, group: list[Message], ask, change: Callable[[list[Row]], list[Row]]) -> list[Message] | None:
        """The reply with other rows."""
        if not text.startswith(("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")):
            return None
        reply = ask(group)
        rows = [values(body, 0)[0] for kind, body in reply if kind == b"D"]
        changed: list[Message] = [(b"D", as_values(row)) for row in change(rows)]
        places = [place for place, (kind, _) in enumerate(reply) if kind == b"D"]
        first = places[0] if places else next((it for it, (kind, _) in enumerate(reply) if kind == b"C"), len(reply) - 1)
        others = [it for it in reply[first:] if it[0] != b"D"]
        return reply[:first] + changed + others

    def other_values(self, text: str, group, ask, change: Callable[[bytes, list[bytes]], bytes | None], long: bool):
        """The reply with some values changed: long ones, or numbers and truth values."""

        def in_rows(rows: list[Row]) -> list[Row]:
            fits = [it for row in rows for it in row if it is not None and (len(it) > 16) == long]
            return [
                [change(it, fits) if it in fits and self.random.random() < 0.5 else it for it in row] for row in rows
            ]

        return self.with_rows(text, group, ask, in_rows)

    # ---- the lies

    def applied(self, text, group, ask):
        if not is_commit(text) or (said := self.some(text)) is None:
            return None
        return [(kind, as_values([struct.pack("!q", 1)]) if kind == b"D" else body) for kind, body in said]

    def refused(self, text, group, ask):
        if not is_commit(text):
            return None
        return [(kind, as_values([struct.pack("!q", 0)]) if kind == b"D" else body) for kind, body in ask(group)]

    def older(self, text, group, ask):
        return self.some(text) if is_reading(text) else None

    def hidden(self, text, group, ask):
        def fewer(rows: list[Row]) -> list[Row]:
            if self.random.random() < 0.5:
                return [row for row in rows if self.random.random() < 0.5]
            return [[*row[:-1], None if self.random.random() < 0.5 else row[-1]] for row in rows]

        return self.with_rows(text, group, ask, fewer)

    def exchanged(self, text, group, ask):
        return self.other_values(text, group, ask, lambda _, all_of_them: self.random.choice(all_of_them), True)

    def added(self, text, group, ask):
        other = self.some(text)
        more = [values(body, 0)[0] for kind, body in other or [] if kind == b"D"]
        return self.with_rows(text, group, ask, lambda rows: [*rows, *more] if self.random.random() < 0.5 else [*more, *rows])

    def flipped(self, text, group, ask):
        def flip(value: bytes, _: list[bytes]) -> bytes:
            bit = self.random.randrange(8 * len(value))
            changed = bytearray(value)
            changed[bit // 8] ^= 1 << bit % 8
            return bytes(changed)

        return self.other_values(text, group, ask, flip, True)

    def numbers(self, text, group, ask):
        def number(value: bytes, _: list[bytes]) -> bytes | None:
            if len(value) == 1:
                return bytes([self.random.randrange(3)])
            return self.random.choice([struct.pack("!q", self.random.choice(NUMBERS)), value[:-1], b"", None])

        return self.other_values(text, group, ask, number, False)

    def swapped(self, text, group, ask):
        other = self.random.choice(self.vaults)
        changed: list[Message] = []
        for kind, body in group:
            if kind == b"B":
                at, found, end = parameters(body)
                if not found or found[0] is None or len(found[0]) != 16:
                    return None
                body = body[:at] + as_values([other, *found[1:]]) + body[end:]
            changed.append((kind, body))
        return ask(changed) if text else None

    def errors(self, text, group, ask):
        if self.random.random() < 0.5:
            ask(group)
        severity, code = self.random.choice([b"ERROR", b"FATAL", b"PANIC", b"odd"]), self.random.choice(CODES)
        fields = b"S" + severity + b"\0V" + severity + b"\0C" + code.encode() + b"\0Mmade up\0\0"
        return [(b"E", fields), (b"Z", b"I")]

    def garbage(self, text, group, ask):
        reply = bytearray(packed(ask(group)))
        for _ in range(self.random.randrange(1, 5)):
            reply[self.random.randrange(len(reply))] = self.random.randrange(256)
        return bytes(reply)


class Unnoticed(Failure):
    """No host has noticed a lie. On a busy machine few are told, and many are harmless."""


class Run:
    """The hosts at work while one kind of lie is told."""

    def __init__(self, program: Path, servers: list[Server], kind: str, arguments: argparse.Namespace, patience: int):
        self.kind, self.servers, self.seconds = kind, servers, arguments.seconds * patience
        self.liar = Liar(kind, arguments.seed)
        self.proxies = [Proxy(servers[0].port, self.liar.answer) for _ in range(2)]
        through = [f"postgres://{ROLE}@127.0.0.1:{proxy.port}/{DATABASE}" for proxy in self.proxies]
        self.process = subprocess.Popen(
            [program, servers[0].url(), *through, str(arguments.vaults), str(self.seconds),
             "8" if kind == "truth" else "2"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PGPASSWORD": PASSWORD}, text=True,
        )

    def judge(self) -> str:
        try:
            if self.process.stdout.readline() != "ready\n":
                raise Failure(f"the hosts do not begin: {self.process.communicate()[1]}")
            begin = time.monotonic()
            time.sleep(self.seconds / 5)
            self.liar.lies = True
            if self.kind in ("forked", "restored"):
                self._move(begin)
            out, errors = self.process.communicate(timeout=self.seconds + 60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure(f"{self.kind}: the hosts do not end: {self.process.communicate()[1]}") from None
        finally:
            for proxy in self.proxies:
                proxy.close()
        if self.process.returncode != 0:
            raise Failure(f"{self.kind}: {errors}")
        counts = json.loads(out)
        good = sum(count for name, count in counts.items() if name in CALLS)
        failed = {name: count for name, count in counts.items() if name not in CALLS}
        if good < 50:
            raise Failure(f"{self.kind}: too few calls: {counts}")
        if self.kind == "truth" and failed:
            raise Failure(f"without a lie: {failed}: {errors}")
        # A commit that counts as refused is found by its owner in the next state, so nothing fails.
        if self.kind not in ("truth", "refused") and not failed:
            raise Unnoticed(f"{self.kind}: told {self.liar.told} times and not noticed: {counts}")
        if self.kind != "truth" and self.liar.told < 3:
            raise Failure(f"{self.kind}: told {self.liar.told} times only")
        said = ", ".join(f"{name} {count}" for name, count in sorted(failed.items()))
        return f"| {self.kind} | {self.liar.told} | {good} | {said} |"

    def _move(self, begin: float) -> None:
        """Leads the hosts to other copies of the database, one of which goes no further than now at first."""
        one, two = self.proxies
        first, second = (server.port for server in self.servers)
        self.servers[1].promote()
        if self.kind == "forked":
            two.lead_to(second)
        ways = [(first, second), (second, first)] if self.kind == "forked" else [(first, first), (second, second)]
        turn = 0
        while time.monotonic() < begin + self.seconds * 0.9:
            time.sleep(self.seconds / 6)
            turn += 1
            for proxy, port in zip((one, two), ways[turn % 2], strict=True):
                proxy.lead_to(port)
            self.liar.told += 10


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--vaults", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--version", default="15")
    parser.add_argument("--kind", action="append")
    arguments = parser.parse_args()
    arguments.seconds = max(2, int(arguments.seconds))
    on_signals()
    kinds = ["truth", "applied", "refused", "older", "hidden", "exchanged", "added", "flipped", "numbers", "swapped", "errors",
             "garbage", "restored", "forked"]
    failed = 0
    print("| lie | told | calls that succeeded | what the hosts said |\n|---|---|---|---|")
    with servers(arguments, False) as one:
        for kind in arguments.kind or kinds:
            try:
                print(noticed(arguments, one, kind), flush=True)
            except Failure as failure:
                failed += 1
                print("FAILED", failure, flush=True)
    return 1 if failed else 0


def noticed(arguments: argparse.Namespace, one: list[Server], kind: str) -> str:
    """Runs one kind of lie, longer each time until a host notices it."""
    for patience in PATIENCE:
        try:
            if kind not in ("forked", "restored"):
                return Run(arguments.program.resolve(), one, kind, arguments, patience).judge()
            with servers(arguments, True) as two:
                return Run(arguments.program.resolve(), two, kind, arguments, patience).judge()
        except Unnoticed:
            if patience == PATIENCE[-1]:
                raise
    raise AssertionError


@contextmanager
def servers(arguments: argparse.Namespace, has_copy: bool) -> Iterator[list[Server]]:
    """A server, and if asked another one that follows it."""
    place, started = Place(), []
    try:
        started.append(Server(place, arguments.version, "a").init().start())
        prepare(started[0], arguments.schema.read_text())
        if has_copy:
            started.append(Server(place, arguments.version, "b").follow(started[0]).start())
        yield started
    finally:
        for server in started:
            server.stop()
        place.remove()


sys.exit(main())

"""Loads one of the examples `web_service`: service.py PROGRAM... -- [USERS [SECONDS]], within with_server.py.

Two processes serve the same users. Clients send each call to one of them at random, and in the middle one process is killed and
started again. In the end, each line whose insertion was acknowledged must be in its user's file once, and no other line but those
whose outcome is unknown.
"""

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CLIENTS = 16
PATH = "/memories/log.md"


class Process:
    """A process of the service."""

    def __init__(self, program: list[str], url: str, accounts: Path):
        self.command = [*program, "serve", url, str(accounts), "127.0.0.1:0"]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), "the service does not start"
        self.port = int(line.rsplit(":", 1)[1])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Client(threading.Thread):
    """Sends calls until the time is over."""

    def __init__(self, number: int, processes: list[Process], users: int, end: float):
        super().__init__()
        self.number, self.processes, self.users, self.end = number, processes, users, end
        self.acknowledged: list[tuple[int, str]] = []
        self.unknown: set[tuple[int, str]] = set()
        self.times: list[float] = []
        self.failures: list[str] = []
        self.open: dict[int, http.client.HTTPConnection] = {}

    def run(self) -> None:
        try:
            self.send_until_the_end()
        except BaseException as error:
            self.failures.append(f"client {self.number} ended: {error!r}")
            raise

    def send_until_the_end(self) -> None:
        chosen = random.Random(self.number)
        call = 0
        while time.monotonic() < self.end and not self.failures:
            call += 1
            user, line = chosen.randrange(self.users), f"{self.number}.{call}"
            insertion = {"command": "insert", "path": PATH, "insert_line": 0, "insert_text": f"{line}\n"}
            begin = time.monotonic()
            try:
                status, reply = self.send(chosen.choice(self.processes), user, insertion)
            except (OSError, http.client.HTTPException):
                self.unknown.add((user, line))
                continue
            if status == 200 and not reply["is_error"]:
                self.times.append(time.monotonic() - begin)
                self.acknowledged.append((user, line))
            elif status == 503 and reply["error"] == "CommitUnknown":
                self.unknown.add((user, line))
            else:
                self.failures.append(f"{status}: {reply}")

    def send(self, process: Process, user: int, call: dict) -> tuple[int, dict]:
        # Read once: a process that is started again in the middle of the call has another port afterwards.
        port = process.port
        connection = self.open.get(port)
        if connection is None:
            connection = self.open[port] = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", f"/memory/user-{user}", json.dumps(call), headers)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        except (OSError, http.client.HTTPException):
            connection.close()
            del self.open[port]
            raise


def main() -> None:
    end = sys.argv.index("--")
    program, numbers = sys.argv[1:end], sys.argv[end + 1 :]
    users = int(numbers[0]) if numbers else 20
    seconds = float(numbers[1]) if len(numbers) > 1 else 3
    url = os.environ["INMOST_TEST_POSTGRES"]
    with tempfile.TemporaryDirectory() as folder:
        accounts = Path(folder) / "accounts"
        begin = time.monotonic()
        subprocess.run([*program, "setup", url, accounts, str(users)], check=True, timeout=600)
        print(f"{users} accounts in {time.monotonic() - begin:.1f} s")
        processes = [Process(program, url, accounts) for _ in range(2)]
        try:
            load(processes, users, seconds)
        finally:
            for process in processes:
                process.kill()


def load(processes: list[Process], users: int, seconds: float) -> None:
    asker = Client(-1, processes, users, 0)
    for user in range(users):
        status, reply = asker.send(processes[user % 2], user, {"command": "create", "path": PATH, "file_text": "end\n"})
        assert status == 200 and not reply["is_error"], reply
    assert asker.send(processes[0], users, {})[0] == 404
    end = time.monotonic() + seconds
    clients = [Client(number, processes, users, end) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    time.sleep(seconds / 2)
    processes[1].kill()
    processes[1].start()
    for client in clients:
        client.join(seconds + 120)
        assert not client.is_alive(), "a client does not end"
    failures = [failure for client in clients for failure in client.failures]
    assert not failures, failures[0]
    lines: dict[int, list[str]] = {}
    # A service may have closed connections that were idle during the load.
    asker = Client(-1, processes, users, 0)
    for user in range(users):
        status, reply = asker.send(processes[user % 2], user, {"command": "view", "path": PATH})
        assert status == 200 and not reply["is_error"], reply
        shown = reply["content"].splitlines()[1:]
        lines[user] = [line.split("\t", 1)[1] for line in shown]
    acknowledged = [each for client in clients for each in client.acknowledged]
    unknown = {each for client in clients for each in client.unknown}
    for user, line in acknowledged:
        assert lines[user].count(line) == 1, f"user {user}: {line} is there {lines[user].count(line)} times"
    for user, found in lines.items():
        known = {line for of, line in acknowledged if of == user} | {line for of, line in unknown if of == user}
        odd = [line for line in found if line not in known and line != "end"]
        assert not odd, f"user {user}: {odd}"
    times = sorted(each for client in clients for each in client.times)
    print(
        f"{len(acknowledged)} insertions acknowledged and found, {len(unknown)} with an unknown outcome; "
        f"{len(acknowledged) / seconds:.0f} a second, median {times[len(times) // 2] * 1e3:.1f} ms, "
        f"99 % {times[len(times) * 99 // 100] * 1e3:.1f} ms"
    )
    assert len(acknowledged) > CLIENTS


main()

#!/usr/bin/env python3
"""Measures how long the browser takes to answer keys, in a pseudo-terminal, on a store of 100,000 files.

Usage: latency.py PROGRAM [FILES]

It imports FILES invented texts (100,000 by default: 60 % in one folder, the others in folders of 200) into a store in a
temporary folder, once for a store that the browser opens itself and once through the key daemon, and prints the time from each
key to the first change on the screen, and from the last letter of a search to its first hit: once at the start, when the browser
has not read the texts yet, and else after that. The figures depend on the machine, so this is no test.
"""

import os
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from fcntl import ioctl

WORDS = "garden bean leek soil south house winter order tea meeting train letter invoice paint roof window".split()
NAME, LATE = "quokka", "zanzibar"  # in a name, and in the text of the last file


def fill(folder: str, files: int) -> None:
    draw = random.Random(7)

    def text() -> str:
        lines = (" ".join(draw.choice(WORDS) for _ in range(draw.randint(6, 14))) for _ in range(draw.randint(2, 10)))
        return "\n".join(lines) + "\n"

    os.makedirs(f"{folder}/log")
    in_log = files * 6 // 10
    for number in range(in_log):
        with open(f"{folder}/log/note-{number:06}.md", "w") as file:
            file.write(text())
    for number in range(files - in_log):
        below = f"{folder}/topics/t{number // 200:03}"
        os.makedirs(below, exist_ok=True)
        with open(f"{below}/f{number % 200:03}.md", "w") as file:
            file.write(text())
    with open(f"{below}/{NAME}.md", "w") as file:
        file.write(f"the last text, about {LATE}\n")


class Browser:
    def __init__(self, program: str, environment: dict[str, str]):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execve(program, [program, "browse"], environment)
        ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.kill(self.process, signal.SIGWINCH)
        self.quiet()

    def read(self, seconds: float) -> bytes:
        if not select.select([self.terminal], [], [], seconds)[0]:
            return b""
        return os.read(self.terminal, 1 << 16)

    def quiet(self) -> None:
        """Waits until nothing has changed for a while."""
        while self.read(0.6):
            pass

    def read_all(self) -> None:
        """Waits until the browser has read all texts and uses no more processor time."""
        used = -1
        while used != (used := self.processor_time()):
            time.sleep(1)

    def processor_time(self) -> int:
        with open(f"/proc/{self.process}/stat") as file:
            return int(file.read().rsplit(")", 1)[1].split()[11])

    def key(self, keys: bytes) -> float:
        """The time from a key to the first change, in milliseconds."""
        start = time.monotonic()
        os.write(self.terminal, keys)
        if not self.read(5):
            raise SystemExit(f"no change after {keys!r}")
        elapsed = (time.monotonic() - start) * 1000
        self.quiet()
        return elapsed

    def hit(self, letters: str, expected: str) -> float:
        """The time from the last letter of a search to its first hit, in milliseconds."""
        os.write(self.terminal, b"/")
        self.quiet()
        os.write(self.terminal, letters[:-1].encode())
        time.sleep(0.05)
        self.read(0.0)
        start = time.monotonic()
        os.write(self.terminal, letters[-1:].encode())
        seen = b""
        while expected.encode() not in seen:
            more = self.read(5)
            if not more or time.monotonic() - start > 60:
                raise SystemExit(f"no {expected} on the screen: {seen!r}")
            seen += more
        elapsed = (time.monotonic() - start) * 1000
        os.write(self.terminal, b"\x1b")
        self.quiet()
        return elapsed

    def quit(self) -> None:
        os.write(self.terminal, b"q")
        while True:
            try:
                if not os.read(self.terminal, 1 << 16):
                    break
            except OSError:
                break
        os.waitpid(self.process, 0)


DOWN, RIGHT, LEFT, PAGE, END, HOME = b"\x1b[B", b"\x1b[C", b"\x1b[D", b"\x1b[6~", b"\x1b[F", b"\x1b[H"


def measure(program: str, environment: dict[str, str]) -> None:
    figures: list[tuple[str, list[float]]] = []
    browser = Browser(program, environment)
    figures.append(("first hit, one text among all, at once", [browser.hit(LATE, LATE)]))
    browser.quit()
    browser = Browser(program, environment)
    browser.read_all()

    def note(what: str, *times: float) -> None:
        figures.append((what, list(times)))

    note("open the folder of 60,000 files", browser.key(RIGHT))
    note("next file", *(browser.key(DOWN) for _ in range(20)))
    note("next page of the folder", *(browser.key(PAGE) for _ in range(20)))
    note("versions of a file", browser.key(b"v"))
    browser.key(LEFT)
    note("to the end", browser.key(END))
    note("to the start", browser.key(HOME))
    note("a letter of a search", *(browser.key(letter) for letter in (b"/", b"g", b"a", b"r", b"d")))
    browser.key(b"\x1b")
    # The letter of a hit is in another colour.
    note("first hit, in many texts", browser.hit("w", "inter"))
    note("first hit, one name among all", browser.hit(NAME, f"{NAME}.md"))
    note("first hit, one text among all", browser.hit(LATE, LATE))
    note("delete, up to the question", browser.key(b"d"))
    browser.key(b"n")
    note("help", browser.key(b"?"))
    browser.key(b"\x1b")
    note("lock", browser.key(b"L"))
    browser.quit()
    for what, times in figures:
        times.sort()
        middle = times[len(times) // 2]
        print(f"  {what:40} {middle:8.1f} ms" + (f"   at most {times[-1]:.1f} ms of {len(times)}" if len(times) > 1 else ""))


def filled(program: str, folder: str, files: int) -> tuple[dict[str, str], Callable[..., None]]:
    """Makes a store of invented texts in a folder. Returns the environment for it, and what runs a command there."""
    environment = dict(
        os.environ,
        INMOST_STORE=f"{folder}/memory.inmost",
        INMOST_PASSPHRASE="invented for this measurement",
        XDG_RUNTIME_DIR=folder,
        TERM="xterm-256color",
    )

    def run(*command: str) -> None:
        subprocess.run([program, *command], env=environment, check=True, stdout=subprocess.DEVNULL, timeout=600)

    fill(f"{folder}/plain", files)
    run("init", "--kdf-memory-mib", "19", "--kdf-passes", "2")
    run("import", f"{folder}/plain")
    return environment, run


def main() -> None:
    program = os.path.abspath(sys.argv[1])
    files = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        environment, run = filled(program, folder, files)
        print(f"{files + 1} files, opened by the browser:")
        measure(program, environment)
        run("unlock")
        try:
            print(f"{files + 1} files, through the key daemon:")
            measure(program, environment)
        finally:
            subprocess.run([program, "lock"], env=environment, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs a command line in a pseudo-terminal, types into it as a person would, and prints what the terminal showed.

Usage: typed.py LINE [SEEN TYPED]...

When SEEN appears, TYPED is typed: as it is, with Enter after it; or `^C` for that key alone; or `kill` to kill the process group
with SIGKILL; or the six words that were shown, if it is `six words`. What was typed without echo is shown in brackets, and so is what was on the alternate screen, which a terminal
does not keep. Exits with the code of LINE.
"""

import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from fcntl import ioctl

PATIENCE = 20  # seconds
WORDS = re.compile(r"(?m)^ {4}(([a-z-]+ ){5}[a-z-]+)\r?$")
KEY = re.compile(r"\b[A-Z0-9]{4,8}(-[A-Z0-9]{4,8}){4,}\b")


def until(terminal: int, seen: str, shown: str, start: int) -> str:
    """Reads until the text appears after `start`, or to the end if it is empty."""
    end = time.monotonic() + PATIENCE
    while not seen or seen not in shown[start:]:
        if not select.select([terminal], [], [], max(0.0, end - time.monotonic()))[0]:
            raise SystemExit(f"{sys.argv[1]} never showed: {seen or 'its end'}\n{shown}")
        try:
            read = os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            read = b""
        if not read:
            if seen:
                raise SystemExit(f"{sys.argv[1]} ended, and never showed: {seen}\n{shown}")
            break
        shown += read.decode(errors="replace")
    return shown


def as_lines(shown: str) -> str:
    """Without escape sequences, and each line as it was last written."""
    shown = WORDS.sub("    [six random words]", KEY.sub("[the recovery key]", shown))
    shown = shown.replace("\x1b[?1049h", "\n[on the alternate screen:]\n")
    shown = shown.replace("\x1b[?1049l", "\n[back on the screen of before:]\n")
    shown = re.sub(r"\x1b\][^\x07\x1b]*(\x07|\x1b\\)", "", shown)
    shown = re.sub(r"[^\n]*\r\x1b\[K", "", shown)
    shown = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[=>78]", "", shown).replace("\r", "")
    return re.sub(r"\n{2,}", "\n", shown).strip("\n")


def main() -> None:
    line, script = sys.argv[1], sys.argv[2:]
    process, terminal = pty.fork()
    if process == 0:
        os.execvp("bash", ["bash", "-c", line])
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    shown, start = "", 0
    for seen, typed in zip(script[::2], script[1::2], strict=True):
        shown = until(terminal, seen, shown, start)
        start = len(shown)
        if typed == "kill":
            os.killpg(process, signal.SIGKILL)
            shown += "\n[killed]"
        elif typed == "^C":
            os.write(terminal, b"\x03")
            shown += " [typed: Ctrl-C]\n"
        else:
            time.sleep(0.1)  # the prompt turns the echo off before or after it is written
            words = WORDS.search(shown)
            if words and typed == "six words":
                typed = words[1]
                shown += " [typed, not shown: the words]"
            elif not termios.tcgetattr(terminal)[3] & termios.ECHO:
                shown += f" [typed, not shown: {typed}]"
            os.write(terminal, f"{typed}\r".encode())
    shown = until(terminal, "", shown, start)
    print(as_lines(shown))
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()

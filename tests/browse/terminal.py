#!/usr/bin/env python3
"""Tests the browser in a real terminal: what is on the screen while it runs, and that nothing of it is left afterwards.

Usage: terminal.py PROGRAM
"""

import os
import re
import signal
import sys

from tmux import Terminal

SECRETS = ["quokka", "zanzibar"]
FILES = {
    "/memories/garden/plan.md": "# The plan\n\nThree quokka beds, south of the house.\n",
    "/memories/odd.md": "an escape \x1b[2J\x1b]0;title\x07 and zanzibar\n",
    "/memories/zanzibar.md": "a name\n",
}
program = os.path.abspath(sys.argv[1])


def assert_clean(terminal: Terminal, what: str) -> None:
    left = [secret for secret in SECRETS if secret in terminal.everything()]
    assert not left, f"{what}: {left} is still on the screen:\n{terminal.everything()}"


def leave_and_return(terminal: Terminal, what: str) -> None:
    """The prompt is back, with what was on the screen before, and the terminal echoes again."""
    terminal.until(lambda screen: screen.rstrip().endswith("$"), f"prompt ({what})")
    assert "before the browser" in terminal.screen(), what
    assert_clean(terminal, what)
    terminal.type("echo it echo''es", "Enter")
    terminal.shows("$ echo it echo''es", "it echoes")
    assert terminal.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip() == "0 1", what


def started() -> Terminal:
    terminal = Terminal(program, EDITOR="false")
    terminal.make_store(FILES)
    terminal.type("clear; echo before the browser", "Enter")
    terminal.until(lambda screen: screen.startswith("before the browser"), "cleared screen")
    return terminal


def quitting() -> None:
    for key in ["q", "C-c"]:
        with started() as terminal:
            terminal.browse()
            terminal.type("Right", "Down")
            terminal.shows("Three quokka beds", "zanzibar.md")
            terminal.type("Down")
            terminal.shows("\\u{1b}[2J\\u{1b}]0;title\\u{7}", "and zanzibar")
            terminal.type(key)
            leave_and_return(terminal, f"after {key}")


def locking() -> None:
    with started() as terminal:
        terminal.browse()
        terminal.type("/", "quokka")
        terminal.shows("plan.md:3", "Three quokka beds", "1 hit")
        terminal.type("Enter")
        terminal.shows("e edit", "Three quokka beds")
        terminal.type("L")
        terminal.shows("The store is locked.", "You locked it.")
        assert_clean(terminal, "while locked")
        terminal.type("u")
        terminal.shows("zanzibar.md", "? help")
        terminal.type("L")
        terminal.shows("The store is locked.")
        terminal.type("q")
        leave_and_return(terminal, "after locking and quitting")


def signals() -> None:
    for number in [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]:
        with started() as terminal:
            terminal.browse()
            terminal.type("/", "quokka")
            terminal.shows("Three quokka beds")
            os.kill(terminal.process(), number)
            leave_and_return(terminal, f"after {number.name}")


def resizing() -> None:
    with started() as terminal:
        terminal.browse()
        terminal.tmux("resize-window", "-x", "70", "-y", "20")
        terminal.shows("The terminal has 70 columns and 20 rows.")
        assert_clean(terminal, "in a small window")
        terminal.tmux("resize-window", "-x", "120", "-y", "40")
        terminal.shows("zanzibar.md", "? help")
        terminal.type("q")
        leave_and_return(terminal, "after resizing")


def editing() -> None:
    """Another program changes the file while it is in the editor: both texts are kept."""
    with Terminal(program) as terminal:
        terminal.make_store(FILES)
        terminal.run("unlock")
        editor = f"{terminal.folder.name}/editor"
        with open(editor, "w") as file:
            file.write(f"#!/bin/sh\n{program} write --as someone /memories/zanzibar.md < {editor}.theirs\necho mine > \"$1\"\n")
        with open(f"{editor}.theirs", "w") as file:
            file.write("theirs\n")
        os.chmod(editor, 0o700)
        terminal.type(f"export EDITOR={editor}; clear; echo before the browser", "Enter")
        terminal.until(lambda screen: screen.startswith("before the browser"), "cleared screen")
        terminal.browse("--as", "me")
        terminal.shows("key daemon")
        terminal.type("End")
        terminal.shows("a name")
        terminal.type("e")
        terminal.shows("was changed by someone else. Both are kept: your text is", "zanzibar.edited.md")
        assert terminal.run("cat", "/memories/zanzibar.md") == "theirs\n"
        assert terminal.run("cat", "/memories/zanzibar.edited.md") == "mine\n"
        # A change of another program appears by itself.
        terminal.run("write", "/memories/another.md", text="from elsewhere")
        terminal.shows("another.md")
        # So does the lock.
        terminal.run("lock")
        terminal.shows("The store is locked.", "u unlocks it again")
        assert_clean(terminal, "after the key daemon has locked")
        terminal.type("q")
        leave_and_return(terminal, "after the key daemon has locked")


def colours() -> None:
    for variables, has_colours in [({}, True), ({"NO_COLOR": "1"}, False)]:
        with Terminal(program, **variables) as terminal:
            terminal.make_store(FILES)
            terminal.browse()
            terminal.shows("garden/")
            found = re.search(r"\x1b\[(\d+;)*3[0-8][;m]", terminal.screen("-e"))
            assert bool(found) == has_colours, variables


def main() -> None:
    for test in [quitting, locking, signals, resizing, editing, colours]:
        test()
        print(f"{test.__name__}: ok", flush=True)


if __name__ == "__main__":
    main()

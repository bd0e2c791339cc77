#!/usr/bin/env python3
"""Prints the file THIRD-PARTY of a release: what its program and modules are made of, with the licences and notices.

That is crates, for Linux and for this machine, Rust's standard library, the C library of static programs, and a list of words.
"""

import html
import importlib.util
import json
import os
import re
import subprocess
from pathlib import Path

TARGETS = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
ROOTS = {"inmost-cli", "inmost-python", "inmost-nodejs"}
NOTICE = re.compile(r"(un)?(licen[cs]e|copying|copyright|notice)s?([-_.].*)?(?<!\.rs)(?<!\.py)", re.IGNORECASE)
WORDS = """
The words of generated passphrases are the long list of the Electronic Frontier Foundation, by Joseph Bonneau, 2016, unchanged:
https://www.eff.org/deeplinks/2016/07/new-wordlists-random-passphrases. They are licensed under the Creative Commons Attribution 3.0
United States License: https://creativecommons.org/licenses/by/3.0/us/."""
texts: dict[str, str] = {}  # by their words alone: a text is printed once, however it is wrapped


def output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def entry(title: str, files: list[Path], authors: list[str]) -> None:
    numbers = []
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if file.suffix == ".html":
            text = re.sub(r"\n\s*\n", "\n\n", html.unescape(re.sub("<[^>]+>", "", text)))
        words = " ".join(text.split())
        texts.setdefault(words, text.strip("\n"))
        numbers.append(f"[{list(texts).index(words) + 1}]")
    print(f"{title}; {', '.join(numbers or authors) or 'its package names no author'}")


os.chdir(Path(__file__).parent.parent)
host = re.search("^host: (.*)$", output("rustc", "-vV"), re.MULTILINE)[1]
platforms = [f"--filter-platform={target}" for target in [*TARGETS, host]]
graph = json.loads(output("cargo", "metadata", "--locked", "--format-version=1", *platforms))
packages = {package["id"]: package for package in graph["packages"]}
nodes = {node["id"]: node for node in graph["resolve"]["nodes"]}
found, todo = set(), [package["id"] for package in packages.values() if package["name"] in ROOTS]
while todo:
    here = todo.pop()
    if here not in found:
        found.add(here)
        todo += [other["pkg"] for other in nodes[here]["deps"] if any(kind["kind"] is None for kind in other["dep_kinds"])]

print("The parts of this release that others have made, with their licences. A number in brackets is that of a text below.\n")
for package in sorted((packages[here] for here in found), key=lambda package: (package["name"], package["version"])):
    if package["source"]:  # else the crate is one of Inmost
        folder = Path(package["manifest_path"]).parent
        files = sorted(file for file in folder.rglob("*") if NOTICE.fullmatch(file.name) and file.is_file())
        entry(f"{package['name']} {package['version']}: {package['license']}", files, package["authors"])
library = Path(output("rustc", "--print=sysroot").strip(), "share/doc/rust/COPYRIGHT-library.html")
entry("Rust's standard library: MIT OR Apache-2.0", [library] * library.is_file(), ["The Rust Project Developers"])
if zig := importlib.util.find_spec("ziglang"):
    entry("musl, in static programs: MIT", [Path(zig.origin).parent / "lib/libc/musl/COPYRIGHT"], [])
print(WORDS)
for number, text in enumerate(texts.values(), 1):
    print(f"\n---- [{number}]\n\n{text}")

#!/usr/bin/env python3
"""Checks licences, sources and banned crates of every dependency against deny.toml.

Reads `cargo metadata`, so it needs no tool beside cargo. It covers the parts of `cargo deny check licenses bans sources`
that deny.toml uses. Advisories need a database from the network: run `cargo deny check advisories` before a release.
"""

import json
import re
import subprocess
import sys
import tomllib

DEFAULT_REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def satisfied(expression: str, allowed: set[str], used: set[str]) -> bool:
    """Evaluates an SPDX expression; `/` is the old spelling of OR, AND binds tighter than OR."""
    tokens = re.findall(r"\(|\)|/|[^\s()/]+", expression)

    def alternatives() -> bool:
        result = together()
        while tokens and tokens[0] in ("OR", "/"):
            tokens.pop(0)
            result = together() or result
        return result

    def together() -> bool:
        result = single()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            result = single() and result
        return result

    def single() -> bool:
        token = tokens.pop(0)
        if token == "(":
            result = alternatives()
            tokens.pop(0)
            return result
        if tokens and tokens[0] == "WITH":
            token = f"{token} WITH {tokens[1]}"
            del tokens[:2]
        if token in allowed:
            used.add(token)
        return token in allowed

    return alternatives()


def main() -> int:
    with open("deny.toml", "rb") as file:
        policy = tomllib.load(file)
    command = ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked"]
    packages = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["packages"]
    allowed = set(policy["licenses"]["allow"])
    banned = {ban["crate"]: ban["reason"] for ban in policy["bans"]["deny"]}
    used: set[str] = set()
    problems = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        licence = package["license"]
        if licence is None or not satisfied(licence, allowed, used):
            problems.append(f"{name}: licence {licence!r} is not allowed in deny.toml")
        if package["name"] in banned:
            problems.append(f"{name}: banned in deny.toml: {banned[package['name']]}")
        if package["source"] not in (None, DEFAULT_REGISTRY):
            problems.append(f"{name}: comes from {package['source']}, which is not the default registry")
    problems += [f"deny.toml allows {licence}, which no dependency has" for licence in sorted(allowed - used)]
    print("\n".join(problems) or f"{len(packages)} packages: licences, sources and bans are as deny.toml says")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""Builds the wheel of the package: maturin, with the native program `inmost` as a script.

The program comes along because MCP clients start it, and because the key daemon is always the program, never an
interpreter. It is built from the same workspace, with the profile `INMOST_PROFILE` (`release` by default) like the
extension module.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maturin
from maturin import (  # hooks that need no change
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

PACKAGE = Path(__file__).resolve().parent.parent
SCRIPTS = PACKAGE / "inmost.data" / "scripts"
Settings = Mapping[str, Any] | None


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    _add_program()
    return maturin.build_wheel(wheel_directory, _with_profile(config_settings), metadata_directory)


def build_editable(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    _add_program()
    return maturin.build_editable(wheel_directory, _with_profile(config_settings), metadata_directory)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    SCRIPTS.mkdir(parents=True, exist_ok=True)  # maturin demands that it exists
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, _with_profile(config_settings))


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    # The program is no dependency of the extension module, so maturin would leave it out.
    raise NotImplementedError("a source distribution has no program `inmost`; build a wheel from a clone instead")


def _profile() -> str:
    return os.environ.get("INMOST_PROFILE", "release")


def _with_profile(settings: Settings) -> dict[str, Any]:
    settings = dict(settings or {})
    return {"build-args": f"--locked --profile {_profile()}", **settings}


def _add_program() -> None:
    """Builds the program and copies it to where maturin takes scripts from."""
    command = ["cargo", "build", "--locked", "--package", "inmost-cli", "--features", "postgres"]
    command += ["--bin", "inmost", "--profile", _profile()]
    output = subprocess.run(
        [*command, "--message-format=json-render-diagnostics"], cwd=PACKAGE, check=True, stdout=subprocess.PIPE
    ).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    [program] = [Path(message["executable"]) for message in messages if message.get("executable")]
    shutil.rmtree(SCRIPTS, ignore_errors=True)
    SCRIPTS.mkdir(parents=True)
    shutil.copy2(program, SCRIPTS / program.name)

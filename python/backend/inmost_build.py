"""Builds the wheel of the package: maturin, with the native program `inmost` as a script.

The program comes along because MCP clients start it, and because the key daemon is always the program, never an
interpreter. It is built from the same workspace, with the profile `INMOST_PROFILE` (`release` by default) like the
extension module.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
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
    os.chdir(PACKAGE)
    _add_program()
    return maturin.build_wheel(wheel_directory, _with_profile(config_settings), metadata_directory)


def build_editable(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    os.chdir(PACKAGE)
    _add_program()
    return maturin.build_editable(wheel_directory, _with_profile(config_settings), metadata_directory)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    os.chdir(PACKAGE)
    SCRIPTS.mkdir(parents=True, exist_ok=True)  # maturin demands that it exists
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, _with_profile(config_settings))


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Packs every file of the repository. maturin would leave out the program, which the extension module does not depend on."""
    os.chdir(PACKAGE)
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=PACKAGE.parent, check=True, stdout=subprocess.PIPE).stdout
    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder, prepare_metadata_for_build_wheel(folder, config_settings), "METADATA").read_bytes()
    version = next(line.removeprefix(b"Version: ") for line in info.splitlines() if line.startswith(b"Version: ")).decode()
    # The project is at the top of a source distribution, and the package in its folder, where the hooks go.
    project = (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")
    project = project.replace('backend-path = ["backend"]', 'backend-path = ["python/backend"]')
    project = project.replace('readme = "README.md"', 'readme = "python/README.md"')
    with tarfile.open(Path(sdist_directory, f"inmost-{version}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name in filter(None, tracked.decode().split("\0")):
            archive.add(PACKAGE.parent / name, f"inmost-{version}/{name}", filter=_anonymous)
        for name, content in (("PKG-INFO", info), ("pyproject.toml", project.encode())):
            member = tarfile.TarInfo(f"inmost-{version}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return f"inmost-{version}.tar.gz"


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A member without the user and the times of this machine."""
    member.uid, member.gid, member.uname, member.gname, member.mtime = 0, 0, "", "", 0
    return member


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

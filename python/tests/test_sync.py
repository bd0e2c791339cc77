"""Two stores that are kept in step through a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import inmost
from inmost import errors


def test_two_stores_have_the_same_files_through_a_folder(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    with (
        inmost.Store.create(tmp_path / "laptop", raw_key=os.urandom(32)) as laptop,
        inmost.Store.create(tmp_path / "desk", raw_key=os.urandom(32)) as desk,
    ):
        laptop.files.write("/memories/list.md", "milk\nbread\n")
        with pytest.raises(errors.NotAMember, match="inmost sync init"):
            laptop.sync.run()
        laptop.sync.init(place, "laptop")
        assert laptop.sync.run().sent == 1
        desk.sync.join(place, laptop.sync.invitation(), "desk")
        counts: list[int] = []
        assert desk.sync.run(progress=counts.append).changed == 1
        assert counts[-1] == 1
        assert desk.files.read("/memories/list.md") == "milk\nbread\n"

        laptop.files.write("/memories/list.md", "rye bread\n")
        desk.files.write("/memories/list.md", "eggs\n")
        for store in (laptop, desk, laptop):
            report = store.sync.run()
        assert len(report.copies) == 1 and report.copies[0] not in repr(report)
        assert laptop.files.read("/memories/list.md") == desk.files.read("/memories/list.md")
        status = desk.sync.status()
        assert (status.name, [member.name for member in status.members]) == ("desk", ["laptop"])
        assert status.place == str(place) and status.conflicts == 1

        new = tmp_path / "new"
        new.mkdir()
        laptop.sync.remove([], new)
        laptop.sync.run()
        desk.sync.follow(new, laptop.sync.invitation())
        desk.files.write("/memories/late.md", "late\n")
        desk.sync.run()
        laptop.sync.run()
        assert laptop.files.read("/memories/late.md") == "late\n"
        desk.sync.leave()
        with pytest.raises(errors.NotAMember):
            desk.sync.status()


def test_mistakes_are_explained(tmp_path: Path) -> None:
    with inmost.Store.create(tmp_path / "s", raw_key=os.urandom(32)) as store:
        with pytest.raises(errors.PlaceUnavailable, match="Check that the folder"):
            store.sync.init(tmp_path / "absent", "laptop")
        with pytest.raises(errors.InvalidDeviceName, match="is named by"):
            (tmp_path / "shared").mkdir()
            store.sync.init(tmp_path / "shared", "a/b")
        with pytest.raises(errors.InvalidInvitation, match="mistyped"):
            store.sync.join(tmp_path / "shared", "inmost", "laptop")
        with pytest.raises(errors.PlaceOverlapsStore):
            store.sync.init(tmp_path, "laptop")
    with inmost.Store.in_memory() as store, pytest.raises(errors.NoFolder):
        store.sync.status()

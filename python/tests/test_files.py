"""Files for programs that are not agents, and the history."""

from __future__ import annotations

import hashlib
import time
from datetime import datetime, timedelta, timezone

import pytest

import inmost
from inmost import NewFile, Precondition, errors


def test_files_are_read_and_written(store: inmost.Store) -> None:
    files = store.files
    files.write("/memories/ada.md", "one\n")
    files.append("/memories/ada.md", "two\nthree ☕\n")
    assert files.read("/memories/ada.md") == "one\ntwo\nthree ☕\n"
    assert files.read_lines("/memories/ada.md", 2) == "two\nthree ☕\n"
    assert files.read_lines("/memories/ada.md", 2, 2) == "two\n"
    with pytest.raises(errors.NoSuchLine) as raised:
        files.read_lines("/memories/ada.md", 4)
    assert raised.value.lines == 3
    metadata = files.metadata("/memories/ada.md")
    assert (metadata.bytes, metadata.lines, metadata.is_folder) == (18, 3, False)
    assert metadata.created is not None and metadata.created.tzinfo is not None
    assert abs(datetime.now(timezone.utc) - metadata.created) < timedelta(hours=1)
    folder = files.metadata("/memories")
    assert (folder.is_folder, folder.lines, folder.modified) == (True, None, None)
    assert files.exists("/memories/ada.md") and not files.exists("/memories/bob.md")


def test_files_are_moved_and_removed(store: inmost.Store) -> None:
    files = store.files
    files.write("/memories/a", "tea")
    files.rename("/memories/a", "/memories/folder/b")
    files.rename("/memories/folder", "/memories/other")
    files.remove("/memories/other/b")
    files.write("/memories/folder/c", "tea")
    for failing, error in (
        (lambda: files.read("/memories/a"), errors.NotFound),
        (lambda: files.remove("/memories"), errors.Root),
        (lambda: files.rename("/memories/folder", "/memories/folder/in"), errors.IntoItself),
        (lambda: files.write("/memories/folder", "tea"), errors.AlreadyExists),
        (lambda: files.write("elsewhere", "tea"), errors.InvalidPath),
    ):
        with pytest.raises(error):
            failing()


def test_a_text_that_is_no_unicode_changes_nothing_and_is_not_shown(store: inmost.Store) -> None:
    # Regression: the error of CPython, which shows the whole text, was passed on.
    text, path = "bluebird\ud800", "/memories/bluebird\ud800"
    files, history = store.files, store.history
    for failing in (
        lambda: files.write("/memories/a", text),
        lambda: files.write(path, ""),
        lambda: files.append("/memories/a", text),
        lambda: files.read(path),
        lambda: files.write_many([NewFile("/memories/a", text)]),
        lambda: files.write_many([NewFile(path, "")]),
        lambda: files.search(text),
        lambda: files.grep(text),
        lambda: files.write_if("/memories/a", text, None),
        lambda: files.write_if("/memories/a", "", Precondition.of_sha256(text)),
        lambda: history.log(path),
        lambda: history.log(actor=text),
        lambda: history.log(kind=text),  # type: ignore[arg-type]
        lambda: history.forget(path),
        lambda: store.memory_tool(subtree=path),
        lambda: store.memory_tool(locked_hint=text),
    ):
        with pytest.raises(ValueError, match="surrogate") as raised:
            failing()
        error = raised.value
        assert "bluebird" not in repr(error)
        assert error.__cause__ is None and error.__context__ is None
    assert files.list() == []


def test_walks_and_searches_are_iterators(store: inmost.Store) -> None:
    files = store.files
    many = [NewFile(f"/memories/d{n % 7}/f{n:04}.md", f"Line {n}\nü tea {n}\n") for n in range(2500)]
    assert set(files.write_many(many)) == {"written"}
    walked = [entry.path for entry in files.walk() if not entry.metadata.is_folder]
    assert walked == sorted(file.path for file in many)
    assert [entry.name for entry in files.walk(max_depth=0)] == [f"d{n}" for n in range(7)]
    assert [entry.name for entry in files.list()] == [f"d{n}" for n in range(7)]
    found = list(files.search("tea"))
    assert len(found) == 2500 and {match.line for match in found} == {2}
    assert {match.text[start:end] for match in found for start, end in match.ranges} == {"tea"}
    assert len(list(files.search("TEA", ignore_case=True, path="/memories/d0"))) == len(
        [file for file in many if "/d0/" in file.path]
    )
    assert len(list(files.grep(r"^(Line|ü tea) 7$", max_matches_per_file=1))) == 1
    walk = iter(files.walk())
    next(walk)
    store.lock()
    with pytest.raises(errors.Locked):
        list(walk)
    assert next(walk, None) is None


def test_files_are_ranked_by_words(store: inmost.Store) -> None:
    files = store.files
    files.write("/memories/plan.md", "Paris\nflights to Lisbon are booked\n")
    files.write("/memories/other.md", "a book, and much else that says nothing about it\n")
    ranked = files.rank("booking a flight")
    assert [file.path for file in ranked.files] == ["/memories/plan.md", "/memories/other.md"]
    best = ranked.files[0]
    assert best.lines == [(2, "flights to Lisbon are booked")]
    assert best.score > ranked.files[1].score > 0 and best.modified.tzinfo is not None
    assert (ranked.found, ranked.damaged) == (2, [])
    assert "plan" not in repr(ranked)
    [second] = files.rank("booking a flight", limit=1, skip=1).files
    assert second.path == "/memories/other.md"
    assert files.rank("booking", since=best.modified + timedelta(days=1)).files == []
    with pytest.raises(errors.EmptySearch):
        files.rank("?!")
    with pytest.raises(errors.NotFound):
        files.rank("x", "/memories/none")


def test_the_places_of_many_matches_are_counted_once_and_in_characters(store: inmost.Store) -> None:
    count = 200_000
    store.files.write("/memories/a", "üb " * count)
    start = time.monotonic()
    [match] = store.files.search("b")
    # Regression: the line was read again for each place, which took minutes.
    assert time.monotonic() - start < 30
    assert match.ranges == tuple((3 * n + 1, 3 * n + 2) for n in range(1_000))


def test_a_failing_search_says_so_at_once_or_at_its_first_item(store: inmost.Store) -> None:
    with pytest.raises(errors.InvalidPattern):
        store.files.grep("(")
    walk = store.files.walk("/memories/absent")
    with pytest.raises(errors.NotFound):
        next(walk)


def test_nothing_that_was_read_before_a_lock_is_handed_out_after_it() -> None:
    store = inmost.Store.in_memory()
    store.files.write_many([NewFile(f"/memories/{number}", "tea\n") for number in range(50)])
    iterators = [store.files.search("tea"), store.files.walk(), iter(store.history.log())]
    next(iterators[0])
    next(iterators[1])
    store.lock()
    for iterator in iterators:
        with pytest.raises(errors.Locked):
            next(iterator)


def test_an_empty_text_is_not_searched_for(store: inmost.Store) -> None:
    with pytest.raises(errors.EmptySearch):
        store.files.search("")


def test_many_texts_have_a_result_each(store: inmost.Store) -> None:
    store.files.write("/memories/a", "tea\n")
    store.files.write("/memories/folder/b", "ü")
    texts = store.files.read_many(f"/memories/{name}" for name in ("folder/b", "gone", "a", "folder"))
    assert (texts[0], texts[2]) == ("ü", "tea\n")
    assert isinstance(texts[1], errors.NotFound) and isinstance(texts[3], errors.IsAFolder)
    assert store.files.read_many([]) == []
    with pytest.raises(TypeError):
        store.files.read_many([1])  # type: ignore[list-item]


def test_many_files_have_a_result_each(store: inmost.Store) -> None:
    day = datetime(2020, 1, 2, tzinfo=timezone.utc)
    store.files.write("/memories/kept", "old")
    results = store.files.write_many(
        [
            NewFile("/memories/a", "tea", created=day, modified=day),
            NewFile("/etc/passwd", "root"),
            NewFile("/memories/a", "tea"),
            NewFile("/memories/kept", "new", replaces=False),
        ]
    )
    assert (results[0], results[2]) == ("written", "unchanged")
    assert isinstance(results[1], errors.InvalidPath) and isinstance(results[3], errors.AlreadyExists)
    assert store.files.metadata("/memories/a").created == day
    with pytest.raises(TypeError, match="each of files must be a NewFile"):
        store.files.write_many(["/memories/a"])  # type: ignore[list-item]


def test_no_update_is_lost_with_preconditions(store: inmost.Store) -> None:
    files = store.files
    assert files.version("/memories/n") is None
    first = files.write_if("/memories/n", "1", None)
    assert first == files.version("/memories/n")
    assert first.sha256 == hashlib.sha256(b"1").hexdigest() and first.bytes == 1
    with pytest.raises(errors.Changed) as raised:
        files.write_if("/memories/n", "x", Precondition.absent())
    assert raised.value.current == first
    second = files.write_if("/memories/n", "2", first)
    for late in (first, Precondition.of_version(first.version), Precondition.of_sha256(first.sha256)):
        for failing in (
            lambda late=late: files.write_if("/memories/n", "x", late),
            lambda late=late: files.remove_if("/memories/n", late),
            lambda late=late: files.rename_if("/memories/n", "/memories/m", late),
        ):
            with pytest.raises(errors.Changed) as raised:
                failing()
            assert raised.value.current == second
    files.write_if("/memories/n", "3", Precondition.of_sha256(second.sha256))
    now = files.version("/memories/n")
    assert now is not None
    number = files.rename_if("/memories/n", "/memories/m", now)
    assert number > now.version
    draft = files.write_if("/memories/draft", "4", None)
    with pytest.raises(errors.Changed) as raised:
        files.replace_if("/memories/draft", "/memories/m", draft, now)
    assert raised.value.current is not None and raised.value.current.version == number
    number = files.replace_if("/memories/draft", "/memories/m", draft, raised.value.current).version
    assert files.read("/memories/m") == "4" and files.version("/memories/draft") is None
    files.remove_if("/memories/m", Precondition.of_version(number))
    with pytest.raises(errors.Changed) as raised:
        files.remove_if("/memories/m", now)
    assert raised.value.current is None


def test_a_time_that_no_datetime_has_is_cut(store: inmost.Store) -> None:
    late = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))
    early = datetime(1969, 7, 20, tzinfo=timezone.utc)
    store.files.write_many([NewFile("/memories/late", "tea", late, late), NewFile("/memories/early", "tea", early, early)])
    times = {entry.name: entry.metadata.modified for entry in store.files.list()}
    assert times == {
        "late": datetime(9999, 12, 31, tzinfo=timezone.utc),
        "early": datetime(1970, 1, 1, tzinfo=timezone.utc),
    }
    assert [entry.metadata.created for entry in store.files.walk()] == [times["early"], times["late"]]
    assert len(store.files.rank("tea", since=early).files) == 2


def test_unused_files_expire() -> None:
    with inmost.Store.in_memory(history=timedelta(days=30)) as store:
        expiry = store.expiry
        assert not expiry.status().is_recording
        assert expiry.expire(timedelta(days=1)).hindrance == "not_recording"
        expiry.set(True, at_unlock=timedelta(days=90))
        status = expiry.status()
        assert (status.is_recording, status.at_unlock, status.readings) == (True, timedelta(days=90), 0)
        assert status.since is not None and status.last_expiry is None and not status.is_damaged
        store.files.write("/memories/bluebird", "tea")
        assert expiry.expire(timedelta(days=1)).files == ()
        planned = expiry.expire(timedelta(0), dry_run=True)
        [file] = planned.files
        assert (file.path, file.bytes, file.version) == ("/memories/bluebird", 3, None)
        assert (planned.bytes, planned.unlisted, planned.hindrance) == (3, 0, None)
        assert "bluebird" not in repr(planned) and store.files.exists("/memories/bluebird")
        [file] = expiry.expire(timedelta(0)).files
        assert file.version is not None and not store.files.exists("/memories/bluebird")
        assert next(store.history.log()).channel == "expiry"
        store.history.restore(file.version - 64)
        expiry.set(False)
        assert not expiry.status().is_recording
        with pytest.raises(ValueError, match="recorded"):
            expiry.set(False, at_unlock=timedelta(days=90))


def test_a_condition_of_another_type_is_refused(store: inmost.Store) -> None:
    for condition in ("1", 7, b"x"):
        with pytest.raises(TypeError):
            store.files.write_if("/memories/n", "x", condition)  # type: ignore[arg-type]
    for digits in ("", "a" * 63, "+" * 64, "é" * 32):
        with pytest.raises(ValueError, match="64"):
            store.files.write_if("/memories/n", "x", Precondition.of_sha256(digits))
    with pytest.raises(ValueError, match="not both"):
        Precondition(1, "a" * 64)
    assert not store.files.exists("/memories/n")


def test_the_history_goes_back() -> None:
    with inmost.Store.in_memory(history=timedelta(days=30), actor="host") as store:
        files, history = store.files, store.history
        files.write("/memories/plan.md", "Dig.\n")
        store.memory_tool(actor="night-agent").call(
            {"command": "str_replace", "path": "/memories/plan.md", "old_str": "Dig", "new_str": "Fill"}
        )
        newest, oldest = history.log("/memories/plan.md")
        assert (newest.kind, newest.channel, newest.actor) == ("modified", "tool", "night-agent")
        assert (oldest.kind, oldest.channel, oldest.actor) == ("created", "files", "host")
        assert newest.previous == oldest.number and newest.file == oldest.file
        assert (history.text(oldest.number), history.text(newest.number)) == ("Dig.\n", "Fill.\n")

        assert list(history.log(actor="nobody")) == []
        assert [change.number for change in history.log(kind="modified", channel="tool")] == [newest.number]
        assert list(history.log(since=newest.time + timedelta(hours=1))) == []
        assert len(list(history.log(until=newest.time + timedelta(hours=1), file=newest.file))) == 2
        with pytest.raises(ValueError, match="created"):
            history.log(kind="bogus")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="tool"):
            history.log(channel="bogus")  # type: ignore[arg-type]

        plan = history.plan_undo(actor="night-agent")
        [step] = plan.steps
        assert (plan.gone, plan.unreadable) == ([], 0)
        assert (step.newest.number, step.to, step.path, plan.left) == (
            newest.number,
            oldest.number,
            "/memories/plan.md",
            [],
        )
        [undone] = history.undo(plan)
        assert undone.version is not None and undone.reason is None
        assert files.read("/memories/plan.md") == "Dig.\n"
        [stale] = history.undo(plan)
        assert stale.version is None and isinstance(stale.reason, errors.Changed)

        history.restore(newest.number)
        assert files.read("/memories/plan.md") == "Fill.\n"
        history.restore(oldest.number, to="/memories/first.md")
        assert files.read("/memories/first.md") == "Dig.\n"
        with pytest.raises(errors.NoSuchVersion):
            history.text(1)


def test_versions_are_forgotten() -> None:
    with inmost.Store.in_memory(history=timedelta(days=30)) as store:
        files, history = store.files, store.history
        for text in ("secret", "public", "third"):
            files.write("/memories/a", text)
        _, public, secret = history.log()
        with pytest.raises(errors.NoSuchVersion):
            history.forget("/memories/a", until=secret.number + 64_000)
        assert history.forget("/memories/a", until=secret.number) == 1
        with pytest.raises(errors.VersionGone):
            history.text(secret.number)
        assert history.text(public.number) == "public"
        assert history.forget("/memories/a") >= 2
        # Each of the two leaves a note that something was forgotten.
        assert [change.kind for change in history.log()] == ["forgotten", "forgotten"]
        assert files.read("/memories/a") == "third"


def test_the_history_has_settings(store: inmost.Store) -> None:
    assert store.history.status().keep is None
    store.history.set(timedelta(days=2), max_bytes=1000)
    store.files.write("/memories/a", "1")
    status = store.history.status()
    assert (status.keep, status.max_bytes, status.entries) == (timedelta(days=2), 1000, 1)
    store.history.set(None)
    assert store.history.status().entries == 0

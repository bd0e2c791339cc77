"""Measures the file backend of the official Python SDK, with the same traces and rows as the peers in Rust.

    sdk.py TRACES WORK RESULTS SECONDS
    sdk.py edits WORK                   reads numbers of edits, and prints a line with the nanoseconds of each

Calls are parsed before the clock starts, because the SDK takes dictionaries and does not parse JSON. It syncs its files but
not its folders, so its changes are less durable than those of the other peers.
"""

import json
import pathlib
import sys
import time

from anthropic.tools import BetaLocalFilesystemMemoryTool

TURN = 50
SAMPLES = 20


def main() -> None:
    if sys.argv[1] == "edits":
        return edits_on_demand(pathlib.Path(sys.argv[2]))
    traces, work, results = (pathlib.Path(arg) for arg in sys.argv[1:4])
    seconds = float(sys.argv[4])
    for name in ["mixed", "long"]:
        rows = replay(name, traces / name, work / f"sdk-{name}")
        (results / f"sdk-{name}.json").write_text(json.dumps(rows, indent=1))
    rows = single_calls(work, seconds) + written(work)
    (results / "sdk-rows.json").write_text(json.dumps(rows, indent=1))


def replay(name: str, trace: pathlib.Path, work: pathlib.Path) -> list[dict]:
    tool = BetaLocalFilesystemMemoryTool(base_path=str(work))
    for line in (trace / "setup.jsonl").read_text().splitlines():
        tool.call(json.loads(line))
    calls = [json.loads(line) for line in (trace / "calls.jsonl").read_text().splitlines()]
    took = []
    for call in calls:
        start = time.perf_counter_ns()
        tool.call(call)  # raises an exception where the model would receive an error
        took.append((call["command"], time.perf_counter_ns() - start))
    for path, text in json.loads((trace / "files.json").read_text()).items():
        found = (work / path.lstrip("/")).read_text()
        if found != text:
            sys.exit(f"sdk: the text of {path} differs")
    turns = [took[at : at + TURN] for at in range(0, len(took), TURN)]
    rows = [row(f"{name}/sdk/all", [sum(time for _, time in turn) / len(turn) for turn in turns])]
    for command in ["view", "create", "str_replace", "insert", "delete", "rename"]:
        times = [time for of, time in took if of == command]
        if times:
            rows.append(row(f"{name}/sdk/{command}", times))
    return rows


def edits_on_demand(work: pathlib.Path) -> None:
    """Makes edits whenever the measurement of all peers gives this process a turn."""
    edit = filled(BetaLocalFilesystemMemoryTool(base_path=str(work)), "/memories")
    for count in sys.stdin:
        times = []
        for _ in range(int(count)):
            start = time.perf_counter_ns()
            edit()
            times.append(time.perf_counter_ns() - start)
        print(*times, flush=True)


def single_calls(work: pathlib.Path, seconds: float) -> list[dict]:
    tool = BetaLocalFilesystemMemoryTool(base_path=str(work / "sdk-rows"))
    rows = []
    for depth, folder in [(1, "/memories"), (3, "/memories/project/notes")]:
        rows.append(row(f"edit/sdk-depth-{depth}", samples(seconds, filled(tool, folder))))
    view = {"command": "view", "path": "/memories/project/notes/today.md"}
    rows.append(row("view/sdk", samples(seconds, lambda: tool.call(view))))
    for number in range(100):
        path = f"/memories/area-000/project-00/note-{number:02}.md"
        tool.call({"command": "create", "path": path, "file_text": text_of(1_000)})
    view = {"command": "view", "path": "/memories/area-000/project-00"}
    rows.append(row("list/sdk", samples(seconds, lambda: tool.call(view))))
    return rows


def written(work: pathlib.Path) -> list[dict]:
    """Returns the bytes that this process writes for one edit, as counted by /proc/self/io."""
    tool = BetaLocalFilesystemMemoryTool(base_path=str(work / "sdk-written"))
    edit = edits(tool, "/memories/project/notes/today.md")
    counts = {"written": [], "handed": []}
    for _ in range(5):
        before = counters()
        for _ in range(20):
            edit()
        for name, count in zip(counts, (after - was for after, was in zip(counters(), before))):
            counts[name].append(count // 20)
    return [{"id": f"{name}/sdk", "unit": "bytes", "samples": samples} for name, samples in counts.items()]


def filled(tool: BetaLocalFilesystemMemoryTool, folder: str):
    """Returns the edits of a file, after creating as many other files beside it as the other peers have."""
    for number in range(20):
        tool.call({"command": "create", "path": f"{folder}/other-{number}.md", "file_text": text_of(2_000)})
    return edits(tool, f"{folder}/today.md")


def edits(tool: BetaLocalFilesystemMemoryTool, path: str):
    """Edits one line in a file of 2 KiB, then restores it."""
    tool.call({"command": "create", "path": path, "file_text": text_of(2_000) + "colour: green\n"})
    turn = 0

    def edit() -> None:
        nonlocal turn
        old, new = [("green", "amber"), ("amber", "green")][turn % 2]
        turn += 1
        change = {"command": "str_replace", "path": path}
        tool.call(change | {"old_str": f"colour: {old}", "new_str": f"colour: {new}"})

    return edit


def samples(seconds: float, call) -> list[float]:
    """Samples like Criterion's flat sampling: a warm-up, then as many samples, each with the same number of calls."""
    calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds / 4:
        call()
        calls += 1
    each = max(1, int(calls * 4 / SAMPLES))
    times = []
    for _ in range(SAMPLES):
        start = time.perf_counter_ns()
        for _ in range(each):
            call()
        times.append((time.perf_counter_ns() - start) / each)
    return times


def text_of(length: int) -> str:
    line = "- [{:07}] a line of a note about a project and its deadline\n"
    return "".join(line.format(number) for number in range(length // 68 + 1))


def counters() -> list[int]:
    fields = dict(line.split(": ") for line in pathlib.Path("/proc/self/io").read_text().splitlines())
    return [int(fields[name]) for name in ("write_bytes", "wchar")]


def row(id: str, times: list[float]) -> dict:
    return {"id": id, "unit": "ns", "samples": times}


if __name__ == "__main__":
    main()

"""Tests `inmost mcp` with real coding clients, connected by `--install`: Claude Code, Codex and Gemini CLI.

A scripted model server makes them call all six commands, and the store is locked and unlocked in between.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from scripted_model import DONE, ScriptedModel
from store import LOCKED, SESSION, Store, check, check_tool

VIEW = {"command": "view", "path": "/memories"}


class Client:
    """A client with a home folder and a project of its own."""

    name: str
    # What its results say of errors.
    shows_errors = True
    # More options of a conversation.
    options: list[str] = []

    def __init__(self, program: Path, store: Store):
        self.program = program
        self.store = store
        self.folder = store.folder / self.name.replace(" ", "-")
        self.project = self.folder / "project"
        self.project.mkdir(parents=True)
        self.environment = store.environment | {
            "HOME": str(self.folder),
            "PATH": f"{program.parent}:{os.environ['PATH']}",
        }

    def run(self, *command: str, shell: bool = False, **environment: str) -> str:
        ended = subprocess.run(
            command[0] if shell else command,
            shell=shell,
            env=self.environment | environment,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if ended.returncode != 0:
            raise SystemExit(f"{command}: code {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
        return ended.stdout

    def inmost_mcp(self, *options: str) -> str:
        return self.run(self.store.program, "mcp", "--store", str(self.store.folder / "store"), *options)

    def connect(self) -> None:
        """Connects the client with `--install`."""
        raise NotImplementedError

    def ask(self, url: str) -> str:
        """Runs one conversation with the model at this URL and returns the last message."""
        raise NotImplementedError

    def talk(self, calls: list[dict], before_call=None) -> list[tuple[str, bool]]:
        """Has the model make these calls, and returns what it was told."""
        model = ScriptedModel(calls, before_call)
        try:
            check("the last message", self.ask(model.url).strip(), DONE)
        finally:
            model.close()
        check_tool("memory", model.schema)
        return model.results

    def told(self, result: tuple[str, bool]) -> tuple[str, bool]:
        """This result as the client passes it on."""
        return result if self.shows_errors else (result[0], False)


class ClaudeCode(Client):
    name = "claude code"
    options = ["--allowedTools", "mcp__inmost__memory", "--mcp-config", ".mcp.json", "--strict-mcp-config"]
    settings = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ENABLE_TOOL_SEARCH": "false"}

    def connect(self) -> None:
        self.inmost_mcp("--install", "claude-code", "--yes")
        self.run(self.inmost_mcp("--print-config", "claude-command"), shell=True, **self.settings)
        listed = self.run(str(self.program), "mcp", "list", **self.settings)
        check(f"`claude mcp list`\n{listed}", "inmost" in listed and "Connected" in listed, True)

    def ask(self, url: str) -> str:
        model = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"}
        return self.run(str(self.program), "-p", "Use your memory.", *self.options, **self.settings, **model)


class Codex(Client):
    name = "codex"
    shows_errors = False

    def connect(self) -> None:
        self.inmost_mcp("--install", "codex", "--yes")
        listed = self.run(str(self.program), "mcp", "list")
        check(f"`codex mcp list`\n{listed}", "inmost" in listed, True)

    def ask(self, url: str) -> str:
        provider = f'model_providers.scripted={{ name = "scripted", base_url = "{url}/v1", wire_api = "responses" }}'
        # A model that Codex knows: it shows others the tools without a search, and cuts results after 10,000 bytes.
        options = ["-c", provider, "-c", 'model_provider="scripted"', "-m", "gpt-5.5", "--skip-git-repo-check"]
        # There is no shell command in the script, and the test may run where no sandbox can be made.
        options.append("--dangerously-bypass-approvals-and-sandbox")
        return self.run(str(self.program), "exec", *options, *self.options, "Use your memory.")


class GeminiCli(Client):
    name = "gemini cli"

    def __init__(self, program: Path, store: Store):
        super().__init__(program, store)
        settings = self.folder / ".gemini" / "settings.json"
        settings.parent.mkdir()
        settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')

    def connect(self) -> None:
        self.inmost_mcp("--install", "gemini", "--yes")

    def ask(self, url: str) -> str:
        options = ["--skip-trust", "--yolo", "--model", "scripted", "--prompt", "Use your memory."]
        return self.run(str(self.program), *options, *self.options, GOOGLE_GEMINI_BASE_URL=url, GEMINI_API_KEY="none")


def test(client: Client) -> None:
    store = client.store
    client.connect()
    store.unlock()
    told = client.talk([arguments for arguments, _, _ in SESSION])
    check("the results", told, [client.told((text, is_error)) for _, text, is_error in SESSION])
    print(f"{client.name}: {len(SESSION)} calls returned the expected results")

    # Locked before the second call, unlocked again before the third.
    def change(number: int) -> None:
        if number == 1:
            store.lock()
        elif number == 2:
            store.unlock()

    first, second, third = client.talk([VIEW, VIEW, VIEW], change)
    check("unlocked, locked, unlocked", (first[1], second, third), (False, client.told(LOCKED), first))
    store.lock()
    (only,) = client.talk([VIEW])
    check("a locked store", only, client.told(LOCKED))
    print(f"{client.name}: a lock in the middle is an error to the model, and an unlock ends it")


def main() -> None:
    binaries, inmost = sys.argv[1:]
    for kind, program in [(ClaudeCode, "claude"), (Codex, "codex"), (GeminiCli, "gemini")]:
        with tempfile.TemporaryDirectory() as folder:
            test(kind(Path(binaries) / program, Store(inmost, folder)))


if __name__ == "__main__":
    main()

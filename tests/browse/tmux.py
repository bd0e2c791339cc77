"""The program in a terminal of its own: a tmux server that nobody else uses."""

import os
import shutil
import subprocess
import tempfile
import time

PASSPHRASE = "invented for these tests"


class Terminal:
    """A shell in tmux, with a store in a temporary folder."""

    def __init__(self, program: str, columns: int = 80, rows: int = 24, **more: str):
        if shutil.which("tmux") is None:
            raise SystemExit("tmux is not installed: `apt-get install tmux`")
        self.program = program
        self.folder = tempfile.TemporaryDirectory()
        self.store = f"{self.folder.name}/garden.inmost"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": self.folder.name,
            "XDG_RUNTIME_DIR": self.folder.name,
            "INMOST_STORE": self.store,
            "INMOST_PASSPHRASE": PASSPHRASE,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            **more,
        }
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "sh")
        self.until(lambda screen: screen.strip(), "prompt")
        self.type("PS1='$ '; clear", "Enter")
        self.until(lambda screen: screen.strip() == "$", "prompt")

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run([self.program, "lock"], env=self.environment, capture_output=True)
        subprocess.run(["tmux", "-S", f"{self.folder.name}/tmux", "kill-server"], capture_output=True)
        self.folder.cleanup()

    def tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", f"{self.folder.name}/tmux", *arguments]
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout

    def run(self, *arguments: str, text: str = "") -> str:
        """Runs the program outside of the terminal."""
        command = [self.program, *arguments]
        done = subprocess.run(command, env=self.environment, input=text, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{command} failed: {done.stderr}")
        return done.stdout

    def make_store(self, files: dict[str, str], actor: str = "ada") -> None:
        self.run("init", "--kdf-memory-mib", "19", "--kdf-passes", "2")
        for path, text in files.items():
            self.run("write", "--as", actor, path, text=text)

    def type(self, *keys: str) -> None:
        """Types keys by the names that tmux has for them."""
        self.tmux("send-keys", *keys)

    def screen(self, *options: str) -> str:
        return self.tmux("capture-pane", "-p", *options)

    def everything(self) -> str:
        """The screen with its scrollback, and the other screen if there is one."""
        return self.screen("-S", "-") + self.screen("-a", "-q")

    def until(self, is_there, what: str) -> str:
        """Waits until the screen is as wanted."""
        deadline = time.monotonic() + 30
        while True:
            screen = self.screen()
            if is_there(screen):
                return screen
            if time.monotonic() > deadline:
                raise SystemExit(f"no {what} on the screen:\n{screen}")
            time.sleep(0.02)

    def shows(self, *texts: str) -> str:
        return self.until(lambda screen: all(text in screen for text in texts), " and ".join(texts))

    def browse(self, *options: str) -> None:
        self.type(" ".join([self.program, "browse", *options]), "Enter")
        self.shows("/memories", "? help")

    def process(self) -> int:
        """The browser's process."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(subprocess.run(["pgrep", "-P", shell], check=True, capture_output=True, text=True).stdout)

"""Tests `lock-on-suspend` on a private bus, on which this test takes the place of logind."""

import os

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from jeepney import DBusAddress, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

SCRIPT = Path(__file__).parents[2] / "dist" / "lock" / "lock-on-suspend"
MANAGER = DBusAddress("/org/freedesktop/login1", interface="org.freedesktop.login1.Manager")
SESSION = DBusAddress("/org/freedesktop/login1/session/_31", interface="org.freedesktop.login1.Session")


class Store:
    def __init__(self, program: str, folder: Path, environment: dict[str, str]):
        self.program, self.place, self.environment = program, str(folder / "store"), environment
        self.secret = folder / "secret"
        self.secret.write_text("correct horse")
        cheap = ["--kdf-memory-mib", "19", "--kdf-passes", "2"]
        self.run("init", "--passphrase-file", str(self.secret), *cheap)

    def run(self, command: str, *options: str) -> int:
        args = [self.program, command, "--store", self.place, *options]
        return subprocess.run(args, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True).returncode

    def unlock(self) -> None:
        if self.run("unlock", "--passphrase-file", str(self.secret)) != 0:
            raise SystemExit("the store cannot be unlocked")

    def is_locked(self) -> bool:
        return self.run("status") == 18


def until(what: str, holds) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            raise SystemExit(f"not within 60 s: {what}")
        time.sleep(0.05)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        args = ["dbus-daemon", "--session", "--nofork", "--print-address", f"--address=unix:path={folder}/bus"]
        bus = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        address = bus.stdout.readline().strip()
        environment = {
            "PATH": os.environ["PATH"],
            "XDG_RUNTIME_DIR": str(runtime),
            "DBUS_SYSTEM_BUS_ADDRESS": address,
            "INMOST_PROGRAM": sys.argv[1],
        }
        store = Store(sys.argv[1], folder, environment)
        logind = open_dbus_connection(address)
        stranger = open_dbus_connection(address)
        logind.send_and_get_reply(message_bus.RequestName("org.freedesktop.login1"))
        script = subprocess.Popen([SCRIPT], env=environment)
        try:
            # The bus reports the listener with its match rules.
            limit = threading.Timer(60, bus.terminate)
            limit.start()
            while "became a monitor" not in (line := bus.stderr.readline()):
                if not line:
                    raise SystemExit("the script does not listen within 60 s, or the bus has ended")
            limit.cancel()

            store.unlock()
            stranger.send(new_signal(SESSION, "Lock"))
            logind.send(new_signal(MANAGER, "PrepareForSleep", "b", (False,)))
            logind.send(new_signal(SESSION, "Unlock"))
            time.sleep(1)
            if store.is_locked():
                raise SystemExit("a signal of a stranger, or of waking up, locked the store")
            logind.send(new_signal(SESSION, "Lock"))
            until("a locked screen locks the store", store.is_locked)
            print("logind: a locked screen locks the store, and a stranger's signal does not")

            store.unlock()
            logind.send(new_signal(MANAGER, "PrepareForSleep", "b", (True,)))
            until("a suspend locks the store", store.is_locked)
            until("the script ends, which lets the machine suspend", lambda: script.poll() is not None)
            print("logind: a suspend locks the store, and goes on afterwards")
        finally:
            script.kill()
            # Ends the script's monitor as well.
            bus.terminate()


main()

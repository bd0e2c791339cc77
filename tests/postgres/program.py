"""Uses the program on a vault in a database: program.py PROGRAM. Run by with_server.py."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

VAULT = "00112233445566778899aabbccddeeff"


class Program:
    def __init__(self, program: str, folder: Path):
        self.program, self.folder = program, folder
        self.secret = folder / "passphrase"
        self.secret.write_text("correct horse battery staple")
        self.secret.chmod(0o600)
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "HOME": str(folder)}

    def run(self, *arguments: str, exit_code: int = 0, given: str | None = None, unlocked: bool = False,
            **environment: str) -> str:
        options = [] if unlocked else ["--passphrase-file", str(self.secret)]
        done = subprocess.run([self.program, *arguments, *options], input=given, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={**self.environment, **environment}, timeout=120)
        if done.returncode != exit_code:
            sys.exit(f"{arguments} ended with {done.returncode} instead of {exit_code}:\n{done.stdout}")
        return done.stdout


def expect(text: str, *parts: str) -> None:
    for part in parts:
        if part not in text:
            sys.exit(f"{part!r} is missing in:\n{text}")


def test(program: Program, url: str, folder: Path) -> None:
    store = ["--store", f"{url}?vault={VAULT}"]
    program.run("init", *store, "--kdf-memory-mib", "19", "--kdf-passes", "2")
    expect(program.run("init", *store, exit_code=1), "There is a store at")
    program.run("write", "notes.md", *store, given="a text\n")
    expect(program.run("cat", "notes.md", *store), "a text")
    expect(program.run("grep", "text", *store), "/memories/notes.md:1:a text")
    expect(program.run("status", *store), "engine      postgres", "PostgreSQL 15", "primary", "no standby")
    expect(program.run("check", *store), "No problems found")

    # The key daemon, and two hosts at once: the daemon and a process of its own.
    program.run("unlock", *store)
    expect(program.run("cat", "notes.md", *store, unlocked=True), "a text")
    aside = {"XDG_RUNTIME_DIR": str(folder / "elsewhere")}
    (folder / "elsewhere").mkdir(mode=0o700)
    program.run("write", "other.md", *store, given="of another host\n", **aside)
    expect(program.run("cat", "other.md", *store, unlocked=True), "of another host")
    # Where the server is out of reach, the key daemon still knows the rest.
    unreachable = program.run("status", *store, unlocked=True, PGPASSWORD="wrong")
    expect(unreachable, "The server did not say what it is", "does not accept the role", "engine      postgres")
    program.run("lock", *store, unlocked=True)

    program.run("backup", str(folder / "copies"), *store)
    program.run("backup", "restore", str(folder / "copies"), str(folder / "copy"))
    expect(program.run("cat", "other.md", "--store", str(folder / "copy")), "of another host")
    # Rewrites, and moves in both directions.
    program.run("compact", *store)
    program.run("rotate", "--yes", *store)
    expect(program.run("cat", "notes.md", *store), "a text")
    program.run("migrate", *store, "--to", str(folder / "moved"))
    second = ["--store", f"{url}?vault={'f' * 32}"]
    expect(program.run("migrate", "--store", str(folder / "moved"), "--to", second[1]), "read the copy back")
    expect(program.run("cat", "other.md", *second), "of another host")
    expect(program.run("log", *second), "/memories/notes.md")
    expect(program.run("migrate", *store, "--to", second[1], exit_code=1), "There is a store at")
    program.run("destroy", "--yes", *second, unlocked=True)


def test_errors(program: Program, url: str, folder: Path) -> None:
    vault = f"?vault={VAULT}"
    # A password in the URL is refused before anything connects, and never shown.
    secret = program.run("ls", "--store", f"postgres://app:hunter2@127.0.0.1:1/m{vault}", exit_code=2)
    expect(secret, "contains a password")
    if "hunter2" in secret:
        sys.exit("a password was shown")
    expect(program.run("ls", "--store", f"postgres://app@127.0.0.1:1/m{vault}", exit_code=14), "cannot connect")
    expect(program.run("ls", "--store", f"postgres://app@10.0.0.1/m{vault}&sslmode=disable", exit_code=2), "sslmode")
    expect(program.run("ls", "--store", url, exit_code=2), "names no vault")
    expect(program.run("ls", "--store", f"{url}?vault={'0' * 32}", exit_code=10), "There is no store")
    wrong = program.run("ls", "--store", url + vault, exit_code=14, PGPASSWORD="wrong")
    expect(wrong, "does not accept the role inmost_app")
    # The password file, and its permissions.
    passwords = folder / "pgpass"
    passwords.write_text(f"*:*:*:*:{os.environ['PGPASSWORD']}\n")
    passwords.chmod(0o644)
    by_file = {"PGPASSWORD": "", "PGPASSFILE": str(passwords)}
    expect(program.run("ls", "--store", url + vault, exit_code=14, **by_file), "chmod 600")
    passwords.chmod(0o600)
    program.run("ls", "--store", url + vault, **by_file)
    # Tables that are missing, of another version, or not for this role; a server that only reads.
    admin = os.environ["INMOST_TEST_POSTGRES_ADMIN"]

    def sql(text: str, database: str = admin) -> None:
        subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", database, "-c", text], check=True)

    sql("CREATE DATABASE empty")
    empty = url.rsplit("/", 1)[0] + f"/empty{vault}"
    expect(program.run("ls", "--store", empty, exit_code=14), "inmost postgres-schema")
    for version, what in ((3, "version 3"), (3, "newer"), (1, "of an earlier version")):
        sql(f"UPDATE inmost.schema_version SET version = {version}")
        expect(program.run("ls", "--store", url + vault, exit_code=14), what)
    sql("UPDATE inmost.schema_version SET version = 2")
    sql("REVOKE SELECT ON inmost.record FROM inmost_app")
    expect(program.run("ls", "--store", url + vault, exit_code=14), "lacks rights")
    sql("GRANT SELECT ON inmost.record TO inmost_app")
    sql("ALTER ROLE inmost_app SET default_transaction_read_only = on")
    expect(program.run("write", "x.md", "--store", url + vault, given="x", exit_code=14), "standby")
    sql("ALTER ROLE inmost_app RESET default_transaction_read_only")
    sql("ALTER ROLE inmost_app SET synchronous_commit = off")
    expect(program.run("ls", "--store", url + vault, exit_code=14), "synchronous_commit = off")
    sql("ALTER ROLE inmost_app RESET synchronous_commit")
    program.run("destroy", "--yes", "--store", url + vault, unlocked=True)
    expect(program.run("ls", "--store", url + vault, exit_code=10), "There is no store")


def test_tls(program: Program, url: str) -> None:
    """The certificate is for localhost, and the server listens there with and without TLS."""
    certificates = os.environ["INMOST_TEST_POSTGRES_CERTIFICATES"]
    by_name = url.replace("127.0.0.1", "localhost") + f"?vault={VAULT}&sslmode=verify-full"
    right, other = (f"&sslrootcert={certificates}/{name}.pem" for name in ("ca", "other"))
    program.run("init", "--store", by_name + right, "--kdf-memory-mib", "19", "--kdf-passes", "2")
    expect(program.run("status", "--store", by_name + right), "TLS, verified")
    expect(program.run("ls", "--store", by_name, exit_code=14), "UnknownIssuer")
    expect(program.run("ls", "--store", by_name + other, exit_code=14), "cannot connect")
    by_address = by_name.replace("localhost", "127.0.0.1") + right
    expect(program.run("ls", "--store", by_address, exit_code=14), "not valid for")


def main() -> None:
    url = os.environ["INMOST_TEST_POSTGRES"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = Program(sys.argv[1], folder)
        try:
            test_tls(program, url)
            program.run("destroy", "--yes", "--store", f"{url}?vault={VAULT}", unlocked=True)
            test(program, url, folder)
            test_errors(program, url, folder)
        finally:
            subprocess.run([sys.argv[1], "lock", "--store", f"{url}?vault={VAULT}"], env=program.environment,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print("the program works on a vault in a database")


if __name__ == "__main__":
    main()

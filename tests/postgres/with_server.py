"""Runs a command with a throw-away PostgreSQL server: with_server.py [--version 15] [--pgbouncer] [--tls]
[--schema FILE] [--timeout SECONDS] COMMAND...

The command finds the server in INMOST_TEST_POSTGRES (a URL without a password), PGPASSWORD, and the address of a superuser in
INMOST_TEST_POSTGRES_ADMIN. Without --schema the database is empty and the role of the tests owns it.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from cluster import DATABASE, PASSWORD, ROLE, SUPERUSER, Bouncer, Failure, Place, Server, on_signals, prepare


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", default="15")
    parser.add_argument("--pgbouncer", action="store_true")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--schema", type=Path)
    parser.add_argument("--timeout", type=int, default=3600, metavar="SECONDS")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    on_signals()
    place, bouncer, server = Place(), None, None
    try:
        server = Server(place, arguments.version).init()
        if arguments.tls:
            server.secure()
        server.start()
        prepare(server, arguments.schema.read_text() if arguments.schema else "")
        if arguments.pgbouncer:
            bouncer = Bouncer(server)
        environment = {
            **os.environ,
            "INMOST_TEST_POSTGRES": bouncer.url() if bouncer else server.url(),
            "INMOST_TEST_POSTGRES_ADMIN": f"postgres://{SUPERUSER}@127.0.0.1:{server.port}/{DATABASE}",
            "INMOST_TEST_POSTGRES_SOCKET": f"postgres://{ROLE}@/{DATABASE}?host={place.path}&port={server.port}",
            "INMOST_TEST_POSTGRES_CERTIFICATES": str(place.path),
            "PGPASSWORD": PASSWORD,
        }
        return subprocess.run(arguments.command, env=environment, timeout=arguments.timeout).returncode
    except subprocess.TimeoutExpired:
        print(f"the command did not end within {arguments.timeout} s and was ended", file=sys.stderr)
        return 1
    except Failure as failure:
        print(failure, file=sys.stderr)
        if server is not None and server.log.exists():
            print(server.log.read_text(errors="replace")[-4000:], file=sys.stderr)
        return 1
    finally:
        if bouncer is not None:
            bouncer.stop()
        if server is not None:
            server.stop()
        place.remove()


sys.exit(main())

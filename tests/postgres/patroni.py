"""Kills the leader of a Patroni cluster under load: patroni.py LOAD_PROGRAM [ROUNDS] --schema FILE.

Three nodes of PostgreSQL 15 and one of etcd run here, with synchronous replication in its strict mode. Each round kills every process of
the node that leads, Patroni's included, waits until another node leads and calls succeed again, starts the killed node as a standby of
the new one, and checks: no acknowledged call may be missing, none may be there that was not tried, every vault must be whole,
and calls must succeed again within the time to live of the leader's lock and 10 seconds.
"""

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from cluster import DATABASE, PASSWORD, ROLE, SUPERUSER, Failure, Place, Server, account, free_port, on_signals, prepare, wait_for
from failover import THREADS, Load, stored

NAMES = "abc"
# The least that Patroni allows.
TTL = 20
# A round lasts as long as its load: a leader is killed after BEFORE seconds.
BEFORE, SECONDS = 5, 40


class Etcd:
    """The store in which Patroni agrees on a leader."""

    def __init__(self, place: Place):
        self.port = free_port()
        client, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{free_port()}"
        data = place.path / "etcd"
        with (place.path / "etcd.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*account(), "etcd", "--name", "etcd", "--data-dir", data, "--listen-client-urls", client,
                 "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", f"etcd={peer}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/", start_new_session=True,
            )
        wait_for("etcd", self.is_ready, self.process)

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=1) as reply:
                return json.load(reply)["health"] == "true"
        except OSError:
            return False

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


class Node(Server):
    """A server that Patroni starts, promotes and follows."""

    def __init__(self, place: Place, name: str, etcd: Etcd):
        super().__init__(place, "15", name)
        self.api = free_port()
        self.config = place.path / f"{name}.json"
        hosts = ["local all all trust", f"host all {SUPERUSER} 127.0.0.1/32 trust",
                 f"host replication {SUPERUSER} 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256"]
        user = {"username": SUPERUSER, "password": PASSWORD}
        # YAML contains JSON.
        self.config.write_text(json.dumps({
            "scope": "inmost", "name": name,
            "restapi": {"listen": f"127.0.0.1:{self.api}", "connect_address": f"127.0.0.1:{self.api}"},
            "etcd3": {"host": f"127.0.0.1:{etcd.port}"},
            "bootstrap": {
                "dcs": {
                    "ttl": TTL, "loop_wait": 1, "retry_timeout": 5, "synchronous_mode": True, "synchronous_mode_strict": True,
                    "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 120, "wal_log_hints": "on"}},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, {"auth": "trust"}],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(self.data), "bin_dir": str(self.bin), "pgpass": str(place.path / f"{name}.pgpass"), "pg_hba": hosts,
                "authentication": {"superuser": user, "replication": user, "rewind": user},
                "parameters": {"unix_socket_directories": str(place.path)},
            },
        }))
        place.own(self.config, 0o600)

    def start(self) -> "Node":
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*account(), "patroni", self.config], stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/", start_new_session=True,
            )
        return self

    def is_in(self, role: str) -> bool:
        """Whether the node has this role: `leader`, `synchronous` or `replica`."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.api}/{role}", timeout=2) as reply:
                return reply.status == 200
        except OSError:
            return False

    def children(self) -> list[int]:
        """Patroni, the server, and the server's processes."""
        patroni = [] if self.process is None else [self.process.pid]
        try:
            postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return patroni
        listed = subprocess.run(["pgrep", "-P", str(postmaster)], stdout=subprocess.PIPE, text=True)
        return [*patroni, postmaster, *map(int, listed.stdout.split())]

    def stop(self) -> None:
        self.kill()


class Cluster:
    """Three nodes and etcd."""

    def __init__(self, place: Place):
        self.etcd = Etcd(place)
        self.nodes = [Node(place, name, self.etcd) for name in NAMES]

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        self.wait_until_whole()

    def wait_until_whole(self) -> None:
        """Waits for a leader, a standby that commits wait for, and another one."""

        def is_whole() -> bool:
            return [sum(node.is_in(role) for node in self.nodes) for role in ("leader", "replica", "synchronous")] == [1, 2, 1]

        wait_for("a leader with two standbys", is_whole, seconds=120)

    def leader(self) -> Node:
        return next(node for node in self.nodes if node.is_in("leader"))

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()
        self.etcd.stop()


def one_round(cluster: Cluster, program: Path) -> str:
    cluster.wait_until_whole()
    hosts = ",".join(f"127.0.0.1:{node.port}" for node in cluster.nodes)
    url = f"postgres://{ROLE}@{hosts}/{DATABASE}?connect_timeout=2"
    load = Load(program, url, SECONDS)
    time.sleep(BEFORE)
    old = cluster.leader()
    killed = time.monotonic()
    old.kill()
    load.wait()
    after = [at for at in load.times if at > killed + 0.5]
    if not after:
        raise Failure(f"no call succeeded after the leader {old.name} was killed: {load.outcomes} {load.failures}")
    gap = min(after) - killed
    new = cluster.leader()
    found, _ = stored(program, url)
    lost = {it: number for it, number in load.acked.items() if number > found.get(it, 0)}
    ghosts = {it: number for it, number in found.items() if number > load.tried.get(it, 0)}
    old.start()
    if lost or ghosts or load.failures or load.noticed:
        raise Failure(f"lost {lost}, ghosts {ghosts}, failures {load.failures}, rolled back {load.noticed}")
    if new is old or gap > TTL + 10:
        raise Failure(f"{gap:.1f} s without a call, led by {new.name}")
    return (f"{old.name} to {new.name}: {load.outcomes.get('ack', 0)} acknowledged by {THREADS} threads, none lost, "
            f"first call {gap:.1f} s after the kill, outcomes {load.outcomes}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    parser.add_argument("--schema", type=Path, required=True)
    arguments = parser.parse_args()
    on_signals()
    place, cluster = Place(), None
    try:
        cluster = Cluster(place)
        cluster.start()
        prepare(cluster.leader(), arguments.schema.read_text())
        for number in range(arguments.rounds):
            print(number + 1, one_round(cluster, arguments.program.resolve()), flush=True)
        return 0
    except Failure as failure:
        print("FAILED", failure)
        for log in sorted(place.path.glob("*.log")):
            print(f"-- {log.name}\n{log.read_text(errors='replace')[-3000:]}", file=sys.stderr)
        return 1
    finally:
        if cluster is not None:
            cluster.stop()
        place.remove()


sys.exit(main())

#!/usr/bin/env python3
"""Two devices through a folder that two real Syncthings keep in step, on this machine only.

Argument: the program `inmost`."""
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from devices import Device

program = os.path.abspath(sys.argv[1])
LATEST = 90


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Syncthing:
    def __init__(self, name):
        self.name = name
        self.home = tempfile.mkdtemp(prefix=f"inmost-syncthing-{name}.")
        self.folder = os.path.join(self.home, "shared")
        self.port, self.api = free_port(), free_port()
        made = subprocess.run(["syncthing", "generate", "--no-default-folder", f"--home={self.home}"], check=True, capture_output=True,
                              text=True)
        self.id = re.search(r"[A-Z0-9]{7}(-[A-Z0-9]{7}){7}", made.stdout + made.stderr)[0]
        self.process = None

    def configure(self, other):
        """No discovery, no relay, no report: one address of the other device."""
        device = '<device id="{}"><address>{}</address></device>'
        config = f"""<configuration version="35">
          <folder id="shared" path="{self.folder}" rescanIntervalS="3600" fsWatcherEnabled="true" fsWatcherDelayS="1">
            <filesystemType>basic</filesystemType><device id="{self.id}"/><device id="{other.id}"/>
          </folder>
          {device.format(self.id, "dynamic")}{device.format(other.id, f"tcp://127.0.0.1:{other.port}")}
          <gui enabled="true"><address>127.0.0.1:{self.api}</address><apikey>key</apikey></gui>
          <options>
            <listenAddress>tcp://127.0.0.1:{self.port}</listenAddress>
            <globalAnnounceEnabled>false</globalAnnounceEnabled><localAnnounceEnabled>false</localAnnounceEnabled>
            <relaysEnabled>false</relaysEnabled><natEnabled>false</natEnabled><urAccepted>-1</urAccepted>
            <crashReportingEnabled>false</crashReportingEnabled><autoUpgradeIntervalH>0</autoUpgradeIntervalH>
            <reconnectionIntervalS>5</reconnectionIntervalS>
          </options></configuration>"""
        with open(os.path.join(self.home, "config.xml"), "w", encoding="ascii") as file:
            file.write(config)
        os.makedirs(os.path.join(self.folder, ".stfolder"), exist_ok=True)

    def start(self):
        self.process = subprocess.Popen(
            ["syncthing", "serve", "--no-browser", "--no-restart", "--no-upgrade", f"--home={self.home}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ, STNOUPGRADE="1"))

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def scan(self):
        request = urllib.request.Request(f"http://127.0.0.1:{self.api}/rest/db/scan", method="POST", headers={"X-API-Key": "key"})
        urllib.request.urlopen(request, timeout=30).close()

    def objects(self):
        found = set()
        for log in os.listdir(self.folder):
            if re.fullmatch("[0-9a-f]{32}", log):
                found |= {os.path.join(log, name) for name in os.listdir(os.path.join(self.folder, log)) if name[0] != "."}
        return found


def carry(one, other):
    """Waits until both folders have the same objects."""
    until = time.monotonic() + LATEST
    while one.objects() != other.objects():
        assert time.monotonic() < until, (one.objects(), other.objects())
        for syncthing in (one, other):
            try:
                syncthing.scan()
            except OSError:
                pass
        time.sleep(0.5)


here, there = Syncthing("laptop"), Syncthing("desk")
here.configure(there)
there.configure(here)
laptop, desk = Device(program, "laptop"), Device(program, "desk")
try:
    here.start()
    there.start()
    laptop.write("list.md", "milk\nbread\n")
    laptop.sync("init", "--name", "laptop", here.folder)
    carry(here, there)
    desk.sync("join", "--name", "desk", there.folder, text=laptop.sync("invite"))
    carry(here, there)
    laptop.sync()

    # Both write while no Syncthing runs.
    here.stop()
    there.stop()
    laptop.write("list.md", "milk\nrye bread\n")
    desk.write("list.md", "milk\nbread\neggs\n")
    desk.write("desk/plan.md", "a plan\n")
    laptop.sync()
    desk.sync()
    assert laptop.tree() != desk.tree()
    here.start()
    there.start()
    for _ in range(2):
        carry(here, there)
        laptop.sync()
        desk.sync()
    carry(here, there)
    assert laptop.tree() == desk.tree() and len(desk.tree()) == 2, (laptop.tree(), desk.tree())
    assert desk.tree()["list.md"] == "milk\nrye bread\neggs\n"
finally:
    for syncthing in (here, there):
        if syncthing.process:
            syncthing.stop()
print("syncthing: equal trees")

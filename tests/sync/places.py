#!/usr/bin/env python3
"""Two devices through S3 and WebDAV, on servers of others, with trouble; and through a stick that is absent most of the time.

Argument: the program `inmost`, built with the features `s3` and `webdav`. Needs rclone and openssl."""
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import servers
from devices import Device, meet, rounds

program = os.path.abspath(sys.argv[1])
CANARIES = (b"milk", b"list.md", b"canary", b"secret of", b"laptop")


def put(url, body=b""):
    urllib.request.urlopen(urllib.request.Request(url, data=body, method="PUT")).close()


def trouble(server, laptop, desk):
    """Nothing is lost while a server is read-only, full, busy or gone, and each is told apart."""
    for name, text in (("read-only", "refused access"), ("full", "no room")):
        server.trouble = name
        laptop.write(f"{name}.md", "kept\n")
        told = laptop.sync(fails=text)
        assert "Changes are kept" in told and servers.SECRET not in told and servers.PASSWORD not in told, told
        # What others have put can be read all the same.
        desk.sync()
    server.trouble = "busy"
    laptop.sync()
    desk.sync()
    assert laptop.tree() == desk.tree() and "full.md" in desk.tree()
    server.trouble = "gone"
    laptop.write("gone.md", "kept\n")
    begun = time.monotonic()
    laptop.sync(fails="Changes are kept")
    assert time.monotonic() - begun < 30
    server.trouble = None
    laptop.sync()
    desk.sync()
    assert laptop.tree() == desk.tree() and "gone.md" in desk.tree()
    rounds(laptop, desk)
    sent = b"\n".join(server.sent)
    assert not [canary for canary in CANARIES if canary in sent]
    return len(server.sent)


def s3():
    server = servers.s3()
    allowed, server.is_allowed = server.is_allowed, lambda _: True
    put(f"{server.url}/bucket")
    # More than a page of junk before the objects and among them.
    for number in range(1_100):
        put(f"{server.url}/bucket/my%20memory/{number:032x}/junk")
    server.sent.clear()
    server.is_allowed = allowed
    keys = dict(AWS_ACCESS_KEY_ID=servers.KEY, AWS_SECRET_ACCESS_KEY=servers.SECRET, AWS_REGION=servers.REGION,
                AWS_ENDPOINT_URL=server.url)
    laptop = Device(program, "laptop", **keys)
    # The same as a profile.
    desk = Device(program, "desk", AWS_PROFILE="nas")
    os.mkdir(os.path.join(desk.home, ".aws"))
    with open(os.path.join(desk.home, ".aws", "credentials"), "w", encoding="ascii") as file:
        file.write(f"[nas]\naws_access_key_id = {servers.KEY}\naws_secret_access_key = {servers.SECRET}\n")
    with open(os.path.join(desk.home, ".aws", "config"), "w", encoding="ascii") as file:
        file.write(f"[profile nas]\nregion = {servers.REGION}\nendpoint_url = {server.url}\n")

    init = ("init", "--name", "laptop")
    laptop.sync(*init, "s3://nowhere/a", fails="NoSuchBucket")
    laptop.sync(*init, "s3://me:secret@bucket/a", fails="credentials do not belong there")
    stranger = Device(program, "stranger", **dict(keys, AWS_SECRET_ACCESS_KEY="wrong"))
    stranger.sync(*init, "s3://bucket/a", fails="SignatureDoesNotMatch")
    del stranger.environment["AWS_SECRET_ACCESS_KEY"]
    stranger.sync(*init, "s3://bucket/a", fails="no credentials")

    meet(laptop, desk, "s3://bucket/my memory/")
    stranger = Device(program, "stranger", **keys)
    stranger.sync(*init, "s3://bucket/my memory", fails="has objects of a circle already")
    print(f"s3 (moto): equal trees, {trouble(server, laptop, desk)} requests")


def login(device, host, password=servers.PASSWORD):
    with open(os.path.join(device.home, ".netrc"), "w", encoding="ascii") as file:
        file.write(f"machine {host} login {servers.NAME} password {password}\n")


def webdav():
    folder = tempfile.mkdtemp(prefix="inmost-webdav.")
    os.mkdir(os.path.join(folder, "my memory"))
    os.mkdir(os.path.join(folder, "my memory", "f" * 32))
    server = servers.webdav(folder)
    laptop, desk = Device(program, "laptop"), Device(program, "desk")
    place = f"{server.url}/my%20memory"

    init = ("init", "--name", "laptop")
    laptop.sync(*init, place, fails="HTTP 401")
    login(laptop, "127.0.0.1", "wrong")
    told = laptop.sync(*init, place, fails="HTTP 401")
    assert "wrong" not in told, told
    for device in (laptop, desk):
        login(device, "127.0.0.1")
    laptop.sync(*init, f"{server.url}/nowhere", fails="no such folder")
    laptop.sync(*init, place.replace("//", "//me:hidden@"), fails="netrc")
    laptop.sync(*init, "http://cloud.example/", fails="use https:")

    meet(laptop, desk, place)
    print(f"webdav (wsgidav): equal trees, {trouble(server, laptop, desk)} requests")


def rclone():
    """Another server, over TLS."""
    folder = tempfile.mkdtemp(prefix="inmost-rclone.")
    os.mkdir(os.path.join(folder, "memory"))
    at = os.path.join(folder, "certificate.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE",
                    "-keyout", f"{at}.key", "-out", at], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def serve(*more):
        started = subprocess.Popen(["rclone", "serve", "webdav", folder, "--addr", f"localhost:{port}", "--cert", at, "--key",
                                    f"{at}.key", "--user", servers.NAME, "--pass", servers.PASSWORD, *more],
                                   stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    return started
            time.sleep(0.1)
        raise AssertionError("rclone does not serve")

    laptop, desk = Device(program, "laptop", SSL_CERT_FILE=at), Device(program, "desk", SSL_CERT_FILE=at)
    login(laptop, "localhost")
    login(desk, "localhost")
    place = f"https://localhost:{port}/memory"
    server = serve()
    try:
        meet(laptop, desk, place)
        stranger = Device(program, "stranger")
        login(stranger, "localhost")
        stranger.sync("init", "--name", "other", place, fails="certificate")
    finally:
        server.kill()
        server.wait()
    laptop.write("late.md", "kept\n")
    server = serve("--read-only")
    try:
        laptop.sync(fails="Changes are kept")
    finally:
        server.kill()
        server.wait()
    laptop.sync(fails="Changes are kept")
    server = serve()
    try:
        laptop.sync()
        desk.sync()
        assert laptop.tree() == desk.tree() and "late.md" in desk.tree()
    finally:
        server.kill()
        server.wait()
    print("webdav (rclone, TLS): equal trees")


def stick():
    """A stick that is never with both, and often with nobody."""
    stick, away = "stick", tempfile.mkdtemp(prefix="inmost-stick.")
    laptop, desk = Device(program, "laptop"), Device(program, "desk")
    ports = {device: os.path.join(device.home, stick) for device in (laptop, desk)}
    at = os.path.join(away, stick)
    os.mkdir(at)

    def plug(device):
        nonlocal at
        to = ports[device] if device else os.path.join(away, stick)
        os.rename(at, to)
        at = to

    plug(laptop)
    laptop.write("list.md", "milk\nbread\n")
    laptop.sync("init", "--name", "laptop", ports[laptop])
    invitation = laptop.sync("invite")
    plug(desk)
    desk.sync("join", "--name", "desk", ports[desk], text=invitation)
    for number in range(5):
        laptop.write(f"laptop-{number}.md", f"{number}\n")
        desk.write("list.md", desk.tree()["list.md"] + f"{number}\n")
        laptop.sync(fails="leave --force")
        if number % 2:
            plug(None)
            desk.sync(fails="leave --force")
        plug(laptop)
        laptop.sync()
        plug(desk)
        desk.sync()
    plug(laptop)
    laptop.sync()
    assert laptop.tree() == desk.tree() and len(desk.tree()) == 6
    assert desk.tree()["list.md"] == "milk\nbread\n0\n1\n2\n3\n4\n"
    print("stick: equal trees")


try:
    for test in (s3, webdav, rclone, stick):
        test()
finally:
    # Their threads would keep this process.
    servers.stop()

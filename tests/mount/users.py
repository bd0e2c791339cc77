#!/usr/bin/env python3
"""Mounts as users without rights: with fusermount3, and without it in a user namespace. Nobody else sees anything, root included.
The key daemon answers nobody else, and another user reads no file of the store.

Argument: the program `inmost`. Needs root, to be several users, and /dev/fuse; leaves nothing mounted."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile

OWNER, OTHER = 65_534, 65_533
program = os.path.abspath(sys.argv[1])
if os.geteuid() != 0:
    print("Only root can be several users.")
    sys.exit(0)
if sys.argv[2:] != ["inside"]:
    # The mounts below are seen by this script alone, and end with it.
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, __file__, program, "inside"])
place = tempfile.mkdtemp(prefix="inmost-users.")


def at(*names):
    return os.path.join(place, *names)


environment = {
    "PATH": os.environ["PATH"],
    "HOME": place,
    "XDG_RUNTIME_DIR": at("run"),
    "INMOST_STORE": at("s.inmost"),
    "INMOST_PASSPHRASE": "correct horse battery staple",
}


def run(*command, umask=-1):
    done = subprocess.run(
        command, env=environment, user=OWNER, group=OWNER, extra_groups=[], umask=umask, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def is_refused(user, command):
    """Whether a command of a shell fails for a user because of missing rights."""
    done = subprocess.run(["sh", "-c", command], env=environment, user=user, group=user, extra_groups=[], capture_output=True, text=True)
    return done.returncode != 0 and "Permission denied" in done.stderr


def replies(user, path):
    """Whether the key daemon replies to a user at this socket: 0 or 1, or 2 if the user cannot connect."""
    child = os.fork()
    if child == 0:
        replied = 2
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            end = socket.socket(socket.AF_UNIX)
            end.settimeout(60)
            end.connect(path)
            replied = 3
            hello = b'{"version":0}'
            end.sendall(len(hello).to_bytes(4, "big") + bytes(4) + hello)
            replied = len(end.recv(1))
        except (BrokenPipeError, ConnectionResetError):
            replied = 0
        finally:
            os._exit(replied)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


os.chmod(place, 0o755)
os.mkdir(at("run"))
# The program and the device may be out of reach of others.
inmost = shutil.copy(program, at("inmost"))
os.mknod(at("fuse"), 0o600 | 0o020_000, os.stat("/dev/fuse").st_rdev)
os.chmod(at("fuse"), 0o666)
subprocess.run(["mount", "--bind", at("fuse"), "/dev/fuse"], check=True)
os.mkdir(at("home"))
os.mkdir(at("circle"))
for name in ["", "run", "home", "circle"]:
    os.chown(at(name), OWNER, OWNER)
folder = at("home", "m")
run(inmost, "init", "--kdf-memory-mib", "19", "--kdf-passes", "2", umask=0)
run(inmost, "unlock", umask=0)
tried = []
try:
    # First with the folder as it is, then as if it were open to everybody.
    (name,) = os.listdir(at("run", "inmost"))
    ways = [at("run"), at("run", "inmost"), at("run", "inmost", name)]
    modes = [os.stat(way).st_mode & 0o7777 for way in ways]
    assert [replies(user, ways[-1]) for user in [OTHER, OWNER]] == [2, 1]
    for way in ways:
        os.chmod(way, 0o777)
    assert [replies(user, ways[-1]) for user in [OTHER, 0, OWNER]] == [0, 0, 1]
    for way, mode in zip(ways, modes):
        os.chmod(way, mode)

    run(inmost, "sync", "init", "--name", "laptop", at("circle"), umask=0)
    run(inmost, "backup", at("copies"), umask=0)
    files = [os.path.join(top, name) for tree in ["s.inmost", "copies"] for top, _, names in os.walk(at(tree)) for name in names]
    assert at("s.inmost", "sync") in files and len(files) > 8, files
    for command in [f"ls {at('s.inmost')}", f"ls {at('copies')}", *(f"{verb} {file}" for file in files for verb in ["cat", ": >>"])]:
        assert is_refused(OTHER, command), command
    if shutil.which("fusermount3"):
        run(inmost, "mount", "--background", folder)
        run("sh", "-c", f"echo tea > {folder}/a.md")
        for command in [f"ls {folder}", f"stat {folder}/a.md", f"cat {folder}/a.md", f"echo > {folder}/b.md"]:
            assert is_refused(OTHER, command) and is_refused(0, command), command
            assert not is_refused(OWNER, command), command
        run(inmost, "unmount", folder)
        assert run(inmost, "cat", "a.md") == "tea\n"
        tried.append("fusermount3")
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*namespace, "true"], user=OWNER, group=OWNER, extra_groups=[], capture_output=True).returncode == 0:
        # The key daemon is outside. There is no fusermount3 to help.
        script = f"PATH=/nonexistent; set -e; {inmost} mount --background {folder}; read text < {folder}/a.md; echo $text and cake > {folder}/a.md; {inmost} unmount {folder}"
        run(*namespace, "sh", "-c", script)
        assert run(inmost, "cat", "a.md") == "tea and cake\n"
        tried.append("a user namespace")
finally:
    subprocess.run([inmost, "lock"], env=environment, user=OWNER, group=OWNER, extra_groups=[], capture_output=True)
    subprocess.run(["umount", "/dev/fuse"], check=False)
    subprocess.run(["umount", "-l", folder], capture_output=True)
    shutil.rmtree(place, ignore_errors=True)
print(f"Mounted by a user without rights: {' and '.join(tried) or 'not possible here'}.")

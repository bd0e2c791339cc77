#!/usr/bin/env python3
"""A disk that becomes full under a mount, and a store that is replaced under it: a call that succeeds has saved its bytes.

Argument: the program `inmost`. Needs /dev/fuse, and root for a disk of its own; leaves nothing mounted."""
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time

program = os.path.abspath(sys.argv[1])
place = tempfile.mkdtemp(prefix="inmost-disk.")
disk, folder = os.path.join(place, "disk"), os.path.join(place, "m")
store = os.path.join(disk, "s.inmost")
environment = dict(os.environ, INMOST_STORE=store, INMOST_PASSPHRASE="correct horse battery staple")


def inmost(*arguments, is_expected=True):
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode == 0) == is_expected, (arguments, done.stdout, done.stderr)
    return done.stdout


def write(name, text):
    """Writes and syncs a file; returns the number of the error, or None."""
    try:
        file = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    except OSError as error:
        return error.errno
    try:
        os.write(file, text.encode())
        os.fsync(file)
        return None
    except OSError as error:
        return error.errno
    finally:
        try:
            os.close(file)
        except OSError:
            pass


def text_of(number):
    return f"{number} " + "x" * 100_000 + "\n"


os.mkdir(disk)
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "inmost-test", disk], capture_output=True).returncode != 0:
    print("No disk can be mounted here.")
    sys.exit(0)
try:
    with open(os.path.join(disk, "other"), "wb") as file:
        file.write(b"x" * 4_000_000)
    inmost("init", "--kdf-memory-mib", "19", "--kdf-passes", "2")
    inmost("unlock")
    inmost("mount", "--background", folder)
    saved = {}
    for number in range(1_000):
        error = write(f"{number}.md", text_of(number))
        if error:
            assert error == errno.ENOSPC, errno.errorcode[error]
            break
        saved[number] = text_of(number)
    assert len(saved) > 50, len(saved)
    # What the program sees and what the store has.
    for number, text in saved.items():
        with open(os.path.join(folder, f"{number}.md"), encoding="utf-8") as file:
            assert file.read() == text, number
    for number in list(saved)[:10]:
        assert inmost("cat", f"{number}.md") == saved[number], number
    # Somebody makes room.
    os.remove(os.path.join(disk, "other"))
    end = time.monotonic() + 30
    while write("again.md", "again\n") is not None:
        assert time.monotonic() < end, "there is room, and nothing can be saved"
        time.sleep(0.2)
    assert inmost("cat", "again.md") == "again\n"

    # Another store takes the place of this one: nothing is acknowledged any more.
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
    file = os.open(os.path.join(folder, "again.md"), os.O_WRONLY | os.O_APPEND)
    os.rename(store, store + ".moved")
    shutil.copytree(store + ".moved", store)
    try:
        # The key daemon may have noticed it before the write.
        os.write(file, b"more\n")
        os.fsync(file)
        sys.exit("a save to a store that was replaced has succeeded")
    except OSError as error:
        print(f"save after the store was replaced: {errno.errorcode[error.errno]}")
    finally:
        try:
            os.close(file)
        except OSError:
            pass
    shutil.rmtree(store)
    os.rename(store + ".moved", store)
    inmost("unmount", "--force", folder)
    subprocess.run([program, "lock"], env=environment, capture_output=True, timeout=120)
    inmost("unlock")
    inmost("check")
    for number, text in list(saved.items())[:10]:
        assert inmost("cat", f"{number}.md") == text, number
    # The save that failed may have been made: its program was told that it is not known.
    assert inmost("cat", "again.md") in ("again\n", "again\nmore\n")
finally:
    subprocess.run([program, "unmount", "--force", folder], env=environment, capture_output=True)
    subprocess.run([program, "lock"], env=environment, capture_output=True)
    subprocess.run(["umount", "-l", disk], capture_output=True)
print(f"{len(saved)} files of a disk that was full, and a store that was replaced: what was synced is there.")

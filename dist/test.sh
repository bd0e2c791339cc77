#!/usr/bin/env bash
# Installs each file of a release as a user would, without a compiler, and lets it do its main job: run an agent's session on a
# new store, and leave nothing readable in its files.
#
#   dist/test.sh FOLDER      what dist/build.sh has written
#
# Needs root, Python and Node.js, and installs debootstrap, qemu-user-static, curl and binutils from Debian's packages.
set -euo pipefail
cd "$(dirname "$0")/.."
files=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"; [ -z "${server-}" ] || kill "$server"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 INMOST_PASSPHRASE='seven lamps over the quiet harbour'
missing=()
for tool in debootstrap:debootstrap qemu-aarch64-static:qemu-user-static curl:curl readelf:binutils; do
  command -v "${tool%%:*}" >/dev/null || missing+=("${tool#*:}")
done
if [ ${#missing[@]} -gt 0 ]; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

fail() { echo "$1" >&2; exit 1; }

# session STORE SEEN COMMAND...: COMMAND is the program, and sees STORE as SEEN.
session() {
  local store=$1 seen=$2 calls=examples/first-session.jsonl
  shift 2
  "$@" call --create --store "$seen" <"$calls" | cmp - cli/tests/program/first_session.answers.jsonl || fail "wrong answers from $*"
  ! grep -oE '[A-Za-z]{6,}' "$calls" | grep -rqaFf - "$store" || fail "$store is readable"
  echo "ok: the expected answers, and nothing readable, from $*"
}

echo '== SHA256SUMS'
(cd "$files" && sha256sum --check --quiet SHA256SUMS)

echo '== licences'
for file in "$files"/inmost*; do
  case $file in
    *-linux.tar.gz | */inmost-linux-*.tgz) names=$(tar -tzf "$file") ;;
    *.deb) names=$(dpkg --contents "$file") ;;
    *.whl | *.mcpb) names=$(python3 -m zipfile -l "$file") ;;
    *) continue ;;
  esac
  [[ $names == *LICENSE-APACHE* && $names == *LICENSE-MIT* && $names == *THIRD-PARTY* ]] || fail "$file lacks licences"
done

echo '== archives, in a root without any other file'
for arch in x86_64 aarch64; do
  mkdir -p "$work/$arch/tmp"
  tar -xzf "$files"/inmost-*-"$arch"-linux.tar.gz -C "$work/$arch" --strip-components 1
  [ "$(find "$work/$arch/man" -name '*.1' | wc -l)" -gt 20 ] || fail 'there are no manual pages'
  [[ $(readelf --file-header "$work/$arch/inmost") =~ Type:\ +DYN ]] || fail "the program for $arch is always loaded at the same address"
done
session "$work/x86_64/tmp/notes" /tmp/notes chroot "$work/x86_64" /inmost
cp "$(command -v qemu-aarch64-static)" "$work/aarch64/qemu"
session "$work/aarch64/tmp/notes" /tmp/notes chroot "$work/aarch64" /qemu /inmost

echo '== installer'
python3 -m http.server --bind 127.0.0.1 --directory "$files" 8317 >/dev/null 2>&1 &
server=$!
timeout 10 sh -c 'until curl -s http://127.0.0.1:8317/ >/dev/null; do sleep 0.1; done'
HOME=$work/home sh "$files/install.sh" --from http://127.0.0.1:8317
session "$work/installed" "$work/installed" "$work/home/.local/bin/inmost"
MANPATH=$work/home/.local/share/man man --where inmost-unlock 2>/dev/null || [ -f "$work/home/.local/share/man/man1/inmost-unlock.1" ]
mkdir "$work/changed"
cp "$files"/*.tar.gz "$work/changed"
for archive in "$work/changed"/*.tar.gz; do printf x | dd of="$archive" bs=1 seek=1000 conv=notrunc status=none; done
! HOME=$work/other sh "$files/install.sh" --from "file://$work/changed" || fail 'a changed archive was installed'
[ ! -e "$work/other/.local" ] || fail 'a changed archive left files'

echo '== Debian package, in a new Debian'
debootstrap --variant=minbase bookworm "$work/debian" >/dev/null
cp "$files"/*_amd64.deb "$work/debian/tmp/"
chroot "$work/debian" sh -c 'dpkg --install /tmp/*.deb' >/dev/null
session "$work/debian/tmp/notes" /tmp/notes chroot "$work/debian" inmost

echo '== wheels'
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet install --no-index "$files"/*manylinux*.whl
(cd "$work" && venv/bin/python - <<'PYTHON')
import inmost, os, tempfile

with tempfile.TemporaryDirectory() as folder:
    path, key = os.path.join(folder, "store"), os.urandom(32)
    inmost.Store.create(path, raw_key=key).close()
    with inmost.Store.open(path, raw_key=key) as store:
        store.files.write("/memories/a.md", "tea")
        assert "tea" in store.memory_tool().call({"command": "view", "path": "/memories/a.md"}).content
PYTHON
session "$work/wheel" "$work/wheel" "$work/venv/bin/inmost"
# musl's loader is not here, so its extension module is only looked at: it may need nothing but musl.
python3 -m zipfile -e "$files"/*musllinux*.whl "$work/musl"
needed=$(readelf -d "$work"/musl/inmost/_inmost*.so | grep NEEDED)
[[ $needed == *'[libc.so]' && $needed != *$'\n'* ]] || fail "the wheel for musl needs more than libc.so: $needed"

echo '== npm packages'
mkdir "$work/npm"
(cd "$work/npm" && npm init --yes >/dev/null && npm install --silent --no-audit --no-fund --omit=optional \
  "$files"/inmost-linux-x64-gnu-*.tgz "$(echo "$files"/inmost-[0-9]*.tgz)" && node --input-type=module - <<'JAVASCRIPT')
import { randomBytes } from 'node:crypto';
import { Store } from 'inmost';

const store = await Store.create('store', { rawKey: randomBytes(32) });
await store.files.write('/memories/a.md', 'tea');
const { content } = await store.memoryTool().call({ command: 'view', path: '/memories/a.md' });
if (!content.includes('tea')) throw new Error(content);
await store.close();
JAVASCRIPT
session "$work/node" "$work/node" "$work/npm/node_modules/.bin/inmost"

echo '== bundle for Claude Desktop'
python3 -m venv "$work/mcp"
"$work/mcp/bin/pip" --quiet install --requirement tests/mcp/requirements.txt
mkdir "$work/bundle"
python3 -m zipfile -e "$files"/*.mcpb "$work/bundle"
chmod +x "$work/bundle/server/inmost"
(unset INMOST_PASSPHRASE; "$work/mcp/bin/python" tests/mcp/bundle.py "$(echo "$files"/*.mcpb)" "$work/bundle/server/inmost")

echo '== components'
"$work/venv/bin/pip" --quiet install 'cyclonedx-python-lib[json-validation]==11.11.0'
"$work/venv/bin/python" - "$files"/*.cdx.json <<'PYTHON'
import json, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

text = open(sys.argv[1]).read()
document = json.loads(text)
error = JsonStrictValidator(SchemaVersion.from_version(document["specVersion"])).validate_str(text)
assert error is None, error
names = {component["name"] for component in document["components"]}
assert {"sled", "argon2", "chacha20poly1305", "zeroize", "inmost"} <= names, names
print(f"ok: {len(names)} components, CycloneDX {document['specVersion']}")
PYTHON

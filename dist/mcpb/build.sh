#!/usr/bin/env bash
# Builds the bundle that Claude Desktop installs with a double click: the program for this machine, and a manifest.
#
#   dist/mcpb/build.sh MCPB OUTPUT [PROGRAM]
#
# MCPB is the command of the npm package @anthropic-ai/mcpb, OUTPUT the file to write. Without PROGRAM a release build of
# `inmost` is packed. Needs Python.
set -euo pipefail
[ $# -ge 2 ] || {
  sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
mcpb=$(realpath -s "$(command -v "$1")")
output=$(realpath -m "$2")
program=${3:+$(realpath "$3")}
cd "$(dirname "$0")/../.."
if [ -z "$program" ]; then
  cargo build --release --package inmost-cli --locked
  program=${CARGO_TARGET_DIR:-target}/release/inmost
fi
case $(uname -s) in
  Linux) platform=linux name=inmost ;;
  Darwin) platform=darwin name=inmost ;;
  *) platform=win32 name=inmost.exe ;;
esac
version=$("$program" --version)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/server"
cp "$program" "$folder/server/$name"
cp LICENSE-* "$folder"
dist/notices.py >"$folder/THIRD-PARTY"
sed "s/VERSION/${version##* }/; s/PLATFORM/$platform/" dist/mcpb/manifest.json >"$folder/manifest.json"
chmod -R u=rwX,go=rX "$folder"
"$mcpb" validate "$folder/manifest.json"
mkdir -p "$(dirname "$output")"
"$mcpb" pack "$folder" "$output"
# MCPB notes the time of the packing.
[ -z "${SOURCE_DATE_EPOCH-}" ] || python3 - "$output" <<'PYTHON'
import io, os, sys, time, zipfile

packed = zipfile.ZipFile(io.BytesIO(open(sys.argv[1], "rb").read()))
moment = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED, compresslevel=9) as bundle:
    for member in packed.infolist():
        text = packed.read(member)
        member.date_time = moment
        bundle.writestr(member, text)
PYTHON

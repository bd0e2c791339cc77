#!/usr/bin/env bash
# Two devices through S3, WebDAV, a stick and Syncthing, with real servers. Installs what it needs.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHONDONTWRITEBYTECODE=1

missing=()
for program in rclone syncthing openssl; do
  command -v "$program" >/dev/null || missing+=("$program")
done
if [ "${#missing[@]}" -gt 0 ]; then
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
tools=${CARGO_TARGET_DIR:-target}/sync-venv
if ! cmp -s tests/sync/requirements.txt "$tools/installed"; then
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" --quiet --disable-pip-version-check install --requirement tests/sync/requirements.txt
  cp tests/sync/requirements.txt "$tools/installed"
fi

built=(--quiet --locked --package inmost-cli --package inmost-sync --features inmost-cli/s3,inmost-cli/webdav)
cargo test "${built[@]}" --lib place::
cargo build "${built[@]}"
inmost=${CARGO_TARGET_DIR:-target}/debug/inmost
"$tools/bin/python" tests/sync/places.py "$inmost"
"$tools/bin/python" tests/sync/syncthing.py "$inmost"

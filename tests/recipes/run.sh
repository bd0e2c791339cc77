#!/usr/bin/env bash
# Runs the recipes that docs/RECIPES.md marks as tested, exactly as written, on temporary keyrings. `.ci/run recipes`
# installs the programs that they need.
set -euo pipefail
cd "$(dirname "$0")/../.."

passphrase='correct horse battery staple'
recipes=$PWD/docs/RECIPES.md

# Prints the lines of a recipe.
recipe() {
    awk -v mark="<!-- recipe: $1 -->" '
        $0 == mark { found = 1 }
        found && /^```$/ { exit }
        shown { print }
        found && /^```sh$/ { shown = 1 }' "$recipes"
}

# Runs a recipe, types the passphrase, and then checks that the store opens with that passphrase.
try() {
    local name=$1 typed=$2 lines
    lines=$(recipe "$name")
    grep -q 'inmost init' <<<"$lines" || { echo "no recipe $name in $recipes" >&2; exit 1; }
    printf '%s' "$typed" | bash -euo pipefail -c "$lines"
    [ "$(INMOST_PASSPHRASE=$passphrase inmost stats --store notes.inmost | head -n 1)" = 'files       0' ]
    rm -r notes.inmost
    echo "recipe $name: ok"
}

secret_tool() {
    printf 'the keyring itself' | gnome-keyring-daemon --unlock --components=secrets >/dev/null
    try secret-tool "$passphrase"
    # A removed passphrase must not open the store.
    secret-tool clear inmost notes
    ! secret-tool lookup inmost notes
}

pass_of_gpg() {
    gpg --batch --quiet --passphrase '' --quick-generate-key recipe@example.org default default never
    pass init recipe@example.org >/dev/null
    try pass "$passphrase"$'\n'"$passphrase"$'\n'
    gpgconf --kill all
}

require() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || { echo "$program is not installed; .ci/run recipes installs it" >&2; exit 1; }
    done
}

if [ "${1-}" = inside ]; then
    cd "$HOME"
    "$2"
    exit
fi

cargo test --quiet --no-run --test program
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
script=$PWD/tests/recipes/run.sh
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
unset INMOST_PASSPHRASE INMOST_STORE INMOST_ANCHOR DBUS_SESSION_BUS_ADDRESS
mkdir -m 700 "$home/run" "$home/gnupg"
export HOME=$home XDG_DATA_HOME=$home/data XDG_CONFIG_HOME=$home/config XDG_CACHE_HOME=$home/cache
export XDG_RUNTIME_DIR=$home/run GNUPGHOME=$home/gnupg PASSWORD_STORE_DIR=$home/pass PATH=$target/debug:$PATH

require secret-tool gnome-keyring-daemon dbus-run-session
dbus-run-session -- "$script" inside secret_tool
require pass gpg
"$script" inside pass_of_gpg

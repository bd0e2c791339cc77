#!/bin/sh
# Installs the program inmost for this user, with its manual pages and completions.
#
#   sh install.sh [--from URL] [--to FOLDER]
#
# URL is the folder of the release's files, FOLDER gets bin/ and share/ and is ~/.local by default. The archive must have the
# SHA-256 that stands here, so only this script has to come from where you trust.
set -eu

version='@VERSION@'
from='@URL@'
to=${HOME:+$HOME/.local}

fail() {
    echo "inmost was not installed: $1" >&2
    exit 1
}

# All of it is a function, so that a script that was cut in the download does nothing.
main() {
    while [ $# -gt 0 ]; do
        case $1 in
            --from) from=${2:?--from needs a URL} && shift 2 ;;
            --to) to=${2:?--to needs a folder} && shift 2 ;;
            *) fail "$1 is no option; the options are --from URL and --to FOLDER" ;;
        esac
    done
    [ -n "$from" ] || fail 'this copy of the script does not know where the files are; pass --from URL'
    [ -n "$to" ] || fail 'HOME is not set; pass --to FOLDER'
    [ "$(uname -s)" = Linux ] || fail "there is no program for $(uname -s) yet; build it with: cargo install --locked --path cli"
    case $(uname -m) in
        x86_64 | amd64) arch=x86_64 sum='@X86_64@' ;;
        aarch64 | arm64) arch=aarch64 sum='@AARCH64@' ;;
        *) fail "there is no program for $(uname -m); build it with: cargo install --locked --path cli" ;;
    esac
    name=inmost-$version-$arch-linux
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 1' HUP INT TERM
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$folder/$name.tar.gz" "$from/$name.tar.gz" || fail "$from/$name.tar.gz cannot be read"
    elif command -v wget >/dev/null; then
        wget -q -O "$folder/$name.tar.gz" "$from/$name.tar.gz" || fail "$from/$name.tar.gz cannot be read"
    else
        fail 'there is neither curl nor wget'
    fi
    command -v sha256sum >/dev/null || fail 'there is no sha256sum'
    echo "$sum  $folder/$name.tar.gz" | sha256sum -c - >/dev/null 2>&1 ||
        fail "$name.tar.gz is not the file that belongs to this script; its SHA-256 must be $sum"
    tar -xzf "$folder/$name.tar.gz" -C "$folder"
    mkdir -p "$to/bin" "$to/share/man/man1" "$to/share/bash-completion/completions" "$to/share/zsh/site-functions" \
        "$to/share/fish/vendor_completions.d"
    # Renamed, because a program that runs cannot be overwritten.
    cp "$folder/$name/inmost" "$to/bin/inmost.new"
    mv -f "$to/bin/inmost.new" "$to/bin/inmost"
    cp "$folder/$name/man/"*.1 "$to/share/man/man1/"
    cp "$folder/$name/completions/bash" "$to/share/bash-completion/completions/inmost"
    cp "$folder/$name/completions/zsh" "$to/share/zsh/site-functions/_inmost"
    cp "$folder/$name/completions/fish" "$to/share/fish/vendor_completions.d/inmost.fish"
    echo "Installed $("$to/bin/inmost" --version) as $to/bin/inmost"
    case :$PATH: in
        *":$to/bin:"*) ;;
        *) echo "Add $to/bin to your PATH." ;;
    esac
    if command -v zsh >/dev/null && ! zsh -c 'print -l $fpath' | grep -qxF "$to/share/zsh/site-functions"; then
        echo "For completions in zsh, put this before compinit in your .zshrc, if it is not there: fpath+=($to/share/zsh/site-functions)"
    fi
}

main "$@"

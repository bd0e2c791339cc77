# Brings a Rust compiler with the source of its standard library, and on demand the tools that link and run Windows
# programs. Sourced by check.sh and wine.sh.
#
# A distribution's compiler has the standard library of one system only. Debian 12 also has a newer Rust, whose source
# package contains the parts for Windows and macOS, so that cargo can build the library itself (-Zbuild-std). Its packages
# conflict with rustup's, so they are unpacked into a folder below the target directory. Nothing is installed.

platforms=${CARGO_TARGET_DIR:-$PWD/target}/platforms
tools=$platforms/root

compiler_packages=(
    rustc-web cargo-web rust-web-clippy rust-web-src libstd-rust-web-1.96 libstd-rust-web-dev libllvm22
    # What cargo links that a small system may lack.
    libgit2-1.5 libhttp-parser2.9 libmbedcrypto7 libmbedtls14 libmbedx509-1 libssh2-1 libcurl4 libedit2 libxml2 libz3-4
    # dlltool, with which the compiler describes the libraries of Windows.
    binutils-mingw-w64-x86-64
)

# Downloads packages and unpacks them, once. Fails if one of them does not exist.
unpack() {
    local what=$1 debs=$platforms/debs-$1
    shift
    [ -e "$tools/.$what" ] && return
    command -v dpkg >/dev/null && command -v apt-get >/dev/null || {
        echo "$0 needs apt-get and dpkg: it unpacks packages of Debian 12" >&2
        return 1
    }
    rm -rf "$debs"
    mkdir -p "$debs" "$tools"
    if ! (cd "$debs" && apt-get download -qq "$@" 2>"$debs/errors"); then
        # The lists of packages may be missing or old.
        as_root apt-get update -qq
        (cd "$debs" && apt-get download -qq "$@" 2>"$debs/errors") || { cat "$debs/errors" >&2; return 1; }
    fi
    local deb
    for deb in "$debs"/*.deb; do
        dpkg -x "$deb" "$tools"
    done
    rm -r "$debs"
    touch "$tools/.$what"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Puts the unpacked compiler first, with a target directory of its own.
use_compiler() {
    unpack compiler "${compiler_packages[@]}"
    export PATH=$tools/usr/bin:$PATH
    export LD_LIBRARY_PATH=$tools/usr/lib/x86_64-linux-gnu:$tools/usr/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export RUSTC=$tools/usr/bin/rustc RUSTDOC=$tools/usr/bin/rustdoc CARGO=$tools/usr/bin/cargo
    # -Zbuild-std is an unstable option.
    export RUSTC_BOOTSTRAP=1
    export CARGO_TARGET_DIR=$platforms/target
    export CARGO_INCREMENTAL=0
    unset RUSTUP_TOOLCHAIN RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
    local program
    for program in cargo rustc clippy-driver; do
        if ldd "$tools/usr/bin/$program" | grep 'not found'; then
            echo "$program lacks these libraries" >&2
            return 1
        fi
    done
    rustc --version
}

wine_packages=(
    gcc-mingw-w64-base gcc-mingw-w64-x86-64-win32 gcc-mingw-w64-x86-64-win32-runtime mingw-w64-common mingw-w64-x86-64-dev
    libz-mingw-w64 wine64 libwine
)

# Makes cargo link for Windows, and run what it linked with wine.
use_wine() {
    use_compiler
    unpack wine "${wine_packages[@]}"
    local compiler=x86_64-w64-mingw32-gcc-win32
    local rust=$tools/usr/lib/rustlib wine=$tools/usr/lib/wine
    # The distribution's script knows the installed place only.
    ln -sf wineserver64 "$wine/wineserver"

    # The first and the last object of a program, which belong to the standard library of this target.
    local part libraries=$rust/x86_64-pc-windows-gnu/lib
    mkdir -p "$libraries"
    for part in rsbegin rsend; do
        "$RUSTC" --target x86_64-pc-windows-gnu --emit obj -C panic=abort -o "$libraries/$part.o" \
            "$rust/src/rust/library/rtstartup/$part.rs"
    done

    export WINEPREFIX=$platforms/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml=;winemenubuilder.exe='
    local system=$WINEPREFIX/drive_c/windows/system32
    if [ ! -e "$system/bcryptprimitives.dll" ]; then
        mkdir -p "$system"
        cp "$tools/usr/x86_64-w64-mingw32/lib/zlib1.dll" "$system"
        # wine 8 lacks the library with the one function that Rust draws randomness from.
        cat >"$platforms/bcryptprimitives.c" <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length)
{
    return SystemFunction036(data, (ULONG)length);
}
C
        "$compiler" -shared -o "$system/bcryptprimitives.dll" "$platforms/bcryptprimitives.c" -ladvapi32
    fi
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=$compiler
    export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine/wine64
    export CC_x86_64_pc_windows_gnu=$compiler AR_x86_64_pc_windows_gnu=x86_64-w64-mingw32-ar
    [ "$("$wine/wine64" cmd /c 'echo works' 2>/dev/null | tr -d '\r')" = works ] || {
        echo "wine does not run a program" >&2
        return 1
    }
}

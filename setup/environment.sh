#!/bin/sh
# Creates the project's environment: .venv with uv, hopmeter (editable) and its development tools, in the versions of
# setup/python.lock. The hashes of all packages are checked.
# Usage: setup/environment.sh [EXTRAS], where EXTRAS are extras of pyproject.toml, such as `dev,docs`.
set -eu
cd "$(dirname "$0")/.."
venv=.venv
lock=setup/python.lock

say() { printf '%s\n' "setup: $*"; }
fail() { printf '%s\n' "setup: $*" >&2; exit 1; }

# A pyenv shim answers `command -v` even if its version is not installed, so each candidate has to run.
find_python() {
    for candidate in ${PYTHON:-python3.11 python3 python3.12 python3.13}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    fail "no Python 3.11 or newer runs here: install one (apt-get install python3 python3-venv) or name it, make PYTHON=…"
}

# Debian packages venv separately; the package is named after the version.
need_ensurepip() {
    "$1" -c 'import ensurepip' 2>/dev/null && return
    package="python$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
    say "installing $package"
    install="apt-get install -y -qq $package || { apt-get update -qq && apt-get install -y -qq $package; }"
    if [ "$(id -u)" -eq 0 ]; then sh -c "$install"; else sudo -n sh -c "$install"; fi >/dev/null 2>&1 ||
        fail "$1 cannot make environments: sudo apt-get install $package"
}

make_environment() {
    python=$(find_python)
    say "making $venv with $python"
    if command -v uv >/dev/null 2>&1; then
        uv venv --quiet --python "$python" "$venv"
    else
        need_ensurepip "$python"
        "$python" -m venv "$venv"
        install_uv
    fi
}

# pip does not accept constraints with hashes, so it gets only the lines for uv.
install_uv() {
    only_uv=$(mktemp)
    sed -n '/^uv==/,/[^\\]$/p' "$lock" >"$only_uv"
    "$venv/bin/python" -m pip install --quiet --requirement "$only_uv"
    rm -f "$only_uv"
}

find_uv() {
    if [ -x "$venv/bin/uv" ]; then echo "$venv/bin/uv"; else command -v uv; fi
}

"$venv/bin/python" -c '' 2>/dev/null || { rm -rf "$venv"; make_environment; }
uv=$(find_uv) || { "$venv/bin/python" -m ensurepip -q && install_uv; uv="$venv/bin/uv"; }
command -v cargo >/dev/null 2>&1 || fail "no Rust here (cargo): install it with rustup, then run make again"
say "installing hopmeter and its dependencies into $venv (the first time: 1 to 3 minutes)"
"$uv" pip install --quiet --python "$venv/bin/python" --constraint "$lock" --build-constraint "$lock" \
    --editable ".${1:+[$1]}"

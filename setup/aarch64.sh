#!/usr/bin/env bash
# Cross-compiles everything that needs no system library for aarch64, and runs under emulation: the tests of the instrument
# and of hopmeter's own transports, their conformance tests, and a few cells.
# Usage: setup/aarch64.sh [own] [cpp] [conformance] [cells] [others]; without arguments, all in this order.
# An emulator shows that the results are correct, but not how fast they are. It also orders memory accesses more strictly
# than an aarch64 processor does.
set -euo pipefail
cd "$(dirname "$0")/.."

target=aarch64-unknown-linux-gnu
emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
transports=(memory shm unix tcp synthetic)
release=${CARGO_TARGET_DIR:-$PWD/target}/$target/release
build=$PWD/build/aarch64

export CARGO_BUILD_TARGET=$target
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="${emulator[*]}"
# Used by tests that start programs themselves.
export HOPMETER_EMULATOR="${emulator[*]}"

say() { printf '%s\n' "aarch64: $*"; }

# The instrument for its three languages, and hopmeter's own transports.
own() {
    local folder
    cargo build --release --manifest-path instrument/c/Cargo.toml
    for folder in instrument instrument/c transports/_streams/rust "${transports[@]/#/transports/}"; do
        [ -e "$folder/Cargo.toml" ] || folder=$folder/rust
        cargo build --release --manifest-path "$folder/Cargo.toml"
        cargo test --release --manifest-path "$folder/Cargo.toml"
    done
    # Uses Python's stable ABI, so that no aarch64 Python is needed; the module is built but not run.
    env -u PYO3_PYTHON PYO3_CROSS_PYTHON_VERSION=3.11 PYO3_BUILD_EXTENSION_MODULE=1 \
        cargo build --release --manifest-path instrument/python/Cargo.toml
}

# CMake does not search for aarch64 libraries, even if they are installed, so adapters that need one are skipped.
cpp() {
    local nodes
    cmake -S . -B "$build/cpp" -DCMAKE_TOOLCHAIN_FILE="$PWD/setup/aarch64.cmake" -DCMAKE_BUILD_TYPE=Release \
        -DHOPMETER_LIBRARY="$release/libhopmeter.a" -Wno-dev >"$build/cpp.log" || { cat "$build/cpp.log"; exit 1; }
    mapfile -t nodes < <(cmake --build "$build/cpp" --target help | grep -oE 'hopmeter-node-[a-z0-9-]+-cpp' | sort -u)
    cmake --build "$build/cpp" --parallel --target all "${nodes[@]}"
    ctest --test-dir "$build/cpp" --output-on-failure --no-tests=error
}

# Both ends of each pair run on aarch64.
conformance() {
    local more
    put_nodes
    read -ra more <<<"${PYTEST:-}"
    python setup/emulated.py pytest conformance -p no:cacheprovider -k "not python and ($(joined ' or '))" "${more[@]}"
}

# Complete measurements; their latencies are those of the emulator.
cells() {
    put_nodes
    rm -rf "$build/results"
    python setup/emulated.py hopmeter run quick --transport "$(joined ,)" --language rust,c++ \
        --pattern pubsub,rpc --relays 1 --wait block,callback --payload bytes:100000 --rate 100 \
        --messages 50 --warmup 5 --trials 1 --out "$build/results"
}

# The nodes are in the node folder. The emulator runs each node in the emulator's own process.
put_nodes() {
    local node
    rm -rf "$build/nodes" && mkdir -p "$build/nodes"
    while read -r node; do
        printf '#!/bin/sh\nexec %s %q "$@"\n' "${emulator[*]}" "$node" >"$build/nodes/${node##*/}"
        chmod +x "$build/nodes/${node##*/}"
    done < <(built)
}

built() {
    find "$release" -maxdepth 1 -type f -name 'hopmeter-node-*-rust'
    find "$build/cpp/" -type f -name 'hopmeter-node-*-cpp'
}

# Prints the transports, separated by its argument.
joined() { printf '%s' "${transports[0]}" && printf "$1%s" "${transports[@]:1}"; }

# One crate at a time: together, Cargo would give shared dependencies the features of all. Crates that link a library of
# the system are left out, as in C++.
others() {
    local manifest
    for manifest in transports/[a-z0-9]*/rust/Cargo.toml; do
        ! sed -n '/^\[languages.rust\]/,/^$/p' "${manifest%rust/*}transport.toml" | grep -qe '-dev"' || continue
        cargo build --release --manifest-path "$manifest"
    done
}

[ "$(uname -m)" != aarch64 ] || { say "this machine is one: make test tests it"; exit 0; }
mkdir -p "$build"
rustup --quiet target add $target
[ $# -gt 0 ] || set -- own cpp conformance cells others
for stage; do
    say "$stage"
    "$stage"
done

#!/usr/bin/env bash
# Shows which lines the fast tests reach: in hopmeter/ by the Python tests that start no nodes, in instrument/ by its own
# tests. Code that runs only in nodes or other processes counts as not reached.
# Usage: setup/coverage.sh [python] [rust]; without arguments, both. Rust needs the toolchain's component llvm-tools.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$PWD/build/coverage
tests=(tests/analysis tests/build tests/codecs tests/images tests/manifest tests/model tests/plan tests/scenario tests/store)

python() {
    COVERAGE_FILE=$out/python.data pytest -q -r fE -m "not nightly and not alone" "${tests[@]}" --cov=hopmeter --cov-branch \
        --cov-report="html:$out/python" --cov-report=term:skip-covered
}

rust() {
    local tools target=$out/target programs
    tools=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin
    [ -x "$tools/llvm-cov" ] || { echo "coverage: no llvm-cov here: rustup component add llvm-tools" >&2; exit 1; }
    rm -rf "$out/profiles"
    export RUSTFLAGS="-C instrument-coverage" CARGO_TARGET_DIR=$target
    # Build scripts and macros are instrumented too, but their data is not needed.
    export LLVM_PROFILE_FILE=$out/profiles/%p-%m.profraw
    cargo test --package hopmeter-instrument --no-run --quiet
    rm -rf "$out/profiles"
    cargo test --package hopmeter-instrument --quiet
    "$tools/llvm-profdata" merge --sparse "$out"/profiles/*.profraw --output "$out/rust.profdata"
    mapfile -t programs < <(cargo test --package hopmeter-instrument --no-run --message-format json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
    "$tools/llvm-cov" report "${programs[@]/#/--object=}" --instr-profile "$out/rust.profdata" \
        --ignore-filename-regex '/(\.cargo|rustc|tests)/'
    "$tools/llvm-cov" show "${programs[@]/#/--object=}" --instr-profile "$out/rust.profdata" --format html \
        --output-dir "$out/rust" --ignore-filename-regex '/(\.cargo|rustc|tests)/'
}

mkdir -p "$out"
[ $# -gt 0 ] || set -- python rust
for part in "$@"; do "$part"; done
echo "coverage: $out/python/index.html, $out/rust/index.html"

#!/bin/sh
# Prints the section of CHANGELOG.md that a release publishes. Fails if the tag is not the version of Cargo.toml, or if
# the changelog has no section for it.
# Usage: setup/release-notes.sh vVERSION
set -eu
cd "$(dirname "$0")/.."
version=${1#v}

declared=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
[ "$version" = "$declared" ] || { echo "the tag says $version, Cargo.toml says $declared" >&2; exit 1; }
notes=$(awk -v head="## [$version]" 'index($0, "## [") == 1 { inside = index($0, head) == 1; next } inside' CHANGELOG.md)
[ -n "$notes" ] || { echo "CHANGELOG.md has no section \"## [$version]\"" >&2; exit 1; }
printf '%s\n' "$notes"

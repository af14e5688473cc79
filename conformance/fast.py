"""The adapters that `make test` builds. `python -m conformance.fast` stores them, so that `make test-rest` omits
exactly what `make test` has run; for a transport with several languages, `quick` uses the languages that are built."""

from __future__ import annotations

from hopmeter.build.needs import needed_for
from hopmeter.system import paths

SCENARIOS = ("quick", "tests/fast.toml")
NOTE = paths.PACKAGE.parent / "build" / "fast-adapters.txt"


def fast_adapters() -> frozenset[tuple[str, str]]:
    """Return the transports and languages that `make test` built, or that it would build now."""
    return _read() if NOTE.exists() else _find()


def _find() -> frozenset[tuple[str, str]]:
    return frozenset((each.transport, each.language) for name in SCENARIOS for each in needed_for(name))


def _read() -> frozenset[tuple[str, str]]:
    lines = (line.split() for line in NOTE.read_text().splitlines())
    return frozenset((transport, language) for transport, language in lines)


if __name__ == "__main__":
    NOTE.write_text("".join(f"{transport} {language}\n" for transport, language in sorted(_find())))

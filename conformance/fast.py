"""The adapters that `make test` covers, which tests/fast.toml lists.

`python -m conformance.fast` stores the list, so that `make test-rest` omits exactly the same adapters.
"""

from __future__ import annotations

from hopmeter.build.needs import needed_for
from hopmeter.system import paths

SCENARIO = str(paths.PACKAGE.parent / "tests" / "fast.toml")
NOTE = paths.PACKAGE.parent / "build" / "fast-adapters.txt"


def fast_adapters() -> frozenset[tuple[str, str]]:
    """Return the stored adapters, or those that `make test` would cover now if none are stored."""
    return _read() if NOTE.exists() else _find()


def _find() -> frozenset[tuple[str, str]]:
    return frozenset((each.transport, each.language) for each in needed_for(SCENARIO))


def _read() -> frozenset[tuple[str, str]]:
    lines = (line.split() for line in NOTE.read_text().splitlines())
    return frozenset((transport, language) for transport, language in lines)


if __name__ == "__main__":
    NOTE.write_text("".join(f"{transport} {language}\n" for transport, language in sorted(_find())))

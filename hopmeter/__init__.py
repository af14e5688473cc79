"""hopmeter settles, on your own machine, what it costs to move a message from one program to another."""

from __future__ import annotations

__version__: str


def __getattr__(name: str) -> str:
    """`__version__`, looked up when asked for: finding it takes longer than everything else that a node imports."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hopmeter")
    except PackageNotFoundError:  # run from a bare checkout that was never installed
        return "0+unknown"

"""hopmeter measures, on your own machine, what it costs to send a message from one program to another."""

from __future__ import annotations

TYPE_CHECKING = False  # true for type checkers; importing `typing` would cost more than this whole module
if TYPE_CHECKING:
    from hopmeter.client import connect as connect

__version__: str


def __getattr__(name: str) -> object:
    """Return `__version__` or `connect` on first use: finding them takes longer than all other imports of a node."""
    if name == "connect":
        from hopmeter.client import connect as found

        return found
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hopmeter")
    except PackageNotFoundError:  # run from a bare checkout that was never installed
        return "0+unknown"

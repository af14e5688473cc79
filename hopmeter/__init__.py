"""hopmeter measures, on your own machine, what it costs to send a message from one program to another."""

from __future__ import annotations

TYPE_CHECKING = False  # true for type checkers; importing `typing` would be slower than this module
if TYPE_CHECKING:
    from hopmeter.api.advising import Advice as Advice
    from hopmeter.api.advising import advise as advise
    from hopmeter.api.comparing import Comparison as Comparison
    from hopmeter.api.comparing import baseline as baseline
    from hopmeter.api.comparing import baselines as baselines
    from hopmeter.api.comparing import compare as compare
    from hopmeter.api.histories import history as history
    from hopmeter.api.runs import Run as Run
    from hopmeter.api.runs import open_run as open_run
    from hopmeter.api.start import run as run
    from hopmeter.client import connect as connect

__version__: str
HOMES = {
    "Advice": "hopmeter.api.advising",
    "advise": "hopmeter.api.advising",
    "Comparison": "hopmeter.api.comparing",
    "Run": "hopmeter.api.runs",
    "baseline": "hopmeter.api.comparing",
    "baselines": "hopmeter.api.comparing",
    "compare": "hopmeter.api.comparing",
    "connect": "hopmeter.client",
    "history": "hopmeter.api.histories",
    "open_run": "hopmeter.api.runs",
    "run": "hopmeter.api.start",
}
"""Maps each public name of the package to the module that defines it."""


def __dir__() -> list[str]:
    """Return the public names of the package."""
    return [*HOMES, "__version__"]


def __getattr__(name: str) -> object:
    """Import a public name of the package, or look up `__version__`, only when it is first used, so that a node starts
    sooner."""
    if name in HOMES:
        from importlib import import_module

        return getattr(import_module(HOMES[name]), name)
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hopmeter")
    except PackageNotFoundError:  # hopmeter runs from a checkout and was never installed
        return "0+unknown"

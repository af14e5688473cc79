"""The report: what was asked, what came out, and how far it may be believed, in one HTML file.

For notebooks and scripts: `boxes` draws what runs measured, `messages` and `write_csv` give every message as a row.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopmeter.report.notebook import boxes, messages, write_csv
    from hopmeter.report.writing import write

__all__ = ["boxes", "messages", "write", "write_csv"]


def __getattr__(name: str) -> Any:
    """Loads what draws (seconds of work) only for whoever asks for it: a table needs the words beside it alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'writing' if name == 'write' else 'notebook'}"), name)

"""The report on runs: a single HTML file that states the question, the answer and the answer's reliability.

For notebooks and scripts, `boxes` draws box plots of runs, `messages` returns each message as a row, and `write_csv`
writes these rows.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopmeter.report.notebook import boxes, messages, write_csv
    from hopmeter.report.report_file import write

__all__ = ["boxes", "messages", "write", "write_csv"]


def __getattr__(name: str) -> Any:
    """Return an exported function, importing the function's module on first use because the drawing libraries take
    seconds to load."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'report_file' if name == 'write' else 'notebook'}"), name)

"""Writes to the terminal. Other modules must not write to the terminal directly.

Control sequences in text from files, peers and logs are escaped for display.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from typing import Any

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
"""Control characters.

Control characters can begin escape sequences that set colours, move the cursor, overwrite lines or rename the window.
"""
BIDIRECTIONAL = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""Characters that change the display order of a text."""
VISIBLE = {
    **{code: f"\\x{code:02x}" for code in CONTROLS if chr(code) not in "\n\t"},
    **{code: f"\\u{code:04x}" for code in BIDIRECTIONAL},
}


class Console(rich.console.Console):  # noqa: TID251 (this class wraps it)
    """A Rich console that escapes control characters, and interprets markup only if `markup` is set."""

    def __init__(self, *, markup: bool = False, **options: Any) -> None:
        super().__init__(markup=markup, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Convert a string to text with control characters escaped, so that tables measure the width of the escaped
        text."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render an object after escaping control characters in its text.

        Rich's own control codes, such as those of a progress bar, are not escaped.
        """
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def visible(text: str) -> str:
    """Return a text after replacing control characters with escapes such as \x1b."""
    return text.translate(VISIBLE)


def replace_what_cannot_be_encoded() -> None:
    """Make stdout and stderr print `?` for characters that their encoding does not support, so that printing never
    fails.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")

"""The one way to a terminal: text from scenario files, run folders, peers and logs cannot steer it."""

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
"""They begin the escape sequences by which a text could colour, move, overwrite or rename."""
BIDIRECTIONAL = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""They show a text in another order than it has."""
VISIBLE = {
    **{code: f"\\x{code:02x}" for code in CONTROLS if chr(code) not in "\n\t"},
    **{code: f"\\u{code:04x}" for code in BIDIRECTIONAL},
}


class Console(rich.console.Console):  # noqa: TID251 (here it is wrapped)
    """Shows control characters of any text as escapes, and takes no text for markup unless `markup` is set."""

    def __init__(self, *, markup: bool = False, **options: Any) -> None:
        super().__init__(markup=markup, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """A string as a text; a table measures its cells so, and makes room for the escapes."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What a renderable becomes; Rich's own controls, such as those of a progress bar, pass."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def visible(text: str) -> str:
    """The text with its control characters as escapes such as \\x1b."""
    return text.translate(VISIBLE)


def replace_what_cannot_be_encoded() -> None:
    """A terminal or a pipe that is not UTF-8 gets `?` for letters that it lacks: results must not be lost to them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")

"""Defines the codes that end hopmeter's messages. docs/messages.md is generated from `messages.toml`, which defines all
codes.

`python -m hopmeter.messages > docs/messages.md` writes the document, and a test checks that the document is up to date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

TABLE = Path(__file__).with_suffix(".toml")
CODE = re.compile(r" \[([DEFW]-[A-Z0-9]+(?:-[A-Z0-9]+)*)\]$")
HEADER = """# Messages

hopmeter's errors, warnings and reasons end with a code in brackets, such as `[E-RUN-EXISTS]`. The meaning of a code
never changes, but the sentence before it may. With `--json` the code has its own key. The first letter of a code is its
kind: `E` for an error, `W` for a warning about figures, `D` for a reason to drop a cell, `F` for a finding of
`hopmeter doctor`.

`python -m hopmeter.messages > docs/messages.md` writes this document from `hopmeter/messages.toml`.
"""
TRACEBACK = ": Traceback (most recent call last)"
"""The text that begins a traceback in a failure reason. Tables omit tracebacks; the trial's log and `trials.parquet`
contain them."""


def tag(code: str, text: str) -> str:
    """Append a code to a message."""
    return f"{text} [{code}]"


def split_code(text: str) -> tuple[str, str | None]:
    """Split a message into its text and its code. The code is None if the message has no code, as in runs of earlier
    versions."""
    found = CODE.search(text)
    return (text[: found.start()], found[1]) if found else (text, None)


def without_traceback(message: str) -> str:
    """Return a message with its code but without its traceback."""
    text, code = split_code(message)
    short = text.partition(TRACEBACK)[0]
    return tag(code, short) if code else short


def with_remedy(message: str, remedy: str) -> str:
    """Insert a remedy between the text and the code of a message."""
    text, code = split_code(message)
    whole = f"{text} ({remedy})" if remedy else text
    return tag(code, whole) if code else whole


def join_messages(messages: Iterable[str]) -> str:
    """Join several messages into one message, which ends with the code of the first message."""
    parts = [split_code(message) for message in messages]
    text, code = "; ".join(text for text, _ in parts), parts[0][1] if parts else None
    return tag(code, text) if code else text


def codes(messages: Iterable[str]) -> list[str]:
    """Return the codes that end the given messages, each code once."""
    return list(dict.fromkeys(code for _, code in map(split_code, messages) if code))


def table() -> dict[str, dict[str, list[str]]]:
    """Return the meaning and the remedy of each code, grouped by section."""
    import tomllib  # novm: nodes on Python 3.10 do not call this function

    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def document() -> str:
    """Return the content of docs/messages.md."""
    sections = (_section(title, codes) for title, codes in table().items())
    return "\n".join([HEADER, *sections])


def _section(title: str, codes: dict[str, list[str]]) -> str:
    rows = (f"| <a id='{code.lower()}'></a>`{code}` | {means} | {do} |" for code, (means, do) in codes.items())
    return "\n".join([f"## {title}\n", "| code | meaning | what to do |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    print(document(), end="")

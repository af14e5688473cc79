"""Generate the column types for mypy. `python -m hopmeter.model.column_types_file` writes column_types.py."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from pathlib import Path

from hopmeter.model.columns import CELLS, TABLE

FILE = Path(__file__).with_name("column_types.py")
PYTHON = {
    "text": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "[text]": "list[str]",
    "[float]": "list[float | None]",
    "[int]": "list[int | None]",
}
"""The Python type of each type in columns.toml."""
NAMES = {"str": "Text", "int": "Whole", "float": "Real", "bool": "Flag", "list[str]": "Texts"}
NAMES |= {"list[float | None]": "Reals", "list[int | None]": "Wholes"}
"""The names of the groups of columns, by Python type."""
ALWAYS = ("cell", "status")
"""The columns that have a value in every row, in addition to the planned columns."""
HEAD = '''"""The columns of a row by the types of their values, from columns.toml.

`python -m hopmeter.model.column_types_file` writes this file.
"""

# fmt: off
from __future__ import annotations

from typing import Any, Literal, overload
'''
ALIAS = """
{name} = Literal[
{names}
]"""
CLASS = '''


class TypedColumns:
    """An object whose columns have the types of columns.toml; mypy refuses a name that is no column."""

    def get(self, column: str) -> Any:
        """Return the value of a column by a computed name; None if there is no such column."""
        raise NotImplementedError

    def number(self, column: {numbers}) -> float:
        """Return a number that cannot be missing, because the caller has chosen rows that have this number."""
        return float(self.get(column))
'''
OVERLOAD = """
    @overload
    def __getitem__(self, column: {name}) -> {type}: ...
"""
END = '''
    def __getitem__(self, column: str) -> Any:
        """Return the value of a column."""
        return self.get(column)
'''


def write() -> str:
    """Return the text of column_types.py."""
    found = [(_alias(kind, names), kind, names) for kind, names in sorted(_names_by_type().items())]
    aliases = "".join(ALIAS.format(name=alias, names=_wrap(names)) for alias, _, names in found)
    numbers = " | ".join(alias for alias, kind, _ in found if kind.startswith(("float", "int")))
    overloads = "".join(OVERLOAD.format(name=alias, type=kind) for alias, kind, _ in found)
    return HEAD + aliases + CLASS.format(numbers=numbers) + overloads + END


def _alias(kind: str, names: list[str]) -> str:
    """Return the type alias for the columns of one type, such as `RealOrNone`. If the type is an enumeration, the alias
    is named after the first column that has the type."""
    base = kind.removesuffix(" | None")
    return NAMES.get(base, names[0].capitalize()) + ("" if base == kind else "OrNone")


def _names_by_type() -> dict[str, list[str]]:
    """Return the names of the columns, grouped by the type of their values. Planned columns have a value in every row,
    even in rows of cells that were not measured."""
    never_null = {
        *ALWAYS,
        *(name for each in TABLE["configuration"] if each.planned and not each.null_when for name in each),
    }
    words = {
        name: each.values.split() for columns in TABLE.values() for each in columns for name in each if each.values
    }
    found = defaultdict(list)
    for name, kind in CELLS.items():
        own = f"Literal[{', '.join(map(_quote, words[name]))}]" if name in words else PYTHON[kind]
        found[own + ("" if name in never_null else " | None")].append(name)
    return found


def _quote(word: str) -> str:
    return f'"{word}"'


def _wrap(names: list[str]) -> str:
    text = ", ".join(map(_quote, names))
    return textwrap.indent("\n".join(textwrap.wrap(text, 114, break_on_hyphens=False)), " " * 4)


if __name__ == "__main__":
    FILE.write_text(write(), encoding="utf-8")

"""The parts of a page: sections of text, tables and figures. `report_file` renders them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hopmeter.report.tables.model import Table

if TYPE_CHECKING:  # pages without figures, and the terminal, do without the time that it takes
    from hopmeter.report.drawing.charts import Figure


@dataclass(frozen=True)
class Note:
    """A thing to know; `grave` if values are wrong or missing, not only less certain."""

    text: str
    title: str = ""
    grave: bool = False


Fold = Literal["", "open", "closed"]


@dataclass(frozen=True)
class Section:
    """A title, the question that the section answers, and the answer as sentences, tables, figures and notes."""

    title: str
    question: str = ""
    sentences: Sequence[str] = ()
    chips: Sequence[str] = ()
    """Conditions, a word or two each."""
    tables: Sequence[Table] = ()
    parts: Sequence[Section] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[Note] = ()
    terms: Sequence[tuple[str, str]] = ()
    """Words and what they mean, or facts and their values."""
    commands: Sequence[str] = ()
    id: str = ""
    style: str = ""
    fold: Fold = ""
    """Whether a reader can fold it, and how it is at first."""


@dataclass(frozen=True)
class Page:
    """A whole page; `answer` is the question's answer in sentences, most important first."""

    title: str
    question: str
    answer: Sequence[str]
    facts: Sequence[str]
    """Scenario, time, size and seed, above the question."""
    sections: Sequence[Section]
    badge: str = ""

    @property
    def links(self) -> list[Section]:
        """The sections that a reader picks from, if there are several."""
        found = [section for section in self.sections if section.style == "group"]
        return found if len(found) > 1 else []

    @property
    def warnings(self) -> int:
        """How many things to know the section with the id `warnings` has."""
        return sum(len(section.notes) for section in self.sections if section.id == "warnings")

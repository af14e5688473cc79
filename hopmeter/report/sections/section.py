"""Building blocks of a page: sections with text, tables and figures. `report_file` renders the sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hopmeter.report.tables.model import Table

if TYPE_CHECKING:  # slow to import, and not needed for the terminal or for pages without figures
    from hopmeter.report.drawing.charts import Figure


@dataclass(frozen=True)
class Note:
    """A warning for the reader. A `grave` note means that some values are wrong or missing; other notes mean that
    values are less certain."""

    text: str
    title: str = ""
    grave: bool = False


Fold = Literal["", "open", "closed"]


@dataclass(frozen=True)
class Section:
    """A section of a page: the title, the question, and the answer as text, tables, figures and notes."""

    title: str
    question: str = ""
    sentences: Sequence[str] = ()
    chips: Sequence[str] = ()
    """Conditions as labels of one or two words."""
    tables: Sequence[Table] = ()
    parts: Sequence[Section] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[Note] = ()
    terms: Sequence[tuple[str, str]] = ()
    """Terms with their meanings, or facts with their values."""
    commands: Sequence[str] = ()
    id: str = ""
    style: str = ""
    fold: Fold = ""
    """Whether the reader can collapse the section, and whether it is collapsed initially."""


@dataclass(frozen=True)
class Page:
    """A whole page. `answer` contains the sentences that answer the question, the most important first."""

    title: str
    question: str
    answer: Sequence[str]
    facts: Sequence[str]
    """The scenario, start time, size and seed of the runs, shown above the question."""
    sections: Sequence[Section]
    badge: str = ""

    @property
    def links(self) -> list[Section]:
        """The sections to which the page links at its top. The list is empty if the page has only one section."""
        found = [section for section in self.sections if section.style == "group"]
        return found if len(found) > 1 else []

    @property
    def warnings(self) -> int:
        """The number of notes in the section with the id `warnings`."""
        return sum(len(section.notes) for section in self.sections if section.id == "warnings")

"""What a condition declares: its key, default, values, scope and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from hopmeter.system.humanize import plural

Scope = Literal["flow", "graph", "run"]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition of a cell, for which a scenario may give several values.

    The option, the scenario's key with its schema, the column, and the words of titles and questions follow from it.
    """

    option: str
    """The help of its option."""
    meaning: str
    """The description of its key in a scenario."""
    flow_meaning: str = ""
    """The description of its key in a flow of a workload; empty if it is `meaning`."""
    default: Any
    """The value of its key if a scenario gives none."""
    flow_default: Any = ...
    """The value of the key if a flow gives none; `...` if it is `default`."""
    scope: Scope = "flow"
    """Where a workload has it: each `flow` for itself, the whole `run`, or nowhere because the `graph` of participants
    and flows says it."""
    type: type[Any] = str
    """The type of a value: str, int or float."""
    form: str = ""
    """The name of the check of a text (`scenario.condition_keys.FORMS`); empty if any text is allowed."""
    choices: tuple[str, ...] = ()
    """All texts that are allowed; empty if there are others."""
    least: float | None = None
    most: float | None = None
    flow_least: float | None = None
    """The least value in a flow, if it is not `least`."""
    unit: str = ""
    """The suffix of its column, which its key lacks: `hz` for the column `rate_hz` and the key `rate`."""
    separates_tables: bool = True
    """Whether cells that differ in it are in different tables."""
    in_first_ids: bool = True
    """Whether it was a condition from the first ids of tables on. A later one counts in an id only if it has not its
    default, so that ids stay."""
    leads_title: bool = False
    """Whether the first words of a table's title have it, so that it is not listed with the other conditions."""
    noun: str = ""
    """What its value counts, such as `relay`."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Its words in the title of a table, by value."""
    title: str = "{name} {value}"
    """Its words in the title of a table for any other value."""
    phrases: Mapping[str, str] = field(default_factory=dict)
    """Its words in a question, by value."""
    phrase: str = "{key} {value}"
    """Its words in a question for any other value."""
    sentence: str = "{values}"
    """How a question has the words of several values."""
    asks_default: bool = True
    """Whether a question mentions the default if an option gives it."""
    name: str = ""
    """The name of its column, and of the field of a cell."""

    @property
    def key(self) -> str:
        """Return its name in a scenario and as an option."""
        return self.name.removesuffix(f"_{self.unit}") if self.unit else self.name

    @property
    def column_type(self) -> str:
        """Return the type of its column."""
        return {str: "text", int: "int", float: "float"}[self.type]

    def title_words(self, value: Any) -> str:
        """Return a value as the title of a table has it."""
        if self.noun:
            return plural(value, self.noun)
        return self.titles.get(str(value), self.title).format(name=self.name, value=value)

    def question_words(self, value: Any) -> str:
        """Return a value as a question has it."""
        shown = f"{value:,.12g}" if isinstance(value, float) else value
        return self.phrases.get(str(value), self.phrase).format(key=self.key, value=shown)


def conditions_of(kind: type[Any]) -> tuple[Condition, ...]:
    """Return the conditions that the fields of a dataclass declare, in their order."""
    return tuple(replace(each.type.__metadata__[0], name=each.name) for each in fields(kind))  # type: ignore[union-attr]

"""Define how a condition is declared: with a key, a default value, the allowed values, a scope and descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from hopmeter.system.humanize import plural

Scope = Literal["flow", "graph", "run"]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition of a cell. A scenario may give several values for the condition.

    The declaration of a condition defines its command-line option, key, schema and column, and its wording in titles
    and questions.
    """

    option: str
    """The help text of the command-line option."""
    meaning: str
    """The description of the key in a scenario."""
    flow_meaning: str = ""
    """The description of the key in a flow of a workload, or an empty string if it equals `meaning`."""
    default: Any
    """The value of the condition if a scenario does not set its key."""
    flow_default: Any = ...
    """The value of the condition if a flow does not set its key, or `...` for the same value as `default`."""
    scope: Scope = "flow"
    """Where a workload specifies the condition: for each `flow`, for the whole `run`, or nowhere, because the `graph`
    of participants and flows determines it."""
    type: type[Any] = str
    """The type of a value: str, int or float."""
    form: str = ""
    """The name of the check for a string (`scenario.condition_keys.FORMS`), or an empty string if any string is
    allowed."""
    choices: tuple[str, ...] = ()
    """The allowed strings, or an empty tuple if the strings cannot be listed."""
    least: float | None = None
    most: float | None = None
    flow_least: float | None = None
    """The minimum value in a flow, if it differs from the general minimum `least`."""
    unit: str = ""
    """The suffix of the column's name that the key lacks, such as `hz` for the column `rate_hz` and the key `rate`."""
    separates_tables: bool = True
    """Whether cells that differ in this condition belong to different tables."""
    in_first_ids: bool = True
    """Whether the first version of table ids included this condition. A later condition changes an id only if its value
    differs from the default, so that existing ids stay the same."""
    leads_title: bool = False
    """Whether a table's title starts with this condition, so that the list of other conditions omits this condition."""
    noun: str = ""
    """The noun for what the value counts, such as `relay`."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """The wording of certain values in a table's title."""
    title: str = "{name} {value}"
    """The wording of any other value in a table's title."""
    phrases: Mapping[str, str] = field(default_factory=dict)
    """The wording of certain values in a question."""
    phrase: str = "{key} {value}"
    """The wording of any other value in a question."""
    sentence: str = "{values}"
    """The phrase of a question into which the wordings of all values are inserted."""
    asks_default: bool = True
    """Whether a question mentions the default value if the user sets it explicitly."""
    name: str = ""
    """The name of the column and of the cell's field."""

    @property
    def key(self) -> str:
        """Return the name of the condition in scenarios and, as an option, on the command line."""
        return self.name.removesuffix(f"_{self.unit}") if self.unit else self.name

    @property
    def column_type(self) -> str:
        """Return the type of the column, as named in columns.toml."""
        return {str: "text", int: "int", float: "float"}[self.type]

    def title_words(self, value: Any) -> str:
        """Return the words with which the title of a table describes a value of the condition."""
        if self.noun:
            return plural(value, self.noun)
        return self.titles.get(str(value), self.title).format(name=self.name, value=value)

    def question_words(self, value: Any) -> str:
        """Return the words with which a question describes a value of the condition."""
        shown = f"{value:,.12g}" if isinstance(value, float) else value
        return self.phrases.get(str(value), self.phrase).format(key=self.key, value=shown)


def conditions_of(kind: type[Any]) -> tuple[Condition, ...]:
    """Return the conditions that a dataclass declares, in field order."""
    return tuple(replace(each.type.__metadata__[0], name=each.name) for each in fields(kind))  # type: ignore[union-attr]

"""Define all columns of a run's tables, as listed in `columns.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STATISTICS = ("mean", "std", "min", "p50", "p90", "p99", "p999", "max")
BOUNDED = ("p50", "p99", "p999")
"""The percentiles that have a 95 % interval."""
UNITS = {"_mb_s": "MB/s", "_us": "µs", "_hz": "Hz", "_mb": "MB", "_ns": "ns", "_s": "s"}
"""Maps suffixes of column names to units."""
SECTIONS = ("configuration", "trust", "counts", "latencies", "derived", "resources", "why")
"""The sections of `cells.parquet`, in column order."""


@dataclass(frozen=True)
class Columns:
    """One column, or several columns with a common meaning. `names` contains the names of the columns, separated by
    spaces.

    `type` is text, int, float or bool, or a list such as `[float]`. `meaning` and `null_when` are phrases for
    docs/metrics.md.
    """

    names: str
    type: str
    meaning: str
    null_when: str = ""
    values: str = ""
    """The allowed values of a text column, separated by spaces, or an empty string if any text is allowed."""
    planned: bool = False
    """Whether the columns repeat the cell's fields of the same names."""

    def __iter__(self) -> Iterator[str]:
        return iter(self.names.split())


@dataclass(frozen=True)
class Latency:
    """A latency: the time between two events of a message, such as sending and arrival. Each statistic, each bound of a
    confidence interval and each count of a latency has a column of its own."""

    name: str
    between: str
    samples: str
    applies_to: str

    @property
    def types(self) -> dict[str, str]:
        """Return the name and the type of each column that the latency has."""
        bounds = [f"{each}_{end}" for each in BOUNDED for end in ("low", "high")]
        statistics = {f"{self.name}_{each}_us": "float" for each in (*STATISTICS, *bounds)}
        return {**statistics, f"{self.name}_count": "int", f"{self.name}_lost": "int"}


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
LATENCY_TABLE = tuple(Latency(**each) for each in _TABLE.pop("latencies"))
TABLE = {section: tuple(Columns(**each) for each in columns) for section, columns in _TABLE.items()}
"""All columns except the latencies, by section."""
LATENCIES = tuple(each.name for each in LATENCY_TABLE)


def _types(section: str) -> dict[str, str]:
    if section == "latencies":
        return {name: kind for each in LATENCY_TABLE for name, kind in each.types.items()}
    return {name: each.type for each in TABLE[section] for name in each}


CELLS = {name: kind for section in SECTIONS for name, kind in _types(section).items()}
"""The columns of `cells.parquet` in order, with their types. The dicts TRIALS and PROCESSES have the same form as
CELLS."""
TRIALS = _types("trials")
PROCESSES = _types("processes")
PLANNED = tuple(name for section in TABLE.values() for each in section if each.planned for name in each)
"""The columns that repeat fields of the cell."""


def unit(column: str) -> tuple[str, str]:
    """Split a column name into its base name and its unit, which may be empty."""
    for ending, its_unit in UNITS.items():
        if column.endswith(ending):
            return column.removesuffix(ending), its_unit
    return column, ""

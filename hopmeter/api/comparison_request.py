"""The options of a comparison: its gate, and the files to write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hopmeter.errors import UsageError
from hopmeter.system.toml_files import one_of

if TYPE_CHECKING:  # functions import these on demand, because few commands compare runs
    from hopmeter.comparison.gate import Gate
    from hopmeter.report.comparisons.exports import Export


@dataclass(frozen=True)
class Request:
    """The checked options of a comparison: its gate, and the files to write."""

    gate: Gate | None = None
    files: tuple[tuple[Path, Export], ...] = ()
    options: tuple[str, ...] = ()
    """The given options as command-line arguments."""

    @classmethod
    def of(cls, fail_if: Sequence[str], summary: Path | None, junit: Path | None, exported: Sequence[str]) -> Request:
        """Return the checked options. Raises UsageError for an invalid gate rule or an unknown export format."""
        named = [("--fail-if", fail_if), ("--summary", [summary]), ("--junit", [junit]), ("--export", exported)]
        options = [word for name, values in named for value in values if value for word in (name, str(value))]
        return cls(
            _gate(fail_if) if fail_if else None,
            tuple(_files(summary, junit, exported)) if options else (),
            tuple(options),
        )


def _gate(fail_if: Sequence[str]) -> Gate | None:
    from hopmeter.comparison import gate

    return gate.parse(fail_if)


def _files(summary: Path | None, junit: Path | None, exported: Sequence[str]) -> Iterator[tuple[Path, Export]]:
    from hopmeter.report.comparisons import exports

    yield from ((path, export) for path, export in ((summary, exports.markdown), (junit, exports.junit)) if path)
    yield from map(_export, exported)


def _export(text: str) -> tuple[Path, Export]:
    from hopmeter.report.comparisons import exports

    name, colon, path = text.partition(":")
    if not colon or not path or name not in exports.FORMATS:
        remedy = "write --export FORMAT:FILE, such as --export bencher:result.json"
        raise UsageError("E-OPTION-VALUE", f"--export {text}: format {one_of(name, exports.FORMATS)}", remedy)
    return Path(path), exports.FORMATS[name]


def check_second_side(request: Request, decides: bool) -> None:
    """Raise UsageError if a gate is requested but the comparison cannot give a verdict."""
    if request.gate is not None and not decides:
        raise UsageError(
            "E-GATE",
            "--fail-if cannot judge two single runs, because their comparison decides nothing",
            "compare a baseline with a run, or measure with `hopmeter run --against REF`",
        )


def check_sides(request: Request, has_sides: bool) -> None:
    """Raise UsageError if the options request a gate or files for a run without `--against`."""
    check_second_side(request, has_sides)
    if request.files and not has_sides:
        raise UsageError("E-OPTION-CONFLICT", "--summary, --junit and --export need two sides", "add --against REF")

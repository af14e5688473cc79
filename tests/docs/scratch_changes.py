"""Test changes, one for each row of ARCHITECTURE.md's table of files to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Edit = tuple[str, str]
"""The old text and the new text; an empty old text stands for the end of the file."""


@dataclass(frozen=True)
class Change:
    """Edits to files, and the effect that they must have."""

    edits: Mapping[str, Edit]
    programs: Sequence[Sequence[str]]
    """The Python arguments of each program; the programs run one after another."""
    shows: str
    """The expected output of the last program."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Files that the table row describes without naming them, each with the words that describe the file."""

    @property
    def paths(self) -> list[str]:
        return list(self.edits)

    def apply(self, tree: Path) -> None:
        for path, (old, new) in self.edits.items():
            file = tree / path
            text = file.read_text() if file.exists() else ""
            assert old in text
            file.write_text(text.replace(old, new, 1) if old else text + new)


COMMAND = '''"""`hopmeter scratch`: greets."""
import typer

def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("scratch")(scratch)

def scratch() -> None:
    """Greet."""
    import hopmeter

    typer.echo(hopmeter.scratch())
'''
CODEC = '''"""A codec of events of a scheduler."""
ROOTS = ("sched",)
EXTRA = ""
MEGABYTES = (0, 0)
READERS = {}

def write(obj, frames, depth):
    """Write nothing."""
    return "null"
'''
RECORDING = '''"""Recordings that begin with SCRATCH."""

class ScratchFile:
    """An open recording."""
    notes = ()

    def topics(self):
        """Yield the topics."""
        yield "/scratch"
'''
RULE = '''

@rule
def scratch(_: Sequence[Run]) -> Iterator[Caution]:
    """Warn always."""
    yield Caution("W-SCRATCH", "Scratch", "This is a scratch.")
'''
REFUSAL = '''def refuse() -> None:
    """Refuse always."""
    raise UsageError("E-SCRATCH", "a scratch", "do nothing")


'''
OPENING = """if begin.startswith(b"SCRATCH"):
            from hopmeter.recordings.scratch_file import ScratchFile

            yield ScratchFile()
        elif begin.startswith(b"SQLite"""
READ = "import pathlib, hopmeter.recordings.formats as f; print(f.read_topics(pathlib.Path('file')))"
WARN = "from hopmeter.report.warnings.result_rules import warnings; print([each.code for each in warnings([])])"
CODE = '\n["Scratch"]\n{} = ["A scratch.", "Nothing."]\n'
PAGE = ["-c", "import hopmeter.messages as m; open('docs/messages.md', 'w').write(m.document())"]
CONDITION = """    scratch: Annotated[
        int, Condition(option="A scratch.", meaning="A scratch.", default=0, type=int, scope="run", in_first_ids=False)
    ] = 0


CONDITIONS = """
CHANGES = {
    "condition": Change(
        {
            "hopmeter/model/conditions.py": ("\n\nCONDITIONS = ", CONDITION),
            "hopmeter/model/columns.toml": (
                "configuration = [",
                'configuration = [\n    { names = "scratch", type = "int", meaning = "a scratch", planned = true },',
            ),
            "hopmeter/model/column_types.py": ("", ""),
            "docs/metrics.md": ("", ""),
            "scenarios/scenario.schema.json": ("", ""),
        },
        [
            ["-m", "hopmeter.model.column_types_file"],
            ["-m", "hopmeter.model.columns_page", "docs/metrics.md"],
            ["-m", "hopmeter", "scenarios", "--schema"],
            ["-m", "hopmeter", "run", "--help"],
        ],
        "--scratch",
    ),
    "scenario": Change(
        {"scenarios/scratch.toml": ("", 'question = "Which scratch is fastest?"\ntransport = "all"\n')},
        [["-c", "from hopmeter.scenario import files; print(sorted(files.every()))"]],
        "'scratch'",
    ),
    "command": Change(
        {
            "hopmeter/cli/scratch.py": ("", COMMAND),
            "hopmeter/api/scratch.py": ("", "def scratch() -> str:\n    return 'a greeting'\n"),
            "hopmeter/__init__.py": ("HOMES = {", 'HOMES = {\n    "scratch": "hopmeter.api.scratch",'),
            "hopmeter/cli/parts/application.py": ('"doctor"),', '"doctor", "scratch"),'),
        },
        [["-m", "hopmeter", "--help"], ["-m", "hopmeter", "scratch"]],
        "a greeting",
    ),
    "codec of Python objects": Change(
        {
            "hopmeter/codecs/frameworks/scratch.py": ("", CODEC),
            "pyproject.toml": ("[project.optional-dependencies]", "[project.optional-dependencies]\nscratch = []"),
            "docs/codecs.md": ("", "\nScratch.\n"),
        },
        [["-c", "import hopmeter.codecs, sched; print(hopmeter.codecs.frameworks())"]],
        "scratch",
    ),
    "error, reason or finding": Change(
        {
            "hopmeter/messages.toml": ("", CODE.format("E-SCRATCH")),
            "docs/messages.md": ("", ""),
            "hopmeter/api/lossless.py": (
                "def parse_requirements(",
                REFUSAL + "def parse_requirements(",
            ),
        },
        [PAGE, ["-c", "print(open('docs/messages.md').read())"]],
        "`E-SCRATCH`",
        {"hopmeter/api/lossless.py": "the place that reports it"},
    ),
    "warning": Change(
        {
            "hopmeter/report/warnings/result_rules.py": ("", RULE),
            "hopmeter/messages.toml": ("", CODE.format("W-SCRATCH")),
            "docs/messages.md": ("", ""),
        },
        [
            PAGE,
            ["-c", WARN],
        ],
        "'W-SCRATCH'",
    ),
    "column": Change(
        {
            "hopmeter/model/columns.toml": (
                "trust = [",
                'trust = [\n    { names = "scratch_us", type = "float", meaning = "a scratch" },',
            ),
            "hopmeter/analysis/cells/arrived_bytes.py": ("", "\n\ndef scratch_us() -> float:\n    return 1.0\n"),
            "docs/metrics.md": ("", ""),
            "hopmeter/model/column_types.py": ("", ""),
            "scenarios/scenario.schema.json": ("", ""),
        },
        [
            ["-m", "hopmeter.model.column_types_file"],
            ["-m", "hopmeter.model.columns_page", "docs/metrics.md"],
            ["-c", "print(open('docs/metrics.md').read(), open('hopmeter/model/column_types.py').read())"],
            ["-m", "hopmeter", "scenarios", "--schema"],
        ],
        "scratch_us",
    ),
    "column of the tables that people read": Change(
        {
            "hopmeter/report/tables/ranking.py": (
                "BEFORE = (",
                'BEFORE = (\n    Part(Column("Scratch", key="scratch"), lambda _, row: Value("1")),',
            ),
            "docs/reading-a-report.md": ("", "\nScratch.\n"),
        },
        [["-c", "from hopmeter.report.tables.ranking import BEFORE; print([part.column.name for part in BEFORE])"]],
        "'scratch'",
    ),
    "setting of a transport": Change(
        {
            "transports/queue/transport.toml": (
                "[settings.slots]",
                '[settings.scratch]\ndefault = 3\nhelp = "A scratch."\n\n[settings.slots]',
            ),
            "transports/queue/python/adapter.py": (
                'kind = self.settings["kind"]',
                'kind = self.settings["kind"] if self.settings["scratch"] else "pipe"',
            ),
        },
        [["-m", "hopmeter", "transports", "queue"]],
        "scratch",
        {"transports/queue/python/adapter.py": "the adapters that read it"},
    ),
    "kind of recording": Change(
        {
            "hopmeter/recordings/scratch_file.py": ("", RECORDING),
            "hopmeter/recordings/formats.py": (
                'if begin.startswith(b"SQLite',
                OPENING,
            ),
            "docs/workloads.md": ("", "\nScratch.\n"),
        },
        [
            ["-c", "open('file', 'w').write('SCRATCH')"],
            [
                "-c",
                READ,
            ],
        ],
        "/scratch",
    ),
}

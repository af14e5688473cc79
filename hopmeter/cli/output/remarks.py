"""Remarks below the tables of a run: the next command, disturbances, warnings and dropped cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from hopmeter.analysis.cells.setting_hints import CODE
from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.cli.output.plan_table import print_dropped, print_reasons
from hopmeter.messages import split_code, without_traceback
from hopmeter.report.answers.next_command import is_finished, next_sentence
from hopmeter.report.sections import why_slow
from hopmeter.report.warnings.warning_rules import alike_texts
from hopmeter.report.words.steal_sentences import steal_sentence
from hopmeter.system.terminal import Console


def print_remarks(console: Console, run: Run, has_tables: bool = False) -> None:
    """Print the next command, disturbances, warnings and dropped cells. If `has_tables` is set, omit warnings that the
    tables show as hints."""
    if any(row["status"] == "ok" for row in run.rows):
        if is_finished(run) and (command := next_sentence(run)):
            console.print(Text(command), soft_wrap=True)
        print_disturbances(console, run)
    _print_why_slow(console, run)
    print_warnings(console, run.rows, [CODE] if has_tables else [])
    _print_failed_trials(console, run)
    print_dropped_rows(console, run, run.rows)


def print_dropped_rows(console: Console, run: Run, rows: Iterable[Row]) -> None:
    """Print the dropped rows among `rows`, with their reasons."""
    dropped = [(row.cell, str(row["reason"])) for row in rows if row["status"] == "dropped"]
    print_dropped(console, dropped, [str(word) for word in run.about.get("command") or ()])


def print_disturbances(console: Console, run: Run) -> None:
    """Print what disturbed a run, such as stolen CPU time and problems of this machine or other hosts."""
    if stolen := steal_sentence([run]):
        console.print(Text(stolen, style="yellow"))
    if hurting := [each for each in run.findings if each.get("level") == "hurts"]:
        remedies = [f"  {each.get('subject')}: {each.get('remedy')}" for each in hurting]
        console.print(Text("\n".join(["Problems on this machine and how to fix them:", *remedies]), style="yellow"))
    if found := run.host_findings:
        remedies = [f"  {', '.join(hosts)}: {each.get('subject')}: {each.get('remedy')}" for hosts, each in found]
        console.print(Text("\n".join(["Problems on other hosts and how to fix them:", *remedies]), style="yellow"))


def _print_why_slow(console: Console, run: Run) -> None:
    """Print why the slowest messages are slow, and the command that shows details. Print nothing if the run did not
    record the causes."""
    known = [row.id for row in run.rows if why_slow.sentence(row)]
    if known:
        console.print(Text("Why the slowest messages are slow, from an additional trial of each row:"))
        for line in why_slow.summary(groups([run])):
            console.print(Text(f"  {line}"))
        command = f"hopmeter show {run.folder} {known[0].partition('-')[0]}"
        console.print(Text(f"  The report shows all parts; `{command}` shows those of one row."), soft_wrap=True)


def _print_failed_trials(console: Console, run: Run) -> None:
    """Print why trials failed in cells that also have good trials. If no trial of a cell succeeded, the result table
    already shows the reason."""
    rows = {row.id: row for row in run.rows if row["status"] not in ("failed", "dropped")}
    failed = [trial for trial in run.trials if not trial.get("good") and trial["cell"] in rows]
    reasons = [(rows[trial["cell"]].cell, without_traceback(str(trial.get("reason") or ""))) for trial in failed]
    print_reasons(console, "failed trials", reasons, "trial")


def print_warnings(console: Console, rows: Iterable[Row], left_out: Sequence[str] = ()) -> None:
    """Print each distinct warning with its rows, except warnings with a code in `left_out`."""
    texts = [(row, str(text)) for row in rows for text in row["warnings"] or []]
    found = alike_texts((row, text) for row, text in texts if split_code(text)[1] not in left_out)
    print_reasons(console, "warnings", [(row.cell, text) for text, rows_alike in found for row in rows_alike])

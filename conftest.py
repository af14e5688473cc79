"""What holds for all tests: one that passed only when it was run again is named, and more than a few fail the run."""

from __future__ import annotations

import pytest

ONE_IN = 400
"""Real middlewares on a shared machine stumble once in some hundreds of tests; more often it is a defect of ours."""
ALWAYS = 2


def told(config: pytest.Config, outcome: str) -> list[pytest.TestReport]:
    """The reports of one outcome: `passed`, or `rerun`, once for each time a test had to be run again."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return list(reporter.stats.get(outcome, [])) if reporter else []


def most(config: pytest.Config) -> int:
    """How many tests may be run again in a run of this size."""
    return max(ALWAYS, len(told(config, "passed")) // ONE_IN)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails a run that leans on running again."""
    if len(told(session.config, "rerun")) > most(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Names them, with how they failed at first."""
    again = told(config, "rerun")
    for report in again:
        terminalreporter.section(f"run again: {report.nodeid}", "-")
        terminalreporter.write_line(report.longreprtext[-2000:])
        for title, text in report.sections:
            terminalreporter.write_line(f"{title}:\n{text[-2000:]}")
    if len(again) > most(config):
        terminalreporter.write_line(
            f"{len(again)} tests were run again, at most {most(config)} may be: this run has failed"
        )

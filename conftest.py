"""What holds for all tests: one that passed only when it was run again is named, and more than a few fail the run."""

from __future__ import annotations

import pytest

MOST_RERUN = 2
"""Real middlewares on a shared machine stumble once in some thousands of tests; more often it is a defect of ours."""


def rerun(config: pytest.Config) -> list[pytest.TestReport]:
    """What was told of each test that had to be run again, each time."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return list(reporter.stats.get("rerun", [])) if reporter else []


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails a run that leans on running again."""
    if len(rerun(session.config)) > MOST_RERUN and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Names them, with how they failed at first."""
    again = rerun(config)
    for report in again:
        terminalreporter.section(f"run again: {report.nodeid}", "-")
        terminalreporter.write_line(report.longreprtext[-2000:])
        for title, text in report.sections:
            terminalreporter.write_line(f"{title}:\n{text[-2000:]}")
    if len(again) > MOST_RERUN:
        terminalreporter.write_line(
            f"{len(again)} tests were run again, at most {MOST_RERUN} may be: this run has failed"
        )

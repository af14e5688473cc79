"""The stage for each test."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from conformance.cases import ANSWERS
from conformance.puppet import Theatre


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows with a failure what the nodes have said, and what has served them: both are gone with the test."""
    report = yield
    theatre = getattr(item, "funcargs", {}).get("theatre")
    if report.when == "call" and report.failed and theatre is not None:
        report.sections.extend(theatre.said())
    return report


@pytest.fixture
def theatre() -> Iterator[Theatre]:
    """A private folder, and puppets that are closed whatever happens."""
    with Theatre() as theatre:
        yield theatre


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names what was not tested, since it is not ready here."""
    for answer in ANSWERS.values():
        if not answer.ready:
            terminalreporter.write_line(
                f"not tested: {answer.transport} ({answer.language}): {answer.missing}; {answer.get}"
            )

"""Lends the nodes of a case to its tests, which run one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from conformance.cases import ANSWERS
from conformance.theatre import Theatre

KILLS, ENDS = "test_a_killed_", "test_a_process_that_ends_"
"""How the tests begin that kill nodes, and those that end all nodes of the case."""
KEPT = pytest.StashKey[Theatre]()
"""The theatre that the test before has left for this one."""
NEXT = pytest.StashKey[pytest.Item | None]()
FAILED = pytest.StashKey[bool]()


def _stage(item: Any) -> str:
    """Tests of one stage share their nodes: those of one case. Those that kill have their own, and others have none."""
    call = getattr(item, "callspec", None)
    if call is None or "theatre" not in item.fixturenames or item.name.startswith(KILLS):
        return ""
    return str(call.params["case"].label)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests of a stage side by side, and the one that ends all of its nodes last."""
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        first.setdefault(_stage(item) or item.nodeid, index)
    items.sort(key=lambda item: (first[_stage(item) or item.nodeid], item.name.startswith(ENDS)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Lets the fixture know which test comes next."""
    item.stash[NEXT] = nextitem
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows with a failure what the nodes have said, and what has served them: both are gone with the test."""
    report = yield
    theatre = getattr(item, "funcargs", {}).get("theatre")
    if report.when == "call":
        item.stash[FAILED] = report.failed
    if report.when == "call" and report.failed and theatre is not None:
        report.sections.extend(theatre.said())
    return report


@pytest.fixture
def theatre(request: pytest.FixtureRequest) -> Iterator[Theatre]:
    """The nodes that the test before has left, or none yet; after a failure, and where a stage ends, all end."""
    item, kept = request.node, request.config.stash
    theatre = kept[KEPT] if KEPT in kept else Theatre()
    kept[KEPT] = theatre
    yield theatre
    del kept[KEPT]
    with contextlib.ExitStack() as end:
        end.enter_context(theatre)
        if item.stash.get(FAILED, True):
            return
        theatre.rest()
        if _stage(item) and _stage(item) == _stage(item.stash[NEXT]):
            kept[KEPT] = theatre
            end.pop_all()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Ends the nodes of a run that was interrupted."""
    if KEPT in session.config.stash:
        with session.config.stash[KEPT]:
            pass


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names what was not tested, since it is not ready here."""
    for answer in ANSWERS.values():
        if not answer.ready:
            terminalreporter.write_line(
                f"not tested: {answer.transport} ({answer.language}): {answer.missing}; {answer.get}"
            )

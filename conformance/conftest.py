"""Run the tests of a case one after another, so that they share nodes."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from conformance.cases import FAST, INSTALLATIONS, READINESS, Case, is_fast
from conformance.node_pool import NodePool
from conformance.shared_broker import SharedBroker

KILLS, ENDS = "test_a_killed_", "test_a_process_that_ends_"
"""Prefixes of test names: tests that kill nodes, and tests that stop all nodes of their case."""
POOL = pytest.StashKey[NodePool]()
"""The key of the node pool that a test leaves for the next test."""
BROKER = pytest.StashKey[SharedBroker]()
"""The key of the worker's broker."""
NEXT = pytest.StashKey[pytest.Item | None]()
FAILED = pytest.StashKey[bool]()


def pytest_itemcollected(item: Any) -> None:
    """Mark the cases of adapters that run only in `make test-rest`."""
    if (case := _case_of(item)) and not is_fast(case):
        item.add_marker("rest")


def _case_of(item: Any) -> Case | None:
    call = getattr(item, "callspec", None)
    case = call.params.get("case") if call else None  # pytest's own marker for a test without cases
    return case if isinstance(case, Case) else None


def _sharers(item: Any) -> str:
    """Return the name of the case, whose tests share nodes, or an empty string if the test kills its nodes."""
    case = _case_of(item)
    if case is None or "pool" not in item.fixturenames or item.name.startswith(KILLS):
        return ""
    return case.label


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of a case next to each other; the test that stops all nodes comes last."""
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        first.setdefault(_sharers(item) or item.nodeid, index)
    items.sort(key=lambda item: (first[_sharers(item) or item.nodeid], item.name.startswith(ENDS)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Store the next test for the fixture `pool`."""
    item.stash[NEXT] = nextitem
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the logs of nodes and broker to a failure report, because the logs are deleted after the test."""
    report = yield
    pool = getattr(item, "funcargs", {}).get("pool")
    if report.when == "call":
        item.stash[FAILED] = report.failed
    if report.when == "call" and report.failed and pool is not None:
        report.sections.extend(pool.log_tails())
    return report


@pytest.fixture
def pool(request: pytest.FixtureRequest) -> Iterator[NodePool]:
    """Yield the nodes that the previous test of the case left running.

    The nodes are stopped after a failure and after the last test of the case.
    """
    item, stash = request.node, request.config.stash
    broker = stash.setdefault(BROKER, SharedBroker())
    pool = stash[POOL] if POOL in stash else NodePool(broker)
    stash[POOL] = pool
    yield pool
    del stash[POOL]
    with contextlib.ExitStack() as end:
        if item.stash.get(FAILED, True) or not _share_broker(item, item.stash[NEXT]):
            end.callback(broker.close)
        end.enter_context(pool)
        if item.stash.get(FAILED, True):
            return
        pool.release()
        if _sharers(item) and _sharers(item) == _sharers(item.stash[NEXT]):
            stash[POOL] = pool
            end.pop_all()


def _share_broker(item: Any, following: Any) -> bool:
    """Return whether two consecutive tests may use one broker."""
    case, other = _case_of(item), _case_of(following)
    return case is not None and other is not None and case.manifest is other.manifest


def pytest_sessionfinish(session: pytest.Session) -> None:
    with contextlib.ExitStack() as end:
        if BROKER in session.config.stash:
            end.callback(session.config.stash[BROKER].close)
        if POOL in session.config.stash:
            end.enter_context(session.config.stash[POOL])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List the adapters that are not ready and were therefore not tested; a fast run lists only fast adapters."""
    is_whole = "not rest" not in config.option.markexpr
    wanted = [each for key, each in READINESS.items() if is_whole or key in FAST]
    adapters = {f"{each.transport} ({each.language})": each for each in wanted}
    for title, each in (adapters | (INSTALLATIONS if is_whole else {})).items():
        if not each.ready:
            terminalreporter.write_line(f"not tested: {title}: {each.missing}; {each.get}")

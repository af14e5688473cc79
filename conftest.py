"""Rules for all tests: their order, their distribution among workers, and the maximum number of reruns."""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

TRANSPORTS = Path(__file__).parent / "transports"
REST = (
    "conformance/test_between_hosts.py",
    "conformance/test_examples.py",
    "conformance/test_ros2_wire_peers.py",
    "tests/analysis/test_budget_rates.py",
    "tests/analysis/test_change_points.py",
    "tests/analysis/test_coverage.py",
    "tests/benches",
    "tests/client/test_containers.py",
    "tests/comparison/test_error_rates.py",
    "tests/docs/test_site.py",
    "tests/end_to_end/test_advise.py",
    "tests/end_to_end/test_building.py",
    "tests/end_to_end/test_messages.py",
    "tests/end_to_end/test_new_workload.py",
    "tests/end_to_end/test_ros2_types.py",
    "tests/end_to_end/test_throughput.py",
    "tests/end_to_end/test_workload_objects.py",
    "tests/end_to_end/test_wrapyfi.py",
    "tests/failure",
    "tests/hosts",
    "tests/interactive/test_servers.py",
    "tests/interactive/test_study.py",
    "tests/interactive/test_two_machines.py",
    "tests/node/test_kafka_broker.py",
    "tests/node/test_quic_certificates.py",
    "tests/node/test_rabbitmq_broker.py",
    "tests/node/test_redis_pieces.py",
    "tests/node/test_ros2_services.py",
    "tests/node/test_ros2_sourced.py",
    "tests/node/test_ros2_types.py",
    "tests/node/test_zenoh_calls.py",
    "tests/package",
    "tests/schemas/test_codecs.py",
    "tests/schemas/test_names.py",
    "tests/schemas/test_ros2_bytes.py",
    "tests/schemas/test_ros2_idl.py",
    "tests/schemas/test_together.py",
    "tests/statistics/test_known_truth.py",
    "tests/statistics/test_rate_searches.py",
    "tests/statistics/test_workload_ranking.py",
)
"""Test folders and files that only `make test-rest` runs. conformance/conftest.py selects the conformance cases."""

ONE_RUN = ("tests/end_to_end/test_results.py", "tests/end_to_end/test_shapes.py")
"""Files whose tests share one run. A single worker gets these files, because measuring the run takes most of a
minute."""
ONE_IN = 400
"""On a shared machine, a real middleware fails in about one of several hundred tests; more failures indicate a defect
in hopmeter."""
ALWAYS = 2


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the slow tests first, so that no worker runs one alone at the end. The slow tests are shuffled across
    files, because tests of some folders mostly sleep and those of others compute."""
    items.sort(key=lambda item: crc32(group(item.nodeid).encode()) if item.get_closest_marker("slow") else math.inf)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that `make test` leaves to `make test-rest`."""
    if is_rest(item.nodeid.partition("::")[0]):
        item.add_marker("rest")


def is_rest(path: str) -> bool:
    """Return whether only `make test-rest` runs a test file or its folder."""
    return any(path == each or path.startswith(f"{each}/") for each in REST)


@pytest.hookimpl(optionalhook=True)  # called only if pytest-xdist is installed
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Give a worker one group of tests at a time, in order. The group is derived from the test's name, because
    pytest-xdist 3.8 ignores its own marker `xdist_group` with pytest 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False
    return GroupScheduling(config, log)


def group(nodeid: str) -> str:
    """Return the group of a test, which one worker runs: usually the test's file, whose tests may share fixtures."""
    path, _, test = nodeid.partition("::")
    if not path.startswith("conformance/"):
        return ONE_RUN[0] if path in ONE_RUN else path
    return conformance_group(test)


def conformance_group(test: str) -> str:
    """Return the transport of a conformance test if the transport has a broker, so that one worker starts the broker.

    Without a broker, return the test's case, because the tests of a case share nodes. A test that kills nodes shares no
    nodes, so return the test itself.
    """
    name, _, case = test.partition("[")
    transport = re.sub(r"-(rust|cpp|python|plain)\b.*|\]$", "", case)
    if (TRANSPORTS / transport / "transport.toml").is_file() and has_broker(transport):
        return transport
    return test if name.startswith("test_a_killed_") else case


@functools.cache
def has_broker(transport: str) -> bool:
    """Return whether the transport's manifest has a broker."""
    return "\n[broker" in (TRANSPORTS / transport / "transport.toml").read_text()


def reports(config: pytest.Config, outcome: str) -> list[pytest.TestReport]:
    """Return the reports with the given outcome; `rerun` has one report for each repetition of a test."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return list(reporter.stats.get(outcome, [])) if reporter else []


def rerun_limit(config: pytest.Config) -> int:
    """Return the maximum number of reruns, which depends on the number of passed tests."""
    return max(ALWAYS, len(reports(config, "passed")) // ONE_IN)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a test session that has more reruns than the limit."""
    reruns = len(reports(session.config, "rerun"))
    if reruns > rerun_limit(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List the tests that ran again, each with its first failure."""
    reruns = reports(config, "rerun")
    for report in reruns:
        terminalreporter.section(f"run again: {report.nodeid}", "-")
        terminalreporter.write_line(report.longreprtext[-2000:])
        for title, text in report.sections:
            terminalreporter.write_line(f"{title}:\n{text[-2000:]}")
    if len(reruns) > rerun_limit(config):
        terminalreporter.write_line(
            f"{len(reruns)} tests ran again, at most {rerun_limit(config)} may: this run has failed"
        )

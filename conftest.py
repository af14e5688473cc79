"""Rules for all tests: their order, which of them one worker runs, and how many reruns are allowed."""

from __future__ import annotations

import math
from typing import Any
from zlib import crc32

import pytest

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
    "tests/end_to_end/test_workload_objects.py",
    "tests/end_to_end/test_wrapyfi.py",
    "tests/failure",
    "tests/hosts",
    "tests/interactive/test_servers.py",
    "tests/interactive/test_study.py",
    "tests/interactive/test_two_machines.py",
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
    "tests/statistics/test_workload_ranking.py",
)
"""What `make test` leaves to `make test-rest`: several hosts, failures, packages, users' messages, other transports,
and the simulations of thousands of made-up runs. conformance/conftest.py tells the cases of conformance apart."""

ONE_RUN = ("tests/end_to_end/test_results.py", "tests/end_to_end/test_shapes.py")
"""Files whose tests read the same run, which takes most of a minute to measure: one worker gets them all."""
ONE_IN = 400
"""Real middlewares on a shared machine stumble once in some hundreds of tests; more often it is a defect of ours."""
ALWAYS = 2


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the slow tests first, so that no worker is left alone with one at the end. Their files are mixed, because
    most tests of some folders sleep and those of others compute."""
    items.sort(key=lambda item: crc32(group(item.nodeid).encode()) if item.get_closest_marker("slow") else math.inf)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that `make test` leaves to `make test-rest`."""
    if is_rest(item.nodeid.partition("::")[0]):
        item.add_marker("rest")


def is_rest(path: str) -> bool:
    """Return whether a file of tests, or its folder, is among those of `make test-rest`."""
    return any(path == each or path.startswith(f"{each}/") for each in REST)


@pytest.hookimpl(optionalhook=True)  # where pytest-xdist is installed
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Give a worker one group of tests at a time, in their order. Groups are derived from the names of the tests:
    pytest-xdist 3.8 ignores its own marker `xdist_group` with pytest 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False
    return GroupScheduling(config, log)


def group(nodeid: str) -> str:
    """Return the group of a test: its file, whose tests may share fixtures. In conformance, its case, whose tests
    share nodes; tests that kill nodes share none."""
    path, _, test = nodeid.partition("::")
    name, _, case = test.partition("[")
    if not path.startswith("conformance/"):
        return ONE_RUN[0] if path in ONE_RUN else path
    return test if name.startswith("test_a_killed_") else case


def reports(config: pytest.Config, outcome: str) -> list[pytest.TestReport]:
    """Return the reports of one outcome: `passed`, or `rerun`, once for each time a test had to run again."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return list(reporter.stats.get(outcome, [])) if reporter else []


def rerun_limit(config: pytest.Config) -> int:
    """How many tests may run again in a run of this size."""
    return max(ALWAYS, len(reports(config, "passed")) // ONE_IN)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails a run that has more reruns than the limit."""
    reruns = len(reports(session.config, "rerun"))
    if reruns > rerun_limit(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Names the tests that ran again, with how they failed at first."""
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

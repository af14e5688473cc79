"""Compare `ros2` in C++ with rclcpp alone (benches/rclcpp).

The bench measures chains of 20 relays with each executor, images, calls, and the highest rate between two processes.
The bench needs a sourced ROS 2 with rclcpp, and `hopmeter build ros2 --language c++`.

`ros2.py [WORD ...]` measures only comparisons whose names contain one of the words. HOPMETER_SECONDS (default 10) sets
the length of a measurement.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from ending import Run, orderly
from ours import hopmeter
from pairs import NAME_WIDTH, PAIRS, UNRESOLVED, Comparison, pair_rounds, print_comparisons, sequential
from programs import PATIENCE_S, Project, ToolFailedError

from hopmeter.manifest import every, readiness
from hopmeter.plan.search import bracket, next_rate
from hopmeter.scenario.search import Search

SECONDS = float(os.environ.get("HOPMETER_SECONDS", "10"))
PROGRAM = Project("rclcpp")
DOMAINS = 99
LIMIT = 1.1
ONE_CORE, TWO_CORES = "1", "0,1"
SCENARIO = """
title = "rclcpp"
question = "What does hopmeter add to rclcpp?"
transport = "ros2"
language = "c++"
wait = "callback"
touch = "none"
trials = 1
"""
SEARCH = Search(bound_p99="5ms", start=1000.0, factor=2.0, refine=3)
SENSOR_DATA = {"qos": "sensor-data"}
INTRA = {**SENSOR_DATA, "intra_process": True, "publish": "unique"}
SHARED = {"executor_of": "process"}


@dataclass(frozen=True)
class Found:
    """One side's time or rate (None if too many messages were lost), and its number of lost messages."""

    value: float | None
    lost: int = 0


@dataclass(frozen=True)
class Study:
    """One comparison. Both sides use the same executor, quality of service, payload, rate, cores and number of
    messages."""

    name: str
    way: str
    """The bare program's send method; benches/rclcpp/studies.cpp explains each method."""
    rate_hz: int = 100
    payload: str = "timing"
    executor: str = "single"
    axes: dict[str, str | int] = field(default_factory=dict)
    settings: dict[str, str | bool] = field(default_factory=dict)
    figure: str = "service_p50_us"
    hops: int = 1
    cores: str = TWO_CORES

    @property
    def messages(self) -> int:
        return round(SECONDS * self.rate_hz)

    def ours(self) -> Found:
        count = {"rate": self.rate_hz, "messages": self.messages, "warmup": self.messages // 10}
        row = hopmeter(self._scenario(count))[0]
        return Found(row[self.figure], row["lost"] or 0)

    def theirs(self) -> Found:
        all_of = self.messages + self.messages // 9
        received, p50_ns, _ = self._bare(self.way, self.rate_hz, all_of)
        return Found(p50_ns / 1000 / self.hops if received else None, all_of - all_of // 10 - received)

    def _scenario(self, values: dict[str, str | int]) -> str:
        axes = {"cores": self.cores, "payload": self.payload, **self.axes, **values}
        words = [f"{key} = {json.dumps(value)}" for key, value in axes.items()]
        words += ["[settings.ros2]", f'executor = "{self.executor}"']
        return "\n".join([SCENARIO, *words, *(f"{key} = {json.dumps(value)}" for key, value in self.settings.items())])

    def _bare(self, way: str, rate_hz: float, messages: int) -> tuple[int, float, float]:
        """Run the bare program. Return the number of received messages, and their p50 and p99 in nanoseconds."""
        qos = self.settings.get("qos", "settings")
        domain = 1 + secrets.randbelow(DOMAINS)
        words = [way, self.executor, qos, domain, _bytes(self.payload), int(rate_hz), messages, self.cores]
        with Run() as run:
            done = run.capture([*PROGRAM.command, *map(str, words)], PATIENCE_S)
        if done.returncode:
            raise ToolFailedError(f"rclcpp alone ended with {done.returncode}: {done.stderr.strip()[-400:]}")
        received, p50_ns, p99_ns = done.stdout.split()
        return int(received), float(p50_ns), float(p99_ns)


class HighestRate(Study):
    """A comparison of the highest rate at which all messages arrive and 99 % of them arrive within 5 ms of their due
    time."""

    def ours(self) -> Found:
        """Let hopmeter search for the highest rate."""
        text = self._scenario({"duration": "1s", "warmup": 100})
        keys = SEARCH.model_dump(include={"bound_p99", "start", "factor", "refine"})
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        return Found(hopmeter("\n".join([text, "[search]", *lines]))[0]["highest_rate_hz"])

    def theirs(self) -> Found:
        """Search for the bare program's highest rate with hopmeter's steps: each rate for a second, after a warm-up of
        a ninth of a second."""
        verdicts: dict[float, bool] = {}
        while (rate_hz := next_rate(SEARCH, verdicts)) is not None:
            messages = int(rate_hz) + int(rate_hz) // 9
            received, _, p99_ns = self._bare("late", rate_hz, messages)
            verdicts[rate_hz] = received == messages - messages // 10 and p99_ns <= SEARCH.bound_us * 1000
        return Found(bracket(verdicts).holds_hz)


@dataclass
class Counted(Comparison):
    """A comparison that also counts lost messages."""

    tries: int = 0
    lost_ours: int = 0
    lost_theirs: int = 0

    def add_pair(self, pair: tuple[Found, Found]) -> None:
        """Add and print a pair, which has a ratio only if both sides have a value."""
        ours, theirs = pair
        self.tries += 1
        self.lost_ours += ours.lost
        self.lost_theirs += theirs.lost
        if ours.value and theirs.value:
            self.add(ours.value, theirs.value)
        print(f"{self.name}: {ours} {theirs}", flush=True)

    @property
    def wants_more(self) -> bool:
        """Whether to measure another pair; a pair without a value rules out additional pairs."""
        return self.tries < PAIRS or (self.pairs == self.tries and super().wants_more)

    @property
    def verdict(self) -> str:
        """The verdict, which is `not resolved` if no pair has values."""
        return super().verdict if self.pairs else UNRESOLVED

    def line(self) -> str:
        said = super().line() if self.pairs else f"{self.name:{NAME_WIDTH}} no median: not resolved"
        return f"{said}   lost {self.lost_ours} and {self.lost_theirs}"


def _bytes(payload: str) -> int:
    if payload == "timing":
        return 0
    width, _, height = payload.removeprefix("image:").partition("x")
    return int(width) * int(height) * 3


CHAIN = {"placement": "thread", "relays": 20}
STUDIES = (
    *(
        Study(
            f"chain of 20 relays, {executor}, {rate_hz} Hz, per hop",
            "chain",
            rate_hz,
            executor=executor,
            axes=CHAIN,
            settings=SHARED,
            figure="chain_per_hop_p50_us",
            hops=21,
            cores=ONE_CORE,
        )
        for executor in ("single", "multi", "static", "events")
        for rate_hz in (100, 1000)
    ),
    *(
        Study(
            f"call between two processes, server {executor}, 100 Hz",
            "call",
            executor=executor,
            axes={"placement": "process", "pattern": "rpc"},
            figure="roundtrip_p50_us",
        )
        for executor in ("single", "multi", "events")
    ),
    *(
        Study(f"{payload}, 30 Hz, {place}", way, 30, payload, "single", {"placement": placement}, settings)
        for payload in ("image:1440x1080", "image:320x240")
        for place, way, placement, settings in (
            ("two processes, reliable", "apart", "process", {}),
            ("two processes, sensor-data", "apart", "process", SENSOR_DATA),
            ("intra-process, sensor-data", "intra", "thread", INTRA),
        )
    ),
    HighestRate("highest rate between two processes, Header", "late", axes={"placement": "process"}),
)


def main(words: Sequence[str]) -> int:
    if not (found_here := readiness(every()["ros2"], "c++")).ready:
        print(f"ros2 (c++) is left out: {found_here.missing}; {found_here.get}")
        return 0
    asked = [each for each in STUDIES if not words or any(word in each.name for word in words)]
    found = {each.name: Counted(each.name, _limit(each), _unit(each)) for each in asked}
    for index in pair_rounds(found.values()):
        for each in asked:
            if found[each.name].wants_more:
                found[each.name].add_pair(sequential(index, each.ours, each.theirs))
    return print_comparisons(found.values())


def _limit(study: Study) -> float | None:
    return None if isinstance(study, HighestRate) else LIMIT


def _unit(study: Study) -> str:
    return "Hz" if isinstance(study, HighestRate) else "us"


if __name__ == "__main__":
    raise SystemExit(orderly(lambda: main(sys.argv[1:])))

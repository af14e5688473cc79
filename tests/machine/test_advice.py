"""Tests for findings about the machine: each problem has a remedy, and unknown facts are not reported as good."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.machine import measured
from hopmeter.machine.advice import findings, worth_telling
from hopmeter.machine.finding import Finding
from hopmeter.machine.kernel import UNKNOWN
from hopmeter.machine.trust import trust

QUIET: dict[str, Any] = {
    "cores": 4,
    "usable_cores": [0, 1, 2, 3],
    "governor": "performance",
    "turbo": "off",
    "idle_exit_us": 2,
    "smt": "off",
    "isolated_cores": "2-3",
    "clock_source": "tsc",
    "thp": "madvise",
    "autogroup": "off",
    "virtualisation": "none",
    "steal_percent": 0.0,
    "load": 0.1,
    "container": "none",
    "cgroup_cpus": None,
    "cgroup_throttled": None,
    "cgroup_memory_mb": None,
    "memory_mb": 16000,
    "shm_mb": 4096,
    "memlock_kb": 8192,
    "may_lock_memory": True,
    "may_go_real_time": True,
    "multicast": "lo",
    "preemption": "real-time",
    "kernel": "6.1.0",
}


def test_a_quiet_machine_has_nothing_to_tell() -> None:
    assert worth_telling(findings(QUIET)) == []


@pytest.mark.parametrize(
    ("changed", "code", "level"),
    [
        ({"usable_cores": [0]}, "F-CORES", "hurts"),
        ({"slower_cores": [0, 1]}, "F-CORE-KINDS", "note"),
        ({"governor": "powersave"}, "F-GOVERNOR", "hurts"),
        ({"turbo": "on"}, "F-TURBO", "note"),
        ({"idle_exit_us": 890}, "F-IDLE-STATES", "hurts"),
        ({"idle_exit_us": 1, "halt_poll_us": 0.0}, "F-IDLE-STATES", "hurts"),
        ({"idle_exit_us": 1, "halt_poll_us": 200.0}, "F-IDLE-STATES", "note"),
        ({"smt": "on"}, "F-SMT", "note"),
        ({"isolated_cores": ""}, "F-ISOLATED-CORES", "note"),
        ({"clock_source": "hpet"}, "F-CLOCK-SOURCE", "hurts"),
        ({"thp": "always"}, "F-HUGE-PAGES", "note"),
        ({"autogroup": "on"}, "F-AUTOGROUP", "note"),
        ({"virtualisation": "kvm"}, "F-VIRTUAL-MACHINE", "note"),
        ({"steal_percent": 3.1}, "F-STEAL", "hurts"),
        ({"load": 3.0}, "F-LOAD", "hurts"),
        ({"load": 0.1, "busy_percent": 40.0}, "F-LOAD", "hurts"),
        ({"container": "docker"}, "F-CONTAINER", "note"),
        ({"cgroup_cpus": 1.5}, "F-CPU-QUOTA", "hurts"),
        ({"cgroup_cpus": 4.0, "cgroup_throttled": 9}, "F-CPU-QUOTA", "hurts"),
        ({"cgroup_memory_mb": 512}, "F-MEMORY-LIMIT", "hurts"),
        ({"shm_mb": 64}, "F-SHARED-MEMORY", "hurts"),
        ({"may_lock_memory": False}, "F-LOCKED-MEMORY", "note"),
        ({"may_go_real_time": False}, "F-REAL-TIME", "note"),
        ({"multicast": "eth0"}, "F-MULTICAST", "note"),
        ({"multicast": "none"}, "F-MULTICAST", "hurts"),
    ],
)
def test_what_disturbs_is_told_with_a_remedy(changed: dict[str, Any], code: str, level: str) -> None:
    told = worth_telling(findings({**QUIET, **changed}))
    assert [(one["code"], one["level"]) for one in told] == [(code, level)]
    assert told[0]["remedy"]


def test_remedies_are_those_of_the_processor() -> None:
    slow = {**QUIET, "architecture": "aarch64", "idle_exit_us": 890, "clock_source": "timer"}
    remedies = " ".join(one["remedy"] for one in worth_telling(findings(slow)))
    assert "cpuidle.off=1" in remedies and "arch_sys_counter" in remedies
    assert "tsc" not in remedies and "intel" not in remedies


def test_cores_that_are_kept_awake_have_no_idle_states() -> None:
    awake = {**QUIET, "idle_exit_us": 890, "halt_poll_us": 0.0, "no_idle_states": True}
    assert worth_telling(findings({**awake, "idle_driver": "haltpoll"})) == []
    (told,) = worth_telling(findings({**awake, "idle_driver": "none"}))
    assert told["code"] == "F-AWAKE" and "idle=poll" in told["remedy"]


def test_a_guest_that_looks_for_work_for_long_before_it_halts_is_good() -> None:
    assert worth_telling(findings({**QUIET, "halt_poll_us": 100_000.0})) == []


@pytest.mark.parametrize(("limit", "whole"), [(4096, 16000), (1000, 1000), (1024, 512)])
def test_a_memory_limit_that_leaves_enough_is_good(limit: int, whole: int) -> None:
    assert worth_telling(findings({**QUIET, "cgroup_memory_mb": limit, "memory_mb": whole})) == []


@pytest.mark.parametrize(
    ("key", "absent"),
    [
        ("governor", UNKNOWN),
        ("turbo", UNKNOWN),
        ("idle_exit_us", None),
        ("smt", UNKNOWN),
        ("clock_source", UNKNOWN),
        ("thp", UNKNOWN),
        ("virtualisation", UNKNOWN),
        ("steal_percent", None),
        ("load", None),
        ("shm_mb", None),
    ],
)
def test_what_the_kernel_hides_is_unknown_and_not_good(key: str, absent: Any) -> None:
    levels = [one["level"] for one in findings({**QUIET, key: absent}) if one["level"] != "good"]
    assert levels == ["unknown"]


def test_a_core_with_long_gaps_or_many_of_them_hurts() -> None:
    quiet = {"core": 0, "seconds": 1.0, "longest_us": 40.0, "gaps_per_s": 20.0, "gaps_percent": 0.1}
    noisy = [quiet, {**quiet, "core": 1, "longest_us": 4000.0}, {**quiet, "core": 2, "gaps_percent": 5.0}]
    levels = [one["level"] for one in measured.judge_noise({"cores": noisy, "steal_percent": 2.0})]
    assert levels == ["good", "hurts", "hurts", "hurts"]


def test_late_waking_and_a_slow_meter_are_told() -> None:
    late = {"asked_ms": 1.0, "sleeps": 10, "p50_us": 150.0, "max_us": 900.0}
    assert [one["level"] for one in measured.judge_sleep([{**late, "p50_us": 5.0}, late])] == ["good", "hurts"]
    cost = {"clock_ns": 20.0, "clock_step_ns": 10.0, "message_ns": 44.0}
    assert measured.judge_cost(cost)[0]["level"] == "good"
    assert measured.judge_cost({**cost, "message_ns": 300.0})[0]["level"] == "note"
    assert measured.judge_cost({**cost, "clock_step_ns": 40.0})[0]["level"] == "note"
    (_, copies) = measured.judge_cost({**cost, "copy_bytes_per_ns": 7.24})
    assert copies["code"] == "F-COPY-SPEED" and "7.2 GB/s" in copies["says"]


def finding_of(code: str, **changed: Any) -> Finding:
    (found,) = [each for each in findings(QUIET | changed) if each["code"] == code]
    return found


def test_a_load_that_has_just_ended_is_not_blamed_on_others() -> None:
    assert finding_of("F-LOAD", load=1.9, busy_percent=1.5)["level"] == "good"


@pytest.mark.parametrize(
    ("usable", "named"), [([0, 1], ""), ([0], ""), ([0, 1, 2, 3], "isolcpus=2,3"), ([4, 5, 6, 7, 8], "isolcpus=7,8")]
)
def test_only_cores_that_exist_and_can_be_spared_are_isolated(usable: list[int], named: str) -> None:
    remedy = finding_of("F-ISOLATED-CORES", isolated_cores="", usable_cores=usable)["remedy"]
    assert (named in remedy) if named else ("isolcpus" not in remedy and "rounds" in remedy)


def noise(*longest_us: float) -> dict[str, Any]:
    cores = [
        {"core": core, "longest_us": us, "gaps_per_s": 1.0, "gaps_percent": 0.0} for core, us in enumerate(longest_us)
    ]
    return {"cores": cores, "steal_percent": 0.0}


def test_quieter_cores_are_named_if_there_are_two() -> None:
    assert "--cores 1,2" in measured.judge_noise(noise(5000.0, 50.0, 60.0))[0]["remedy"]
    assert all("--cores" not in each["remedy"] for each in measured.judge_noise(noise(5000.0, 6000.0)))
    assert "--cores" not in measured.judge_noise(noise(5000.0, 60.0))[0]["remedy"]


def test_the_last_sentence_says_what_to_trust() -> None:
    assert trust(findings(QUIET)).startswith("Trust medians and tails")
    assert "do not trust p99" in trust(measured.judge_noise(noise(5000.0, 6000.0)))
    busy = trust(findings(QUIET | {"busy_percent": 90.0, "idle_exit_us": 890}))
    assert "remove the causes that also distort medians: load" in busy and "--no-idle-states" in busy

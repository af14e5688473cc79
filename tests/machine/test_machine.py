"""Tests that read machine facts from synthetic /proc and /sys trees."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from hopmeter.machine import description, limits
from hopmeter.machine.kernel import UNKNOWN, Kernel

DESKTOP = {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Quick CPU 9\nflags\t\t: fpu vme\n",
    "proc/stat": "cpu  100 0 100 780 0 0 0 20 0 0\ncpu0 1 2 3\n",
    "proc/loadavg": "0.25 0.20 0.10 1/100 7\n",
    "proc/sys/kernel/osrelease": "6.1.0-13-amd64\n",
    "proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC Debian\n",
    "sys/devices/system/cpu/smt/active": "1\n",
    "sys/devices/system/cpu/isolated": "2-3\n",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0,4\n",
    "sys/devices/system/cpu/cpu4/topology/thread_siblings_list": "0,4\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu4/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/latency": "0\n",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/latency": "133\n",
    "sys/devices/system/cpu/cpu0/cpuidle/state2/latency": "890\n",
    "sys/devices/system/cpu/cpu0/cpuidle/state2/disable": "1\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "proc/sys/kernel/sched_autogroup_enabled": "1\n",
    "sys/devices/system/node/node0/cpulist": "0-3\n",
    "sys/devices/system/node/node1/cpulist": "4-7\n",
    "etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
}


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def grow(kernel: Kernel, files: dict[str, str]) -> Kernel:
    for path, text in files.items():
        (kernel.root / path).parent.mkdir(parents=True, exist_ok=True)
        (kernel.root / path).write_text(text)
    return kernel


def test_a_desktop_is_described_from_its_own_files(kernel: Kernel) -> None:
    seen = description.describe(grow(kernel, DESKTOP))
    expected = {
        "cpu_model": "Quick CPU 9",
        "smt": "on",
        "siblings": ["0,4"],
        "numa_nodes": 2,
        "topology_verified": True,
        "governor": "powersave (1 cores), performance (1 cores)",
        "turbo": "on",
        "idle_exit_us": 133,
        "isolated_cores": "2-3",
        "virtualisation": "none",
        "clock_source": "tsc",
        "thp": "madvise",
        "autogroup": "on",
        "kernel": "6.1.0-13-amd64",
        "preemption": "dynamic",
        "distribution": "Debian GNU/Linux 12 (bookworm)",
        "load": 0.25,
        "steal_percent": 2.0,
        "container": "none",
        "cgroup_cpus": None,
    }
    assert {name: seen[name] for name in expected} == expected


@pytest.mark.parametrize(("driver", "polls_us"), [("haltpoll", 200), ("intel_idle", None)])
def test_how_long_a_guest_looks_for_work_counts_where_its_driver_does(
    kernel: Kernel, driver: str, polls_us: int | None
) -> None:
    files = {
        "sys/devices/system/cpu/cpuidle/current_driver": f"{driver}\n",
        "sys/module/haltpoll/parameters/guest_halt_poll_ns": "200000\n",
    }
    assert description.describe(grow(kernel, files))["halt_poll_us"] == polls_us


def test_a_machine_that_shows_nothing_is_unknown_and_no_error(kernel: Kernel) -> None:
    seen = description.describe(kernel)
    for name in (
        "cpu_model",
        "smt",
        "governor",
        "isolated_cores",
        "virtualisation",
        "clock_source",
        "thp",
        "autogroup",
        "kernel",
    ):
        assert seen[name] == UNKNOWN, name
    for name in ("idle_exit_us", "halt_poll_us", "load", "steal_percent", "shm_mb", "memory_mb"):
        assert seen[name] is None, name
    assert seen["topology_verified"] is False


BOARD = {
    "proc/cpuinfo": "".join(
        f"processor\t: {core}\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n"
        for core, part in enumerate(("0xd05", "0xd05", "0xd0b"))
    ),
    "proc/device-tree/model": "Quick Board 5\0",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0\n",
    "sys/devices/system/cpu/cpu1/topology/thread_siblings_list": "1\n",
    "sys/devices/system/cpu/cpu0/cpu_capacity": "414\n",
    "sys/devices/system/cpu/cpu1/cpu_capacity": "414\n",
    "sys/devices/system/cpu/cpu2/cpu_capacity": "1024\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "arch_sys_counter\n",
}


def test_a_board_of_arm_is_described_by_its_device_tree_and_the_numbers_of_its_cores(kernel: Kernel) -> None:
    seen = description.describe(grow(kernel, BOARD))
    expected = {
        "cpu_model": "Quick Board 5, Cortex-A55 and Cortex-A76",
        "smt": "off",
        "siblings": [],
        "slower_cores": [0, 1],
        "virtualisation": "none",
        "topology_verified": True,
        "clock_source": "arch_sys_counter",
        "governor": UNKNOWN,
        "turbo": UNKNOWN,
    }
    assert {name: seen[name] for name in expected} == expected


def test_cores_that_nobody_has_named_are_told_by_their_numbers(kernel: Kernel) -> None:
    grow(kernel, {"proc/cpuinfo": "processor : 0\nCPU implementer : 0x48\nCPU part : 0xd01\n"})
    assert description.describe(kernel)["cpu_model"] == "implementer 0x48 part 0xd01"


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"proc/device-tree/model": "linux,dummy-virt\0"}, "kvm"),
        ({"proc/device-tree/hypervisor/compatible": "xen,xen-4.17\0xen,xen\0"}, "xen"),
        ({"proc/device-tree/hypervisor/compatible": "own,own\0"}, "yes"),
        ({"sys/class/dmi/id/sys_vendor": "QEMU\n"}, "kvm"),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}, "amazon"),
        ({"sys/hypervisor/type": "xen\n"}, "xen"),
        ({"proc/cpuinfo": "flags : fpu hypervisor\n"}, "yes"),
        (
            {
                "proc/cpuinfo": "flags : fpu hypervisor\n",
                "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock\n",
            },
            "kvm",
        ),
        ({"proc/cpuinfo": "flags : fpu\n", "sys/class/dmi/id/sys_vendor": "Dell Inc.\n"}, "none"),
    ],
)
def test_a_hypervisor_is_recognised(kernel: Kernel, files: dict[str, str], kind: str) -> None:
    assert description.virtualisation(grow(kernel, files)) == kind


def test_the_narrowest_quota_above_a_process_is_the_one_that_counts(kernel: Kernel) -> None:
    grow(
        kernel,
        {
            "proc/self/cgroup": "0::/outer/inner\n",
            "sys/fs/cgroup/outer/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/outer/inner/cpu.max": "max 100000\n",
            "sys/fs/cgroup/outer/inner/cpu.stat": "usage_usec 5\nnr_throttled 12\n",
            "sys/fs/cgroup/outer/memory.max": f"{512 * 2**20}\n",
        },
    )
    seen = limits.describe(kernel)
    assert (seen["cgroup_cpus"], seen["cgroup_memory_mb"], seen["cgroup_throttled"]) == (1.5, 512, 12)


def test_the_quota_of_old_cgroups_counts_too(kernel: Kernel) -> None:
    grow(kernel, {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"})
    assert limits.cgroup_cpus(kernel) == 0.5


@pytest.mark.parametrize(("written", "limit"), [(256 * 2**20, 256), (9223372036854771712, None)])
def test_the_memory_of_old_cgroups_counts_too(kernel: Kernel, written: int, limit: int | None) -> None:
    grow(kernel, {"sys/fs/cgroup/memory/memory.limit_in_bytes": str(written)})
    assert limits.describe(kernel)["cgroup_memory_mb"] == limit


def test_of_shared_memory_what_is_free_counts(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    room = SimpleNamespace(f_blocks=1000, f_bfree=300, f_bavail=200, f_frsize=2**20)
    monkeypatch.setattr("os.statvfs", lambda _: room)
    assert limits.describe(kernel)["shm_mb"] == 200


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"run/systemd/container": "lxc\n"}, "lxc"),
        ({"proc/1/cgroup": "4:cpu:/kubepods/besteffort\n"}, "kubepods"),
        ({"proc/1/cgroup": "0::/init.scope\n"}, "none"),
    ],
)
def test_a_container_is_recognised(kernel: Kernel, files: dict[str, str], kind: str) -> None:
    assert limits.container(grow(kernel, files)) == kind


@pytest.mark.parametrize(("mask", "able"), [("000001ffffffffff", True), ("00000000a80425fb", False)])
def test_what_root_may_do_in_a_container_is_read_from_its_capabilities(kernel: Kernel, mask: str, able: bool) -> None:
    seen = limits.describe(grow(kernel, {"proc/self/status": f"Name:\tx\nCapEff:\t{mask}\n"}))
    assert seen["may_lock_memory"] is (able or seen["memlock_kb"] == "unlimited")
    assert seen["may_go_real_time"] is (able or seen["rtprio"] != 0)


def test_this_machine_can_be_described() -> None:
    seen = description.describe()
    assert seen["cores"] >= len(seen["usable_cores"]) >= 1
    assert seen["memory_mb"] > 0

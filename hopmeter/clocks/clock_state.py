"""Facts about a host's clock: its rate, and the program that corrects it. The facts are stored and shown, but are not
used in calculations."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field

from hopmeter._instrument import clock_reading
from hopmeter.clocks.batches import Count, Name, Received, Time
from hopmeter.system.processes import boot_id

COMMANDS = {
    "chrony": ("chronyc", "-n", "tracking"),
    "timesyncd": ("timedatectl", "show-timesync", "--all"),
}
"""The commands that report how a program corrects the clock."""
PATIENCE_S = 2
MOST_CHARACTERS = 4000
PTP_CLOCKS = "/sys/class/ptp"
CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

TIME_NAMESPACE = Path("/proc/self/ns/time")

Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]


class KernelClock(Received):
    """How the kernel corrects its clock on behalf of NTP, PTP or chrony."""

    frequency_ppb: Time
    tick_us: Time
    status: Time
    is_synchronised: bool
    maximum_error_us: Time
    estimated_error_us: Time


class ClockState(Received):
    """The state of a host's clock at one point in time."""

    session: Name
    host: Name
    clock: Name
    """The id of CLOCK_MONOTONIC. Hosts with the same id share a clock."""
    monotonic_ns: Time
    raw_ns: Time
    """The simultaneous reading of CLOCK_MONOTONIC_RAW, which no program corrects."""
    bracket_ns: Count
    """The maximum time in nanoseconds between the readings of CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW."""
    kernel: KernelClock | None
    sources: Annotated[dict[Name, Text], Field(max_length=16)] = Field(default_factory=dict)
    """Reports of chrony, systemd-timesyncd and the PTP clocks, and the kernel's clock source."""


def read_clock_state(session: str, host: str, with_sources: bool = False) -> ClockState:
    """Read the clock state of this host. With `with_sources`, reading the clock state takes up to several seconds, so
    do not use `with_sources` during a measurement."""
    sources = _sources() if with_sources else {}
    named = {"session": session, "host": host, "clock": clock_id(), "sources": sources}
    return ClockState.model_validate(clock_reading() | named)


def clock_id() -> str:
    """Return the id of CLOCK_MONOTONIC, which all processes of one boot and one time namespace share."""
    try:
        return f"{boot_id()} {TIME_NAMESPACE.readlink()}"
    except OSError:
        return boot_id()


def _sources() -> dict[str, str]:
    found = {name: _output(command) for name, command in COMMANDS.items() if shutil.which(command[0])}
    found["ptp"] = ", ".join(sorted(map(_read, Path(PTP_CLOCKS).glob("*/clock_name"))))
    found["clock source"] = _read(Path(CLOCK_SOURCE))
    return {name: said[:MOST_CHARACTERS] for name, said in found.items() if said}


def _output(command: Iterable[str]) -> str:
    try:
        ended = subprocess.run([*command], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def correction_ppm(states: Iterable[ClockState]) -> float | None:
    """Return the rate of the corrected clock relative to the uncorrected clock in ppm, over all states of a session.
    Return None for fewer than two states."""
    ordered = sorted(states, key=lambda state: state.raw_ns)
    if len(ordered) < 2 or ordered[-1].raw_ns == ordered[0].raw_ns:
        return None
    raw_ns = ordered[-1].raw_ns - ordered[0].raw_ns
    return (ordered[-1].monotonic_ns - ordered[0].monotonic_ns - raw_ns) / raw_ns * 1e6

"""Real clock exchanges on this host, and between test hosts with a known clock offset."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hopmeter._instrument import ClockResponder, clock_batch, clock_reading
from hopmeter.clocks.batches import Batch, ClockError, measure_batch
from hopmeter.clocks.pair_model import PairModel
from tests.clocks.simulated import array
from tests.hosts.network import ROOT, Host, Wire, two_hosts
from tests.hosts.tap_wire import Way
from tests.waiting import wait_for

ENDS = (sys.executable, "-m", "tests.clocks.ends")
TOKEN = secrets.token_bytes(16)
AHEAD_S = 1000
MS = 10**6


@pytest.fixture
def responder() -> Iterator[ClockResponder]:
    own = ClockResponder("127.0.0.1", TOKEN)
    yield own
    own.stop()


def test_the_clock_of_this_host_is_its_own(responder: ClockResponder) -> None:
    assert responder.port is not None
    batch = measure_batch("s", "here", "there", ("127.0.0.1", responder.port), TOKEN)
    assert abs(batch.least.offset_ns) <= batch.least.bound_ns
    assert batch.asked == batch.answered == 200
    wait_for(lambda: responder.counts()[:2] == (200, 0))


def test_a_responder_listens_over_ipv6_too() -> None:
    try:
        own = ClockResponder("::1", TOKEN)
    except OSError as cause:
        pytest.skip(f"this machine has no IPv6: {cause}")
    assert own.port is not None
    batch = measure_batch("s", "here", "there", ("::1", own.port), TOKEN)
    own.stop()
    assert abs(batch.least.offset_ns) <= batch.least.bound_ns


def test_a_host_that_does_not_answer_is_an_error_that_names_both(responder: ClockResponder) -> None:
    port = responder.port
    assert port is not None
    responder.stop()
    responder.stop()
    assert responder.port is None
    with pytest.raises(ClockError, match=r"clock of host beta cannot be read from host alpha.*E-CLOCK-SILENT"):
        measure_batch("s", "alpha", "beta", ("127.0.0.1", port), TOKEN)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("localhost", 1, TOKEN), "not an IP address"),
        (("127.0.0.1", 1, b"short"), "16 bytes"),
        (("127.0.0.1", 1, TOKEN, 0), "1 to 1000"),
        (("127.0.0.1", 1, TOKEN, 5, float("nan")), "not a valid time"),
    ],
)
def test_wrong_arguments_are_named(words: tuple[object, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        clock_batch(*words)  # type: ignore[arg-type]


def test_a_reading_has_the_clock_that_nobody_corrects() -> None:
    one, other = clock_reading(), clock_reading()
    assert other["monotonic_ns"] > one["monotonic_ns"]
    assert other["raw_ns"] > one["raw_ns"]
    assert one["bracket_ns"] >= 0


def batch_values(**changes: object) -> dict[str, object]:
    exchange = {"asked_ns": 0, "received_ns": 5, "sent_ns": 6, "answered_ns": 11, "error_ns": 1, "kernel_stamps": 4}
    batch = {"session": "s", "asker": "a", "responder": "b", "asked": 1, "answered": 1, "impossible": 0}
    return batch | {"median_round_trip_ns": 10, "best": [exchange]} | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"best": []},
        {"best": [batch_values()["best"][0]] * 65},  # type: ignore[index]
        {"best": [{"asked_ns": 0}]},
        {"best": [batch_values()["best"][0] | {"sent_ns": 100}]},  # type: ignore[index]
        {"best": [batch_values()["best"][0] | {"asked_ns": -(1 << 62)}]},  # type: ignore[index]
        {"asker": ""},
        {"asked": True},
        {"asked": 1.5},
        {"more": 1},
    ],
)
def test_a_batch_from_another_host_that_cannot_be_is_refused(changes: dict[str, object]) -> None:
    Batch.model_validate(batch_values())
    with pytest.raises(ValueError, match="validation error"):
        Batch.model_validate(batch_values(**changes))


@contextmanager
def responding(host: Host) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with host.popen([*ENDS, "respond", host.address, TOKEN.hex()], cwd=ROOT) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()


def batches(asker: Host, responder: Host, port: str, count: int = 1, pause_s: float = 0.0) -> list[Batch]:
    words = ("ask", responder.address, port, TOKEN.hex(), str(count), str(pause_s))
    lines = asker.run([*ENDS, *words], cwd=ROOT).stdout.splitlines()
    return [Batch.model_validate_json(line) for line in lines]


def test_the_known_offset_of_a_time_namespace_is_found_within_its_uncertainty() -> None:
    with two_hosts(ahead_s=AHEAD_S) as (alpha, beta), responding(beta) as (_, port):
        model = PairModel("alpha", "beta", batches(alpha, beta, port, count=4, pause_s=0.1))
    begin = model.batches[1].least.at_ns
    step = model.translation("alpha", begin, begin + 1)
    off_ns = int(step.apply(array([begin]))[0]) - begin - AHEAD_S * 10**9
    assert abs(off_ns) <= step.uncertainty_ns
    assert step.uncertainty_ns < MS


@pytest.mark.parametrize(("there_ms", "back_ms"), [(0, 20), (20, 0), (15, 15), (250, 150)])
def test_a_known_offset_is_found_over_a_wire_with_unequal_delays(there_ms: int, back_ms: int) -> None:
    wire = Wire(there=Way(delay_s=there_ms / 1000), back=Way(delay_s=back_ms / 1000, loss=0.02))
    with two_hosts(wire, ahead_s=AHEAD_S) as (alpha, beta), responding(beta) as (_, port):
        (batch,) = batches(alpha, beta, port)
    error_ns = batch.least.offset_ns - AHEAD_S * 10**9
    assert abs(error_ns) <= batch.least.bound_ns
    assert batch.least.round_trip_ns >= (there_ms + back_ms) * MS
    # Half of the difference between the delays of both directions is an unavoidable error, which the bound must
    # include.
    assert error_ns == pytest.approx((there_ms - back_ms) / 2 * MS, abs=2 * MS)


def test_a_cut_wire_is_an_error_and_the_next_batch_succeeds() -> None:
    with two_hosts(Wire()) as (alpha, beta), responding(beta) as (_, port):
        alpha.cut(beta)
        words = ("ask", beta.address, port, TOKEN.hex(), "1", "0")
        ended = alpha.run([*ENDS, *words], cwd=ROOT, check=False)
        assert "E-CLOCK-SILENT" in ended.stderr
        alpha.restore(beta)
        assert batches(alpha, beta, port)

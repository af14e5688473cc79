"""Run `publish` and `listen` on two machines with separate folders, loopback devices and clocks."""

from __future__ import annotations

import csv
import importlib.util
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hopmeter.hosts.protocol.shared_secret import make_secret
from tests.hosts.network import two_hosts
from tests.interactive.running import start

pytestmark = pytest.mark.slow

AHEAD_S = 1000
"""How far the second machine's clock is ahead of the first machine's clock."""
MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/bin") and importlib.util.find_spec("paho")
TRUE_TO = re.compile(r"two machines: delays are accurate to \N{PLUS-MINUS SIGN}(\d+) us")


def options(folder: Path, side: str, meet: str, mwares: list[str]) -> list[str]:
    words = ["--plugins", "numpy", "--mwares", *mwares, "--width", "200", "--height", "200"]
    flow = ["--trials", "20", "--skip-trials", "3", "--rate", "100", "--meet", meet]
    proof = ["--secret-file", str(folder / "secret")]
    return [*words, *flow, *proof, "--folder", str(folder / side), "--out", str(folder / "out")]


def read_log(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def clock_is_right(folder: Path, mware: str, said: str) -> bool:
    """Return whether the listener's estimate of the clock offset is within its stated uncertainty. Only the test knows
    the true offset."""
    row = next(line for line in said.splitlines() if re.match(rf"{mware} +numpy ", line))
    true_to = TRUE_TO.search(row)
    sent = {
        row["seq"]: row["sent_ns"] for row in pq.read_table(folder / f"publisher-{mware}-numpy.parquet").to_pylist()
    }
    came = pq.read_table(folder / f"listener-{mware}-numpy.parquet").to_pylist()
    if true_to is None:
        return "more than the delay" in row and all(each["sent_ns"] is None for each in came)
    errors = [each["sent_ns"] - sent[each["seq"]] - AHEAD_S * 10**9 for each in came]
    return bool(errors) and max(map(abs, errors)) <= (int(true_to[1]) + 1) * 1000


def test_transports_that_leave_the_machine_are_measured_by_two_clocks(tmp_path: Path) -> None:
    make_secret(tmp_path / "secret")
    measured = ["tcp", "zeromq", *(["mqtt"] if MOSQUITTO else [])]
    with two_hosts(ahead_s=AHEAD_S) as (one, other):
        publishing = options(tmp_path, "one", f"{one.address}:7701", [*measured, "unix"])
        listening = options(tmp_path, "other", f"{one.address}:7701", [*measured, "unix"])
        beyond = {"COLUMNS": "400"}
        with (
            start(tmp_path / "listen", "listen", *listening, before=other.before, beyond=beyond) as listener,
            start(tmp_path / "publish", "publish", *publishing, before=one.before, beyond=beyond) as publisher,
        ):
            assert publisher.ends() == 0, publisher.output + listener.output
            assert listener.ends() == 0, listener.output
            for said in (publisher.output, listener.output):
                assert re.search("numpy over unix: .*does not leave the machine .these do: .*tcp", said), said
            for side in ("publisher", "listener"):
                rows = read_log(tmp_path / f"out/{side}.csv")
                assert [row["middleware"] for row in rows] == [each for each in measured for _ in range(20)]
                assert all(float(row["delay"]) > 0 for row in rows)
            for mware in measured:
                assert clock_is_right(tmp_path / "out/samples", mware, listener.output), listener.output

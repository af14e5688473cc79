"""Run the shipped multi-host scenarios over network namespaces, and plan them without hosts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.coded import lacking
from tests.command import command, environment_in, hopmeter
from tests.hosts.network import Host, Wire, three_hosts, two_hosts
from tests.hosts.tap_wire import Way

pytestmark = pytest.mark.slow

DELAY_S = 0.003
WIRE = Wire(there=Way(delay_s=DELAY_S), back=Way(delay_s=DELAY_S))


def run_over(folder: Path, named: Sequence[tuple[str, Host]], *words: str) -> list[dict[str, Any]]:
    """Run `hopmeter run` with these arguments on these hosts, and return its rows."""
    text = ""
    for name, host in named:
        agent = [*host.before, *command("agent", "--stdio")]
        text += f'[host.{name}]\nagent = {json.dumps(agent)}\naddress = "{host.address}"\n'
    (folder / "hosts.toml").write_text(text)
    where = ("--hosts", "hosts.toml", "--out", "run", "--no-report")
    done = hopmeter("run", *words, *where, cwd=folder, env=environment_in(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list(folder.glob("hm-*"))
    return list(pq.read_table(folder / "run/cells.parquet").to_pylist())


def test_a_chain_over_three_hosts_has_the_delays_of_its_wires(tmp_path: Path) -> None:
    """Only the hops to and from the first host cross the delaying wire. The chain begins and ends on the same host, so
    one clock measures the whole chain."""
    axes = (
        "--transport",
        "tcp,zeromq",
        "--language",
        "python",
        "--relays",
        "5",
        "--rate",
        "100",
        "--payload",
        "timing",
    )
    short = (*axes, "--messages", "40", "--trials", "1")
    with three_hosts(wire=WIRE) as found:
        named = list(zip(("alpha", "beta", "gamma"), found, strict=True))
        rows = run_over(tmp_path, named, "relay-chain-hosts", *short)
    assert {row["transport"] for row in rows} == {"tcp", "zeromq"}
    for row in rows:
        assert row["hosts"] == "alpha>beta>gamma" and row["received"] == 40 and row["lost"] == 0
        assert row["chain_per_hop_p50_us"] >= 4 / 6 * DELAY_S * 1e6
    found_on = pq.read_table(tmp_path / "run/processes.parquet").to_pylist()
    chain = [(each["name"], each["host"]) for each in found_on if each["cell"] == rows[0]["cell"]]
    assert chain == list(
        zip(
            ["source", *(f"relay {number}" for number in range(1, 6)), "sink"],
            ["alpha", "beta", "gamma"] * 2 + ["alpha"],
            strict=True,
        )
    )


def test_the_operator_on_another_host_is_a_wire_away(tmp_path: Path) -> None:
    """The flow `commands` stays on the robot, without a wire delay; the flow `state` goes to the station over the
    delaying wire."""
    short = ("--transport", "zeromq", "--language", "python", "--duration", "500ms", "--trials", "1")
    with two_hosts(wire=WIRE) as pair:
        rows = run_over(tmp_path, list(zip(("robot", "station"), pair, strict=True)), "teleoperation", *short)
    known = {row["flow"] or row["path"]: row for row in rows}
    assert known["commands"]["service_min_us"] < DELAY_S * 1e6 <= known["state"]["service_min_us"]
    assert known["reaction"]["reaction_min_us"] >= 2 * DELAY_S * 1e6


def test_a_dry_run_needs_no_hosts_and_a_run_does(tmp_path: Path) -> None:
    told = hopmeter("run", "teleoperation", "--transport", "zeromq", "--dry-run", cwd=tmp_path, check=False)
    assert "on robot:" in told.stdout and "on station:" in told.stdout and "robot, station have the" in told.stdout
    refused = hopmeter("run", "teleoperation", cwd=tmp_path)
    assert refused.returncode == 2
    assert lacking(refused.stderr, "E-HOST-UNKNOWN participant.camera.host robot --hosts --dry-run") == []

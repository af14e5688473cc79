"""`hopmeter run --hosts` across two hosts, each with a separate network: the nodes connect through their hosts'
addresses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hopmeter import manifest
from hopmeter.manifest.readiness import readiness
from tests.command import command, environment_in, hopmeter
from tests.hosts.network import Host, Wire, two_hosts
from tests.hosts.tap_wire import Way

pytestmark = pytest.mark.slow

DELAY_S = 0.005
SCENARIO = """
title = "Two networks"
question = "Is the delay of a wire found?"
transport = ["tcp", "unix", "zeromq"]
language = "python"
wait = "block"
cores = "free"
duration = "500ms"
trials = 1
participant.camera.host = "one"
participant.motor.host = "two"
participant.recorder.host = "one"
flow.frames = { from = "camera", to = "motor", rate = 50, payload = "bytes:100" }
flow.notes = { from = "camera", to = "recorder", rate = 50, payload = "bytes:100", transport = "unix" }
"""


def write_hosts(file: Path, pair: Sequence[Host]) -> None:
    """Write the hosts file for two test hosts, `one` and `two`."""
    text = ""
    for name, host in zip(("one", "two"), pair, strict=True):
        agent = [*host.before, *command("agent", "--stdio")]
        text += f'[host.{name}]\nagent = {json.dumps(agent)}\naddress = "{host.address}"\n'
    file.write_text(text)


def test_the_delay_of_a_wire_between_two_hosts_is_found(tmp_path: Path) -> None:
    """A transport gets the setting that lets it reach another host. A transport without such a setting is dropped,
    unless its flow stays on one host."""
    (tmp_path / "two.toml").write_text(SCENARIO)
    with two_hosts(wire=Wire(there=Way(delay_s=DELAY_S), back=Way(delay_s=DELAY_S))) as pair:
        write_hosts(tmp_path / "hosts.toml", pair)
        words = ("run", "two.toml", "--hosts", "hosts.toml", "--out", "run", "--no-report")
        done = hopmeter(*words, cwd=tmp_path, env=environment_in(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = pq.read_table(tmp_path / "run/cells.parquet").to_pylist()
    found = {row["transport"]: row for row in rows if row["flow"] == "frames"}
    for name, profile in {"tcp": "", "zeromq": "endpoint=tcp"}.items():
        assert (found[name]["received"], found[name]["lost"], found[name]["profile"]) == (25, 0, profile)
        assert found[name]["service_min_us"] >= DELAY_S * 1e6
    near = [row for row in rows if row["flow"] == "notes"]
    assert len(near) == 2 and all(row["transport"] == "unix" and row["received"] == 25 for row in near)
    assert "[D-HOST-NETWORK]" in done.stdout + done.stderr and "unix" not in found
    assert not list(tmp_path.glob("hm-*"))


SECURE = """
title = "Keys"
question = "Do the nodes and brokers of two hosts get the same keys, and certificates with their addresses?"
transport = ["zeromq", "mqtt"]
language = "python"
wait = "block"
cores = "free"
duration = "500ms"
trials = 1
settings.zeromq.security = "curve"
settings.mqtt.security = "tls"
participant.camera.host = "one"
participant.motor.host = "two"
flow.frames = { from = "camera", to = "motor", rate = 50, payload = "bytes:64" }
"""


def test_encrypted_messages_reach_another_host(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SECURE)
    with two_hosts() as pair:
        write_hosts(tmp_path / "hosts.toml", pair)
        words = ("run", "two.toml", "--hosts", "hosts.toml", "--out", "run", "--no-report")
        done = hopmeter(*words, cwd=tmp_path, env=environment_in(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = pq.read_table(tmp_path / "run/cells.parquet").to_pylist()
    found = {row["transport"]: row for row in rows if row["flow"]}
    assert {name: (row["received"], row["lost"]) for name, row in found.items()} == {"zeromq": (25, 0), "mqtt": (25, 0)}
    assert {name: row["security"] for name, row in found.items()} == {"zeromq": "curve", "mqtt": "tls"}
    assert "TLS" in found["mqtt"]["carried_by"] and "CURVE" in found["zeromq"]["carried_by"]


ROS2 = """
title = "ROS 2 on two hosts"
question = "Do topics and calls of rclpy reach another host?"
transport = "ros2"
language = "python"
wait = "block"
cores = "free"
duration = "500ms"
trials = 1
participant.camera.host = "one"
participant.motor.host = "two"
flow.there = { from = "camera", to = "motor", rate = 20, payload = "bytes:1000" }
flow.back = { from = "motor", to = "camera", rate = 20, payload = "bytes:100000" }
flow.asks = { from = "camera", call = "motor", rate = 20, payload = "bytes:1000" }
flow.answers = { from = "motor", call = "camera", rate = 20, payload = "bytes:1000" }
"""


@pytest.mark.parametrize("multicast", [True, False])
def test_topics_and_calls_of_ros2_reach_another_host(tmp_path: Path, multicast: bool) -> None:
    """Nodes find each other by multicast, or at the configured addresses on networks without multicast."""
    if not (found := readiness(manifest.every()["ros2"], "python")).ready:
        pytest.skip(f"ros2 (python): {found.missing}")
    (tmp_path / "ros2.toml").write_text(ROS2)
    way = Way(multicast=multicast)
    with two_hosts(wire=Wire(there=way, back=way)) as pair:
        write_hosts(tmp_path / "hosts.toml", pair)
        peers = [] if multicast else ["--set", f"static_peers={';'.join(host.address for host in pair)}"]
        words = ("run", "ros2.toml", "--hosts", "hosts.toml", "--out", "run", "--no-report", *peers)
        done = hopmeter(*words, cwd=tmp_path, env=environment_in(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = pq.read_table(tmp_path / "run/cells.parquet").to_pylist()
    flows = {row["flow"]: (row["received"], row["lost"]) for row in rows if row["flow"]}
    assert flows == dict.fromkeys(("there", "back", "asks", "answers"), (10, 0))

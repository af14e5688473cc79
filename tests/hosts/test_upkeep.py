"""Tests for `hopmeter hosts` and `hopmeter build --hosts`."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import psutil
import pytest

from hopmeter.hosts.protocol.host_build import BuildOrder
from hopmeter.hosts.protocol.stream_probe import StreamReceiver, measure_stream
from tests.command import command, environment_in, hopmeter, running
from tests.hosts.network import two_hosts
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

VETH_MTU = 1500
TOKEN = bytes(16)


def write_hosts(path: Path, **entries: dict[str, object]) -> Path:
    lines = [
        f"[host.{name}]\n" + "\n".join(f"{k} = {json.dumps(v)}" for k, v in e.items()) for name, e in entries.items()
    ]
    path.write_text("\n".join(lines))
    return path


def test_hosts_shows_the_way_to_each_host_and_what_is_wrong(tmp_path: Path) -> None:
    environment = environment_in(tmp_path)
    with two_hosts() as (a, b):
        there = [*b.before, "env", *(f"{key}={environment[key]}" for key in ("PYTHONPATH", "XDG_RUNTIME_DIR"))]
        agent = [*there, *command("agent", "--stdio")]
        file = write_hosts(
            tmp_path / "hosts.toml",
            one={"here": True, "address": a.address},
            two={"agent": agent, "address": b.address},
            wrong={"agent": agent, "address": "10.99.0.9"},
            off={"agent": ["false"]},
        )
        done = a.run(command("hosts", "--hosts", file, "--json"), env=environment, check=False)
        shown = a.run(command("hosts", "--hosts", file), env=environment, check=False)
    rows = {row["host"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == shown.returncode == 1 and list(rows) == ["one", "two", "wrong", "off"], done.stderr
    two = rows["two"]
    assert two["mtu_bytes"] == VETH_MTU and two["stream_gbit_s"] > 0 and two["round_trip_us"] > 0
    assert "tcp (python)" in two["transports"] and rows["one"]["mtu_bytes"] is None
    assert {each["code"] for each in two["findings"]} <= {each["code"] for each in rows["one"]["findings"]} | {"F-LOAD"}
    assert "assign" in rows["wrong"]["unreached"] and rows["wrong"]["reachable"]
    assert rows["off"]["code"] == "E-HOST-UNREACHABLE"
    assert "cannot connect to 10.99.0.9 over TCP" in shown.stdout and f"{VETH_MTU:,}" in shown.stdout


def test_a_stream_that_does_not_know_the_token_is_not_counted() -> None:
    receiver = StreamReceiver("127.0.0.1", TOKEN)
    with pytest.raises(ConnectionError):
        measure_stream("127.0.0.1", receiver.port, bytes([1]) * 16, lambda: (0, 0))
    found = measure_stream("127.0.0.1", receiver.port, TOKEN, receiver.result)
    receiver.close()
    assert found.gbit_s > 0 and found.mtu_bytes > VETH_MTU


def test_all_hosts_build_and_one_that_cannot_is_named(tmp_path: Path) -> None:
    agent = command("agent", "--stdio")
    file = write_hosts(tmp_path / "hosts.toml", one={"agent": agent}, two={"here": True})
    good = hopmeter("build", "tcp", "--language", "python", "--hosts", file, "--json", env=environment_in(tmp_path))
    rows = [json.loads(line) for line in good.stdout.splitlines()]
    assert good.returncode == 0, good.stderr
    assert {(row["host"], row["target"], row["ready"]) for row in rows if row["target"]} == {
        ("one", "tcp python", True),
        ("two", "tcp python", True),
    }
    bad = hopmeter("build", "no_such", "--hosts", file, env=environment_in(tmp_path))
    assert bad.returncode == 1 and "✗ one" in bad.stdout and "no_such" in bad.stdout


def test_frameworks_are_not_installed_on_hosts(tmp_path: Path) -> None:
    done = hopmeter("build", "--framework", "torch", "--hosts", "hosts.toml", env=environment_in(tmp_path))
    assert done.returncode == 2 and "E-OPTION-CONFLICT" in done.stderr


def test_words_that_are_no_words_are_refused() -> None:
    for word in ("--json", "a b", "$(true)", ""):
        with pytest.raises(ValueError, match="not a valid word"):
            BuildOrder([word]).check()
    for setting in ("--json", "distribution", "distribution=", "a=b c", "a=$(true)"):
        with pytest.raises(ValueError, match="no setting"):
            BuildOrder(["ros2"], settings=[setting]).check()


def test_settings_choose_installations_on_hosts(tmp_path: Path) -> None:
    order = BuildOrder(["ros2"], ["python"], settings=["distribution=kilted,jazzy"])
    order.check()
    assert order.command[-3:] == ["--set=distribution=kilted,jazzy", "--json", "ros2"]
    file = write_hosts(tmp_path / "hosts.toml", one={"agent": command("agent", "--stdio")})
    words = ("build", "tcp", "--hosts", file, "--set", "distribution=jazzy")
    done = hopmeter(*words, env=environment_in(tmp_path))
    assert done.returncode == 2 and "E-UNKNOWN-SETTING" in done.stderr


def test_ctrl_c_ends_the_builds_of_all_hosts(tmp_path: Path) -> None:
    agent = command("agent", "--stdio")
    file = write_hosts(tmp_path / "hosts.toml", one={"agent": agent}, two={"here": True})
    words = ("build", "zeromq", "tcp", "--language", "python", "--hosts", file)
    with running(*words, env=environment_in(tmp_path), preexec_fn=listen_to_ctrl_c) as building:
        wait_for(lambda: len(processes(tmp_path, "build")) == 3)
        building.send_signal(signal.SIGINT)
        assert building.wait(30) == 130
    wait_for(lambda: not processes(tmp_path))
    assert not list(tmp_path.glob("hm-*"))


def listen_to_ctrl_c() -> None:
    """Restore the default handling of SIGINT, because shells start background commands with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def processes(folder: Path, *words: str) -> list[psutil.Process]:
    """Return the test's processes whose command line contains these words."""
    every = psutil.process_iter(["cmdline", "environ", "status"])
    ours = [each for each in every if (each.info["environ"] or {}).get("XDG_RUNTIME_DIR") == str(folder)]
    alive = [each for each in ours if each.info["status"] != psutil.STATUS_ZOMBIE]
    return [each for each in alive if set(words) <= set(each.info["cmdline"] or [])]

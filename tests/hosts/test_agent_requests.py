"""Tests for the requests that an agent serves and refuses; every coordinator is untrusted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from hopmeter.hosts.agent.trial import check_settings
from hopmeter.hosts.coordinator.connection import Connection
from hopmeter.hosts.coordinator.questions import answers
from hopmeter.hosts.protocol import spec_paths
from hopmeter.hosts.protocol.agent_process import AgentProcess
from hopmeter.hosts.protocol.content_store import PIECE_BYTES, ContentStore, content_hash, decode
from hopmeter.manifest import every
from hopmeter.runtime.failures import TrialFailedError
from tests.command import command

RUN = "0123456789abcdef"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Return a folder with a path that is short enough for sockets."""
    with TemporaryDirectory() as path:
        yield Path(path)


@pytest.fixture(scope="module")
def agent(folder: Path) -> Iterator[Connection]:
    """An agent that all tests share, because an agent must survive every request that it refuses."""
    process = AgentProcess("one", ["env", f"XDG_RUNTIME_DIR={folder}", *command("agent", "--stdio")], folder / "errors")
    try:
        yield Connection("one", process.channel, process.why_gone)
    finally:
        process.close()
        assert not list(folder.glob("hm-*")), "an agent leaves no folder"


SPEC = {
    "bind": "127.0.0.1",
    "advertised": "127.0.0.1",
    "run": RUN,
    "transport": "tcp",
    "links": {},
    "settings": {},
    "endpoints": [],
    "flows": [],
}


@pytest.mark.parametrize(
    ("do", "more"),
    [
        ("no-such-thing", {}),
        ("start-trial", {"trial": "../../etc", "transports": ["tcp"]}),
        ("start-trial", {"trial": RUN, "transports": ["../tcp"]}),
        ("start-trial", {"trial": RUN, "transports": [["tcp"]]}),
        ("start-trial", {"trial": RUN, "transports": ["tcp"], "credentials": [{"../evil": "AAAA"}]}),
        ("start-trial", {"trial": RUN, "transports": ["tcp"], "credentials": [{"ca.pem": "A" * 20_000}]}),
        ("usage", {"trial": RUN, "since_ns": 0}),
        ("has-file", {"hash": "../../etc/passwd"}),
        ("add-file", {"hash": "0" * 64, "data": "AAAA", "last": True}),
        ("add-file", {"hash": "0" * 64, "data": "%%%", "last": True}),
        ("start-background", {"cores": [4000], "cpu_percent": 50, "memory_gb_s": 0}),
        ("piece", {"trial": RUN, "file": "/etc/passwd", "offset": 0, "bytes": 9}),
        ("piece", {"trial": RUN, "file": "samples", "offset": 0, "bytes": 1 << 20}),
    ],
)
def test_an_agent_refuses_what_no_coordinator_asks_for(agent: Connection, do: str, more: dict[str, Any]) -> None:
    with pytest.raises(TrialFailedError) as refused:
        agent.ask(do, **more)
    assert refused.value.code == "E-HOST-ASK" and "on one" in refused.value.what
    assert agent.ask("ping")["now_ns"] > 0, "it goes on"


@pytest.mark.parametrize(
    "changed",
    [
        {"run": "f" * 16},
        {"transport": "zeromq"},
        {"directory": "/tmp"},
        {"bind": "evil"},
        {"directory": "/trial/../../etc"},
        {"settings": {"no_such": 1}},
        {"links": {"l0": {"name": "../../evil"}}},
        {"endpoints": [{"id": 0, "samples": "/etc/cron.d/evil"}]},
        {"flows": [{"library": "/tmp/evil.so"}]},
        {"flows": [{"payload_file": "/etc/shadow"}]},
        {"flows": [{"payload_file": f"/files/{'0' * 64}"}]},
        {"flows": [{"object": "image:1x1:1:/etc/shadow"}]},
    ],
)
def test_an_agent_starts_no_node_with_a_foreign_path(agent: Connection, changed: dict[str, Any]) -> None:
    agent.ask("start-trial", trial=RUN, transports=["tcp"])
    spec = {**SPEC, "directory": "/trial/s", "settings": every()["tcp"].resolve_settings({}), **changed}
    node = {"node": 0, "number": 0, "language": "python", "codecs": [], "name": "x", "environment": {}}
    with pytest.raises(TrialFailedError) as refused:
        agent.ask("start-node", trial=RUN, spec=spec, **node)
    assert refused.value.code == "E-HOST-ASK"
    with pytest.raises(TrialFailedError) as refused:
        agent.ask("start-node", trial=RUN, spec=SPEC, **node | {"environment": {"LD_PRELOAD": "/tmp/evil.so"}})
    assert refused.value.code == "E-HOST-ASK"
    agent.ask("remove-trial", trial=RUN)


def test_an_agent_takes_no_file_for_a_setting() -> None:
    """A file on the agent's machine is refused, and so is a text that could make the library write a file."""
    ros2 = every()["ros2"]
    check_settings(ros2, ros2.resolve_settings({"rmw": "rmw_cyclonedds_cpp"}))
    for value in ("/etc/passwd", "<Tracing><OutputFile>/tmp/evil</OutputFile></Tracing>"):
        with pytest.raises(ValueError, match="cyclonedds_uri"):
            check_settings(ros2, ros2.resolve_settings({"cyclonedds_uri": value}))


def test_an_agent_reports_a_go_that_comes_too_late(agent: Connection) -> None:
    heard: list[dict[str, Any]] = []
    agent.listen(RUN, heard.append)
    agent.ask("start-trial", trial=RUN, transports=["tcp"])
    agent.tell({"say": "to", "trial": RUN, "node": 3, "message": {"say": "go", "start_ns": 1}})
    agent.ask("remove-trial", trial=RUN)
    agent.listen(RUN, None)
    assert [(each["say"], each["node"]) for each in heard] == [("late", 3)] and heard[0]["by_ns"] > 0


def test_samples_arrive_whole_although_many_pieces_are_on_their_way(agent: Connection, folder: Path) -> None:
    """The data does not fit into the channel, so both sides must read while they write."""
    agent.ask("start-trial", trial=RUN, transports=["tcp"])
    (trial,) = (each.parent for each in folder.glob("hm-*/*/s"))
    content = bytes(range(256)) * 40_000
    (trial / "samples.parquet").write_bytes(content)
    offsets = range(0, len(content), PIECE_BYTES)
    asked = (agent.post("piece", trial=RUN, file="samples", offset=each, bytes=PIECE_BYTES) for each in offsets)
    assert b"".join(decode(each["data"]) for each in answers(asked)) == content
    assert agent.ask("piece", trial=RUN, file="causes", offset=0, bytes=1) == {"data": ""}
    agent.ask("remove-trial", trial=RUN)


def test_paths_of_a_spec_become_those_of_the_host() -> None:
    spec = {
        "directory": "/trial/s1",
        "endpoints": [{"samples": "/trial/3.raw", "causes": "/trial/3.causes"}],
        "flows": [
            {"recording": f"/files/{'a' * 64}", "object": f"image:2x1:5:/files/{'b' * 64}"},
            {"object": "array:2x2"},
        ],
    }
    found = spec_paths.resolve(spec, Path("/h"), lambda name: Path("/content") / name[:2])
    assert found["directory"] == "/h/s1"
    assert found["endpoints"] == [{"samples": "/h/3.raw", "causes": "/h/3.causes"}]
    assert found["flows"] == [
        {"recording": "/content/aa", "object": "image:2x1:5:/content/bb"},
        {"object": "array:2x2"},
    ]


def test_files_travel_by_their_content(tmp_path: Path) -> None:
    source, store = tmp_path / "a", ContentStore(tmp_path / "files")
    source.write_bytes(b"x" * 1000)
    name = content_hash(source)
    store.add(name, b"x" * 400, is_last=False)
    assert not store.has(name)
    store.add(name, b"x" * 600, is_last=True)
    assert store.path(name).read_bytes() == source.read_bytes()


def test_settings_of_a_peer_are_those_of_the_manifest() -> None:
    one = every()["synthetic"]
    known = one.resolve_settings({})
    assert check_settings(one, known) == known
    for wrong in ({}, {**known, "delay_us": "x"}, {**known, "other": 1}):
        with pytest.raises(ValueError, match=r".+"):
            check_settings(one, wrong)

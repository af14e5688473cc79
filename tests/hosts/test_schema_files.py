"""Schema files keep their library name on a host, and no path leaves the target folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopmeter.hosts.protocol import spec_paths
from hopmeter.hosts.protocol.content_store import content_hash
from hopmeter.hosts.protocol.schema_files import gather_files, put_files
from hopmeter.schemas import find_schema, library_of
from hopmeter.schemas.library import folder_of
from hopmeter.system import paths

POSE = 'syntax = "proto3";\npackage geo;\nmessage Pose { double x = 1; }\n'
STATE = 'syntax = "proto3";\npackage own;\nimport "geo/pose.proto";\nmessage State { geo.Pose pose = 1; }\n'
TABLE = "namespace own; table State { x:double; } root_type State;\n"
HASH = "a" * 64


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "idl/geo").mkdir(parents=True)
    for name, text in (("geo/pose.proto", POSE), ("state.proto", STATE), ("state.fbs", TABLE)):
        (home / "idl" / name).write_text(text)
    (home / "idl/own/msg").mkdir(parents=True)
    (home / "idl/own/msg/State.msg").write_text("std_msgs/Header header\n")
    (home / "one.txtpb").write_text("pose { x: 1 }")
    (home / "one.yaml").write_text("header: auto")
    return home


def carry(payload: str, codecs: list[str], there: Path) -> str:
    """Send a message's files to a host, and return the payload on that host."""
    sent: dict[str, Path] = {}
    told = gather_files(payload, codecs).send(
        lambda path: sent.setdefault(content_hash(path), path) and content_hash(path)
    )
    return f"message:{put_files(there, told, sent.__getitem__)}"


@pytest.mark.parametrize(
    ("schema", "values", "codecs"),
    [
        ("idl/state.proto", "", ["protobuf"]),
        ("idl/state.proto", ":7", ["protobuf"]),
        ("idl/state.proto", ":{home}/one.txtpb", ["protobuf"]),
        ("idl/state", "", ["protobuf", "flatbuffers"]),
        ("idl/state", "", ["protobuf", "cdr"]),
    ],
)
def test_a_host_names_the_library_as_this_machine_does(home: Path, schema: str, values: str, codecs: list[str]) -> None:
    payload = f"message:{home}/{schema}:own.State{values.format(home=home)}"
    there = carry(payload, codecs, home.parent / "there")
    for codec in codecs:
        names = {folder_of(find_schema(text, codec), "python").name for text in (payload, there)}
        assert len(names) == 1 and str(home) not in there


@pytest.mark.parametrize("payload", ["{home}/idl/own/msg/State.msg", "nav_msgs/msg/Odometry"])
@pytest.mark.parametrize("values", ["", ":7", ":{home}/one.yaml"])
def test_a_message_of_ros2_travels_with_its_definitions(home: Path, payload: str, values: str) -> None:
    text = f"message:{payload}{values}".format(home=home)
    there = carry(text, ["cdr"], home.parent / "there")
    assert len({folder_of(find_schema(each, "cdr"), "python").name for each in (text, there)}) == 1
    assert str(home) not in there


@pytest.mark.parametrize("include", ["../other", "../other:include=.", "../nothing:include=../other"])
def test_folders_of_imports_travel_with_the_schema(home: Path, include: str) -> None:
    for name, text in (
        ("own/robot.proto", f'{STATE} import "far/x.proto";'),
        ("other/far/x.proto", POSE),
        ("nothing/a", ""),
    ):
        path = home.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace('import "geo/pose.proto";', "").replace("geo.Pose pose = 1;", ""))
    folders = include.replace("..", str(home.parent)).replace("=.", f"={home.parent}/own")
    payload = f"message:{home.parent}/own/robot.proto:own.State:3:include={folders}"
    there = carry(payload, ["protobuf"], home.parent / "there")
    assert str(home.parent / "other") not in there
    assert len({folder_of(find_schema(text, "protobuf"), "python").name for text in (payload, there)}) == 1


def test_a_shipped_message_needs_no_files(home: Path) -> None:
    assert carry("message:robot-state", ["protobuf"], home) == "message:robot-state"


@pytest.mark.parametrize(
    "told",
    [
        {"text": "a.proto:A:3", "files": {"../a.proto": HASH}},
        {"text": "a.proto:A:3", "files": {"/etc/a.proto": HASH}},
        {"text": "a.proto:A:3", "files": {"b/../../a.proto": HASH}},
        {"text": "../a.proto:A:3", "files": {"a.proto": HASH}},
        {"text": "a.proto:A:../b", "files": {"a.proto": HASH}},
        {"text": "a.proto:A:3:include=../b", "files": {"a.proto": HASH}},
        {"text": "a.proto:A:3:include=/etc", "files": {"a.proto": HASH}},
        {"text": "a.proto:A:3:b", "files": {"a.proto": HASH}},
        {"text": "a.proto:A", "files": {"a.proto": HASH}},
        {"text": "a.proto:A:3", "files": {"a.proto": "b"}},
        {"text": "/etc/passwd", "files": {}},
        {"text": "a.proto:A:3", "files": []},
    ],
)
def test_paths_that_leave_the_folder_are_refused(tmp_path: Path, told: dict[str, Any]) -> None:
    (tmp_path / "content").write_text("x")
    with pytest.raises(ValueError, match=r"."):
        put_files(tmp_path / "there", told, lambda _: tmp_path / "content")
    assert not (tmp_path / "a.proto").exists()


def test_a_spec_names_the_library_of_the_host_and_only_one_that_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    library = library_of("message:robot-state", "protobuf", "c++")
    flows = [
        {"codec": "protobuf", "library": str(library.path), "object": str(library.object)},
        {"codec": "protobuf", "object": f"message:{library.folder}"},
    ]
    sent = spec_paths.send_files({"flows": flows}, lambda _: HASH)["flows"]
    assert not [each for flow in sent for each in flow.values() if str(paths.codec_folder()) in each]
    spec = {"directory": "/trial/s", "endpoints": [], "flows": sent}
    monkeypatch.setattr(spec_paths, "built_libraries", list)
    with pytest.raises(ValueError, match="not built"):
        spec_paths.resolve(spec, Path("/h"), lambda _: Path("/f"))
    monkeypatch.setattr(spec_paths, "built_libraries", lambda: [library.folder.name])
    assert spec_paths.resolve(spec, Path("/h"), lambda _: Path("/f"))["flows"] == flows
    for wrong in (
        {"library": "/tmp/evil.so"},
        {"object": "message:/tmp"},
        {"library": f"/codec/{library.folder.name}/x"},
    ):
        with pytest.raises(ValueError, match="not built"):
            spec_paths.resolve({**spec, "flows": [wrong]}, Path("/h"), lambda _: Path("/f"))

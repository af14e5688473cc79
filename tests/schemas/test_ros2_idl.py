"""ROS 2's own parser reads `.idl` files; these files yield the same fields as `.msg` and `.srv` files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.manifest.interpreter import folder
from hopmeter.schemas import find_schema, library_of, parse_message
from hopmeter.schemas.ros2.idl import convert
from hopmeter.schemas.ros2.parser import parse_all
from hopmeter.schemas.ros2.types import read_installed
from hopmeter.system import paths
from tests.coded import refuses

ENVIRONMENT = folder("ros2-kilted")
pytestmark = pytest.mark.skipif(
    not ENVIRONMENT.is_dir(), reason="run `hopmeter build ros2`, which installs rosidl_parser"
)

MESSAGE = """
#include "other_msgs/msg/Part.idl"
module my_msgs {
  module msg {
    module State_Constants { const unsigned long MOST = 42; };
    typedef double double__36[36];
    @verbatim (language="comment", text="A state.")
    struct State {
      short first, second;
      @default (value=12) @unit (value="mm") long length;
      @default (value="robot") string<5> name;
      @default (value="(1, 2)") sequence<short, 5> list;
      double__36 covariance;
      other_msgs::msg::Part parts[3];
      sequence<other_msgs::msg::Part> more;
      wstring<MOST> wide;
      @key octet kind;
      unsigned long long big;
      @default (value=TRUE) boolean active;
      uint8 data[4];
    };
  };
};
"""
AS_MSG = """int16 first
int16 second
int32 length 12
string<=5 name "robot"
int16[<=5] list [1, 2]
float64[36] covariance
other_msgs/Part[3] parts
other_msgs/Part[] more
wstring<=42 wide
byte kind
uint64 big
bool active true
uint8[4] data
"""
SERVICE = (
    "module my_msgs { module srv { struct Ask_Request { uint8 structure_needs_at_least_one_member; };"
    " struct Ask_Response { boolean ok; }; }; };"
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.setattr(paths, "codec_folder", lambda: tmp_path / "codecs")
    write(tmp_path / "my_msgs/msg/State.idl", MESSAGE)
    write(tmp_path / "other_msgs/msg/Part.idl", "module other_msgs { module msg { struct Part { float size; }; }; };")
    yield tmp_path
    library_of.cache_clear()


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_message_has_the_fields_and_defaults_of_its_idl(home: Path) -> None:
    assert convert(home / "my_msgs/msg/State.idl").read_text() == AS_MSG


def test_the_messages_in_it_are_found_beside_it_and_by_name(home: Path) -> None:
    schema = find_schema(f"message:{home}/my_msgs/msg/State.idl", "cdr")
    assert (schema.type, list(schema.imports.files)) == (
        "my_msgs/msg/State",
        ["my_msgs/msg/State.msg", "other_msgs/msg/Part.msg"],
    )
    assert find_schema(f"message:my_msgs/msg/State:include={home}", "cdr").content_id == schema.content_id


def test_a_service_has_both_parts(home: Path) -> None:
    found = find_schema(f"message:{write(home / 'my_msgs/srv/Ask.idl', SERVICE)}", "cdr")
    assert found.type == "my_msgs/srv/Ask_Request"
    assert found.file.read_text() == "---\nbool ok\n"


def test_an_installed_definition_may_be_an_idl_alone(home: Path) -> None:
    write(home / "prefix/share/other_msgs/msg/Part.idl", (home / "other_msgs/msg/Part.idl").read_text())
    assert read_installed("other_msgs/msg/Part", [home / "prefix"]).texts == {"other_msgs/msg/Part": "float32 size\n"}


def test_what_rosidl_writes_for_messages_and_services_is_read_again() -> None:
    names = ["sensor_msgs/msg/BatteryState", "geometry_msgs/msg/PoseWithCovariance", "nav_msgs/srv/GetPlan"]
    for name in [*names, "diagnostic_msgs/srv/SelfTest", "visualization_msgs/msg/Marker", "std_srvs/srv/Empty"]:
        file = ENVIRONMENT / f"share/{name}.{name.split('/')[1]}"
        ours, theirs = (parse_all(each.read_text(), name, name) for each in (convert(file.with_suffix(".idl")), file))
        for one, other in zip(ours, theirs, strict=True):
            assert [(each.name, each.type, each.default) for each in one.fields] == [
                (each.name, each.type, each.default) for each in other.fields
            ]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("msg/Bad", "module my_msgs {", "E-SCHEMA Bad.idl rosidl_parser"),
        ("msg/Bad", "module my_msgs { module msg { struct Bad { wchar c; }; }; };", "E-SCHEMA wchar"),
        ("msg/Bad", "module my_msgs { module msg { struct Bad { long double c; }; }; };", "E-SCHEMA double"),
        ("msg/Bad", "module my_msgs { module msg { struct Bad { Color c; }; }; };", "E-SCHEMA Color"),
        ("msg/Bad", "module my_msgs { module msg { struct Other { long c; }; }; };", "E-SCHEMA my_msgs/msg/Other"),
        ("srv/Bad", "module my_msgs { module msg { struct Bad { long c; }; }; };", "E-SCHEMA my_msgs/msg/Bad"),
    ],
)
def test_what_is_not_carried_is_refused(home: Path, name: str, text: str, reason: str) -> None:
    file = write(home / f"my_msgs/{name}.idl", text)
    with refuses(RefusedValueError, reason):
        parse_message(f"message:{file}")


def test_without_a_ros_2_the_remedy_is_to_install_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "environment_folder", lambda: home / "none")
    with refuses(UsageError, "E-FRAMEWORK-MISSING hopmeter build ros2"):
        convert(home / "my_msgs/msg/State.idl")

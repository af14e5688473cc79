"""Tests for schema names that need escaping, because each language has its own keywords.

All types of a schema are built at once, because the built type has a field of each type.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.build.command import BuildError
from hopmeter.build.messages import MessageTarget, build_library
from hopmeter.build.messages.check import load_codec
from hopmeter.build.messages.libraries import BUILDERS
from tests.built import built_library

PROTO = """
syntax = "proto3";
package google.type;
import "{folder}/old-style 1.proto";
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
message SE3Pose {{ double X = 1; int32 self = 2; int32 type = 3; int32 requires = 4; int32 co_await = 5; }}
message HTTPServer2 {{
  message Inner_ {{ A1B a = 1; enum async {{ and = 0; or = 1; }} async await = 2; }}
  Inner_ IN = 1;
}}
message A1B {{ message class {{ int32 def = 1; }} class lambda = 1; map<string, A1B> import = 2; }}
message __x {{ oneof namespace {{ int32 template = 1; string operator = 2; }} map<int32, Self> with = 3; }}
message Self {{ optional int32 crate = 1; None none = 2; }}
message None {{ String s = 1; }}
message Option {{ int32 some = 1; }}
message String {{ Option o = 1; }}
message Probe {{ google.protobuf.Any any = 1; google.protobuf.Value value = 2; }}
message Mutual {{ Other other = 1; }}
message Other {{ repeated Mutual mutual = 1; }}
message All {{
  SE3Pose a = 1; HTTPServer2 b = 2; A1B c = 3; __x d = 4; Self e = 5; Probe f = 6; Mutual g = 7; old.Old h = 8;
}}
"""
OLD = """
package old;
message Old {
  required int32 id = 1 [default = -5];
  optional group Group = 2 { required string text = 3 [default = "{\\"\\n"]; }
  repeated Kind kinds = 4;
  repeated int32 packed = 5 [packed = true];
  map<string, Old> again = 6;
  extensions 100 to 199;
  enum Kind { option allow_alias = true; ONE = 1; UNO = 1; LESS = -2; }
}
extend Old { optional string more = 100; }
"""
FBS = """
include "{folder}/inner-1.fbs";
namespace google.type;
attribute "own";
enum Flags : ubyte (bit_flags) {{ A, B }}
enum Color : byte {{ Red = -1, Green = 0 }}
struct Numbers (force_align: 16) {{ x:float; c:Color; }}
table HTTPServer2 {{ type:int; own_:string (own: "x"); match:float; }}
table Klass {{ def:int = 3; }}
union Any {{ HTTPServer2, Klass }}
table IMUData2D {{
  a:HTTPServer2; any:Any; flags:Flags = A; colors:[Color]; numbers:[Numbers]; name_:string (key);
  need:string (required); other:inner.deep.A1B; again:IMUData2D; old:int (deprecated);
  nested:[ubyte] (nested_flatbuffer: "Klass");
}}
root_type HTTPServer2;
file_identifier "ABCD";
file_extension "own";
"""
INNER = "namespace inner.deep; table A1B { x:int; }"
MSG = """
float64 self
float64 class
int32 namespace
int32[] register
string template
string from
string type
Std[] async
uint8 match
uint8 fits
uint8 visit
bool true
"""
NAMES = {"protobuf": "google.type.All", "flatbuffers": "google.type.IMUData2D"}
FOLDER = "class/from 2-x"


@pytest.fixture(scope="module")
def payloads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("names")
    (home / FOLDER).mkdir(parents=True)
    (home / FOLDER / "old-style 1.proto").write_text(OLD)
    (home / FOLDER / "inner-1.fbs").write_text(INNER)
    (home / FOLDER / "my.new.proto").write_text(PROTO.format(folder=FOLDER))
    (home / "names.fbs").write_text(FBS.format(folder=FOLDER))
    files = {"protobuf": home / FOLDER / "my.new.proto", "flatbuffers": home / "names.fbs"}
    (home / "google_type/msg").mkdir(parents=True)
    (home / "google_type/msg/String.msg").write_text(MSG)
    (home / "google_type/msg/Std.msg").write_text("float32 vector\nfloat32 crate\n")
    cdr = f"message:{home}/google_type/msg/String.msg"
    return {"cdr": cdr} | {codec: f"message:{file}:{NAMES[codec]}" for codec, file in files.items()}


@pytest.mark.parametrize(("codec", "language"), BUILDERS)
def test_names_come_from_the_generator(payloads: dict[str, str], codec: str, language: str, log: Path) -> None:
    library = built_library(payloads[codec], codec, language, log)
    codec_here = load_codec(library.folder)
    assert codec_here.verdict(codec_here.encode()) == "equal"
    assert library.facts["bytes"] > 100


@pytest.mark.parametrize(
    ("package", "message"),
    [
        ("", "State"),
        ("std", "Vector"),
        ("hopmeter", "State"),
        ("google.protobuf.own", "W"),
        ("robot.state", "state.robot"),
    ],
)
@pytest.mark.parametrize("language", ["rust", "python"])
def test_packages_that_others_have_too(tmp_path: Path, log: Path, package: str, message: str, language: str) -> None:
    outer, _, inner = message.partition(".")
    body = f"message {inner} {{ int32 x = 1; }} {inner} y = 1;" if inner else "int32 x = 1;"
    named = f"package {package};" if package else ""
    (tmp_path / "a.proto").write_text(f'syntax = "proto3"; {named} message {outer} {{ {body} }}')
    full = ".".join(filter(None, (package, message)))
    library = built_library(f"message:{tmp_path}/a.proto:{full}", "protobuf", language, log)
    assert library.facts["bytes"] == 3


def test_code_that_no_compiler_accepts_is_the_generators_fault(tmp_path: Path, log: Path) -> None:
    (tmp_path / "a.proto").write_text('syntax = "proto3"; package a.class; message A { int32 x = 1; }')
    with pytest.raises(BuildError, match=r"protoc .* generates for a.class.A does not compile: expected") as failed:
        build_library(MessageTarget(f"message:{tmp_path}/a.proto:a.class.A", "protobuf", "c++"), log)
    assert "rename" in failed.value.remedy

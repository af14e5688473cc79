"""Generated code of each codec returns equal objects across languages, and refuses invalid bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from hopmeter.build.messages.check import load_codec
from hopmeter.build.messages.cpp import library_command
from hopmeter.build.messages.libraries import BUILDERS
from hopmeter.schemas import CODECS
from hopmeter.schemas.library import GENERATED, OBJECT, languages
from hopmeter.schemas.payload import FOLDER
from tests.built import built_library

from .conftest import Built

pytestmark = pytest.mark.slow

EACH = list(BUILDERS)
PAIRS = [(codec, one, other) for codec in CODECS for one, other in product(languages(codec), repeat=2)]
HEADERS = {"protobuf": "hopmeter_probe.pb.h", "flatbuffers": "hopmeter_probe_generated.h", "cdr": "messages.hpp"}
LINKS = {"protobuf": ["-lprotobuf"], "flatbuffers": [], "cdr": ["-lfastcdr"]}
PADDING = 16
"""The padding at the end of an empty table; Python has no verifier, so it does not detect missing padding."""
HOSTILE = """
import json, random, sys
from pathlib import Path
from hopmeter.build.messages.check import load_codec

codec, dice = load_codec(Path(sys.argv[1])), random.Random(5)
whole = codec.encode()
cut = [codec.verdict(whole[:length]) for length in range(len(whole))]
junk = [codec.verdict(dice.randbytes(dice.randrange(200))) for _ in range(2000)]
altered = []
for _ in range(5000):
    frame = bytearray(whole)
    for _ in range(dice.randrange(1, 4)):
        frame[dice.randrange(len(frame))] = dice.randrange(256)
    altered.append((bytes(frame) == whole, codec.verdict(bytes(frame))))
print(json.dumps({"cut": cut, "junk": junk, "altered": altered}))
"""
PROTO = """
syntax = "proto3";
package every_kind;
import "google/protobuf/timestamp.proto";
enum Level { LOW = 0; HIGH = 7; }
message Node { string name = 1; Node next = 2; repeated Node children = 3; }
message All {
  message Inner { sint32 a = 1; fixed64 b = 2; }
  double d = 1; float f = 2; int32 i = 3; uint64 u = 4; bool yes = 5; bytes raw = 6; Level level = 7;
  map<string, int32> counts = 8; map<int64, Inner> inners = 9; repeated Level levels = 10;
  oneof choice { string text = 11; Inner inner = 12; }
  optional int32 maybe = 13; Node node = 14; google.protobuf.Timestamp stamp = 15; repeated bytes blobs = 16;
}
"""
FLAT = """
namespace every_kind;
enum Level : ubyte { Low, High }
struct Point { x:float; y:float; }
table Node { name:string; next:Node; children:[Node]; }
table Other { a:int8; }
union Any { Node, Other }
table All {
  d:double; f:float; i:int32; u:uint64; yes:bool; raw:[ubyte]; level:Level; levels:[Level]; point:Point;
  points:[Point]; text:string (required); texts:[string]; node:Node; any:Any; old:int (deprecated); small:short = 3;
}
"""
MSG = """
uint8 LOW=0
uint8 HIGH=7
bool yes true
byte octet 200
char letter
float32 f
float64 d
int8 i8
uint8 u8
int16 i16
uint16 u16
int32 i32
uint32 u32
int64 i64
uint64 u64
string text "a # b"
string<=12 short
bool[3] flags
uint8[5] code
float64[40] covariance
float64[] many
uint8[] raw
int8[] signed
bool[] answers
uint16[<=2] few
string[] texts
string<=5[<=2] short_texts
string[2] pair
Node node
Node[] nodes
Node[2] two
Node[<=1] one
std_msgs/Empty nothing
"""
SOURCES = {"protobuf": ("all.proto", PROTO), "flatbuffers": ("all.fbs", FLAT), "cdr": ("every_kind/msg/All.msg", MSG)}


def all_kinds(folder: Path, codec: str) -> str:
    name, text = SOURCES[codec]
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    if codec != "cdr":
        return f"message:{folder / name}:every_kind.All"
    (folder / name).with_name("Node.msg").write_text("string name\nfloat64[] values\nint8 last\n")
    return f"message:{folder / name}"


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kinds")


@pytest.mark.parametrize(("codec", "language"), EACH)
@pytest.mark.parametrize("payload", ["message:robot-state", "message:camera-image"])
def test_a_shipped_message_comes_back_equal(built: Built, payload: str, codec: str, language: str) -> None:
    library = built(payload, codec, language)
    loaded = load_codec(library.folder)
    encoded = loaded.encode()
    assert len(encoded) == library.facts["bytes"]
    assert loaded.verdict(encoded) == "equal"
    assert loaded.encode() == encoded, "an encoder is used again"
    if payload.endswith("image"):
        assert 640 * 480 * 3 < len(encoded) < 640 * 480 * 3 + 300


@pytest.mark.parametrize(("codec", "one", "other"), PAIRS)
def test_a_message_of_every_kind_of_field_is_read_in_every_language(
    built: Built, kinds: Path, codec: str, one: str, other: str
) -> None:
    payload = all_kinds(kinds, codec)
    encoded = load_codec(built(payload, codec, one).folder).encode()
    assert load_codec(built(payload, codec, other).folder).verdict(encoded) == "equal"


@pytest.mark.parametrize(("codec", "language"), EACH)
def test_bytes_that_are_no_message_are_refused_and_harm_nothing(built: Built, codec: str, language: str) -> None:
    library = built("message:robot-state", codec, language)
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE, library.folder], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    most = PADDING if (codec, language) == ("flatbuffers", "python") else 0
    assert found["cut"][: len(found["cut"]) - most].count("equal") == 0, "a shorter message is never the same"
    if codec != "protobuf":
        assert found["cut"].count("invalid") > len(found["cut"]) // 2
    assert "equal" not in found["junk"]
    verdicts = [verdict for is_same, verdict in found["altered"] if not is_same]
    assert "invalid" in verdicts
    assert "different" in verdicts


LENGTHS = """
import resource, struct, sys
from pathlib import Path
from hopmeter.build.messages.check import load_codec

codec = load_codec(Path(sys.argv[1]))
whole = codec.encode()
codec.verdict(whole)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for at in range(4, len(whole) - 3, 4):
    for length in (1 << 24, (1 << 32) - 1):
        codec.verdict(whole[:at] + struct.pack("<I", length) + whole[at + 4 :])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
MOST_KIB = 16 * 1024


@pytest.mark.parametrize("language", languages("cdr"))
def test_false_lengths_allocate_no_memory(built: Built, language: str) -> None:
    """A sequence of 2^24 numbers alone would need 128 MiB."""
    command = [sys.executable, "-c", LENGTHS, built("message:robot-state", "cdr", language).folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) < MOST_KIB


@pytest.mark.parametrize("codec", CODECS)
def test_hostile_frames_cause_no_undefined_behaviour_in_cpp(
    built: Built, kinds: Path, codec: str, tmp_path: Path
) -> None:
    payload = all_kinds(kinds, codec) if codec == "cdr" else "message:robot-state"
    folder, program = built(payload, codec, "c++").folder, tmp_path / "hostile"
    header = HEADERS[codec]
    sanitized = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    command = [*library_command(codec, Path(header)), "-DHOPMETER_ALIGNMENT=8"]
    words = [word for word in command if word not in ("-O3", "-shared", "-fPIC")]
    sources = [Path(__file__).with_name("hostile.cpp")]
    if codec == "protobuf":
        subprocess.run(["protoc", f"-I{FOLDER}", f"--cpp_out={tmp_path}", FOLDER / "robot-state.proto"], check=True)
        sources += [f"-I{tmp_path}", tmp_path / "robot-state.pb.cc"]
    build = [*words, *sanitized, *sources, "-o", program, *LINKS[codec]]
    subprocess.run(build, cwd=folder / GENERATED, check=True)
    done = subprocess.run([program, folder / OBJECT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    invalid, different, _equal = map(int, done.stdout.split())
    assert invalid > 20_000
    assert different > 5_000


@pytest.mark.parametrize("codec", CODECS)
def test_payloads_need_no_alignment(built: Built, codec: str) -> None:
    """A payload may begin at any offset: it follows a header, and some transports place frames at any offset."""
    for language in ("c++", "rust"):
        loaded = load_codec(built("message:robot-state", codec, language).folder)
        encoded = loaded.encode()
        for shift in (1, 3, 8):
            assert loaded.verdict(encoded, shift) == "equal"


def test_values_of_the_user_are_sent(tmp_path: Path, log: Path) -> None:
    (tmp_path / "s.proto").write_text('syntax = "proto3"; package s; message S { repeated double x = 1; }')
    (tmp_path / "s.fbs").write_text("namespace s; table S { x:[double]; }")
    (tmp_path / "v.txtpb").write_text("x: [1, 2.5, nan]")
    (tmp_path / "v.json").write_text('{"x": [1, 2.5, 3]}')
    (tmp_path / "s/msg").mkdir(parents=True)
    (tmp_path / "s/msg/S.msg").write_text("float64[] x\n")
    (tmp_path / "v.yaml").write_text("x: [1, 2.5, .nan]")
    for codec in CODECS:
        library = built_library(f"message:{tmp_path}/s:s.S:{tmp_path}/v", codec, "c++", log)
        loaded = load_codec(library.folder)
        assert loaded.verdict(loaded.encode()) == "equal", "also a value that is no number"
        assert b"\0\0\0\0\0\0\x04@" in loaded.encode()

"""Tests for the approved titles of tables, and for the first sentence about each table."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.analysis.results.groups import groups
from hopmeter.report.answers.comparison_sentences import lead
from hopmeter.report.sections.group_section import section
from hopmeter.report.words import conditions
from hopmeter.report.words.formatting import THIN
from tests.report.rows import cell, run_of

APPROVED: list[tuple[dict[str, Any], str, str]] = [
    ({"payload": "timing"}, "timing message, 28 B at 1,000 Hz", "a 92-byte message at 1,000 Hz"),
    ({"payload": "bytes:100000", "payload_bytes": 100_000}, "100 kB at 1,000 Hz", "a message of 100 kB at 1,000 Hz"),
    ({"payload": "bytes:2097152", "payload_bytes": 1 << 21}, "2 MiB at 1,000 Hz", "a message of 2 MiB at 1,000 Hz"),
    (
        {"payload": "image:640x480", "payload_bytes": 921_600, "rate_hz": 30.0},
        "image 640×480, 922 kB at 30 Hz",
        "an image of 640×480 at 30 Hz",
    ),
    (
        {"payload": "message:foxglove/a1x2.proto:fox.Pose2x3:100", "payload_bytes": 1234, "codec": "protobuf"},
        "message fox.Pose2x3, lists of 100, 1.23 kB at 1,000 Hz",
        "your message fox.Pose2x3 (lists of 100) at 1,000 Hz",
    ),
    (
        {"payload": "file:/data/x64/a1x2.bin", "payload_bytes": 5000},
        "file a1x2.bin, 5 kB at 1,000 Hz",
        "the file a1x2.bin at 1,000 Hz",
    ),
    (
        {"payload": "video:640x480:/data/2x2/a3x4.mp4", "payload_bytes": 921_600},
        "video a3x4.mp4, 640×480, 922 kB at 1,000 Hz",
        "frames of a3x4.mp4 (640×480) at 1,000 Hz",
    ),
    (
        {"payload": "array:200x200", "payload_bytes": 320_100, "codec": "numpy"},
        "array 200×200, 320 kB at 1,000 Hz",
        "a NumPy array of 200×200 at 1,000 Hz",
    ),
    ({"pattern": "rpc"}, "timing message, 28 B at 1,000 Hz", "a call with a 92-byte message at 1,000 Hz"),
    (
        {"pattern": "scatter", "sinks": 4},
        "timing message, 28 B at 1,000 Hz, 4 servers",
        "a call with a 92-byte message at 1,000 Hz, 4 servers",
    ),
    ({"relays": 20}, "timing message, 28 B at 1,000 Hz, 20 relays", "a 92-byte message at 1,000 Hz, 20 relays"),
]


@pytest.mark.parametrize(("given", "title", "subject"), APPROVED)
def test_a_title_and_its_sentence_read_like_english(given: dict[str, Any], title: str, subject: str) -> None:
    (group,) = groups([run_of(cell("zenoh", 50.0, 49.0, 51.0, **given), cell("nng", 80.0, 79.0, 81.0, **given))])
    assert conditions.title(group).replace(THIN, " ") == title
    assert lead(group).replace(THIN, " ").startswith(f"For {subject}, zenoh is fastest; nng is next, and takes ")


def test_no_table_promises_copies_that_nobody_counts() -> None:
    (group,) = groups([run_of(cell("tcp", 50.0, forward_copies_per_message=0.0))])
    assert not any("cop" in column.title.lower() for table in section(group, []).tables for column in table.columns)


def test_two_schemas_of_the_same_type_are_told_apart() -> None:
    payloads = ["message:v1/a.proto:robot.State", "message:v2/a.proto:robot.State"]
    found = groups([run_of(*(cell("zenoh", 50.0, payload=each, codec="protobuf") for each in payloads))])
    titles = [conditions.title(group).partition(",")[0] for group in found]
    assert titles == ["message robot.State of v1/a.proto", "message robot.State of v2/a.proto"]


def test_the_object_of_a_codec_is_named_instead_of_the_codec() -> None:
    rows = [cell("zenoh", 50.0, payload="array:6", codec=codec) for codec in ("numpy", "torch")]
    subjects = [conditions.subject(group).partition(" at ") for group in groups([run_of(*rows)])]
    assert [first for first, *_ in subjects] == ["a NumPy array of 6 numbers", "a PyTorch tensor of 6 numbers"]
    assert not any("codec" in rest for *_, rest in subjects)

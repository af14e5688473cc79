"""Tests for payload labels: only sizes contain a multiplication sign, and names of files and types stay unchanged."""

from __future__ import annotations

import pytest

from hopmeter.model.payload_words import describe_payload, describe_payloads, name_payload

NAMES = [
    ("timing", "timing message", "a small message"),
    ("bytes:64", "", "a message of 64 bytes"),
    ("bytes:100000", "", "a message of 100 kB"),
    ("bytes:2097152", "", "a message of 2 MiB"),
    ("image:640x480", "image 640×480", "an image of 640×480"),
    ("image:1x1", "image 1×1", "an image of 1×1"),
    ("image:in/2x2/fox.png", "image fox.png", "the image fox.png"),
    ("image:64x48:x64/a1x2.png", "image a1x2.png, 64×48", "the image a1x2.png (64×48)"),
    ("image:./8x8", "image 8x8", "the image 8x8"),
    ("video:10x6:clips/4x4.mkv", "video 4x4.mkv, 10×6", "frames of 4x4.mkv (10×6)"),
    ("file:build/x64/1x2x3.bin", "file 1x2x3.bin", "the file 1x2x3.bin"),
    ("file:2x2", "file 2x2", "the file 2x2"),
    ("array:200x200", "array 200×200", "an array of 200×200"),
    ("array:2x3x4", "array 2×3×4", "an array of 2×3×4"),
    ("array:6", "array 6", "an array of 6 numbers"),
    ("message:robot-state", "message robot-state", "the example message robot-state"),
    ("message:foxglove/Pose.proto:foxglove.a1x2.X3x4", "message foxglove.a1x2.X3x4", "your message foxglove.a1x2.X3x4"),
    (
        "message:2x2.proto:robot.State:1000",
        "message robot.State, lists of 1,000",
        "your message robot.State (lists of 1,000)",
    ),
    (
        "message:2x2.proto:robot.State:in/3x3.txtpb",
        "message robot.State, values of 3x3.txtpb",
        "your message robot.State (values of 3x3.txtpb)",
    ),
    ("replay:6x6.mcap:/cam0x1/raw", "replay 6x6.mcap:/cam0x1/raw", "the replay 6x6.mcap:/cam0x1/raw"),
]


@pytest.mark.parametrize(("payload", "title", "sentence"), NAMES)
def test_a_payload_has_a_name_for_titles_and_one_for_sentences(payload: str, title: str, sentence: str) -> None:
    assert name_payload(payload) == title
    assert describe_payload(payload) == sentence


def test_payloads_of_the_same_name_are_told_apart_by_their_folders() -> None:
    payloads = ["message:v1/a.proto:robot.State", "message:v2/a.proto:robot.State", "file:v1/a.bin"]
    assert describe_payloads(payloads) == [
        "your message robot.State of v1/a.proto",
        "your message robot.State of v2/a.proto",
        "the file a.bin",
    ]
    assert name_payload("file:v1/2x2.bin", with_folder=True) == "file v1/2x2.bin"


def test_the_object_that_a_codec_makes_of_an_array_has_its_own_name() -> None:
    assert describe_payload("array:200x200", array="a NumPy array") == "a NumPy array of 200×200"

"""Tests for wstring fields against bytes from rclpy's `serialize_message`.

In Kilted, rmw_fastrtps_cpp, rmw_fastrtps_dynamic_cpp and rmw_cyclonedds_cpp write the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.build.command import BuildError
from hopmeter.build.messages import MessageTarget, build_library
from hopmeter.build.messages.cdr import encode_values, ordered_definitions
from hopmeter.build.messages.ros2_values import choose_values, read_values
from hopmeter.schemas import find_schema, library_of
from tests.coded import lacking

WIDE = "wstring text\nwstring[2] pair\nwstring<=5[] some\nuint8 end\n"
VALUES = '{text: "aß😀", pair: ["", xy], some: [z], end: 7}'
OF_RCLPY = bytes.fromhex(
    "00010000 04000000 61000000 df000000 3dd80000 00de0000"
    "00000000 02000000 78000000 79000000 01000000 01000000 7a000000 07"
)


@pytest.fixture
def payload(tmp_path: Path) -> str:
    file = tmp_path / "wide_msgs/msg/Wide.msg"
    file.parent.mkdir(parents=True)
    file.write_text(WIDE)
    (tmp_path / "values.yaml").write_text(VALUES)
    return f"message:{file}:{tmp_path}/values.yaml"


def test_the_bytes_are_those_of_rclpy(payload: str, tmp_path: Path) -> None:
    schema = find_schema(payload, "cdr")
    definitions = ordered_definitions(schema)
    values = read_values(definitions, schema.type, tmp_path / "values.yaml")
    assert encode_values(definitions, schema.type, values) == OF_RCLPY


@pytest.mark.parametrize("language", ["python", "c++"])
def test_a_library_encodes_and_decodes_them(payload: str, tmp_path: Path, language: str) -> None:
    library = build_library(MessageTarget(payload, "cdr", language), tmp_path / "build.log")
    assert library.object.read_bytes() == OF_RCLPY
    assert library.facts["bytes"] == len(OF_RCLPY)
    library_of.cache_clear()


def test_texts_that_hopmeter_chooses_respect_their_bounds(payload: str) -> None:
    schema = find_schema(payload, "cdr")
    chosen = choose_values(ordered_definitions(schema), schema.type, 3)
    assert all(len(each) <= 5 for each in chosen["some"])
    assert len(chosen["pair"]) == 2


def test_a_text_of_more_code_units_than_its_bound_is_refused(payload: str, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text('some: ["abc😀😀"]')
    schema = find_schema(payload, "cdr")
    with pytest.raises(BuildError) as failed:
        read_values(ordered_definitions(schema), schema.type, tmp_path / "values.yaml")
    assert lacking(str(failed.value), "E-SCHEMA some[0] 7") == []

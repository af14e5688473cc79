"""The encoding and decoding times of a codec library with known times are measured correctly, and separately from the
hop."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hopmeter.schemas import find_schema
from hopmeter.schemas.library import LIBRARY, OBJECT, folder_of
from hopmeter.schemas.recorded import FACTS
from tests.command import hopmeter

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[2]
ENCODE_US, DECODE_US, DELAY_US = 2000, 3000, 10_000
LATE_US = 2500
"""The extra delay that a busy machine may add to a median."""
BYTES = 100
SCENARIO = f"""
title = "Known truth"
question = "Are the times of a codec those that it takes?"
transport = "synthetic"
codec = "protobuf"
wait = "block"
cores = "free"
rate = 50
messages = 40
trials = 1
settings.synthetic = {{ delay_us = {DELAY_US} }}
"""


@pytest.fixture
def payload(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "slow.proto").write_text("message Slow {}")
    text = f"message:{tmp_path}/slow.proto:Slow"
    library = tmp_path / LIBRARY
    source = Path(__file__).with_name("slow_codec.c")
    command = ["cc", "-O2", "-fPIC", "-shared", f"-I{ROOT}/cpp/include", source, "-o", library]
    subprocess.run(command, check=True)
    folders = [folder_of(find_schema(text, "protobuf"), language) for language in ("c++", "rust")]
    for folder in folders:
        folder.mkdir(parents=True)
        shutil.copy2(library, folder / LIBRARY)
        (folder / OBJECT).write_bytes(bytes(range(BYTES)))
        (folder / FACTS).write_text(json.dumps({"bytes": BYTES}))
    yield text
    for folder in folders:
        shutil.rmtree(folder)


def test_encoding_decoding_and_the_hop_have_their_own_times(payload: str, tmp_path: Path) -> None:
    scenario = tmp_path / "slow.toml"
    scenario.write_text(SCENARIO)
    words = ("--language", "c++,rust,c++>rust", "--out", tmp_path / "run", "--no-report", "--json")
    done = hopmeter("run", scenario, "--payload", payload, *words)
    rows = [row for row in map(json.loads, done.stdout.splitlines()) if row["codec"] == "protobuf"]
    assert [row["language"] for row in rows] == ["c++", "rust", "c++>rust"], done.stderr
    for row in rows:
        assert (row["payload_bytes"], row["content_errors"], row["lost"]) == (BYTES, 0, 0)
        assert ENCODE_US <= row["encode_min_us"] <= row["encode_p50_us"] <= ENCODE_US + LATE_US
        assert DECODE_US <= row["decode_min_us"] <= row["decode_p50_us"] <= DECODE_US + LATE_US
        assert DELAY_US <= row["hop_min_us"] <= row["hop_p50_us"] <= DELAY_US + LATE_US
        assert row["service_min_us"] >= ENCODE_US + DELAY_US + DECODE_US

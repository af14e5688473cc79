"""Tests for Wrapyfi's own encoders through the real command: the supported types and the known failures."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.cells import MEASURED
from tests.command import Ran


def test_what_wrapyfi_makes_of_an_object_is_compared_and_wrong_pixels_are_a_failed_cell(
    run_in: Callable[..., Ran],
) -> None:
    asked = ["--transport", "wrapyfi", "--codec", "numpy,pillow,pickle-in-band", "--device", "cpu"]
    short = ["--payload", "image:40x30", "--messages", "20", "--rate", "20", "--trials", "1", "--no-report", "--json"]
    ran = run_in("run", "native-objects", *asked, *short)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    rows = {row["codec"]: row for row in map(json.loads, ran.stdout.splitlines())}
    right, wrong, another = (rows[codec] for codec in ("numpy", "pillow", "pickle-in-band"))
    assert right["status"] in MEASURED
    assert (right["content_errors"], right["payload_bytes"]) == (0, 40 * 30 * 3 + 128)
    # Wrapyfi's hop includes encoding and decoding.
    assert right["service_min_us"] == right["hop_min_us"] > 0
    assert right["encode_p50_us"] is None and right["decode_p50_us"] is None
    assert wrong["status"] == "failed"
    assert wrong["reason_code"] == "E-CONTENT"
    assert wrong["content_errors"] > 20
    assert another["reason_code"] == "D-OWN-ENCODERS"

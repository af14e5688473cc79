"""A manifest with names of the previous release is accepted, with a warning that contains the new names."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.manifest.discovery import load

MANIFEST = """
name = "made"
title = "Made"
summary = "S."
placements = ["process"]
patterns = ["pubsub"]
send = "nonblocking"
max_payload_bytes = 1000
[languages.rust]
waits = ["block"]
library = "L 1"
takes = { seconds = 5 }
[daemon]
title = "maded"
command = ["maded"]
ready = "port"
leaves = ["/tmp/maded.lock"]
[settings.hwm]
default = 1
help = "H."
[[tried]]
settings = { hwm = 2 }
"""


def test_old_names_in_a_manifest_are_read_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    path = tmp_path / "made/transport.toml"
    path.write_text(MANIFEST)
    with pytest.warns(FutureWarning) as warned:
        manifest = load(path)
    assert manifest.offers["rust"].build_cost is not None
    assert manifest.offers["rust"].build_cost.seconds == 5
    assert manifest.broker is not None and manifest.broker.leftover_files == ["/tmp/maded.lock"]
    assert manifest.conformance[0].settings == {"hwm": 2}
    assert [str(each.message).split(": ")[1].split(";")[0] for each in warned] == [
        '"daemon" is now "broker"',
        '"tried" is now "conformance"',
        '"takes" is now "build_cost"',
        '"leaves" is now "leftover_files"',
    ]

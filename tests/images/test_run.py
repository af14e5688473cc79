"""Servers receive the pixels of a file through the planner, the launcher and real nodes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopmeter import manifest
from hopmeter.analysis.results.run_results import Run, read
from hopmeter.api import measuring
from hopmeter.api.measuring import Consoles
from hopmeter.api.planning import Prepared
from hopmeter.errors import UsageError
from hopmeter.plan import Plan, make
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.placement.cores import Machine
from hopmeter.report import write
from hopmeter.report.sections.environment import payload_files
from hopmeter.scenario import Scenario
from hopmeter.system.toml_files import validate
from tests.cells import MEASURED
from tests.images.made import Pixels, image, pixels, video
from tests.node.driver import QUEUES

pytestmark = pytest.mark.slow

MESSAGES = 8
HEADER_BYTES = 64
NO_SAMPLE = 3
"""The flags of probes and warm-up messages."""
MANIFEST = """
name = "witness"
title = "Witness"
summary = "Queues that keep what arrives."
placements = ["thread"]
patterns = ["pubsub", "rpc"]
rpc = "duplex"
send = "nonblocking"
max_payload_bytes = 1000000

[languages.python]
waits = ["block"]
library = "none"
"""
ADAPTER = (
    QUEUES
    + """
from pathlib import Path

class Witness(Subscriber):
    def __init__(self, line, kept):
        super().__init__(line)
        self.kept = kept.open("ab", buffering=0)
    def poll(self, timeout_s, take): return super().poll(timeout_s, lambda frame: (self.kept.write(frame), take(frame)))
    def close(self): self.kept.close()

class Witnessed(Transport):
    def subscriber(self, link):
        line = lines.setdefault(link.name, queue.SimpleQueue())
        return Witness(line, Path("KEPT", link.name.partition("_")[2]))

Transport = Witnessed
"""
)


@pytest.fixture
def capabilities(tmp_path: Path) -> Capabilities:
    """Return one transport whose nodes store received messages, and one floor."""
    folder, kept = tmp_path / "witness", tmp_path / "kept"
    (folder / "python").mkdir(parents=True)
    kept.mkdir()
    (folder / "transport.toml").write_text(MANIFEST)
    (folder / "python/adapter.py").write_text(ADAPTER.replace("KEPT", str(kept)))
    known = {"witness": manifest.discovery.load(folder / "transport.toml"), **manifest.find_transports(["unix"])}
    return Capabilities(known, manifest.readiness_of_all(known.values()), Machine.here())


def make_plan(capabilities: Capabilities, payload: str, **more: Any) -> Plan:
    given: dict[str, Any] = {
        "transport": "witness",
        "pattern": "scatter",
        "placement": "apart",
        "sinks": 2,
        "cores": "free",
        "pace": "closed",
        "messages": MESSAGES,
        "warmup": 2,
        "trials": 1,
        "checksum": True,
    }
    table = {"title": "t", "question": "q?", "payload": payload, **given, **more}
    return make("shown", validate(Scenario, table, "test"), capabilities)


def measure(plan: Plan, capabilities: Capabilities, folder: Path) -> Run:
    outcome = measuring.measure(Prepared(plan, capabilities), folder / "run", ["hopmeter"], Consoles.silent())
    run = read(folder / "run")
    assert outcome.complete and "failed" not in [row["status"] for row in run.rows], [row["reason"] for row in run.rows]
    return run


def arrivals(kept: Path, frame_bytes: int) -> list[tuple[int, bytes]]:
    """Return the number and the payload of each counted message."""
    everything = kept.read_bytes()
    frames = [everything[at : at + frame_bytes] for at in range(0, len(everything), frame_bytes)]
    samples = [each for each in frames if not int.from_bytes(each[6:8], "little") & NO_SAMPLE]
    return [(int.from_bytes(each[24:32], "little"), each[HEADER_BYTES:]) for each in samples]


@pytest.mark.parametrize(
    ("make_file", "name", "shown"),
    [(video, "a.mkv", pixels(5)), (lambda path, all_: image(path, all_[0]), "a.png", pixels(1))],
)
def test_every_server_gets_the_pixels_of_the_file_in_their_order_over_and_over(
    tmp_path: Path, trials: Path, capabilities: Capabilities, make_file: Any, name: str, shown: Pixels
) -> None:
    file = make_file(tmp_path / name, shown)
    payload = f"{'image' if name == 'a.png' else 'video'}:{file}"
    run = measure(make_plan(capabilities, payload), capabilities, tmp_path)
    for link in ("l0", "l1"):
        got = arrivals(tmp_path / "kept" / f"{link}_request", HEADER_BYTES + shown[0].nbytes)
        assert [number for number, _ in got] == list(range(MESSAGES))
        assert [payload for _, payload in got] == [shown[at % len(shown)].tobytes() for at in range(MESSAGES)]
    about = json.loads((tmp_path / "run/run.json").read_text())["pictures"][payload]
    assert (about["path"], about["frames"], about["shape"]) == (str(file), len(shown), [*shown[0].shape])
    ((_, line),) = payload_files([run])
    assert line.startswith(f"{file}: {about['codec']}, ")
    assert line in write([tmp_path / "run"], tmp_path / "report.html").read_text()
    assert left_behind(trials) == []


@pytest.mark.parametrize("codec", ["numpy", "pillow", "pickle-in-band"])
@pytest.mark.parametrize("kind", ["image", "video"])
def test_a_codec_carries_the_frames_of_a_file_as_its_objects(
    tmp_path: Path, capabilities: Capabilities, codec: str, kind: str
) -> None:
    file = video(tmp_path / "a.mkv", pixels(3)) if kind == "video" else image(tmp_path / "a.png", pixels()[0])
    asked: dict[str, Any] = {"transport": "unix", "language": "python", "placement": "process", "pattern": "pubsub"}
    asked |= {"sinks": 1, "pace": "open", "rate": 100, "codec": codec}
    run = measure(make_plan(capabilities, f"{kind}:{file}", **asked), capabilities, tmp_path)
    (row,) = [row for row in run.measured_rows if row.candidate]
    assert row["status"] in MEASURED and row["content_errors"] == 0
    (trial,) = row.trials
    played = [one for node in trial["nodes"] for one in node["endpoints"] if one["role"] == "sink"]
    assert [one["content_checks"] >= MESSAGES for one in played] == [True]
    assert run.about["pictures"][f"{kind}:{file}"]["frames"] == (3 if kind == "video" else 1)


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a private folder for trials, because other tests run concurrently."""
    with tempfile.TemporaryDirectory(prefix="hmt-", dir="/tmp") as own:
        monkeypatch.setenv("XDG_RUNTIME_DIR", own)
        yield Path(own)


def left_behind(trials: Path) -> list[str]:
    return [str(path) for path in trials.rglob("*")]


@pytest.mark.parametrize("language", ["rust", "c++", "rust>python", "c++>python"])
def test_nodes_of_other_languages_send_resized_frames_whole(
    tmp_path: Path, capabilities: Capabilities, language: str
) -> None:
    for each in language.split(">"):
        if not (here := capabilities.ready["unix", each]).ready:
            pytest.skip(f"{here.missing}: {here.get}")
    payload = f"video:32x20:{video(tmp_path / 'a.mkv', pixels(3))}"
    run = measure(
        make_plan(capabilities, payload, transport="unix", language=language, pattern="rpc", sinks=1),
        capabilities,
        tmp_path,
    )
    (row,) = [row for row in run.measured_rows if row.candidate]
    assert row["status"] in MEASURED and (row["payload_bytes"], row["content_errors"]) == (32 * 20 * 3, 0)
    assert np.prod(run.about["pictures"][payload]["shape"]) == 32 * 20 * 3


def test_a_video_that_breaks_later_on_leaves_no_run(tmp_path: Path, trials: Path, capabilities: Capabilities) -> None:
    file = tmp_path / "a.mp4"
    whole = video(file, pixels(20, 48, 62), "mpeg4", "yuv420p", movflags="faststart").read_bytes()
    file.write_bytes(whole[: len(whole) * 2 // 3])
    plan = make_plan(capabilities, f"video:{file}", messages=20)
    with pytest.raises(UsageError, match="E-NOT-DECODABLE"):
        measure(plan, capabilities, tmp_path)
    assert not list(tmp_path.glob("*run*"))
    assert left_behind(trials) == []


def test_a_run_goes_on_only_with_what_it_began_with(
    tmp_path: Path, capabilities: Capabilities, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = image(tmp_path / "a.png", pixels()[0])
    measure(make_plan(capabilities, f"image:{file}"), capabilities, tmp_path)
    monkeypatch.setattr(measuring, "local_capabilities", lambda *_: capabilities)
    assert measuring.resume(tmp_path / "run", Consoles.silent()).complete
    image(file, pixels()[1])
    with pytest.raises(UsageError, match=rf"{file}.*E-PAYLOAD-CHANGED"):
        measuring.resume(tmp_path / "run", Consoles.silent())
    assert (tmp_path / "run/cells.parquet").exists()

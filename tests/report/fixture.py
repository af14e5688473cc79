"""Build a run folder from generated samples, for report tests only."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopmeter.analysis.cells.whole_run import analyse_run
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.samples import HEAD_BYTES, MAGIC, NONE_NS, RECORD, TIMES, VERSION
from tests import cells

Times = NDArray[Any]

DUE_NS = 1_000_000_000


@dataclass(frozen=True)
class Made:
    """A synthetic cell: its conditions and its delays."""

    transport: str
    language: str = "rust"
    us: float = 20.0
    cpu_us: float = 15.0
    copies: float = 1.0
    payload: str = "timing"
    payload_bytes: int = 28
    rate_hz: float = 1000.0
    relays: int = 0
    profile: str = ""
    failed: str = ""
    dropped: str = ""
    queued: bool = False
    spread: float = 0.02
    lost: int = 0
    ranked: bool = True
    installable: bool = True
    bad_trial: bool = False
    codec: str = "none"
    encode_us: float = 0.0
    decode_us: float = 0.0

    @property
    def id(self) -> str:
        parts = [self.transport, self.language, self.payload, f"{self.rate_hz:g}", f"{self.relays}r", self.profile]
        parts += [self.codec] if self.codec != "none" else []
        return re.sub(r"[^a-z0-9]+", "-", "-".join(filter(None, parts)).replace("+", "p")).strip("-")

    def is_floor_of(self, other: Made) -> bool:
        alike = (self.payload, self.rate_hz, self.relays) == (other.payload, other.rate_hz, other.relays)
        return alike and (self.transport, self.language) == ("shm", "rust")


SMALL = (
    Made("shm", us=14.8, cpu_us=21, copies=0),
    Made("shm", "c++", us=15.0, cpu_us=21, copies=0),
    Made("iceoryx2", us=22.0, cpu_us=34, copies=0),
    Made("unix", us=16.4, cpu_us=18, spread=0.05),
    Made("unix", "python", us=39, cpu_us=61),
    Made("tcp", us=22.4, cpu_us=25, spread=0.05),
    Made("tcp", "python", us=45, cpu_us=72, queued=True),
    Made("zeromq", "c++", us=48, cpu_us=88, copies=0),
    Made("zeromq", "c++", us=41, cpu_us=83, copies=0, profile="endpoint=tcp"),
    Made("zenoh", us=61, cpu_us=95, lost=2, bad_trial=True),
    Made("zenoh", "python", us=93, cpu_us=180),
    Made(
        "zeromq",
        "python",
        us=0,
        failed="the library libzmq.so.5 is not there; apt-get install libzmq5",
    ),
    Made("iceoryx2", "python", us=0, dropped="wait block is not offered in python"),
)
LARGE = tuple(
    Made(transport, language, us, cpu_us, copies, "image:1440x1080", 4_665_600, 30.0)
    for transport, language, us, cpu_us, copies in (
        ("shm", "rust", 21, 400, 0),
        ("iceoryx2", "rust", 27, 410, 0),
        ("unix", "rust", 773, 1900, 1),
        ("tcp", "rust", 837, 2100, 1),
        ("zeromq", "c++", 1480, 3300, 1),
        ("zenoh", "rust", 2350, 4400, 2),
    )
)
CHAIN = tuple(
    Made(transport, "rust", us, us * 1.4, 1, relays=8)
    for transport, us in (("shm", 15.0), ("unix", 17.0), ("zenoh", 52.0))
)
OBJECTS = tuple(
    Made(
        transport,
        "python",
        us=us,
        payload="array:200x200",
        payload_bytes=int(320_000 * grows),
        rate_hz=100.0,
        codec=codec,
        encode_us=encode,
        decode_us=decode,
    )
    for transport, us in (("zeromq", 180.0), ("tcp", 130.0), ("shm", 62.0))
    for codec, encode, decode, grows in (
        ("numpy", 1.1, 1.2, 1),
        ("torch", 2.6, 3.9, 1),
        ("pandas", 22.0, 41.0, 1),
        ("pickle-in-band", 55.0, 48.0, 1),
        ("json-base64", 900.0, 1400.0, 1.34),
    )
)
SWEEP = tuple(
    replace(cell, rate_hz=rate, us=cell.us * slow)
    for cell in SMALL[:4]
    for rate, slow in ((10.0, 3.1), (100.0, 1.6), (1000.0, 1.0))
)


EVERYTHING = (*SMALL, *LARGE, *CHAIN)


def build(
    folder: Path, made: tuple[Made, ...] = EVERYTHING, trials: int = 5, messages: int = 1600, **about: Any
) -> Path:
    cells = [_cell(each, made, trials) for each in made]
    run = RunFolder.create(
        folder.parent, folder.name, _about(made) | {"cells": [cell.as_json() for cell in cells]} | about
    )
    noise = np.random.default_rng(7)
    for each, cell in zip(made, cells, strict=True):
        for trial in range(0 if cell.dropped else trials):
            _execute(run, each, cell, trial, max(20, int(messages * min(each.rate_hz, 100) / 100)), noise)
    return run.finish(analyse_run(run))


def _cell(each: Made, made: tuple[Made, ...], trials: int) -> Cell:
    return cells.cell(
        id=each.id,
        transport=each.transport,
        language=each.language,
        payload=each.payload,
        payload_bytes=each.payload_bytes,
        codec=each.codec,
        rate_hz=each.rate_hz,
        relays=each.relays,
        trials=trials,
        profile=each.profile,
        floor=next((other.id for other in made if other.is_floor_of(each)), None),
        ranked=each.ranked,
        installable=each.installable,
        dropped=each.dropped,
    )


def _execute(run: RunFolder, each: Made, cell: Cell, trial: int, many: int, noise: np.random.Generator) -> None:
    reason = each.failed or ("node 1 gave no sign for 5 s" if each.bad_trial and trial == 1 else "")
    raw = [] if reason else _trial(run.path, each, trial, many, noise)
    nodes = [] if reason else [_node(each, cell, endpoint, many) for endpoint in range(each.relays + 2)]
    run.add_trial(TrialResult(cell.id, trial, not reason, reason, "", trial, 0, 2.0, 18_000.0, nodes, round=trial), raw)
    for path in raw:
        path.unlink()


def _node(each: Made, cell: Cell, endpoint: int, many: int) -> dict[str, Any]:
    last = endpoint == each.relays + 1
    role = "source" if endpoint == 0 else "sink" if last else "relay"
    told = {
        "id": endpoint,
        "role": role,
        "sent": 0 if last else many,
        "copies": 0 if last else int(each.copies * many),
    }
    share = each.cpu_us * many / (cell.axes.relays + 2)
    return {
        "version": "4.3.4" if each.transport == "zeromq" else "1.0.0",
        "language": each.language,
        "endpoints": [told],
        "resources": {"user_us": share * 0.6, "system_us": share * 0.4},
    }


def _trial(folder: Path, each: Made, trial: int, many: int, noise: np.random.Generator) -> list[Path]:
    """Return the samples of a chain whose hop times are random.

    The third trial stalls once; messages queue up in an overloaded cell.
    """
    due = DUE_NS + (np.arange(many) / each.rate_hz * 1e9).astype(np.int64)
    sent = due + noise.gamma(2.0, 250.0, many).astype(np.int64)
    if each.queued:
        sent = DUE_NS + ((sent - DUE_NS) * 2.4).astype(np.int64)
    middle = each.us * noise.normal(1.0, each.spread)
    left = _coding(each.encode_us, sent, noise)
    files = [_raw(folder, 0, np.arange(many), due_ns=due, sent_ns=sent, **_if(each, encoded_ns=left))]
    for hop in range(1, each.relays + 2):
        arrived = left + (_hop(middle, many, noise) * 1e3).astype(np.int64)
        if trial == 2 and hop == 1:
            arrived[many // 2 : many // 2 + 4] += 900_000
        last = hop == each.relays + 1
        left = arrived if last else arrived + 400
        came = np.arange(many - (each.lost if last else 0))
        more = {} if last else {"forwarded_ns": left[came]}
        more |= _if(each, decoded_ns=_coding(each.decode_us, arrived, noise)[came]) if last else {}
        files.append(_raw(folder, hop, came, arrived_ns=arrived[came], **more))
    return files


def _if(each: Made, **times: Times) -> dict[str, Times]:
    """Return the times if the cell has a codec, or an empty dictionary."""
    return {} if each.codec == "none" else times


def _coding(us: float, start: Times, noise: np.random.Generator) -> Times:
    """Return the times at which encoding or decoding finished."""
    return start + (us * noise.lognormal(0, 0.15, len(start)) * 1e3).astype(np.int64)


def _hop(middle: float, many: int, noise: np.random.Generator) -> Times:
    tail = np.where(noise.random(many) < 0.02, noise.pareto(2.5, many) * 2 + 1, 1.0)
    return middle * noise.lognormal(0, 0.09, many) * np.where(noise.random(many) < 0.12, 1.35, 1.0) * tail


def _raw(folder: Path, endpoint: int, seqs: Times, **columns: Times) -> Path:
    """Write the raw sample file of a node."""
    records = np.zeros(len(seqs), RECORD)
    for name in TIMES:
        records[name] = columns.get(name, NONE_NS)
    records["seq"], records["endpoint"] = seqs, endpoint
    path = folder / f"raw-{endpoint}"
    head = struct.pack("<8sIIIIQQ", MAGIC, VERSION, RECORD.itemsize, endpoint, 0, len(seqs), 0)
    path.write_bytes(head.ljust(HEAD_BYTES, b"\0") + records.tobytes())
    return path


def _about(cells: tuple[Made, ...]) -> dict[str, Any]:
    return {
        "scenario_name": "made-up",
        "question": "Which of these made-up transports is quickest with a small message and with a camera image?",
        "started": "2026-11-21T04:12:00+00:00",
        "seed": 7,
        "hopmeter": "0.1.0",
        "command": [
            "hopmeter",
            "run",
            "made-up",
            "--transport",
            ",".join(dict.fromkeys(cell.transport for cell in cells)),
        ],
        "machine": {
            "cpu_model": "A processor that does not exist",
            "architecture": "x86_64",
            "cores": 2,
            "virtualisation": "kvm",
            "distribution": "Debian GNU/Linux 12",
            "kernel": "6.1.0",
            "clock_source": "kvm-clock",
            "governor": "unknown",
            "thp": "madvise",
        },
        "noise": {
            "cores": [
                {"core": 0, "seconds": 0.1, "longest_us": 210.0, "gaps_per_s": 41.0, "gaps_percent": 0.2},
                {"core": 1, "seconds": 0.1, "longest_us": 74.0, "gaps_per_s": 12.0, "gaps_percent": 0.1},
            ]
        },
        "builds": {f"{cell.transport} ({cell.language})": "a compiler 12.2.0, x86_64 -O3 -DNDEBUG" for cell in cells},
        "instrument": {"clock_ns": 22.0, "clock_step_ns": 1.0, "message_ns": 61.0},
        "doctor": [
            {
                "subject": "governor",
                "level": "note",
                "says": "the kernel does not show the frequency",
                "remedy": "ask who runs the host",
            }
        ],
    }

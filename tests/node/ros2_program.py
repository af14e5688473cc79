"""Run a program in the Python of the `ros2` nodes, with the adapter loaded and the code of a type built."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from hopmeter.manifest import find_transports, interpreter, readiness
from hopmeter.schemas.ros2.types import payload_type
from hopmeter.system import paths
from tests.built import built_library, built_types

BEFORE = r"""
import json, struct, sys
from pathlib import Path
from types import SimpleNamespace
from hopmeter.node.loading import transport_class

folder, inputs = Path(sys.argv[1]), json.loads(sys.argv[2])
transport_class(folder)  # it checks the environment, and makes the package of the adapter
package = sys.modules[transport_class(folder).__module__].__package__
own_types = sys.modules[f"{package}.own_types"]
from rclpy.serialization import deserialize_message, serialize_message

encoded = Path(inputs["object"]).read_bytes()


def header(length, flags=8):
    return struct.pack("<IHHQIIQqqQII", int.from_bytes(b"HOPM", "little"), 1, flags, 7, 3, 0, 42, 99, 99, length, 5, 0)


def frame(length, flags=8):
    def fill(first, second=None):
        first[:], second[:] = header(length, flags), encoded[:length]
    return fill


def link_of(**more):
    words = {"message_type": inputs["name"], "message_code": inputs["code"], "message_object": "", **more}
    return SimpleNamespace(**words)


def plain(parts):
    first, second = parts
    return bytes(first).hex(), bytes(second() if callable(second) else second).hex()


"""


def run(payload: str, program: str, logs: Path, **inputs: object) -> dict[str, object]:
    """Run the program, and return its JSON output. The program's inputs are the type name, the paths of the type's
    files, and the given `inputs`."""
    manifest = find_transports(["ros2"])["ros2"]
    offer, wanted = manifest.offers["python"], payload_type(payload)
    state = readiness(manifest, "python")
    assert state.ready, f"ros2 in Python is not ready: {state.missing}"
    log = logs / "build.log"
    library = built_library(payload, "cdr", "python", log)
    code = built_types(manifest, "python", wanted, log)
    inputs |= {"name": wanted.name, "code": str(code.folder), "object": str(library.object)}
    python = interpreter.interpreter(offer)
    assert python is not None
    environment = {**os.environ, **python.fill(offer.variables)}
    searched = filter(None, [str(paths.PACKAGE.parent), environment.get("PYTHONPATH", "")])
    words = [python.program, "-c", BEFORE + program, str(manifest.folder / "python"), json.dumps(inputs)]
    environment["PYTHONPATH"] = os.pathsep.join(searched)
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))

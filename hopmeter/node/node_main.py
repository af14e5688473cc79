"""Runs a Python node: loads the adapter that the spec names, and runs it in the instrument."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

from hopmeter import _instrument
from hopmeter.node import empty
from hopmeter.node.contract import AdapterError, ObjectTransport
from hopmeter.node.loading import transport_class, transport_name
from hopmeter.node.payloads.flow_objects import FlowObjects


def run(arguments: list[str]) -> int:
    """Run a node, and return its exit code.

    The arguments are `--spec FILE --control-fd N`, `--describe --adapter DIR` or `--weigh CODEC DEVICE SHARE OBJECT…`.
    """
    spec = _read_spec(_value(arguments, "--spec"))
    folder = Path(spec.get("adapter") or _value(arguments, "--adapter") or ".")
    collects = spec.get("settings", {}).get("gc", "on") != "off"

    if "--weigh" in arguments:
        print(_payload_sizes(*arguments[arguments.index("--weigh") + 1 :]))
        return 0
    if "--describe" in arguments and not _can_load(folder):
        return 1

    objects = FlowObjects(spec, folder)

    def open_transport(setup: Any) -> Any:
        kind = transport_class(folder)  # imports the transport's library
        _instrument.note_loaded()
        transport = kind(setup)
        if objects.by_link and isinstance(transport, ObjectTransport):
            transport.carry(objects.by_link)
        _settle_collector(collects)
        return transport

    return _instrument.run(
        spec.get("transport") or transport_name(folder),
        open_transport,
        empty.Transport,
        lambda: transport_class(folder).version(),
        _facts(collects),
        _roles_wait(spec),
        _drop_option(arguments, "--adapter"),
        *([objects.make] if objects.numbers else []),
    )


def _can_load(folder: Path) -> bool:
    """Return whether this Python can load the adapter, and print the reason if it cannot."""
    try:
        transport_class(folder).version()
    except AdapterError as failed:
        print(f"{failed} ({failed.remedy})", file=sys.stderr)
        return False
    return True


def _payload_sizes(codec: str, device: str, share: str, *objects: str) -> str:
    """Return the output line of `--weigh` as JSON: the size of each payload, or the reason why the size is unknown."""
    try:
        from hopmeter.node.payloads.objects import payload_sizes
    except ImportError as cause:
        missing = {"missing": f"{sys.executable} has no {cause.name}, which every codec needs"}
        return json.dumps(dict.fromkeys(objects, missing))
    return payload_sizes(codec, device, share, objects)


def _settle_collector(collects: bool) -> None:
    """Exclude all existing objects from garbage collection, so that the garbage collector has almost no work during the
    trial.

    The garbage collector stays on, as in an ordinary program. The setting `gc = "off"`, which some transports have,
    turns the collector off.
    """
    gc.collect()
    gc.freeze()
    if not collects:
        gc.disable()


def _facts(collects: bool) -> dict[str, str]:
    """Return the Python version and the state of the garbage collector, as facts that the result contains."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    return {"python": f"{sys.implementation.name} {version}", "gc": "on, frozen at start" if collects else "off"}


def _roles_wait(spec: dict[str, Any]) -> bool:
    """Return whether any endpoint of the node does work, or waits for another thread, while it handles a frame.

    While an endpoint works or waits, the interpreter's other threads must be able to run.
    """
    return spec.get("threads", 0) > 0 or any(map(_role_waits, spec.get("endpoints", ())))


def _role_waits(endpoint: dict[str, Any]) -> bool:
    causes = endpoint.get("after") or endpoint.get("returns") is not None
    return bool(endpoint["work"]["kind"] != "none" or causes or len(endpoint["in"]) > 1)


def _read_spec(path: str | None) -> dict[str, Any]:
    """Return the node's spec, or an empty dict if the spec file cannot be read.

    The instrument reads the spec file again later, and reports the error.
    """
    try:
        return dict(json.loads(Path(path).read_bytes())) if path else {}
    except (OSError, ValueError):
        return {}


def _value(arguments: list[str], name: str) -> str | None:
    for at, argument in enumerate(arguments[:-1]):
        if argument == name:
            return arguments[at + 1]
    return None


def _drop_option(arguments: list[str], name: str) -> list[str]:
    """Remove the option `name` and its value from the arguments, and return the other arguments."""
    if name not in arguments:
        return arguments
    at = arguments.index(name)
    return arguments[:at] + arguments[at + 2 :]

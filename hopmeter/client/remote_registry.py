"""Join the rendezvous folders of two machines: a link end that is bound on one machine is known on the other.

You provide the connection between the machines: `say` sends a message, `add_end` and `remove_end` receive one. Messages
from the other machine are not trusted: they cannot name a folder, a file or an unknown setting.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hopmeter.client.adapters import checked_settings
from hopmeter.client.errors import ConnectError
from hopmeter.client.rendezvous import Record, Rendezvous
from hopmeter.errors import HopmeterError
from hopmeter.manifest.discovery import find_transports
from hopmeter.system.owner_lock import this_process

LOOK_S = 0.05
FILE = re.compile(r"([a-z0-9-]{1,32})\.([a-z0-9_]{1,32})\.([a-z0-9-]{1,32})\.json")
TOLD = ("run", "frame_bytes", "settings", "address")
LONGEST_ADDRESS = 400


class Mirror:
    """One side: it announces the link ends in its folder and stores those of the other machine, until it is closed."""

    def __init__(self, folder: Path, say: Callable[..., None]) -> None:
        self._folder, self._say = folder, say
        self._told: dict[str, str] = {}
        """For each link end that the other machine knows, its run, by the file of its record."""
        self._adopted: dict[str, Record] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hopmeter mirror", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        meeting = Rendezvous(self._folder, "mirror")
        while not self._over.wait(LOOK_S):
            self._tell(meeting.bound_ends())

    def _tell(self, here: Mapping[str, Record]) -> None:
        for file in self._told.keys() - here.keys():
            del self._told[file]
            self._say(say="closed", file=file)
        for file, record in here.items():
            if self._told.get(file) != record.run:
                self._told[file] = record.run
                self._say(say="opened", file=file, **{name: getattr(record, name) for name in TOLD})

    def add_end(self, said: Mapping[str, Any]) -> None:
        """Add a link end of the other machine. Raises ConnectError for a link end that is invalid here."""
        self.remove_end(said)
        meeting, name, kind = self._place(said)
        self._adopted[said["file"]] = meeting.adopt(name, kind, check_record(said))

    def remove_end(self, said: Mapping[str, Any]) -> None:
        """Remove a link end of the other machine."""
        if (record := self._adopted.pop(str(said.get("file")), None)) is not None:
            meeting, name, kind = self._place(said)
            meeting.retract(name, kind, record)

    def _place(self, said: Mapping[str, Any]) -> tuple[Rendezvous, str, str]:
        transport, name, kind = _parts(said)
        return Rendezvous(self._folder, transport), name, kind

    def close(self) -> None:
        """Remove all link ends of the other machine."""
        self._over.set()
        self._thread.join()
        for file in list(self._adopted):
            self.remove_end({"file": file})


def _parts(said: Mapping[str, Any]) -> tuple[str, str, str]:
    found = FILE.fullmatch(str(said.get("file")))
    if found is None:
        raise ConnectError("E-REGISTRY", f"the other machine does not name an endpoint: {str(said.get('file'))[:100]}")
    return found[1], found[2], found[3]


def check_record(said: Mapping[str, Any]) -> Record:
    """Check the record of a link end that the other machine sent. Raises ConnectError if the record is invalid."""
    transport, run, address = _parts(said)[0], str(said.get("run")), said.get("address")
    frame_bytes, settings = said.get("frame_bytes"), said.get("settings")
    try:
        manifest = find_transports([transport])[transport]
        known = checked_settings(manifest, settings if isinstance(settings, dict) else {})
    except HopmeterError as unknown:
        raise ConnectError(
            "E-REGISTRY",
            f"the other machine uses a transport or setting that is unknown here: {unknown.what}",
            unknown.remedy,
        ) from unknown
    sizes = isinstance(frame_bytes, int) and 0 < frame_bytes <= manifest.max_payload_bytes + 64
    words = isinstance(address, str) and len(address) <= LONGEST_ADDRESS
    if not re.fullmatch("[0-9a-f]{16}", run) or not sizes or not words:
        raise ConnectError("E-REGISTRY", f"the other machine does not describe an endpoint: {str(dict(said))[:200]}")
    return Record(this_process(), run, "", int(frame_bytes or 0), known, [], str(address))

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any


class Sender:
    def __init__(self, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, text=True, env={**os.environ, **(environment or {})}, **pipes)
        self.pid = self._process.pid

    def __call__(self, do: str, **told: Any) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"do": do, **told}) + "\n")
        stdin.flush()
        answer: dict[str, Any] = json.loads(stdout.readline())
        return answer

    def frames(self, **told: Any) -> list[bytes]:
        """Return the frames of a tensor, as a receiver gets them. The tensor contains `values`, by default the numbers
        one to four."""
        return [bytes.fromhex(frame) for frame in self("lend", **{"values": [1, 2, 3, 4], **told})["frames"]]

    def end(self) -> None:
        self._process.communicate()

"""The adapter for named pipes in Python: one pipe for each receiver, and one pipe through which receivers join."""

from __future__ import annotations

import fcntl
import os
from typing import Any

from hopmeter.node.base import BaseTransport
from hopmeter.node.contract import AdapterError, Link

from ..._streams.python.fifos import Entrance, connect
from ..._streams.python.sending import Publisher
from ..._streams.python.streams import Subscriber


class Transport(BaseTransport):
    path = "named pipes"

    @staticmethod
    def version() -> str:
        kernel = os.uname()
        return f"{kernel.sysname} {kernel.release}"

    def publisher(self, link: Link) -> Publisher:
        address = os.path.join(self.setup.directory, f"{link.name}.fifo")
        entrance: Any = Entrance(address)
        return Publisher(link, entrance, address, self._set_size)

    def subscriber(self, link: Link) -> Subscriber:
        pipe: Any = connect(link.address)[0]
        return Subscriber(link, pipe)

    def _set_size(self, pipe: Any) -> None:
        """Set the capacity of a pipe. The value 0 keeps the system's default. The kernel rounds the capacity up to
        pages whose number is a power of two."""
        size: int = self.settings["pipe_size"]
        if not size:
            return
        try:
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)
        except OSError as cause:
            remedy = f"request a smaller size, or raise the limit: sysctl -w fs.pipe-max-size={size}"
            raise AdapterError(f"the system refuses a pipe of {size} bytes", remedy) from cause

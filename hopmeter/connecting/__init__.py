"""`hopmeter.connect`: a publisher, subscriber, client and server that carry objects over any adapter with Python.

docs/connect.md tells how it is used, how two programs find each other, and what stays true of every transport.
"""

from hopmeter.connecting.errors import CallFailedError, ConnectError, TimedOutError
from hopmeter.connecting.house import House, connect

__all__ = ["CallFailedError", "ConnectError", "House", "TimedOutError", "connect"]

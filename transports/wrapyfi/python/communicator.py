"""Provides the method with which Wrapyfi publishes or receives at one end of a link."""

from __future__ import annotations

import itertools
import math
import threading
import types
from collections.abc import Callable
from typing import Any

from wrapyfi.connect.listeners import Listeners
from wrapyfi.connect.publishers import Publishers
from wrapyfi.connect.wrapper import MiddlewareCommunicator
from wrapyfi.listeners.zeromq import ZeroMQNativeObjectListener
from wrapyfi.publishers.zeromq import ZeroMQNativeObjectPublisher

MIDDLEWARE = "zeromq-of-hopmeter"
"""The name under which Wrapyfi's `zeromq` middleware uses the classes below for its link ends."""
NUMBERS = itertools.count()
REGISTRY = threading.RLock()
"""Locks Wrapyfi's global dictionary of methods, over which Wrapyfi iterates when a method is closed."""


class Communicator(MiddlewareCommunicator):
    """The method `exchange(obj)` publishes the object `obj`, or returns a received object, or None if no object has
    arrived."""

    def __init__(self, mode: str, topic: str, **given: Any) -> None:
        super().__init__()

        def exchange(_self: Communicator, obj: Any = None) -> tuple[Any]:
            return (obj,)

        # Wrapyfi identifies methods by this name; two methods with the same name would share their results.
        exchange.__qualname__ = f"Communicator{next(NUMBERS)}.exchange"
        registered = MiddlewareCommunicator.register("NativeObject", MIDDLEWARE, "hopmeter", topic, **given)
        with REGISTRY:
            self._exchange = types.MethodType(registered(exchange), self)
            self.activate_communication(self._exchange, mode=mode)

    def exchange(self, obj: Any = None) -> Any:
        (answer,) = self._exchange(obj)
        return answer

    def close(self) -> None:
        with REGISTRY:
            super().close()


@Publishers.register("NativeObject", MIDDLEWARE)
class EstablishedPublisher(ZeroMQNativeObjectPublisher):
    """Wrapyfi's own publisher, which this class connects in its constructor.

    By default, the first message connects Wrapyfi's publisher and then sleeps for 0.2 s, without checking for a
    listener. In hopmeter, probe messages check that a listener exists.
    """

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.establish()


@Listeners.register("NativeObject", MIDDLEWARE)
class WaitedListener(ZeroMQNativeObjectListener):
    """Wrapyfi's own listener, which never waits by itself. To wait for a message, this class polls the socket of
    Wrapyfi's listener."""

    def __init__(self, *args: Any, opened: Callable[[WaitedListener], None], **given: Any) -> None:
        super().__init__(*args, **given)
        opened(self)

    def wait(self, timeout_s: float) -> bool:
        """Wait for a message. Return whether a message arrived before the timeout."""
        return bool(self._socket.poll(math.ceil(timeout_s * 1000)))

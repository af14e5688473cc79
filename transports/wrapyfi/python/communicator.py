"""One method that Wrapyfi publishes or listens to, for one end of a link."""

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
"""Wrapyfi's `zeromq`, with what is below added to its ends."""
NUMBERS = itertools.count()
REGISTRY = threading.RLock()
"""Wrapyfi keeps all methods in one dictionary, and walks through it when one is closed."""


class Communicator(MiddlewareCommunicator):
    """`exchange(obj)` publishes the object, or answers what has arrived; None where nothing has."""

    def __init__(self, mode: str, topic: str, **given: Any) -> None:
        super().__init__()

        def exchange(_self: Communicator, obj: Any = None) -> tuple[Any]:
            return (obj,)

        # Wrapyfi tells methods apart by this name; two alike would be one method with two results.
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
    """Wrapyfi's own publisher, connected when it is made. Its first message would connect it, and then sleep for 0.2
    seconds in place of a proof that somebody listens: messages prove it here."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.establish()


@Listeners.register("NativeObject", MIDDLEWARE)
class WaitedListener(ZeroMQNativeObjectListener):
    """Wrapyfi's own listener, which only looks; whoever wants to sleep until something is there needs its socket."""

    def __init__(self, *args: Any, opened: Callable[[WaitedListener], None], **given: Any) -> None:
        super().__init__(*args, **given)
        opened(self)

    def wait(self, timeout_s: float) -> bool:
        """Whether something is there by then."""
        return bool(self._socket.poll(math.ceil(timeout_s * 1000)))

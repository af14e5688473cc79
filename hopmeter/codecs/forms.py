"""Describes how to convert a numeric array to an object of a framework, and how to convert the object back to an array.

Every codec that hopmeter can measure defines a `FORM`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Form:
    """Converts an array to an object of the framework on a device, and back, with the framework's own functions.

    The framework is imported when a conversion function is first called.
    """

    make: Callable[[Array, str], Any]
    """A function that creates the framework's object from an array and a device.

    The device is the value of the field `gpu`, or an empty string for the CPU.
    """
    read: Callable[[Any], Array] = np.asarray
    floats: str = "float64"
    """The framework's default dtype for floating-point arrays."""
    cpu: bool = True
    """Whether the framework supports the CPU."""
    gpu: str = ""
    """The framework's name for a GPU, or an empty string if the framework does not support GPUs."""
    gpus: Callable[[], int] = lambda: 0
    """A function that returns how many GPUs the framework sees. The function may raise an exception if there is no
    driver."""
    settle: Callable[[Any], Any] | None = None
    """A function that waits until a copy to a GPU is complete, because such a copy may be asynchronous."""
    noun: str = "an array"
    """The noun, with an article, that user messages use for the framework's object, such as `an array`."""

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that the framework supports: `cpu`, `gpu` or both."""
        return (*(("cpu",) if self.cpu else ()), *(("gpu",) if self.gpu else ()))

    def has_gpu(self) -> bool:
        """Return whether the framework finds a GPU on this machine."""
        try:
            return self.gpus() > 0
        except Exception:  # noqa: BLE001 (libraries raise different errors for a missing driver)
            return False


def rows(array: Array) -> Array:
    """Return an array with at most two dimensions. An image becomes an array with one row per pixel."""
    return array if array.ndim <= 2 else array.reshape(-1, array.shape[-1])

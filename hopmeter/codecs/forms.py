"""How a framework converts an array of numbers to its object and back. Every codec that can be measured has a
`FORM`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Form:
    """Converts an array to an object of a framework on a device, and back, with the framework's own functions.

    The framework is imported when one of these functions is first called.
    """

    make: Callable[[Array, str], Any]
    """Makes the object from an array and a device: the value of `gpu` below, or empty for the CPU."""
    read: Callable[[Any], Array] = np.asarray
    floats: str = "float64"
    """The dtype that the framework gives to an array of ones by default."""
    cpu: bool = True
    """Whether objects of the framework can be stored on the CPU."""
    gpu: str = ""
    """The framework's name for a GPU; empty if it has none."""
    gpus: Callable[[], int] = lambda: 0
    """How many GPUs the framework sees; may raise if there is no driver."""
    settle: Callable[[Any], Any] | None = None
    """Waits for a copy to a GPU, which may continue after the call that started it."""
    noun: str = "an array"
    """What users call the object that is made of an array, with its article."""

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices on which objects of the framework can be stored, `cpu` or `gpu`."""
        return (*(("cpu",) if self.cpu else ()), *(("gpu",) if self.gpu else ()))

    def has_gpu(self) -> bool:
        """Whether the framework finds a GPU here."""
        try:
            return self.gpus() > 0
        except Exception:  # noqa: BLE001 (each library has errors of its own for a missing driver)
            return False


def rows(array: Array) -> Array:
    """Return a table with one row per pixel of an image."""
    return array if array.ndim <= 2 else array.reshape(-1, array.shape[-1])

"""The Pint codec. Units are sent as names and exponents, so that the receiver does not have to parse unit
expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hopmeter.codecs import arrays, devices, lookup
from hopmeter.codecs.checks import listing, text
from hopmeter.codecs.errors import CodecError
from hopmeter.codecs.forms import Form
from hopmeter.codecs.reading import Maker, Reading
from hopmeter.codecs.writing import Frames, node_of, refusal

ROOTS = ("pint",)
EXTRA = "pint"
MEGABYTES = (1, 3)


def write(obj: Any, frames: Frames, depth: int) -> str:
    """Append a quantity's magnitude to `frames` with the magnitude's own codec, and return a header node with the
    units.

    For a unit, which has no magnitude, append nothing.
    """
    pint = lookup.import_package("pint", EXTRA)
    if isinstance(obj, pint.Unit):
        return f'["unit",{_units(obj._units, frames, depth)}]'
    if not isinstance(obj, pint.Quantity):
        raise refusal(obj, "send quantities or units; a registry cannot be sent")
    return f'["quantity",{node_of(obj.magnitude, frames, depth)},{_units(obj._units, frames, depth)}]'


def _units(units: Any, frames: Frames, depth: int) -> str:
    powers = sorted(units.items())
    for name, power in powers:
        if float(power) != power:  # the exponent is a fraction such as 1/3
            raise CodecError("E-UNIT", f"the exponent {power!r} of {name} is not a float", "use a float as exponent")
    return node_of([(name, float(power)) for name, power in powers], frames, depth)


def _read_units(node: Any, reading: Reading) -> Any:
    make = reading.maker(node)

    def units(frames: Any) -> Any:
        registry = lookup.import_package("pint", EXTRA).get_application_registry()
        found = [(text(name), power) for name, power in listing(make(frames))]
        for name, power in found:
            if not re.fullmatch(r"\w{1,100}", name) or type(power) is not float or name not in registry:
                raise CodecError(
                    "E-UNIT", f"unknown unit: {name[:100]}", "define the unit in the application's registry"
                )
        exponents = {name: int(power) if power.is_integer() else power for name, power in found}
        return registry, registry.UnitsContainer(exponents)

    return units


def _read_quantity(node: list[Any], reading: Reading) -> Maker:
    _, magnitude, units = listing(node, 3)
    make, of = reading.inner(magnitude, "pint"), _read_units(units, reading)

    def build(frames: Any) -> Any:
        value = make(frames)
        registry, container = of(frames)
        return registry.Quantity(value, container)

    return build


def _read_unit(node: list[Any], reading: Reading) -> Maker:
    of = _read_units(listing(node, 2)[1], reading)

    def build(frames: Any) -> Any:
        registry, container = of(frames)
        return registry.Unit(container)

    return build


def from_array(wanted: arrays.Wanted) -> Callable[[Any], Any]:
    """Return a function that creates a dimensionless quantity from an array."""
    devices.refuse_gpu("Pint", wanted.device)
    registry = lookup.import_package("pint", EXTRA).get_application_registry()
    return lambda array: registry.Quantity(array, "")


READERS = {"quantity": _read_quantity, "unit": _read_unit}


def _metres(array: Any, _: str) -> Any:
    return lookup.import_package("pint", EXTRA).get_application_registry().Quantity(array, "meter")


FORM = Form(_metres, lambda quantity: quantity.magnitude, noun="a Pint quantity")

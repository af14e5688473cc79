"""Add the second side in a run with `--against`. The cells that the user requests are the `new` side; the reference,
which the option `--against` gives, describes the `old` side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.manifest import Manifest, Readiness
from hopmeter.manifest.readiness import describe
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.expand import profile_of
from hopmeter.plan.make import Plan
from hopmeter.plan.rules import languages, why_not
from hopmeter.system.toml_files import one_of

OLD, NEW = "old", "new"
SETTINGS = "set:"
"""The prefix of a reference that names transport settings."""


@dataclass(frozen=True)
class OldSide:
    """The old side of a run, with which the new side is compared."""

    name: str
    """The reference as the user wrote it."""
    capabilities: Capabilities
    cell: Callable[[Cell], Cell]
    """A function that returns the old side of a cell, or a dropped cell with a reason if the cell has no old side."""
    commit: str = ""
    """The git commit if the reference is a git revision, otherwise an empty string."""


def add_old_sides(plan: Plan, old: OldSide) -> Plan:
    """Return the plan with the old side of each cell. A floor that hopmeter itself has added to the plan gets no old
    side.

    If a requested cell has no old side, the cell is dropped. Raises UsageError if no cell has an old side.
    """
    check_sides(plan)
    two = {cell.id for cell in cells_with_sides(plan)}
    cells = [each for cell in plan.cells for each in (_both(cell, old) if cell.id in two else [cell])]
    _check_any(cells, old.name)
    return replace(plan, cells=cells)


def check_sides(plan: Plan) -> None:
    """Raise UsageError if the plan does not allow two sides."""
    if plan.scenario.search:
        raise UsageError("E-OPTION-CONFLICT", "--against: a search has no two sides", "give rates instead of a search")
    if plan.scenario.alone:
        said = "--against: a run with two sides cannot measure a flow of a workload alone"
        raise UsageError("E-OPTION-CONFLICT", said, "omit `alone`, or --against")
    own = next((name for name, flow in plan.scenario.flow.items() if flow.transport), None)
    if own is not None:
        said = (
            f"--against: flow {own} has its own transport, but the two sides of a cell may differ in one transport only"
        )
        raise UsageError("E-OPTION-CONFLICT", said, "let all flows use the transport of the scenario")


def cells_with_sides(plan: Plan) -> list[Cell]:
    """Return the cells that are measured on both sides: all cells except the floors that hopmeter added."""
    floors = {cell.comparison.floor for cell in plan.cells}
    return [cell for cell in plan.runnable if cell.comparison.ranked or cell.id not in floors]


def _both(cell: Cell, old: OldSide) -> list[Cell]:
    other = old.cell(cell)
    reason = other.dropped or why_not(other, old.capabilities)
    if reason:
        return [replace(cell, dropped=reason)]
    before = other.with_values(id=f"{cell.id}-{OLD}", side=OLD, counterpart=cell.id)
    return [before, cell.with_values(side=NEW, counterpart=before.id)]


def _check_any(cells: Sequence[Cell], name: str) -> None:
    if not any(cell.comparison.side for cell in cells):
        reasons = [cell.dropped for cell in cells if cell.dropped]
        why = f"for example: {reasons[0]}" if reasons else "name at least one transport"
        raise UsageError("E-AGAINST", f"--against {name}: no cell of this run has an old side", why)


def node_side(name: str, capabilities: Capabilities, node: Readiness, why_same: Callable[[Cell], str]) -> OldSide:
    """Return the old side for a run that replaces the node of a transport in one language.

    `why_same` is a function that returns the reason if a cell would be the same on both sides.
    """

    def describe_old(chosen: Manifest, language: str) -> Readiness:
        if (chosen.name, language) != (node.transport, node.language):
            return capabilities.describe(chosen, language)
        return describe(chosen, language, node.command, {**node.environment, **chosen.variables})

    ready = {**capabilities.ready, (node.transport, node.language): node}
    old = replace(capabilities, ready=ready, describe=describe_old, _chosen={})
    return OldSide(name, old, lambda cell: replace(cell, dropped=why_same(cell)))


def why_unused(cell: Cell, transport: str, language: str) -> str:
    """Return why a cell does not change if a transport's node in one language is replaced, or an empty string if the
    cell uses the node."""
    if cell.axes.transport == transport and language in languages(cell):
        return ""
    return tag("D-SAME-SIDES", f"{cell.axes.transport} ({cell.axes.language}) would be the same on both sides")


def settings_side(name: str, capabilities: Capabilities, transports: Sequence[str]) -> OldSide:
    """Return the old side for a reference such as `set:hwm=1000,endpoint=tcp`, which changes the values of some
    settings."""
    values = _parse(name.removeprefix(SETTINGS), [capabilities.manifests[each] for each in transports])

    def old_cell(cell: Cell) -> Cell:
        manifest, own = capabilities.manifests[cell.axes.transport], values.get(cell.axes.transport, {})
        return _with_settings(cell, manifest, {**cell.carriage.settings, **own})

    return OldSide(name, capabilities, old_cell)


def _with_settings(cell: Cell, manifest: Manifest, settings: Mapping[str, Any]) -> Cell:
    if settings == cell.carriage.settings:
        return replace(cell, dropped=tag("D-SAME-SIDES", f"{manifest.name} would be the same on both sides"))
    return cell.with_values(settings=dict(settings), profile=profile_of(manifest, settings))


def _parse(text: str, manifests: Sequence[Manifest]) -> dict[str, dict[str, Any]]:
    """Parse the settings in a reference such as `set:hwm=1000`, and return the settings of each transport.

    If a setting's name does not name a transport, it applies to every transport that has the setting.
    """
    found: dict[str, dict[str, Any]] = {}
    for word in text.split(","):
        key, equals, value = word.partition("=")
        transport, _, name = key.rpartition(".")
        owners = [each for each in manifests if name in each.settings and transport in ("", each.name)]
        if not equals or not owners:
            listed = sorted({name for each in manifests for name in each.settings})
            known = one_of(name, listed or ["none, because these transports have no settings"])
            raise UsageError("E-AGAINST", f"--against {SETTINGS}{text}: setting {known}", "write set:NAME=VALUE")
        for owner in owners:
            found.setdefault(owner.name, {})[name] = _value(owner, name, value)
    return found


def _value(manifest: Manifest, name: str, word: str) -> Any:
    try:
        return manifest.settings[name].parse(word)
    except RefusedValueError as cause:
        raise UsageError("E-SETTING-VALUE", f"--against {SETTINGS}{name}={word}: {cause.what}") from cause

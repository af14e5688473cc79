"""The rules that drop cells. If several rules apply to a cell, the user sees only the reason of the first one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hopmeter.manifest import Manifest, Readiness
from hopmeter.manifest.readiness import NOT_BUILT
from hopmeter.manifest.tables.setting import SECURITY
from hopmeter.messages import tag
from hopmeter.model import units
from hopmeter.model.cell import Cell
from hopmeter.model.conditions import MOST_MESSAGES
from hopmeter.model.units import MOST_S
from hopmeter.model.workload import Carrier
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.carriers import axis_carrier, carriers
from hopmeter.plan.expand import language_parts
from hopmeter.plan.payloads.objects import why_no_object
from hopmeter.plan.restarts import why_no_restart
from hopmeter.plan.workloads.crowding import why_spinning
from hopmeter.system import humanize

Rule = Callable[[Cell, Manifest, Capabilities], str]
"""A function that returns the reason why a cell is impossible, tagged with a code, or an empty string if the cell is
possible."""


def why_not(cell: Cell, capabilities: Capabilities) -> str:
    """Return why a cell cannot be measured on this machine, or an empty string if it can."""
    manifest = capabilities.manifests[cell.axes.transport]
    answers = (rule(cell, manifest, capabilities) for rule in RULES)
    return cell.dropped or next((answer for answer in answers if answer), "")


def languages(cell: Cell) -> list[str]:
    """Return the distinct languages of a cell."""
    if cell.workload is not None and not cell.flow:
        return list(dict.fromkeys(each.language for each in cell.workload.participants))
    source, relay, sink = language_parts(cell.axes.language, cell.axes.relays)
    return list(dict.fromkeys([source, relay, sink] if cell.axes.relays else [source, sink]))


def adapters(cell: Cell) -> list[tuple[Carrier, str]]:
    """Return the pairs of carrier and language that the nodes of a cell use, each pair once."""
    if cell.workload is None:
        return [(axis_carrier(cell), language) for language in languages(cell)]
    programs = cell.workload.participants
    found = [(each, program.language) for program in programs for each in carriers(cell, program.name)]
    return list({(carrier.key, language): (carrier, language) for carrier, language in found}.values())


def _language(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    absent = [word for word in languages(cell) if word not in manifest.offers]
    if not absent:
        return ""
    said = f"{cell.axes.transport} has no adapter in {absent[0]}"
    return tag("D-NO-LANGUAGE", f"{said} (it has {', '.join(_existing(cell, manifest))})")


def _existing(cell: Cell, manifest: Manifest) -> list[str]:
    """Return the languages in which a transport has adapters.

    If the languages of the cell differ, return the language pairs that the transport supports instead.
    """
    return manifest.language_pairs if len(languages(cell)) > 1 else list(manifest.offers)


def _mixture(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    if len(languages(cell)) == 1:
        return ""
    if cell.axes.placement == "thread":
        return tag("D-MIXED-LANGUAGES", "a process runs one language; for mixed languages, use the placement `process`")
    if manifest.cross_language:
        return ""
    said = f"{cell.axes.transport} cannot connect programs in different languages"
    return tag("D-NO-CROSS-LANGUAGE", f"{said} (it has {', '.join(_existing(cell, manifest))})")


def _check_offer(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    for language in languages(cell):
        offer = manifest.offers[language]
        asked: list[tuple[str, str, Sequence[str]]] = [
            ("pattern", cell.axes.pattern, offer.patterns),
            ("placement", cell.axes.placement, offer.placements),
            *(("wait", wait, offer.asked_waits) for wait in cell.axes.waits),
        ]
        for axis, value, listed in asked:
            if value not in listed:
                return tag(
                    "D-NOT-OFFERED",
                    f"{cell.axes.transport} ({language}) does not offer {axis} {value} (it offers {', '.join(listed)})",
                )
    return ""


def _choice_placements(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    for name, value in cell.carriage.settings.items():
        listed = manifest.settings[name].choice_placements.get(str(value))
        if listed and cell.axes.placement not in listed:
            said = f"{cell.axes.transport} {name}={value} does not offer placement {cell.axes.placement}"
            return tag("D-NOT-OFFERED", f"{said} (it offers {', '.join(listed)})")
    return ""


def _shape(cell: Cell, *_: object) -> str:
    if cell.axes.pattern == "pubsub" and cell.axes.pacing.awaits_return:
        if not cell.axes.relays:
            return tag(
                "D-RING",
                f"{cell.axes.pace} pubsub is a ring and needs at least one relay; use --relays 1 for the round trip",
            )
        if cell.axes.sinks > 1:
            return tag(
                "D-RING-SINKS", f"{cell.axes.pace} pubsub is a ring, whose source is the only receiver; use one sink"
            )
    if cell.axes.pattern == "rpc" and cell.axes.sinks > 1:
        return tag("D-ONE-SERVER", "rpc has one server; for several servers, use the pattern `scatter`")
    if cell.axes.pattern == "scatter" and cell.axes.relays:
        return tag("D-SCATTER-RELAYS", "scatter has no relays, because the client calls every server itself")
    return _waits(cell) or _works(cell)


def _begin(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    if not cell.axes.begins_at_once:
        return ""
    if cell.axes.pattern != "pubsub" or cell.axes.relays or not cell.axes.pacing.is_scheduled:
        return tag("D-AT-ONCE", "begin at-once needs pubsub without relays, and a pace with a rate")
    if cell.nodes.hosts:
        said = '`begin = "at-once"` compares times from a single clock, so all nodes must run on this machine'
        return tag("D-AT-ONCE", said)
    if not manifest.late_processes:
        said = f"the processes of {cell.axes.transport} start together, so the source cannot send at once"
        return tag("D-AT-ONCE", said)
    return ""


def _restart(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    return why_no_restart(cell, manifest)


def _waits(cell: Cell) -> str:
    """Reject a cell whose receivers wait in different ways, unless the cell has no relays and all receivers are
    sinks."""
    many = len(cell.axes.waits)
    if many == 1:
        return ""
    if cell.axes.pattern != "pubsub" or cell.axes.relays:
        return tag("D-WAITS", f"wait {cell.axes.wait} needs {many} sinks in pubsub without relays")
    if many != cell.axes.sinks:
        return tag("D-WAITS", f"wait {cell.axes.wait} is for {many} sinks, but there {_are(cell.axes.sinks)}")
    if cell.axes.placement == "thread" and {"spin", "block"} <= set(cell.axes.waits):
        return tag(
            "D-WAITS-MIXED",
            "all receivers in one process must wait in the same way, `spin` or `block`; for both, use the placement "
            "`process`",
        )
    return ""


def _are(many: int) -> str:
    return f"{'is' if many == 1 else 'are'} {many}"


def _copies(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    lacking = [word for word in languages(cell) if not manifest.offers[word].copies]
    is_own = any(work.get("way") == "own" for work in units.works(cell.axes.work))
    return tag("D-NO-COPY", f"{cell.axes.transport} ({lacking[0]}) has no copy function") if is_own and lacking else ""


def _works(cell: Cell) -> str:
    many = len(units.works(cell.axes.work))
    if many > 1 and cell.axes.pattern != "scatter" and not cell.axes.sinks_work:
        which = f"{many} servers of a scatter, or sinks without relays"
        return tag("D-WORKS", f"work {cell.axes.work} is only for {which}; otherwise give one work for all")
    if many > 1 and many != cell.axes.sinks:
        who = "servers" if cell.axes.pattern == "scatter" else "sinks"
        return tag("D-WORKS", f"work {cell.axes.work} is for {many} {who}, but there {_are(cell.axes.sinks)}")
    return ""


def _object(cell: Cell, *_: object) -> str:
    source, _relay, sink = language_parts(cell.axes.language, cell.axes.relays)
    return why_no_object(cell, (source, sink))


def _own_encoders(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    """Reject a cell with a codec if its transport encodes objects itself.

    If the transport and the codec both encoded an object, the result could not show the time of either.
    """
    own = manifest.offers["python"].objects if "python" in manifest.offers else []
    if cell.axes.codec == "none" or not own or cell.axes.codec in own:
        return ""
    return tag(
        "D-OWN-ENCODERS",
        f"{cell.axes.transport} itself encodes only objects of {', '.join(own)}, not of {cell.axes.codec}",
    )


def _size(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    for language in languages(cell):
        most = manifest.offers[language].max_payload_bytes
        if cell.carriage.payload_bytes > most:
            named = cell.axes.transport if most == manifest.max_payload_bytes else f"{cell.axes.transport} ({language})"
            return tag("D-TOO-LARGE", f"{cell.carriage.payload_bytes} bytes exceed the maximum of {named} ({most})")
    return ""


def _sizes(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    if cell.axes.pace != "replay" or manifest.varying_sizes:
        return ""
    said = f"{cell.axes.transport} carries messages of one size on each link, but those of a recording differ in size"
    return tag("D-SIZES-VARY", said)


def _receivers(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    most = manifest.max_receivers
    if most is None or cell.axes.pattern != "pubsub" or cell.axes.sinks <= most:
        return ""
    return tag(
        "D-RECEIVERS", f"{cell.axes.sinks} receivers of one link exceed the maximum of {cell.axes.transport} ({most})"
    )


def _length(cell: Cell, *_: object) -> str:
    if cell.schedule.messages > MOST_MESSAGES:
        most = f"the maximum of a trial ({MOST_MESSAGES:,})"
        return tag(
            "D-TOO-LONG", f"{cell.schedule.messages:,} messages exceed {most}; shorten the trial, or lower the rate"
        )
    longest_s = max(cell.schedule.limit_s, cell.call_s)
    if longest_s > MOST_S:
        return tag("D-TOO-LONG", f"a trial could take {longest_s:,.0f} s; the maximum is {MOST_S:,.0f} s")
    return ""


def _idle_settings(cell: Cell, manifest: Manifest, _: Capabilities) -> str:
    """Reject a cell with a setting that has no effect in the cell.

    A row whose setting has no effect would suggest that the setting makes no difference.
    """
    here = {
        "languages": set(languages(cell)),
        "waits": set(cell.axes.waits),
        "patterns": {"pubsub" if cell.axes.pattern == "pubsub" else "rpc"},
        "placements": {cell.axes.placement},
    }
    for name, value in cell.carriage.settings.items():
        setting = manifest.settings[name]
        if value == setting.default:
            continue
        for kind, mine in here.items():
            heeds = getattr(setting, kind)
            # Both sides of an encrypted connection need a library that can encrypt.
            is_heeded = heeds is None or (mine <= set(heeds) if name == SECURITY else bool(mine & set(heeds)))
            if not is_heeded:
                said = (
                    f"setting {name} of {cell.axes.transport} has no effect with {kind} other than {', '.join(heeds)}"
                )
                return tag("D-SETTING-IDLE", said)
        for other, values in setting.where.items():
            if not manifest.has_effect({other: values}, cell.carriage.settings):
                needed = " or ".join(f"{other}={humanize.setting(each)}" for each in values)
                return tag("D-SETTING-IDLE", f"setting {name} of {cell.axes.transport} has no effect without {needed}")
    return ""


def endpoints(cell: Cell) -> int:
    """Return how many endpoints all pairs of a cell have in total."""
    last = 0 if cell.axes.is_ring else cell.axes.sinks
    return cell.axes.pairs * (1 + cell.axes.relays + last)


def _spinning(cell: Cell, _: Manifest, capabilities: Capabilities) -> str:
    cores = len(set(cell.nodes.core_list) or set(capabilities.machine.allowed))
    # Sources count as spinning threads, because a source spins before each message.
    threads = endpoints(cell) - cell.axes.pairs * sum(wait != "spin" for wait in cell.axes.waits)
    if "spin" not in cell.axes.waits or threads <= cores:
        return ""
    return why_spinning(threads, cores)


def _check_build(cell: Cell, _: Manifest, capabilities: Capabilities) -> str:
    for language in languages(cell):
        state = capabilities.node(cell.axes.transport, language, cell.carriage.settings)
        if state is None or not state.ready:
            missing, get = (state.missing, state.get) if state else (NOT_BUILT, "")
            what = "is not built" if missing == NOT_BUILT else f"is not ready: {missing}"
            code = "D-NOT-BUILT" if missing == NOT_BUILT else "D-NOT-READY"
            return tag(code, f"{cell.axes.transport} ({language}) {what}; {_remedy(cell, get)}")
        if lacking := _lacks(cell, state):
            said = f"{cell.axes.transport} ({language}) was built by a version without {lacking}"
            return tag("D-NOT-BUILT", f"{said}; {_remedy(cell, '')}")
    return ""


def is_too_old(cell: Cell, state: Readiness) -> bool:
    """Return whether the node was built by a version of hopmeter that lacks what the cell needs."""
    return bool(_lacks(cell, state))


def _lacks(cell: Cell, state: Readiness) -> str:
    if cell.axes.begins_at_once and not state.begins_at_once:
        return "begin at-once"
    return "restart" if cell.axes.has_restart and not state.survives_restarts else ""


def _remedy(cell: Cell, get: str) -> str:
    """Return a remedy: a command that the user can run, or a sentence about a library that only the user can
    install."""
    command = get or f"hopmeter build {cell.axes.transport}"
    return f"run `{command}`" if command.startswith("hopmeter ") else command


RULES: tuple[Rule, ...] = (
    _language,
    _object,
    _own_encoders,
    _mixture,
    _check_offer,
    _choice_placements,
    _shape,
    _begin,
    _restart,
    _copies,
    _size,
    _sizes,
    _receivers,
    _length,
    _idle_settings,
    _spinning,
    _check_build,
)

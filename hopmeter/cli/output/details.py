"""The description of a transport: its features, its state in each language, and all its settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from rich.markup import escape
from rich.table import Table

from hopmeter.manifest import Manifest, Offer, Readiness, Setting
from hopmeter.manifest.tables.broker import BrokerTable
from hopmeter.system import humanize
from hopmeter.system.terminal import Console

MIB = 1 << 20


def show(console: Console, one: Manifest, ready: Mapping[tuple[str, str], Readiness]) -> None:
    """Print a transport's description. `ready` maps each transport and language to its readiness."""
    console.print(f"[bold]{one.title}[/bold] ({one.name})")
    console.print(one.summary, markup=False)
    console.print(f"{_traits(one)}\n", markup=False)
    console.print(_languages(one.offers.values(), ready))
    if one.settings:
        console.print("\n[bold]settings[/bold], with their defaults")
        console.print(_settings(one.settings))
        name, setting = next(iter(one.settings.items()))
        example = f"--set {name}={humanize.setting(setting.default)}"
        console.print(f"\nhopmeter run --transport {one.name} {example}", markup=False)
    if (more := one.folder / "README.md").exists():
        console.print(f"\nmore: {more}\n", markup=False, soft_wrap=True)


def _traits(one: Manifest) -> str:
    traits = ["typed messages" if one.carriage == "typed" else "raw frames"]
    traits += [f"{one.rpc} calls"] if one.rpc else []
    traits += ["loans memory"] if one.loan else []
    traits += [_broker(one.any_broker)] if one.any_broker else []
    traits += [] if one.ranked else ["not ranked"]
    traits += [] if one.installable else ["a reference, not a library that you can install"]
    traits += [f"pairs of languages: {', '.join(one.language_pairs)}"] if len(one.offers) > 1 else []
    return "; ".join(traits)


def _broker(broker: BrokerTable) -> str:
    needed = f" with {broker.needed_with}" if broker.needed_with else ""
    return f"hopmeter starts {broker.title} for each trial{needed}"


def _languages(offers: Iterable[Offer], ready: Mapping[tuple[str, str], Readiness]) -> Table:
    table = _table("language", "", "library", "waits", "patterns", "placements", "largest message")
    for offer in offers:
        state = ready[offer.transport, offer.language]
        mark = "[green]ready[/green]" if state.ready else "[yellow]not ready[/yellow]"
        words = (" ".join(each) for each in (offer.asked_waits, offer.patterns, offer.placements))
        table.add_row(offer.language, mark, state.version or offer.library, *words, _size(offer.max_payload_bytes))
    return table


def _settings(settings: Mapping[str, Setting]) -> Table:
    table = _table("name", "default", "allowed", "meaning")
    for name, setting in settings.items():
        choices = (f"{choice}: {words}." for choice, words in setting.choice_help.items())
        help_text = " ".join((setting.help, *choices, *_where(setting)))
        table.add_row(name, humanize.setting(setting.default), _allowed_values(setting), help_text)
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _allowed_values(setting: Setting) -> str:
    if isinstance(setting.default, bool):
        return "true, false"
    if setting.choices:
        return ", ".join(_choice(choice, setting.choice_placements.get(choice, ())) for choice in setting.choices)
    if setting.pattern or setting.file:
        return escape(setting.pattern) or ("a file, or its content" if setting.text else "a file")
    ends = [f"{word} {end:.12g}" for word, end in (("from", setting.min), ("to", setting.max)) if end is not None]
    return " ".join(ends)


def _choice(choice: str, placements: Collection[str]) -> str:
    return (choice or '""') + (f" (placement {', '.join(placements)})" if placements else "")


def _where(setting: Setting) -> list[str]:
    """Return the conditions under which the setting has an effect, in brackets. Return an empty list if the setting
    always has an effect."""
    limits = (setting.languages, setting.waits, setting.patterns, setting.placements)
    words = [", ".join(limit) for limit in limits if limit]
    words += [f"{name} = {' or '.join(map(humanize.setting, values))}" for name, values in setting.where.items()]
    return [f"[dim]({'; '.join(words)})[/dim]"] if words else []


def _size(count: int) -> str:
    return f"{count / MIB:,.0f} MiB" if count >= MIB else f"{count:,} B"

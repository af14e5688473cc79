"""Sentences on rows that are not comparable because they differ in language or library version, or use a debug
build."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hopmeter import manifest
from hopmeter.analysis.results.builds import are_of_one_version, has_debug_build
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.manifest import Offer
from hopmeter.model.language_names import language_name
from hopmeter.model.workload import NO_CODEC
from hopmeter.plan.language_choice import build_seconds, compiled_offer, is_interpreted
from hopmeter.report.words import formatting
from hopmeter.report.words.run_command import own_command
from hopmeter.system import humanize

ONE = "one"


def unlike_sentences(groups: Iterable[Group]) -> list[str]:
    """Return sentences on the rows that are not comparable, with the commands that make them comparable."""
    each = [sentence for group in groups for sentence in _sentences(group)]
    return formatting.distinct(each)


def _sentences(group: Group) -> Iterator[str]:
    rows = [row for row in group.choices if row["status"] == "ok"]
    interpreted = [row for row in rows if is_interpreted(str(row["language"]))]
    if len(interpreted) < len(rows):
        yield from _of_languages(_without_compiled(interpreted, rows))
    if debug := [row for row in group.measured_rows if has_debug_build(row)]:
        yield _of_debug_builds(group, debug)
    yield from _of_versions(group)


def _without_compiled(interpreted: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Return the interpreted rows of transports that have no compiled row in the table."""
    compiled = {row["transport"] for row in rows if row not in interpreted}
    return [row for row in interpreted if row["transport"] not in compiled]


def _of_languages(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence that names the rows slowed down by an interpreted language. After this sentence, yield the
    commands that measure the slowed transports in a compiled language."""
    if not rows:
        return
    offers = {str(row["transport"]): _compiled_offer(row) for row in rows}
    names = formatting.join(list(offers))
    language = formatting.join(formatting.distinct(language_name(str(row["language"])) for row in rows))
    yield (
        f"Not comparable: {names} ran in {language}, which adds time to each message; other rows ran in a compiled "
        "language."
    )
    for name in [name for name, offer in offers.items() if offer is None]:
        yield f"{name} has no adapter in a compiled language for such messages."
    known = {name: offer for name, offer in offers.items() if offer}
    if known:
        yield _build_words(known, rows[0].run)


def _compiled_offer(row: Row) -> Offer | None:
    known = manifest.every().get(str(row["transport"]))
    return compiled_offer(known, _axes(row)) if known else None


def _axes(row: Row) -> dict[str, str]:
    """Return the conditions that an adapter in another language must support to measure the row. For a workload, the
    conditions include the largest payload."""
    size = f"bytes:{row.cell.largest_payload_bytes}"
    if row.cell.workload is not None:
        return {"payload": size, "codec": NO_CODEC, "pattern": "pubsub", "placement": "process", "wait": row["wait"]}
    own = {name: str(row[name]) for name in ("pattern", "placement", "wait", "codec")}
    return {"payload": size if row["codec"] == NO_CODEC else str(row["payload"]), **own}


def _build_words(offers: Mapping[str, Offer], run: Run) -> str:
    """Return the commands that build and measure the adapters, with the build time."""
    several = len(offers) > 1
    steps = [f"hopmeter build {name} --language {offer.language}" for name, offer in offers.items()]
    what = formatting.join([f"{name} in {language_name(offer.language)}" for name, offer in offers.items()])
    seconds = sum(map(build_seconds, offers.values()))
    cost = f" (the first build{'s take' if several else ' takes'} up to {humanize.time(seconds)})" if seconds else ""
    return f"To measure {what}, run `{' && '.join(steps)}`{cost}, then `{shlex.join(_command(run))}`."


def _command(run: Run) -> list[str]:
    """Return the command of a run, with `--language one` if the run selected any languages."""
    scenario = run.part("scenario")
    asked = [part.get("language") for part in (scenario, *scenario.get("case", []))]
    is_one = all(words in (None, ONE, [ONE]) for words in asked)
    return own_command(run) if is_one else [*own_command(run, "--language"), "--language", ONE]


def _of_debug_builds(group: Group, rows: Sequence[Row]) -> str:
    names = formatting.join(formatting.distinct(map(group.short_label, rows)))
    commands = formatting.distinct(f"hopmeter build {row['transport']} --language {row['language']}" for row in rows)
    build = f"`{' && '.join(commands)}` makes a release build"
    return f"Not comparable: {names}, because a debug build is slower than a release build; {build}."


def _of_versions(group: Group) -> Iterator[str]:
    """Yield the transports that were measured with several library versions. Only rows with identical settings are
    compared, because a setting may select a different library."""
    alike: dict[tuple[str, str], list[Row]] = {}
    for row in group.measured_rows:
        if row["library_version"]:
            alike.setdefault((row["transport"], row["profile"]), []).append(row)
    for (name, _), rows in alike.items():
        if not are_of_one_version(rows):
            known = [f"{language_name(str(row['language']))} {row['library_version']}" for row in rows]
            yield f"Not comparable: the rows of {name} were measured with different library versions: {_list(known)}."


def _list(words: Sequence[str]) -> str:
    return formatting.join(formatting.distinct(words))

"""Formats the documentation page that lists what each transport supports in each language.

`python -m hopmeter.manifest.matrix` prints the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hopmeter.manifest.discovery import every
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.tables.allowed_words import LANGUAGES
from hopmeter.manifest.tables.language_part import LanguagePart, Offer
from hopmeter.manifest.tables.setting import OFF, SECURITY
from hopmeter.system.markdown import table

HEAD = """# Transports

`python -m hopmeter.manifest.matrix > docs/transports.md` writes this page from the manifests in `transports/`.
A test fails if the page is out of date. `hopmeter transports` shows which transports are ready on your machine.

## What there is

- **Broker**: hopmeter starts one for each trial and adds its CPU to the CPU of the cell.
- A dash means that hopmeter has no adapter in this language.
- **Other machines**: whether its messages reach another machine, and the settings that this needs.
- **Encryption**: the values of the setting `security`. If only some adapters can encrypt, their languages follow.
  A dash means that the transport has no such setting.
- **Pairs of languages**: which languages of source and sink can exchange messages, apart from two programs in one
  language. `hopmeter run --language pairs` measures all pairs.
- **Reference**: a transport that is not a library to install, but a part of hopmeter, of the system or of a language.
  Tables list references separately, and no answer recommends them.

"""
OFFERS = """
## What each adapter offers

- **Calls**: `native` uses the transport's own requests and replies; `duplex` carries them over two
  publish-subscribe links.
- **Placements**: `thread` runs all endpoints in one process, `process` runs each endpoint in its own process.
- **Waits**: `spin` polls without pause, `block` sleeps in the transport, `callback` runs on a thread of the
  transport.
- **Who installs it**: `hopmeter build` installs packages of the registries and of the system. Installing
  packages of the system needs root or sudo without a password; otherwise `hopmeter build` prints the command.

"""
NONE = "–"


def page(manifests: Iterable[Manifest]) -> str:
    """Return the whole documentation page in Markdown."""
    ordered = sorted(manifests, key=lambda manifest: manifest.name)
    transports = table(
        ("transport", *LANGUAGES, "broker", "other machines", "encryption", "pairs of languages", "what it is"),
        [summary_row(manifest) for manifest in ordered],
    )
    adapters = table(
        ("transport", "language", "publish-subscribe", "calls", "placements", "waits", "library", "who installs it"),
        [offer_row(manifest, offer) for manifest in ordered for offer in manifest.offers.values()],
    )
    return HEAD + transports + OFFERS + adapters


def summary_row(manifest: Manifest) -> list[str]:
    """Return the cells of a transport's table row: its languages, broker, network, encryption, language pairs
    and summary."""
    languages = ["yes" if language in manifest.offers else NONE for language in LANGUAGES]
    what = manifest.summary if manifest.installable else f"Reference. {manifest.summary}"
    across = [network(manifest), encryption(manifest), language_pairs(manifest)]
    return [f"`{manifest.name}`", *languages, broker(manifest), *across, what]


def broker(manifest: Manifest) -> str:
    """Return the name of a transport's broker, with the settings that need the broker, or a dash if the transport has
    no broker."""
    broker = manifest.any_broker
    if broker is None:
        return NONE
    return f"{broker.title} with `{broker.needed_with}`" if broker.needed_with else broker.title


def network(manifest: Manifest) -> str:
    """Return whether messages can reach another machine: `yes`, the settings that make it possible, or a dash if it is
    impossible."""
    if manifest.network is None:
        return NONE
    return ", ".join(f"`{name}={value}`" for name, value in manifest.network.items()) or "yes"


def encryption(manifest: Manifest) -> str:
    """Return the values of the setting `security` that switch encryption on. If only some adapters can encrypt, the
    languages of these adapters follow. Return a dash if the transport has no such setting."""
    setting = manifest.settings.get(SECURITY)
    if setting is None:
        return NONE
    values = ", ".join(f"`{choice}`" for choice in setting.choices or () if choice != OFF)
    return f"{values} ({', '.join(setting.languages)})" if setting.languages else values


def language_pairs(manifest: Manifest) -> str:
    """Return the pairs of different languages that can exchange messages: `all`, a list of pairs, or a dash if there
    are no such pairs."""
    mixed = [pair for pair in manifest.language_pairs if ">" in pair]
    if len(mixed) == len(LANGUAGES) * (len(LANGUAGES) - 1):
        return "all"
    return ", ".join(mixed) or NONE


def offer_row(manifest: Manifest, offer: Offer) -> list[str]:
    """Return the cells of the table row that describes one adapter."""
    return [
        f"`{manifest.name}`",
        offer.language,
        "yes" if "pubsub" in offer.patterns else NONE,
        str(manifest.rpc) if "rpc" in offer.patterns else NONE,
        ", ".join(offer.placements),
        ", ".join(_wait_words(offer)),
        *installer(manifest.languages[offer.language], offer),
    ]


def _wait_words(offer: Offer) -> list[str]:
    return [f"{wait} ({offer.event_loop})" if wait == "callback" and offer.event_loop else wait for wait in offer.waits]


def installer(part: LanguagePart, offer: Offer) -> tuple[str, str]:
    """Return an adapter's library, and who installs its packages: the user or `hopmeter build`.

    The returned text does not depend on the machine.
    """
    if part.user is None:
        return offer.library, _build_command(offer.apt, offer.pip)
    own = f"you: set `{part.user.variable}`"
    made = part.installations.get(part.user.otherwise)
    if made is None:
        return part.library, own
    library = f"{part.library}; if there is none: {made.library or part.library}"
    return library, f"{own}; otherwise {_build_command(made.apt, [text.partition(';')[0] for text in made.pip])}"


def _build_command(apt: Sequence[str], pip: Sequence[str]) -> str:
    packages = [f"{kind}: {', '.join(names)}" for kind, names in (("apt", apt), ("pip", pip)) if names]
    return f"`hopmeter build`; {'; '.join(packages)}" if packages else "`hopmeter build`"


if __name__ == "__main__":
    print(page(every().values()), end="")

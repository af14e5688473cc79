"""Find transports, the features that each offers, and which transports are ready here."""

from hopmeter.manifest.choices import LANGUAGES
from hopmeter.manifest.discovery import broken_manifests, every, find_transports, select_transports
from hopmeter.manifest.language_part import Offer
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.readiness import Readiness, readiness, readiness_of_all
from hopmeter.manifest.setting import Setting

__all__ = [
    "LANGUAGES",
    "Manifest",
    "Offer",
    "Readiness",
    "Setting",
    "broken_manifests",
    "every",
    "find_transports",
    "readiness",
    "readiness_of_all",
    "select_transports",
]

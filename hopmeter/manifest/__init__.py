"""Finds transports, reads their capabilities, and determines which are ready on this machine."""

from hopmeter.manifest.discovery import broken_manifests, every, find_transports, select_transports
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.readiness import Readiness, readiness, readiness_of_all
from hopmeter.manifest.tables.allowed_words import LANGUAGES
from hopmeter.manifest.tables.language_part import Offer
from hopmeter.manifest.tables.setting import Setting

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

"""What transports there are, what each offers, and which of it is ready here."""

from hopmeter.manifest.discovery import broken, every, named, selected
from hopmeter.manifest.model import LANGUAGES, Manifest, Offer, Setting
from hopmeter.manifest.readiness import Readiness, readiness, readiness_of_all

__all__ = [
    "LANGUAGES",
    "Manifest",
    "Offer",
    "Readiness",
    "Setting",
    "broken",
    "every",
    "named",
    "readiness",
    "readiness_of_all",
    "selected",
]

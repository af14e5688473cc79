"""Packages that are not for every processor: requirements with a marker such as `; platform_machine == 'x86_64'`."""

from __future__ import annotations

import platform
import re

NAME = re.compile(r"[A-Za-z0-9._-]+")
MACHINE = re.compile(r"platform_machine\s*(==|!=)\s*['\"]([\w-]+)['\"]")


def here(requirement: str) -> str:
    """The requirement without its marker; empty where it is for other processors than this one."""
    text, _, marker = requirement.partition(";")
    machine = platform.machine()
    fits = all((machine == name) == (word == "==") for word, name in MACHINE.findall(marker))
    return text.strip() if fits else ""


def name(requirement: str) -> str:
    """The name of the package alone."""
    found = NAME.match(requirement)
    return found[0] if found else ""

"""The help lists each command under a heading that states its purpose."""

from __future__ import annotations

import re

from hopmeter.cli.parts.application import OTHERS, PANELS
from tests.command import hopmeter


def test_every_command_has_a_heading_and_every_heading_its_commands() -> None:
    said = hopmeter("--help", check=True)
    panels = re.split(r"─ ([A-Z][A-Za-z ]*?) ─", said.stdout)
    listed = {
        title: tuple(re.findall(r"^│ ([a-z]+) ", text, re.MULTILINE))
        for title, text in zip(panels[1::2], panels[2::2], strict=True)
    }
    assert OTHERS not in listed
    assert {title: names for title, names in listed.items() if title != "Options"} == PANELS

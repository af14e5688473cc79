"""Tests for the keys of transport.toml and for the errors about invalid keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hopmeter import manifest
from hopmeter.cli.parts.application import app, register_all
from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.manifest import discovery
from hopmeter.system import paths
from tests.coded import lacking, refuses

GOOD = """
name = "bus"
title = "Bus"
summary = "Moves."
placements = ["thread", "process"]
patterns = ["pubsub", "rpc"]
rpc = "duplex"
send = "nonblocking"
max_payload_bytes = 100
forward = "move"
{extra}
[languages.rust]
waits = ["spin", "block"]
library = "bus 1"
[languages.python]
waits = ["block"]
library = "pybus 1"
patterns = ["pubsub"]
forward = "copy"
[settings.hwm]
default = 1000
min = 0
max = 5000
help = "How many."
[settings.endpoint]
default = "ipc"
choices = ["ipc", "tcp"]
help = "Where."
[settings.fast]
default = false
help = "Faster."
"""


def load(tmp_path: Path, text: str, folder: str = "bus") -> manifest.Manifest:
    path = tmp_path / folder / "transport.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return discovery.load(path)


def test_a_language_may_differ_from_its_transport(tmp_path: Path) -> None:
    offers = load(tmp_path, GOOD.format(extra="")).offers
    assert offers["rust"].patterns == ["pubsub", "rpc", "scatter"]
    assert offers["python"].patterns == ["pubsub"]
    assert (offers["rust"].forward, offers["python"].forward) == ("move", "copy")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('title = "Bus"', 'titel = "Bus"', 'E-UNKNOWN-KEY "titel" "title"'),
        ('title = "Bus"', "", "E-MISSING-KEY title"),
        (
            'waits = ["block"]',
            'waits = ["blok"]',
            'E-VALUE-CHOICE languages.python.waits: "blok" spin, block, callback; "block"',
        ),
        (
            'library = "pybus 1"',
            'library = "pybus 1"\npipp = []',
            'E-UNKNOWN-KEY "pipp" languages.python; "pip"',
        ),
        (
            'library = "pybus 1"',
            'library = "pybus 1"\nbuild_variables = { BUS = "old" }',
            'E-VALUES-CONFLICT python "build_variables" Rust',
        ),
        ("default = 1000", "default = 9000", "E-VALUE-RANGE settings.hwm: 9000 5000"),
        ('default = "ipc"', 'default = "udp"', 'E-VALUE-CHOICE settings.endpoint: "udp" ipc, tcp'),
        (
            'default = "ipc"',
            'default = "ipc"\nchoice_placements = { udp = ["thread"] }',
            'E-VALUE-CHOICE settings.endpoint: "udp" ipc, tcp',
        ),
        ('rpc = "duplex"', "", 'E-VALUES-CONFLICT rpc "duplex" patterns'),
        ('forward = "move"', 'forward = "move"\nreply = "inline"', 'E-VALUES-CONFLICT reply "native"'),
        (
            'forward = "move"',
            'forward = "move"\nleftovers = ["/dev/shm/*"]',
            "E-VALUE-FORM leftovers: /dev/shm/* {run}",
        ),
        (
            "[settings.fast]",
            '[open_leftovers]\n"/tmp/*" = []\n[settings.fast]',
            "E-VALUE-FORM open_leftovers: /tmp/* name",
        ),
        (
            "[settings.fast]",
            '[open_leftovers]\n"/tmp/a_*" = ["/tmp/lock"]\n[settings.fast]',
            "E-VALUE-FORM open_leftovers: /tmp/lock {name}",
        ),
        (
            "[settings.fast]",
            "[[conformance]]\nsettings = { hwn = 1 }\n[settings.fast]",
            'E-UNKNOWN-SETTING conformance: "hwn"',
        ),
        (
            "[settings.fast]",
            "[[conformance]]\nsettings = { hwm = -1 }\n[settings.fast]",
            "E-VALUE-RANGE -1 0",
        ),
        (
            "[settings.fast]",
            "[settings.fast]\nwhere = { hwn = [1] }",
            'E-UNKNOWN-SETTING settings.fast.where: "hwn"',
        ),
        ("[settings.fast]", "[settings.fast]\nwhere = { hwm = [-1] }", "E-VALUE-RANGE -1 0"),
        (
            'forward = "move"',
            'forward = "move"\nnetwork = { hwn = 1 }',
            'E-UNKNOWN-SETTING network: "hwn"',
        ),
        ('name = "bus"', 'name = "Bus"', "E-VALUE-FORM name"),
        ('name = "bus"', 'name = "other"', 'E-VALUES-CONFLICT "other" "bus"'),
        ('title = "Bus"', 'title = "Bus', "E-TOML-SYNTAX"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, old: str, new: str, says: str) -> None:
    with refuses(UsageError, says) as wrong:
        load(tmp_path, GOOD.format(extra="").replace(old, new, 1))
    assert str(tmp_path / "bus/transport.toml") in str(wrong.value)


@pytest.mark.parametrize(
    ("setting", "word", "value"),
    [
        ("hwm", "7", 7),
        ("endpoint", "tcp", "tcp"),
        ("fast", "true", True),
        ("fast", "off", False),
    ],
)
def test_settings_are_read_as_their_defaults_are(tmp_path: Path, setting: str, word: str, value: object) -> None:
    assert load(tmp_path, GOOD.format(extra="")).settings[setting].parse(word) == value


@pytest.mark.parametrize(
    ("setting", "word", "says"),
    [
        ("hwm", "x", 'E-VALUE-FORM "x"'),
        ("hwm", "-1", "E-VALUE-RANGE -1 0"),
        ("endpoint", "tpc", 'E-VALUE-CHOICE "tpc" "tcp"'),
        ("fast", "7", 'E-VALUE-CHOICE "7" true, false'),
    ],
)
def test_a_wrong_setting_says_what_is_allowed(tmp_path: Path, setting: str, word: str, says: str) -> None:
    with refuses(RefusedValueError, says):
        load(tmp_path, GOOD.format(extra="")).settings[setting].parse(word)


def test_every_transport_of_this_checkout_is_in_order() -> None:
    assert manifest.broken_manifests() == {}
    known = manifest.every()
    assert {"memory", "shm", "unix", "tcp"} <= known.keys()
    assert not any(name.startswith("_") for name in known)


def test_a_wrong_manifest_stops_only_who_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tmp_path, GOOD.format(extra=""))
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/transport.toml").write_text("colour = 1")
    monkeypatch.setattr(paths, "transport_folders", lambda: [tmp_path])
    (good,) = manifest.every()
    assert lacking(str(manifest.broken_manifests()["odd"]), "E-MISTAKES colour") == []
    assert list(manifest.find_transports([good])) == list(manifest.select_transports(["all"])) == [good]
    with pytest.raises(UsageError, match=r'"colour"(.|\n)*E-MISTAKES'):
        manifest.find_transports(["odd"])
    register_all()
    listed = [json.loads(line) for line in CliRunner().invoke(app, ["transports", "--json"]).output.splitlines()]
    (odd,) = [row for row in listed if row["transport"] == "odd"]
    assert (odd["language"], odd["ready"], odd["code"], '"colour"' in odd["missing"]) == (
        None,
        False,
        "E-MISTAKES",
        True,
    )
    assert {row["transport"] for row in listed} == {good, "odd"}


def test_an_unknown_transport_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r'"zenoh".*E-UNKNOWN-TRANSPORT'):
        manifest.find_transports(["zeno"])


def test_a_transport_that_must_be_named_is_not_among_the_direct_ones() -> None:
    every = manifest.every()
    named_only = {name for name, each in every.items() if each.named_only}
    assert named_only, "some transport of this checkout must be named"
    assert not named_only & manifest.select_transports(["direct"]).keys()
    assert named_only <= manifest.select_transports(["all"]).keys()
    assert named_only == manifest.select_transports(named_only).keys()

"""What a transport.toml may say, and what is said about one that is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hopmeter import manifest
from hopmeter.cli.parts.application import app, register_all
from hopmeter.errors import UsageError
from hopmeter.manifest import discovery
from hopmeter.system import paths

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
        ('title = "Bus"', 'titel = "Bus"', 'unknown key "titel"; did you mean "title"?'),
        ('title = "Bus"', "", "title is missing"),
        (
            'waits = ["block"]',
            'waits = ["blok"]',
            'languages.python.waits: "blok" is not one of spin, block, callback; did you mean "block"?',
        ),
        (
            'library = "pybus 1"',
            'library = "pybus 1"\npipp = []',
            'unknown key "pipp" in languages.python; did you mean "pip"?',
        ),
        ("default = 1000", "default = 9000", "settings.hwm: 9000 is above the most allowed, 5000"),
        ('default = "ipc"', 'default = "udp"', '"udp" is not one of ipc, tcp'),
        ('rpc = "duplex"', "", 'rpc = "native" or "duplex" belongs where patterns list "rpc"'),
        ('forward = "move"', 'forward = "move"\nreply = "inline"', 'belongs to rpc = "native" only'),
        (
            'forward = "move"',
            'forward = "move"\nleftovers = ["/dev/shm/*"]',
            "must be a whole path that contains {run}",
        ),
        (
            "[settings.fast]",
            "[[conformance]]\nsettings = { hwn = 1 }\n[settings.fast]",
            'conformance: "hwn" is not one of',
        ),
        (
            "[settings.fast]",
            "[[conformance]]\nsettings = { hwm = -1 }\n[settings.fast]",
            "-1 is below the least allowed, 0",
        ),
        (
            "[settings.fast]",
            "[settings.fast]\nwhere = { hwn = [1] }",
            'settings.fast.where: "hwn" is not one of',
        ),
        ("[settings.fast]", "[settings.fast]\nwhere = { hwm = [-1] }", "-1 is below the least allowed, 0"),
        ('name = "bus"', 'name = "Bus"', "name"),
        ('name = "bus"', 'name = "other"', 'is not its folder\'s name, "bus"'),
        ('title = "Bus"', 'title = "Bus', "is no TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(UsageError) as wrong:
        load(tmp_path, GOOD.format(extra="").replace(old, new, 1))
    assert says in str(wrong.value)
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
        ("hwm", "x", '"x" is no whole number'),
        ("hwm", "-1", "below the least allowed, 0"),
        ("endpoint", "tpc", 'did you mean "tcp"?'),
        ("fast", "7", '"7" is not one of true, false'),
    ],
)
def test_a_wrong_setting_says_what_is_allowed(tmp_path: Path, setting: str, word: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
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
    assert "is missing" in manifest.broken_manifests()["odd"].what
    assert list(manifest.find_transports([good])) == list(manifest.select_transports(["all"])) == [good]
    with pytest.raises(UsageError, match='unknown key "colour"'):
        manifest.find_transports(["odd"])
    register_all()
    listed = [json.loads(line) for line in CliRunner().invoke(app, ["transports", "--json"]).output.splitlines()]
    (odd,) = [row for row in listed if row["transport"] == "odd"]
    assert (odd["language"], odd["ready"], "unknown key" in odd["missing"]) == (None, False, True)
    assert {row["transport"] for row in listed} == {good, "odd"}


def test_an_unknown_transport_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match='did you mean "zenoh"'):
        manifest.find_transports(["zeno"])

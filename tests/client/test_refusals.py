"""Invalid arguments of `connect` are refused, and each error names its remedy."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hopmeter
from hopmeter.client import CallFailedError, ConnectError
from hopmeter.client.frames import Kind, incoming, outgoing
from hopmeter.errors import UsageError
from hopmeter.system import paths

PATIENCE_S = 30


def test_without_a_folder_programs_meet_in_the_user_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with hopmeter.connect("unix") as house:
        assert house.folder == str(tmp_path / "hopmeter")
    assert stat.S_IMODE((tmp_path / "hopmeter").stat().st_mode) == 0o700
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with hopmeter.connect("unix") as house:
        assert house.folder == str(tmp_path / f"hopmeter-{os.getuid()}")


def test_what_does_not_fit_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path, largest_bytes=4096) as house:
        publisher = house.publisher("camera")
        with pytest.raises(ConnectError, match=r"\d+ bytes.* 4096 .*largest_bytes=.*E-TOO-LARGE"):
            publisher.send(np.zeros(4096))
        house.server("add", lambda _: np.zeros(4096))
        with pytest.raises(CallFailedError, match=r"4096.*E-TOO-LARGE"):
            house.client("add").call("large", timeout_s=PATIENCE_S)


def test_encryption_is_refused_because_no_one_creates_keys() -> None:
    with pytest.raises(UsageError) as refused:
        hopmeter.connect("zeromq", security="curve")
    assert refused.value.code == "E-NO-KEYS"


def test_what_receives_can_be_asked_for_a_framework_and_a_place_that_there_are(tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path) as house:
        house.publisher("camera")
        for asked, match in (
            ({"as_": "bogus"}, r"'bogus'.*numpy.*E-UNKNOWN-CODEC"),
            ({"device": "bogus"}, r"'bogus'.*E-VALUE-CHOICE"),
        ):
            for opened in (house.subscriber, house.client):
                with pytest.raises(UsageError, match=match):
                    opened("camera", within_s=0, **asked)
            with pytest.raises(UsageError, match=match):
                house.server("add", print, **asked)


def test_what_is_closed_says_so(tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path) as house:
        publisher, other = house.publisher("camera"), house.publisher("other")
        house.server("add", lambda asked: asked)
        client = house.client("add")
        other.close()
        with pytest.raises(ConnectError, match=r'"other".*E-CLOSED'):
            other.send(1)
    for use in (publisher.send, client.call):
        with pytest.raises(ConnectError, match=r'"(camera|add)".*E-CLOSED'):
            use(1)


def test_an_address_that_is_missing_is_told_with_what_to_fill_in(tmp_path: Path) -> None:
    for transport, address in (("wrapyfi", "127.0.0.1:PORT PORT2"), ("mqtt", "127.0.0.1:PORT")):
        with pytest.raises(ConnectError) as told:
            hopmeter.connect(transport, folder=tmp_path)
        assert f'broker="{address}"' in told.value.remedy


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    with hopmeter.connect("unix", folder=tmp_path) as house:
        house.publisher("camera")
        with pytest.raises(ConnectError, match=r"unix.* process .*E-NAME-TAKEN"):
            house.publisher("camera")
        with pytest.raises(UsageError, match="E-NAME"):
            house.publisher("../camera")


def test_what_is_asked_of_a_transport_is_checked(tmp_path: Path) -> None:
    def refuse(transport: str, error: type[Exception], match: str, **asked: Any) -> None:
        with pytest.raises(error, match=match):
            hopmeter.connect(transport, folder=tmp_path, **asked)

    refuse("zeromk", UsageError, r'"zeromq".*E-UNKNOWN-TRANSPORT')
    refuse("unix", UsageError, r'"send_buffer".*E-UNKNOWN-SETTING', send_bufer=1)
    refuse("unix", UsageError, r"-1 .*E-SETTING-VALUE", send_buffer=-1)
    refuse("unix", UsageError, r"'large'.*E-SETTING-VALUE", send_buffer="large")
    refuse("unix", UsageError, r"spin, block.*E-VALUE-CHOICE", wait="callback")
    refuse("unix", UsageError, r"largest_bytes = 1 .*E-VALUE-RANGE", largest_bytes=1)
    refuse("memory", ConnectError, "E-NO-ADAPTER")
    refuse("nats", ConnectError, r"nats.*broker=.*E-NO-BROKER")


def test_the_address_of_a_broker_may_have_its_earlier_name() -> None:
    with pytest.warns(FutureWarning, match="broker"), pytest.raises(UsageError, match="E-VALUE-CHOICE"):
        hopmeter.connect("nats", daemon="127.0.0.1:4222", wait="never")


def test_a_transport_that_is_not_installed_names_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "transports/absent"
    (home / "python").mkdir(parents=True)
    text = (paths.transport_folders()[0] / "unix/transport.toml").read_text()
    (home / "transport.toml").write_text(text.replace('name = "unix"', 'name = "absent"'))
    (home / "python/adapter.py").write_text("import a_library_that_nobody_has\n")
    monkeypatch.setattr(paths, "transport_folders", lambda: [home.parent])
    path = list(sys.path)
    with pytest.raises(ConnectError, match=r"a_library_that_nobody_has.*run `hopmeter build absent`.*E-ADAPTER"):
        hopmeter.connect("absent", folder=tmp_path / "meeting")
    assert sys.path == path
    own = text.replace('name = "unix"', 'name = "absent"')
    own = own.replace("[languages.python]", '[languages.python]\nenvironment = "own"\npip = ["absent==1.*"]')
    (home / "transport.toml").write_text(own)
    with pytest.raises(ConnectError, match=r"`pip install 'absent==1\.\*'`.*E-ADAPTER"):
        hopmeter.connect("absent", folder=tmp_path / "meeting")
    unowned = text.replace('name = "unix"', 'name = "absent"') + "\n[languages.python.user]\n"
    (home / "transport.toml").write_text(unowned + 'variable = "ABSENT_ROOT"\nremedy = "build it, set ABSENT_ROOT"\n')
    with pytest.raises(ConnectError, match=r"build it, set ABSENT_ROOT.*E-NOT-INSTALLED"):
        hopmeter.connect("absent", folder=tmp_path / "meeting")


def test_two_transports_whose_files_have_the_same_names_are_used_in_one_program(tmp_path: Path) -> None:
    """`queue` and other transports may each have a module `ends.py`, which must not hide a module of the program."""
    for transport in ("queue", "unix", "queue"):
        with hopmeter.connect(transport, folder=tmp_path) as house:
            house.publisher("camera")
    assert not {"ends", "piped", "streams"} & set(sys.modules)


def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(ConnectError, match=rf"{tmp_path}.*E-LINK-FOLDER"):
        hopmeter.connect("unix", folder=tmp_path)


def test_frames_of_others_are_passed_over() -> None:
    length, fill = outgoing(Kind.OBJECT, 3, "00" * 8, [b"head", b"body"])
    frame = bytearray(64 + length)
    fill(frame)
    message = incoming("00" * 8, frame)
    assert message is not None
    assert (message.kind, message.number, bytes(message.payload)) == (Kind.OBJECT, 3, bytes(frame[64:]))
    assert incoming("01" * 8, frame) is None
    assert incoming("00" * 8, frame[:-1]) is None
    assert incoming("00" * 8, b"short") is None


def test_a_setting_that_stays_on_the_machine_is_refused_together_with_a_host(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"endpoint=ipc .*endpoint=tcp.*E-ONE-MACHINE"):
        hopmeter.connect("zeromq", folder=tmp_path, host="127.0.0.1", endpoint="ipc")
    with hopmeter.connect("zeromq", folder=tmp_path, host="127.0.0.1") as house:
        assert house._asked.settings["endpoint"] == "tcp"

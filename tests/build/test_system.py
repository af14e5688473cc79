"""Tests for system packages: hopmeter installs only missing packages, and never asks for a password."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hopmeter.build import system

DPKG_QUERY = """#!/bin/sh
# Knows two packages, one of them removed but not purged.
for package; do
    case "$package" in
        here) echo "here installed" ;;
        removed) echo "removed config-files" ;;
    esac
done
exit 1
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a PATH without system tools, to which a test adds its own."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def put(tools: Path, name: str, script: str) -> None:
    (tools / name).write_text(script)
    (tools / name).chmod(0o755)


def test_what_dpkg_does_not_have_installed_is_missing(tools: Path) -> None:
    put(tools, "dpkg-query", DPKG_QUERY)
    assert system.missing(["removed", "here", "never-heard-of", "here"]) == ["never-heard-of", "removed"]


def test_without_dpkg_nothing_is_claimed_to_be_missing(tools: Path) -> None:
    assert not any(tools.iterdir())
    assert system.missing(["libzmq3-dev"]) == []


def test_a_person_gets_one_line_and_the_exit_code_says_whether_it_matters(
    tools: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tools, "dpkg-query", DPKG_QUERY)
    put(tools, "apt-get", "#!/bin/sh\nexit 0\n")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert system.main(["here", "libb", "liba"]) == 0
    said = capsys.readouterr().err
    assert "sudo apt-get install liba libb\n" in said
    assert "all others are built" in said
    assert system.main(["--required", "liba"]) == 1
    assert system.main(["--required", "here"]) == 0


def test_sudo_that_wants_a_password_is_not_used(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    put(tools, "apt-get", "#!/bin/sh\nexit 0\n")
    put(tools, "sudo", "#!/bin/sh\nexit 1\n")
    assert system.rights() is None
    put(tools, "sudo", "#!/bin/sh\nexit 0\n")
    assert system.rights() == ["sudo", "-n"]


def test_an_old_package_list_is_renewed_before_giving_up(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    said = tools / "said"
    env = shutil.which("env", path="/usr/bin:/bin")
    put(tools, "dpkg-query", f"#!/bin/sh\n[ ! -e {said}.updated ] || echo 'liba installed'\n")
    put(
        tools,
        "apt-get",
        f'#!/bin/sh\necho "$*" >>{said}\n[ "$4" != update ] || : >{said}.updated\n[ -e {said}.updated ]\n',
    )
    (tools / "env").symlink_to(str(env))
    assert system.install(["liba"]) == []
    assert [line.split()[3] for line in said.read_text().splitlines()] == ["install", "update", "install"]


def test_what_is_only_recommended_may_be_left_out(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    said = tools / "said"
    put(tools, "dpkg-query", "#!/bin/sh\nexit 1\n")
    put(tools, "apt-get", f'#!/bin/sh\necho "$*" >>{said}\n')
    (tools / "env").symlink_to(str(shutil.which("env", path="/usr/bin:/bin")))
    system.main(["liba"])
    assert "--no-install-recommends" not in said.read_text()
    system.main(["--lean", "liba"])
    assert said.read_text().splitlines()[-1].endswith("install --yes --no-install-recommends liba")

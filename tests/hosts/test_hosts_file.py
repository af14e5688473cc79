"""Tests for the file of `--hosts`, and for the ssh command and its errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.errors import UsageError
from hopmeter.hosts.coordinator.hosts_file import read_hosts
from hopmeter.hosts.protocol.agent_process import explain
from tests.coded import lacking


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[host.a]\n", "E-HOST-ENTRY :1:"),
        ('[host.a]\nssh = "b"\nhere = true\n', "E-HOST-ENTRY ssh"),
        ("[host.a]\nhere = true\n[host.b]\nhere = true\n", "E-HOST-ENTRY a, b"),
        ('[host."a/b"]\nhere = true\n', "E-VALUE-FORM a/b"),
        ('[host.a]\nssh = "-oProxyCommand=evil"\n', "E-VALUE-FORM :2: ssh"),
        ('[host.a]\nhere = true\naddress = "jetson"\n', "E-VALUE-FORM :3: address"),
        ("[host.a]\nhere = true\n[host.a]\nhere = true\n", "E-TOML-SYNTAX"),
        ("", "E-MISSING-KEY host"),
    ],
)
def test_a_file_of_hosts_is_checked(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as wrong:
        read_hosts(path)
    assert lacking(wrong.value.message, says) == []


def test_ssh_is_started_without_a_terminal_and_with_one_word_for_the_remote_shell(tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text('[host.a]\nssh = "me@10.0.0.2"\ncommand = ["/opt/my dir/hopmeter"]\noptions = ["-p", "2222"]\n')
    start = read_hosts(path).host["a"].start
    assert start[:5] == ["ssh", "-o", "ServerAliveInterval=2", "-o", "BatchMode=yes"]
    assert start[5:] == ["-p", "2222", "--", "me@10.0.0.2", "'/opt/my dir/hopmeter' agent --stdio"]


def test_what_ssh_prints_is_said_in_plain_words() -> None:
    assert "unknown to ssh" in explain("ssh: Could not resolve hostname x: Name or service not known", 255)
    assert "accept the key" in explain("Host key verification failed.\r\n", 255)
    assert "cut" in explain("Timeout, server 10.0.0.2 not responding.", 255)
    assert "cut" in explain("Connection to 10.0.0.2 closed by remote host.", 255)
    assert "signal 9" in explain("", -9)

"""Each trial gets its own keys, which only the user can read, and certificates that name the hosts' addresses."""

from __future__ import annotations

import ssl
import threading
from contextlib import suppress
from pathlib import Path
from socket import create_connection, create_server

import pytest

from hopmeter.manifest.tables.setting import SECURITY
from hopmeter.runtime.processes.credentials import FOLDER, MAKERS, make_credentials, write_credentials


@pytest.mark.parametrize("kind", MAKERS)
def test_keys_are_new_for_each_trial_and_hidden_from_other_users(kind: str, tmp_path: Path) -> None:
    one, other = (make_credentials({SECURITY: kind}) for _ in range(2))
    assert one.keys() == other.keys() and not set(one.values()) & set(other.values())
    write_credentials(tmp_path, one)
    folder = tmp_path / FOLDER
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == one
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())} == {0}


@pytest.mark.parametrize("settings", [{}, {SECURITY: "off"}])
def test_a_transport_without_security_gets_no_keys(settings: dict[str, str], tmp_path: Path) -> None:
    assert make_credentials(settings) == {}
    write_credentials(tmp_path, {})
    assert not list(tmp_path.iterdir())


def shake_hands(server: Path, client: Path, name: str) -> None:
    """Connect with TLS. Raises SSLError if the client does not trust the server."""
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(server / "server.pem", server / "server.key")
    theirs = ssl.create_default_context(cafile=client / "ca.pem")
    with create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError), ours.wrap_socket(listener.accept()[0], server_side=True):
                pass

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            with create_connection(listener.getsockname(), 10) as raw, theirs.wrap_socket(raw, server_hostname=name):
                pass
        finally:
            thread.join()


def test_a_client_trusts_only_the_server_of_its_own_trial(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_credentials(tmp_path / name, make_credentials({SECURITY: "tls"}, ["10.77.0.1"]))
    one, other = (tmp_path / name / FOLDER for name in ("one", "other"))
    for name in ("127.0.0.1", "10.77.0.1", "localhost"):
        shake_hands(one, one, name)
    for client, name in ((other, "127.0.0.1"), (one, "10.77.0.2")):
        with pytest.raises(ssl.SSLCertVerificationError):
            shake_hands(one, client, name)

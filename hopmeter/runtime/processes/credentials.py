"""Creates the keys and certificates with which a transport encrypts its connections.

Each trial has keys of its own. hopmeter writes the keys into the folder of the trial's transport, and removes them
together with the folder. Nodes and brokers read the keys from files, so that no command line or environment variable
contains a key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from hopmeter.manifest.tables.setting import SECURITY
from hopmeter.node.contract import LOOPBACK

FOLDER = "credentials"
"""The name of the folder with the keys, in the folder of the transport's files."""
VALIDITY = timedelta(days=2)
"""How long a certificate is valid before and after its creation, because the clocks of hosts may differ."""


def make_credentials(settings: Mapping[str, Any], addresses: Collection[str] = ()) -> dict[str, bytes]:
    """Return the content of the files that a transport's security needs, by file name. Return an empty dict if the
    transport has no security, or if its security is off.

    `addresses` are the addresses at which servers listen, in addition to the loopback address.
    """
    make = MAKERS.get(settings.get(SECURITY, ""))
    return make({LOOPBACK, *addresses}) if make else {}


def write_credentials(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of `make_credentials` into a new folder in `folder`. Only the user can read the files."""
    if not files:
        return
    place = folder / FOLDER
    place.mkdir(mode=0o700, exist_ok=True)
    for name, content in files.items():
        with os.fdopen(os.open(place / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)


def _make_curve_keys(_: Iterable[str]) -> dict[str, bytes]:
    """Return two CurveZMQ key pairs: one for all servers and one for all clients. A key has 32 bytes."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    files: dict[str, bytes] = {}
    for name in ("server", "client"):
        key = X25519PrivateKey.generate()
        files |= {f"{name}.public": key.public_key().public_bytes_raw(), f"{name}.secret": key.private_bytes_raw()}
    return files


def _make_certificates(addresses: Iterable[str]) -> dict[str, bytes]:
    """Return the certificate of a new certificate authority, and a server's certificate and key. The authority's key is
    discarded."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    own, authority = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer, names = _name("hopmeter trial"), [x509.IPAddress(ip_address(each)) for each in sorted(addresses)]
    ca = _certificate(issuer, issuer, authority).add_extension(x509.BasicConstraints(True, 0), critical=True)
    leaf = _certificate(_name("hopmeter server"), issuer, own)
    leaf = leaf.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost"), *names]), critical=False)
    leaf = leaf.add_extension(x509.BasicConstraints(False, None), critical=True)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return {
        "ca.pem": _sign(ca, authority),
        "server.pem": _sign(leaf, authority),
        "server.key": own.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain),
    }


def _name(text: str) -> Any:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _certificate(subject: Any, issuer: Any, key: Any) -> Any:
    from cryptography import x509

    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number())
    return made.not_valid_before(now - VALIDITY).not_valid_after(now + VALIDITY)


def _sign(builder: Any, key: Any) -> bytes:
    from cryptography.hazmat.primitives import hashes, serialization

    signed: bytes = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return signed


MAKERS: dict[str, Callable[[Iterable[str]], dict[str, bytes]]] = {"curve": _make_curve_keys, "tls": _make_certificates}
"""For each kind of encryption, the function that creates the files with the keys and certificates."""

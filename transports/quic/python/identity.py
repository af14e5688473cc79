"""Creates the certificates of binding link ends, and converts the settings to aioquic's options. The peers of a link
end accept only its certificate, instead of the certificates of public authorities."""

from __future__ import annotations

import base64
import datetime as dt
from typing import Any

from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from hopmeter.node.contract import Setup

NAME = "localhost"
"""The host name in every certificate. Clients accept only certificates with this name."""
VALIDITY = dt.datetime(1975, 1, 1), dt.datetime(4096, 1, 1)
"""When a certificate is valid, in UTC, as in the Rust adapter. The period is long, as the hosts' clocks may differ."""
LARGEST_DATAGRAM_FRAME = 65535


def _options(setup: Setup) -> dict[str, Any]:
    """Return the options of a connection. Without `max_datagram_frame_size`, aioquic accepts no datagrams."""
    settings = setup.settings
    return {
        "congestion_control_algorithm": settings["congestion_control_algorithm"],
        "idle_timeout": float(settings["idle_timeout_s"]),
        "max_data": settings["max_data"],
        "max_stream_data": settings["max_stream_data"],
        "max_datagram_frame_size": LARGEST_DATAGRAM_FRAME,
    }


def create(setup: Setup) -> tuple[QuicConfiguration, str]:
    """Create a key and a self-signed certificate.

    Return the configuration of a server that uses both, and the certificate in base64, which is part of the server's
    address.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), *VALIDITY)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    configuration = QuicConfiguration(is_client=False, certificate=certificate, private_key=key, **_options(setup))
    return configuration, base64.b64encode(certificate.public_bytes(Encoding.DER)).decode()


def pin(setup: Setup, certificate: str) -> QuicConfiguration:
    """Return the configuration of a client that accepts only the given certificate.

    Raises ValueError if the text is not a certificate in base64.
    """
    accepted = x509.load_der_x509_certificate(base64.b64decode(certificate, validate=True))
    configuration = QuicConfiguration(is_client=True, server_name=NAME, **_options(setup))
    configuration.load_verify_locations(cadata=accepted.public_bytes(Encoding.PEM))
    return configuration

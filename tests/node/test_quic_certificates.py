"""The Python adapter of QUIC connects only to the publisher whose certificate is in the address."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace

import pytest

from hopmeter import manifest
from hopmeter.node.contract import AdapterError
from hopmeter.node.loading import transport_class

pytest.importorskip("aioquic")

QUIC = manifest.every()["quic"]


def test_a_subscriber_rejects_the_certificate_of_another_publisher() -> None:
    settings = QUIC.resolve_settings({})
    transport = transport_class(QUIC.folder / "python")(
        SimpleNamespace(settings=settings, bind="127.0.0.1", advertised="127.0.0.1")
    )
    link = SimpleNamespace(frame_bytes=1000, wait="callback", address="")
    with closing(transport.publisher(link)) as publisher, closing(transport.publisher(link)) as other:
        place, _, certificate = publisher.address.partition("/")
        _, _, foreign = other.address.partition("/")
        link.address = f"{place}/{certificate}"
        transport.subscriber(link).close()
        for wrong in (foreign, "", "AAAA"):
            link.address = f"{place}/{wrong}"
            with pytest.raises(AdapterError):
                transport.subscriber(link)

"""Encryption is refused with a broker that the user started, because hopmeter does not know the broker's keys."""

from __future__ import annotations

import pytest

from hopmeter.errors import UsageError
from hopmeter.interactive.listener import check_keys
from tests import cells


def test_encryption_is_refused_only_with_a_broker_of_the_user() -> None:
    secure, plain = (cells.cell(transport="mqtt", settings={"security": kind}) for kind in ("tls", "off"))
    check_keys([secure, plain], {})
    check_keys([secure], {"nats": "127.0.0.1:1"})
    check_keys([plain], {"mqtt": "127.0.0.1:1"})
    with pytest.raises(UsageError) as refused:
        check_keys([plain, secure], {"mqtt": "127.0.0.1:1"})
    assert refused.value.code == "E-NO-KEYS"

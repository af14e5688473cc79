"""Names of the previous release still work, and print a warning with the new name."""

from __future__ import annotations

import pytest

import hopmeter.client


def test_a_house_is_a_session() -> None:
    with pytest.warns(DeprecationWarning, match="hopmeter.client.Session"):
        assert hopmeter.client.House is hopmeter.client.Session


def test_other_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="Houses"):
        _ = hopmeter.client.Houses

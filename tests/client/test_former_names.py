"""The names of the release before still work, with a warning that says the new one."""

from __future__ import annotations

import importlib

import pytest

import hopmeter.client


@pytest.mark.parametrize("name", ["connect", "ConnectError", "TimedOutError", "CallFailedError"])
def test_the_former_module_has_what_the_new_one_has(name: str) -> None:
    former = importlib.import_module("hopmeter.connecting")
    with pytest.warns(DeprecationWarning, match=rf"hopmeter\.client: import {name}"):
        assert getattr(former, name) is getattr(hopmeter.client, name)


def test_a_house_is_a_session() -> None:
    with pytest.warns(DeprecationWarning, match="hopmeter.client.Session"):
        assert hopmeter.client.House is hopmeter.client.Session


def test_other_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="Houses"):
        _ = hopmeter.client.Houses

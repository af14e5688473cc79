from __future__ import annotations

import pytest

from hopmeter.node.typed import header_of, is_checked, label, sent_of, seq_of

LABEL = "0123456789abcdef 00000007 000c 000000000000002a deadbeef"


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_header_survives_the_fields_of_a_message(kind: type) -> None:
    header = kind(header_of(LABEL, 1_234, 9))
    assert (label(header), seq_of(header), sent_of(header)) == (LABEL, 42, 1_234)


def test_a_header_says_whether_the_receiver_checks_the_payload() -> None:
    assert [is_checked(header_of(LABEL.replace("000c", flags), 1, 9)) for flags in ("000c", "0004")] == [True, False]


def test_a_text_that_is_no_label_gives_a_header_that_is_refused() -> None:
    assert header_of("hello", 1, 0) == bytes(64)


def test_what_is_no_header_is_an_error() -> None:
    with pytest.raises(ValueError, match="64 bytes, not 3"):
        label(b"abc")

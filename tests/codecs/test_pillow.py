"""Images of every mode come back equal, copied at most once."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from carrying import addresses, carry, copy_frames, framework
from PIL import Image, PngImagePlugin

from hopmeter.codecs import CodecError, decode, encode
from hopmeter.codecs.frameworks.pillow import MODES
from hopmeter.codecs.header import pack

framework("pillow")


def image(mode: str, size: tuple[int, int] = (31, 7)) -> Any:
    made = Image.new(mode, size)
    length = len(made.tobytes())
    data = np.random.default_rng(2).integers(0, 255, length, np.uint8).tobytes()
    return Image.frombytes(mode, size, data if mode != "F" else np.arange(length // 4, dtype="f4").tobytes())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(31, 7), (1, 1), (0, 3)], ids=str)
def test_every_mode_comes_back_equal(mode: str, size: tuple[int, int]) -> None:
    sent = image(mode, size) if size[0] else Image.new(mode, size)
    back = carry(sent)
    assert (back.mode, back.size) == (sent.mode, sent.size)
    assert back.tobytes() == sent.tobytes()


def test_palette_transparency_and_info_come_back() -> None:
    sent = image("RGB").quantize(8)
    sent.info.update(transparency=3, dpi=(72, 72))
    back = carry(sent)
    assert back.convert("RGBA").tobytes() == sent.convert("RGBA").tobytes()
    assert back.info == {"transparency": 3, "dpi": (72, 72)}


def test_images_in_several_pieces_are_copied_once() -> None:
    sent = Image.linear_gradient("L").resize((4200, 4100))
    assert carry(sent).tobytes() == sent.tobytes()


def test_a_received_image_shares_the_buffer_until_it_is_drawn_upon() -> None:
    there = copy_frames(encode(image("RGB")))
    back = decode(there)
    before = back.getpixel((0, 0))
    there[1][0] ^= 0xFF
    assert back.getpixel((0, 0)) != before
    back.putpixel((0, 0), (1, 2, 3))
    assert bytes(there[1][:3]) != b"\1\2\3"
    assert addresses(there)[0][1] - addresses(there)[0][0] == 31 * 7 * 4


def test_an_image_may_be_received_as_an_array() -> None:
    sent = image("RGB")
    assert (carry(sent, as_="numpy") == np.asarray(sent)).all()


@pytest.mark.parametrize("size", [(2**31, 1), (2**20, 2**20), (-1, 3), (1, 1.5), (3, 0), (4, 4)], ids=str)
@pytest.mark.parametrize("way", ["memory", "bytes", "os"])
def test_lies_about_images_are_refused(size: Any, way: str) -> None:
    body = ["image", "RGB", *size, way, ["list", [None, ["dict", []]]]]
    with pytest.raises(CodecError):
        decode([pack(json.dumps(body), 1), bytes(8)])


def file_of(form: str, **more: Any) -> io.BytesIO:
    file = io.BytesIO()
    Image.new("RGB", (4, 3)).save(file, form, **more)
    return file


def test_what_pillow_finds_in_files_comes_back_with_its_types() -> None:
    texts = PngImagePlugin.PngInfo()
    texts.add_itxt("title", "Käse", "de", "Titel")
    files = {"PNG": {"pnginfo": texts}, "TIFF": {"dpi": (72.5, 72)}, "JPEG": {"dpi": (72, 72)}, "BMP": {}}
    for form, more in files.items():
        sent = Image.open(file_of(form, **more))
        back = carry(sent)
        assert list(map(repr, back.info.items())) == list(map(repr, sent.info.items()))
        assert list(map(type, back.info.values())) == list(map(type, sent.info.values()))
    text = carry(Image.open(file_of("PNG", pnginfo=texts))).info["title"]
    assert (text, text.lang, text.tkey) == ("Käse", "de", "Titel")


ODD_PARTS = [
    *(["image.rational", ["int", "f" * 10**6], 3], ["image.rational", "1", 2]),
    *(["image.text", 1, None, None], ["image.text", "a", ["list", []], None]),
]


@pytest.mark.parametrize("node", ODD_PARTS, ids=range(4))
def test_parts_of_info_that_pillow_would_not_write_are_refused(node: Any) -> None:
    with pytest.raises(CodecError):
        decode([pack(json.dumps(node), 0)])

"""Real image files decode to exact pixels; files without an image raise an error."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hopmeter.images import PictureError, decoded, parse_source
from hopmeter.runtime.failures import InterruptedRunError
from tests.coded import refuses
from tests.images.made import Pixels, image, pixels, sound, video


def decode(text: str, into: Path, most: int | None = None) -> tuple[decoded.Decoded, Pixels]:
    source = parse_source(text)
    assert source is not None
    found = decoded.decode(source, most, into / "frames", lambda: None)
    return found, np.fromfile(found.file, np.uint8).reshape(-1, *found.facts["shape"])


@pytest.mark.parametrize(("name", "codec", "held"), [("a.mkv", "ffv1", "bgr0"), ("a.avi", "png", "rgb24")])
def test_the_frames_of_a_video_are_its_pixels_in_their_order(tmp_path: Path, name: str, codec: str, held: str) -> None:
    shown = pixels()
    file = video(tmp_path / name, shown, codec, held)
    found, got = decode(f"video:{file}", tmp_path)
    assert np.array_equal(got, shown)
    assert (found.frames, found.size, found.codec) == (5, (10, 6), codec)
    assert decoded.describe(found.facts) == f"{file}: {codec}, 5 frames of 10×6 rgb8"


def test_a_video_that_loses_something_keeps_colours_channels_and_order(tmp_path: Path) -> None:
    colours = [(200, 30, 30), (30, 200, 30), (30, 30, 200), (220, 220, 20)] * 5
    shown = [np.full((32, 48, 3), colour, np.uint8) for colour in colours]
    found, got = decode(f"video:{video(tmp_path / 'a.mp4', shown, 'libx264', 'yuv420p')}", tmp_path)
    assert (found.codec, got.shape) == ("h264", (20, 32, 48, 3))
    assert np.abs(got.astype(int) - np.stack(shown).astype(int)).max() < 20


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.webp"])
def test_an_image_is_its_pixels_as_pillow_decodes_them(tmp_path: Path, name: str) -> None:
    file = image(tmp_path / name, pixels()[0])
    found, got = decode(f"image:{file}", tmp_path)
    assert np.array_equal(got, np.asarray(Image.open(file).convert("RGB"))[None])
    assert decoded.describe(found.facts) == f"{file}: {name[2:]}, 1 frame of 10×6 rgb8"
    if name != "a.webp":
        assert np.array_equal(got[0], pixels()[0])


UPRIGHT: dict[int, Callable[[Pixels], Pixels]] = {
    1: lambda lies: lies,
    2: lambda lies: lies[:, ::-1],
    3: lambda lies: lies[::-1, ::-1],
    4: lambda lies: lies[::-1],
    5: lambda lies: lies.swapaxes(0, 1),
    6: lambda lies: np.rot90(lies, -1),
    7: lambda lies: lies[::-1, ::-1].swapaxes(0, 1),
    8: lambda lies: np.rot90(lies),
}
"""The displayed pixels for each EXIF orientation; orientations 6 and 8 mean that the camera was held sideways."""


@pytest.mark.parametrize("mark", UPRIGHT)
@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tiff", "a.webp"])
def test_a_picture_is_turned_as_its_mark_says(tmp_path: Path, name: str, mark: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = mark
    more: dict[str, Any] = {"lossless": True} if name == "a.webp" else {}
    # JPEG compression changes large uniform blocks only slightly.
    blocks = np.kron(pixels(1, 3, 5)[0], np.ones((16, 16, 1), np.uint8))
    Image.fromarray(blocks).save(tmp_path / name, exif=exif, quality=100, **more)
    found, got = decode(f"image:{tmp_path / name}", tmp_path)
    expected = UPRIGHT[mark](blocks)
    assert found.size == found.own_size == (expected.shape[1], expected.shape[0])
    middles = got[0][8::16, 8::16].astype(int) - expected[8::16, 8::16]
    assert np.abs(middles).max() <= (12 if name == "a.jpg" else 0)
    assert decoded.describe(found.facts).endswith("rgb8, rotated as the metadata requires" if mark > 1 else "rgb8")


def test_a_size_is_asked_of_the_turned_picture(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(pixels()[0]).save(tmp_path / "a.png", exif=exif)
    found, _ = decode(f"image:3x5:{tmp_path / 'a.png'}", tmp_path)
    assert (found.size, found.own_size) == ((3, 5), (6, 10))
    assert decoded.describe(found.facts).endswith("3×5 rgb8, rotated as the metadata requires, resized from 6×10")


@pytest.mark.parametrize("mark", [0, 9])
def test_a_mark_without_a_meaning_turns_nothing(tmp_path: Path, mark: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = mark
    Image.fromarray(pixels()[0]).save(tmp_path / "a.png", exif=exif)
    found, got = decode(f"image:{tmp_path / 'a.png'}", tmp_path)
    assert np.array_equal(got[0], pixels()[0])
    assert "turned" not in found.facts


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.webp"])
def test_marks_that_cannot_be_read_leave_the_picture_as_it_lies(tmp_path: Path, name: str) -> None:
    Image.fromarray(pixels()[0]).save(tmp_path / name, exif=b"Exif\0\0garbage")
    found, _ = decode(f"image:{tmp_path / name}", tmp_path)
    assert (found.size, found.turned) == ((10, 6), False)


def test_a_palette_becomes_its_colours(tmp_path: Path) -> None:
    shown = np.zeros((4, 4, 3), np.uint8)
    shown[1] = (200, 10, 30)
    Image.fromarray(shown).quantize(4).save(tmp_path / "a.png")
    assert np.array_equal(decode(f"image:{tmp_path}/a.png", tmp_path)[1][0], shown)


@pytest.mark.parametrize("kind", ["image", "video"])
def test_frames_are_resized_only_where_a_size_is_asked_for(tmp_path: Path, kind: str) -> None:
    file = image(tmp_path / "a.png", np.full((6, 10, 3), (9, 80, 200), np.uint8))
    found, got = decode(f"{kind}:4x2:{file}", tmp_path)
    assert (found.size, found.own_size, got.shape) == ((4, 2), (10, 6), (1, 2, 4, 3))
    assert np.array_equal(got[0], np.full((2, 4, 3), (9, 80, 200), np.uint8))
    assert decoded.describe(found.facts).endswith("1 frame of 4×2 rgb8, resized from 10×6")


def test_no_more_is_decoded_than_is_sent(tmp_path: Path) -> None:
    found, got = decode(f"video:{video(tmp_path / 'a.mkv', pixels())}", tmp_path, most=3)
    assert found.frames == 3
    assert np.array_equal(got, pixels()[:3])


def test_another_file_has_another_checksum(tmp_path: Path) -> None:
    one, other = (image(tmp_path / f"{at}.png", pixels()[at]) for at in (0, 1))
    (tmp_path / "1").mkdir()
    assert decode(f"image:{one}", tmp_path)[0].crc32 != decode(f"image:{other}", tmp_path / "1")[0].crc32


def test_frames_that_take_too_much_are_refused_with_what_would_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoded, "LARGEST_BYTES", 1 << 20)
    file = video(tmp_path / "a.mkv", np.zeros((5, 300, 400, 3), np.uint8))
    with refuses(PictureError, f"E-FRAMES-ROOM 3 {file}, 400x300, 1 MiB 200x150"):
        decode(f"video:{file}", tmp_path)
    (tmp_path / "2").mkdir()
    assert decode(f"video:{file}", tmp_path / "2", most=2)[0].frames == 2


def jpeg(shown: Pixels) -> bytes:
    kept = io.BytesIO()
    Image.fromarray(shown).save(kept, "JPEG")
    return kept.getvalue()


def test_frames_of_several_sizes_are_refused_unless_one_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "a.mjpeg"
    file.write_bytes(jpeg(pixels(1, 32, 48)[0]) * 2 + jpeg(pixels(1, 16, 32)[0]))
    with pytest.raises(PictureError, match=r"2 .*32x16.*48x32 .*video.*E-FRAME-SIZES"):
        decode(f"video:{file}", tmp_path)
    (tmp_path / "2").mkdir()
    assert decode(f"video:24x16:{file}", tmp_path / "2")[1].shape == (3, 16, 24, 3)


def cut_off(path: Path) -> Path:
    whole = video(path, pixels(20, 48, 62), "mpeg4", "yuv420p", movflags="faststart").read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    return path


def scribble(path: Path) -> Path:
    broken = bytearray(video(path, pixels(20, 48, 62), "libx264", "yuv420p").read_bytes())
    middle = broken.index(b"mdat") + 3000
    broken[middle : middle + 400] = b"\xff" * 400
    path.write_bytes(broken)
    return path


def text(path: Path) -> Path:
    path.write_text("no picture")
    return path


def cut_image(path: Path) -> Path:
    whole = image(path, pixels(1, 60, 60)[0]).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path


def deep(path: Path) -> Path:
    Image.fromarray(np.zeros((4, 4), np.uint16)).save(path)
    return path


@pytest.mark.parametrize(
    ("kind", "name", "make", "says"),
    [
        ("video", "a.mp4", text, "E-NOT-DECODABLE a.mp4 Invalid data"),
        ("video", "a.mp4", cut_off, "E-NOT-DECODABLE a.mp4 cut off 20"),
        ("video", "a.mp4", scribble, "E-NOT-DECODABLE a.mp4 FFmpeg"),
        ("video", "a.wav", sound, "E-NO-FRAMES a.wav"),
        ("image", "a.png", text, "E-NOT-DECODABLE a.png identify"),
        ("image", "a.png", cut_image, "E-NOT-DECODABLE a.png truncated"),
        ("image", "a.png", deep, "E-NOT-DECODABLE a.png 8 I;16"),
        ("image", "a.png", lambda path: path, "E-FILE-UNREADABLE a.png No such file"),
        ("video", "a", lambda path: path.mkdir(), "E-FILE-UNREADABLE Is a directory"),
    ],
)
def test_a_file_that_shows_nothing_is_told_with_what_to_do(
    tmp_path: Path, kind: str, name: str, make: Callable[[Path], Any], says: str
) -> None:
    make(tmp_path / name)
    with refuses(PictureError, says) as wrong:
        decode(f"{kind}:{tmp_path / name}", tmp_path)
    assert wrong.value.remedy


@pytest.mark.parametrize(
    ("kind", "module", "says"),
    [
        ("video", "av", "E-FRAMEWORK-MISSING PyAV hopmeter build --framework video"),
        ("image", "PIL.Image", "E-FRAMEWORK-MISSING Pillow hopmeter build --framework pillow"),
    ],
)
def test_a_library_that_is_not_installed_is_told_with_the_command_that_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, module: str, says: str
) -> None:
    file = image(tmp_path / "a.png", pixels()[0])
    monkeypatch.setitem(sys.modules, module, None)
    with refuses(PictureError, says):
        decode(f"{kind}:{file}", tmp_path)


def test_decoding_can_be_interrupted(tmp_path: Path) -> None:
    source = parse_source(f"video:{video(tmp_path / 'a.mkv', pixels())}")
    assert source is not None

    def rings() -> None:
        raise InterruptedRunError

    with pytest.raises(InterruptedRunError):
        decoded.decode(source, None, tmp_path / "frames", rings)

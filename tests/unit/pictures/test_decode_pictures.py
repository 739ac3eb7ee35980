"""Every kind of picture file becomes upright RGB, or is named for what it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from picture_files import noise, png_of_16_bits, png_that_claims, saved, turned
from PIL import Image

from efface.errors import PictureError
from efface.pictures.decode import PILLOW_LIMIT, Decoded, Limits, decode

PICTURE = noise()
CLOSE = 12  # levels that JPEG may move a pixel of a smooth picture


def decoded(data: bytes, **limits: int) -> Decoded:
    return decode(data, Limits(**limits))


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "PPM", "GIF", "WEBP", "JPEG", "JPEG2000"])
def test_kinds_of_file(kind: str) -> None:
    options = {"WEBP": {"lossless": True}, "JPEG": {"quality": 95}}.get(kind, {})
    found = decoded(saved(PICTURE, kind, **options))
    assert found.pixels.shape == PICTURE.shape
    assert found.pixels.dtype == np.uint8
    if kind in ("JPEG", "GIF"):
        assert np.abs(found.pixels.astype(int) - PICTURE).mean() < CLOSE
    else:
        assert np.array_equal(found.pixels, PICTURE)
    assert found.remarks == ()


def test_the_name_of_a_file_does_not_matter_its_content_does() -> None:
    """decode never sees a name: a PNG called .jpg is a PNG."""
    assert np.array_equal(decoded(saved(PICTURE, "PNG")).pixels, PICTURE)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "TIFF", "PNG", "WEBP"])
def test_exif_turns_the_picture_upright(orientation: int, kind: str) -> None:
    options = {"JPEG": {"quality": 98, "subsampling": 0}, "WEBP": {"lossless": True}}.get(kind, {})
    found = decoded(turned(PICTURE, orientation, kind, **options))
    assert found.pixels.shape == PICTURE.shape
    assert np.abs(found.pixels.astype(int) - PICTURE).max() <= (CLOSE if kind == "JPEG" else 0)


def test_turning_is_remarked_and_bad_exif_is_survived() -> None:
    assert decoded(turned(PICTURE, 6)).remarks == ("turned by EXIF",)
    assert decoded(turned(PICTURE, 1)).remarks == ()
    good = turned(PICTURE, 6)
    at = good.index(b"Exif")
    for cut in range(at + 6, at + 30):
        broken = good[:cut] + b"\xff\xfe\xff" + good[cut + 3 :]
        assert decoded(broken).pixels.size == PICTURE.size


@pytest.mark.parametrize("mode", ["L", "1", "P", "CMYK", "YCbCr", "LA", "RGBA", "PA"])
def test_modes(mode: str) -> None:
    image = Image.fromarray(PICTURE)
    kind = {"CMYK": "TIFF", "YCbCr": "TIFF", "PA": "TIFF"}.get(mode, "PNG")
    if mode == "PA":
        image = image.quantize(200)
    found = decoded(saved(image.convert(mode), kind))
    assert found.pixels.shape == PICTURE.shape
    grey = mode in ("L", "1", "LA")
    assert (found.pixels[..., 0] == found.pixels[..., 2]).all() == grey
    assert ("grey" in found.remarks) == grey
    if mode not in ("1", "P", "PA"):
        truth = np.asarray(image.convert("L").convert("RGB")) if grey else PICTURE
        assert np.abs(found.pixels.astype(int) - truth).max() <= 3


def test_adobe_cmyk_jpeg_is_not_inverted() -> None:
    found = decoded(saved(Image.fromarray(PICTURE).convert("CMYK"), "JPEG", quality=98))
    assert found.remarks == ("CMYK to RGB",)
    assert np.abs(found.pixels.astype(int) - PICTURE).mean() < CLOSE


def test_what_is_transparent_shows_white_and_not_what_lies_below() -> None:
    rgba = np.dstack([PICTURE, np.full(PICTURE.shape[:2], 255, np.uint8)])
    rgba[:10, :, 3] = 0
    rgba[10:20, :, 3] = 128
    found = decoded(saved(rgba))
    assert found.remarks == ("transparency on white",)
    assert (found.pixels[:10] == 255).all()
    half = (PICTURE[10:20].astype(int) + 255) / 2
    assert np.abs(found.pixels[10:20] - half).max() <= 2
    assert np.array_equal(found.pixels[20:], PICTURE[20:])
    rgba[..., 3] = 255
    assert decoded(saved(rgba)).remarks == ()


def test_transparent_palettes_and_colours() -> None:
    flat = np.full((20, 20), 3, np.uint8)
    flat[5:15, 5:15] = 7
    found = decoded(saved(Image.fromarray(flat).convert("P"), transparency=3))
    assert (found.pixels[0, 0] == 255).all()
    assert found.remarks == ("transparency on white",)
    rgb = decoded(saved(np.full((20, 20, 3), 9, np.uint8), transparency=(9, 9, 9)))
    assert (rgb.pixels == 255).all()


def test_16_bits_are_scaled_and_not_cut_off() -> None:
    deep = np.linspace(0, 65535, 1200).astype(np.uint16).reshape(40, 30)
    for data in (png_of_16_bits(deep), saved(Image.fromarray(deep), "TIFF")):
        found = decoded(data)
        assert np.abs(found.pixels[..., 1] - deep / 257).max() <= 0.5
        assert found.remarks == ("grey", "16 bits to 8")
    colours = (PICTURE.astype(np.uint16) * 257).reshape(*PICTURE.shape)
    found = decoded(png_of_16_bits(colours))
    assert np.array_equal(found.pixels, PICTURE)
    assert found.remarks == ("16 bits to 8",)


def test_32_bits_and_floats_by_their_range() -> None:
    levels = np.linspace(0, 255, 1200, dtype=np.float32).reshape(40, 30)
    for values in (levels, levels / 255, levels.astype(np.int32)):
        found = decoded(saved(Image.fromarray(values), "TIFF"))
        assert np.abs(found.pixels[..., 0] - levels).max() <= 1
    for values in (levels - 1, levels * 2, levels * np.nan, (levels * 1000).astype(np.int32)):
        with pytest.raises(PictureError) as caught:
            decoded(saved(Image.fromarray(values), "TIFF"))
        assert caught.value.kind == "unknown range"


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_several_frames_the_first_is_taken(kind: str) -> None:
    frames = [Image.fromarray(np.full((20, 20, 3), level, np.uint8)) for level in (200, 100, 0)]
    options = {"lossless": True} if kind == "WEBP" else {}
    data = saved(frames[0], kind, save_all=True, append_images=frames[1:], **options)
    found = decoded(data)
    assert (found.pixels == 200).all()
    assert "first frame of several" in found.remarks


REFUSED = {
    "empty": (b"", "empty file"),
    "text": (b"this is no picture, whatever its name says\n" * 40, "not a picture"),
    "zeros": (bytes(5000), "not a picture"),
    "program": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 50 50\nshowpage\n", "not a picture"),
    "half a jpeg": (saved(noise(200, 200), "JPEG")[:-900], "damaged"),
    "half a png": (saved(noise(200, 200), "PNG")[:-900], "damaged"),
    "only a header": (saved(PICTURE, "JPEG")[:200], "damaged"),
    "one pixel": (saved(PICTURE[:1, :1]), "too small"),
    "a line": (saved(np.zeros((500, 3, 3), np.uint8)), "too small"),
    "bomb": (png_that_claims(60_000, 60_000), "too large"),
    "large": (png_that_claims(11_000, 10_000), "too large"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_named(name: str) -> None:
    data, kind = REFUSED[name]
    with pytest.raises(PictureError) as caught:
        decoded(data)
    assert caught.value.kind == kind
    assert str(caught.value)


def test_limits_are_the_users() -> None:
    assert decoded(saved(PICTURE[:1, :1]), min_side=1).pixels.shape == (1, 1, 3)
    with pytest.raises(PictureError, match="40 a side"):
        decoded(saved(PICTURE), min_side=40)
    with pytest.raises(PictureError, match="1,199 in all"):
        decoded(saved(PICTURE), max_pixels=1199)
    with pytest.raises(PictureError, match=str(PILLOW_LIMIT)):
        Limits(max_pixels=PILLOW_LIMIT + 1)


@given(
    data=st.binary(max_size=200),
    base=st.sampled_from([saved(PICTURE, kind) for kind in ("PNG", "JPEG", "GIF", "TIFF", "WEBP")]),
    at=st.floats(0, 1),
    cut=st.floats(0, 1),
)
def test_no_damage_gives_anything_but_a_picture_or_a_reason(
    data: bytes, base: bytes, at: float, cut: float
) -> None:
    start = int(at * len(base))
    damaged = (base[:start] + data + base[start + len(data) :])[: int(cut * len(base)) + 1]
    said = outcome(damaged)
    if isinstance(said, Decoded):
        assert said.pixels.dtype == np.uint8
        assert said.pixels.shape[2] == 3
    else:
        assert said.kind
        assert "\n" not in str(said)


def outcome(data: bytes) -> Decoded | PictureError:
    try:
        return decoded(data, max_pixels=1_000_000)
    except PictureError as error:
        return error

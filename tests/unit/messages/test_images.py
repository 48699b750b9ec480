from __future__ import annotations

import base64
from pathlib import Path

import pytest

from memoranda.errors import InvalidInput
from memoranda.messages import images

PICTURES = {
    "image/png": b"\x89PNG\r\n\x1a\n" + b"\0" * 8,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\0" * 8,
    "image/gif": b"GIF89a" + b"\0" * 8,
    "image/webp": b"RIFF\x10\0\0\0WEBPVP8 ",
}


@pytest.mark.parametrize("kind", PICTURES)
def test_media_type_is_detected_from_the_bytes(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.txt"
    path.write_bytes(PICTURES[kind])
    url = images.image_url(str(path))
    assert url == f"data:{kind};base64,{base64.b64encode(PICTURES[kind]).decode()}"
    assert images.split_data_url(url) == (kind, base64.b64encode(PICTURES[kind]).decode())


def test_web_addresses_are_unchanged() -> None:
    assert images.image_url("https://example.org/a.png") == "https://example.org/a.png"


def test_file_that_is_not_an_image_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_text("password")
    with pytest.raises(InvalidInput, match="not a PNG, JPEG, GIF or WebP"):
        images.image_url(str(secret))


@pytest.mark.parametrize("reference", ["missing.png", "bad\0name.png", "."])
def test_unreadable_path_is_named(reference: str) -> None:
    with pytest.raises(InvalidInput, match="cannot read the image"):
        images.image_url(reference)


def test_other_schemes_and_huge_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="cannot use the image"):
        images.image_url("ftp://example.org/a.png")
    monkeypatch.setattr(images, "MAX_IMAGE_BYTES", 10)
    (tmp_path / "a.png").write_bytes(PICTURES["image/png"])
    with pytest.raises(InvalidInput, match="at most 10 fit"):
        images.image_url(str(tmp_path / "a.png"))


@pytest.mark.parametrize("url", ["data:image/png,abc", "data:image/png;base64", "data:image/png;base64,%%%%"])
def test_invalid_data_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="data URL"):
        images.split_data_url(url)

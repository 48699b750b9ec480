"""Images in messages: references, data URLs and media types."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.messages.frozen import check_not_blank

MAX_IMAGE_BYTES: Final = 20_000_000
"""The largest image that vendors accept."""

_SIGNATURES: Final = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def as_reference(image: object) -> str:
    """Return an image as a message stores it: a path or address unchanged, bytes as a data URL."""
    if isinstance(image, bytes):
        return data_url(image)
    if isinstance(image, Path):
        return str(image)
    return check_not_blank(image, "an image", "give a path, an http(s) address or bytes")


def image_url(reference: str) -> str:
    """Return a URL that a model can read: http(s) and data URLs unchanged, a file as a data URL."""
    if reference.startswith(("http://", "https://", "data:")):
        return reference
    if "://" in reference:
        raise InvalidInput(f"cannot use the image {reference!r}: give a path, an http(s) address or bytes")
    return data_url(_read_file(reference), reference)


def data_url(data: bytes, name: str = "the image") -> str:
    """Return a data URL; the media type is detected from the bytes."""
    return f"data:{media_type(data, name)};base64,{base64.b64encode(data).decode('ascii')}"


def split_data_url(url: str) -> tuple[str, str]:
    """Return the media type and the base64 text of a data URL."""
    head, comma, body = url.partition(",")
    if not comma or not head.endswith(";base64"):
        raise InvalidInput("an image's data URL must look like data:image/png;base64,…")
    try:
        start = base64.b64decode(body[:64], validate=True)
    except binascii.Error as error:
        raise InvalidInput(f"an image's data URL is not base64: {error}") from error
    return media_type(start, "the data URL"), body


def media_type(data: bytes, name: str) -> str:
    """Return the media type by the first bytes: PNG, JPEG, GIF or WebP, the formats that vendors accept."""
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    # Also for security: a path in an imported conversation must not send another kind of file to a vendor.
    raise InvalidInput(f"{name} is not a PNG, JPEG, GIF or WebP image")


def _read_file(path: str) -> bytes:
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read the image {path!r}: {error}") from error
    if len(data) > MAX_IMAGE_BYTES:
        raise InvalidInput(f"the image {path!r} has {len(data):,} bytes; at most {MAX_IMAGE_BYTES:,} fit")
    return data

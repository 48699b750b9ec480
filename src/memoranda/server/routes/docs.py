"""The interactive page of the API. Its files are in the package, and it asks no other server for anything."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

routes = APIRouter(include_in_schema=False)
PATHS: Final = frozenset({"/docs", "/docs/page.js", "/docs/page.css"})
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@routes.get("/docs")
async def get_page() -> Response:
    return _respond("page.html", "text/html")


@routes.get("/docs/page.js")
async def get_script() -> Response:
    return _respond("page.js", "text/javascript")


@routes.get("/docs/page.css")
async def get_style() -> Response:
    return _respond("page.css", "text/css")


def _respond(name: str, media_type: str) -> Response:
    return Response(_read(name), media_type=media_type, headers={"Content-Security-Policy": _POLICY})


@lru_cache
def _read(name: str) -> str:
    return files("memoranda.server").joinpath("docs", name).read_text(encoding="utf-8")

from __future__ import annotations

import sys

import pytest

from memoranda import MissingExtra


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "autogen_core", None)
    monkeypatch.delitem(sys.modules, "memoranda.integrations.autogen", raising=False)
    with pytest.raises(MissingExtra, match=r"memoranda\[autogen\]"):
        import memoranda.integrations.autogen  # noqa: F401

from __future__ import annotations

from pathlib import Path

from memoranda.server.keys import open_keys
from tests.server.fuzz import explore
from tests.server.running import serving


def test_thousand_generated_requests_cause_no_server_error(tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        with open_keys(f"sqlite:///{tmp_path}/server.db") as keys:
            key = keys.create("fuzz", scopes=("read", "write", "admin")).key
        answered = explore(url, key, 1000)
    assert answered.total() >= 900
    assert all(status < 500 for status in answered)
    assert answered[200] + answered[201] >= 50

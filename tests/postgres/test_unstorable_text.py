from __future__ import annotations

from collections.abc import Iterator

import pytest

from memoranda import MemoryConfig, MemoryManager
from memoranda.testing.fakes import HashEmbedder
from tests.postgres.test_manager import AUDIT_KEY
from tests.test_unstorable_text import LocalUnstorableText


class TestOnPostgres(LocalUnstorableText):
    @pytest.fixture
    def manager(self, url: str) -> Iterator[MemoryManager]:
        with MemoryManager(MemoryConfig(db_url=url, audit_key=AUDIT_KEY), embedder=HashEmbedder(16)) as manager:
            yield manager

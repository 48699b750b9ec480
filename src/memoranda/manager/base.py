"""What all verbs stand on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from memoranda.types import JSON, MemoryType
from memoranda.validation import make_scope

if TYPE_CHECKING:
    from memoranda.manager.components import Components
    from memoranda.remember.new_memory import WriteOptions


class Verbs:
    """A tenant and the parts of its manager. The verbs of one theme are one class; `MemoryManager` has them all."""

    _tenant: str
    _components: Components

    def _call(
        self,
        agent: str | None,
        user: str | None,
        session: str | None,
        kind: MemoryType | str | None,
        source: str | None,
        metadata: Mapping[str, JSON] | None,
        *,
        importance: float | None,
        at: datetime | str | None,
    ) -> WriteOptions:
        from memoranda.remember.new_memory import check_options

        return check_options(
            make_scope(self._tenant, agent, user, session),
            self._components.clock(),
            self._components.short_term_ttl,
            type=kind,
            source=source,
            metadata=metadata,
            importance=importance,
            at=at,
        )

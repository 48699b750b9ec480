"""What all verbs stand on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from memoranda import parts
from memoranda.arguments import make_scope
from memoranda.types import JSON, MemoryType

if TYPE_CHECKING:
    from memoranda.parts.drafts import Common
    from memoranda.parts.foundation import Foundation


class Verbs:
    """A tenant and the parts of its manager. The verbs of one theme are one class; `MemoryManager` has them all."""

    _tenant: str
    _parts: Foundation

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
    ) -> Common:
        return parts.drafts.common(
            make_scope(self._tenant, agent, user, session),
            self._parts.now(),
            self._parts.short_term_ttl,
            type=kind,
            source=source,
            metadata=metadata,
            importance=importance,
            at=at,
        )

"""The base of the classes that hold the manager's methods. The remote client imports them, so they load no engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoranda.types import Scope
from memoranda.validation import make_scope

if TYPE_CHECKING:
    from memoranda.manager.components import Components
    from memoranda.remember.new_memory import WriteOptions


class ManagerMethods:
    """A tenant and its components. Each subclass has the methods of one theme; `MemoryManager` has them all."""

    _tenant: str
    _components: Components

    def _scope(self, agent: object, user: object, session: object = None) -> Scope:
        return make_scope(self._tenant, agent, user, session)

    def _write_options(self, scope: Scope, **options: object) -> WriteOptions:
        """Check the options of a write: `type`, `source`, `metadata`, `importance` and `at`."""
        from memoranda.remember.new_memory import check_options

        return check_options(scope, self._components.clock(), self._components.short_term_ttl, **options)

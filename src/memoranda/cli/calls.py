"""What every command can be told: which database, whose memories, and how to answer."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypedDict

import typer

from memoranda.types import ANY, DEFAULT_TENANT, AnyUser

if TYPE_CHECKING:
    from memoranda.manager.manager import MemoryManager
    from memoranda.settings import MemoryConfig

P = ParamSpec("P")


class ScopeArguments(TypedDict):
    """The scope of a call that writes, as the manager's arguments."""

    agent: str | None
    user: str | None
    session: str | None


class ReadScopeArguments(TypedDict):
    """The scope of a call that reads."""

    agent: str | None
    user: str | AnyUser | None
    session: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """The options that commands share."""

    db: str | None = None
    tenant: str = DEFAULT_TENANT
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    all_users: bool = False
    as_json: bool = False

    @property
    def config(self) -> MemoryConfig:
        """The settings of the environment, with the database that was named."""
        from dataclasses import replace

        from memoranda.settings import get_settings

        settings = get_settings().memory
        return settings if self.db is None else replace(settings, db_url=_as_url(self.db))

    @contextmanager
    def manager(self) -> Iterator[MemoryManager]:
        """The memory that the options name."""
        from memoranda.manager.manager import MemoryManager

        with MemoryManager(self.config, tenant=self.tenant) as opened:
            yield opened

    @property
    def scope(self) -> ScopeArguments:
        return {"agent": self.agent, "user": self.user, "session": self.session}

    @property
    def read_scope(self) -> ReadScopeArguments:
        return {"agent": self.agent, "user": ANY if self.all_users else self.user, "session": self.session}


_STORE = {
    "db": (Annotated[str | None, typer.Option("--db", help="Database file or URL; MEMORY_DB_URL by default.")], None),
    "tenant": (Annotated[str, typer.Option("--tenant", help="Whose data: the tenant.")], DEFAULT_TENANT),
}
_SCOPE = {
    "user": (Annotated[str | None, typer.Option("--user", "-u", help="The user; without one, nobody's.")], None),
    "agent": (Annotated[str | None, typer.Option("--agent", "-a", help="The agent; any by default.")], None),
    "session": (Annotated[str | None, typer.Option("--session", "-s", help="The session; any by default.")], None),
}
_ALL_USERS = {"all_users": (Annotated[bool, typer.Option("--all-users", help="Across all users.")], False)}
_AS_JSON = {"as_json": (Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")], False)}
STORE: Mapping[str, tuple[Any, Any]] = _STORE | _AS_JSON
WRITE: Mapping[str, tuple[Any, Any]] = _STORE | _SCOPE | _AS_JSON
READ: Mapping[str, tuple[Any, Any]] = _STORE | _SCOPE | _ALL_USERS | _AS_JSON


def command(
    app: typer.Typer, name: str | None = None, *, options: Mapping[str, tuple[Any, Any]] = STORE
) -> Callable[[Callable[Concatenate[Call, P], None]], Callable[Concatenate[Call, P], None]]:
    """Makes a function of a `Call` a command that also takes the shared options."""

    def register(function: Callable[Concatenate[Call, P], None]) -> Callable[Concatenate[Call, P], None]:
        @functools.wraps(function)
        def run(**given: Any) -> None:
            call = Call(**{option: given.pop(option) for option in options})
            function(call, **given)  # type: ignore[call-arg]

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        run.__signature__ = inspect.Signature([*map(_keyword, own), *_parameters(options)])  # type: ignore[attr-defined]
        run.__annotations__ = {}
        app.command(name)(run)
        return function

    return register


def _keyword(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _parameters(options: Mapping[str, tuple[Any, Any]]) -> list[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, kind, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]


def _as_url(db: str) -> str:
    # A path on the command line starts from where one stands, whatever the storage folder is set to.
    return db if "://" in db else f"sqlite:///{Path(db).absolute()}"

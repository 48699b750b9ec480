"""Options that commands share: the database, the scope and the output format.

The manager is imported when a command opens it, which keeps `--help` fast. Commands import the parts that only they use
in the same way.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Final, ParamSpec, TypeAlias, TypedDict

import typer

from memoranda.errors import InvalidInput, NotFound
from memoranda.types import ANY, DEFAULT_TENANT, AnyUser

if TYPE_CHECKING:
    from memoranda.dates.find import Mention
    from memoranda.manager.manager import MemoryManager
    from memoranda.settings import MemoryConfig

P = ParamSpec("P")
OptionTable: TypeAlias = Mapping[str, tuple[Any, Any]]
"""Parameter name → (annotation, default)."""


class WriteScopeArguments(TypedDict):
    """The scope of a call that writes, as the manager's keyword arguments."""

    agent: str | None
    user: str | None
    session: str | None


class ReadScopeArguments(TypedDict):
    """The scope of a call that reads, as the manager's keyword arguments."""

    agent: str | None
    user: str | AnyUser | None
    session: str | None


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """The values of the shared options."""

    db: str | None = None
    tenant: str = DEFAULT_TENANT
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    all_users: bool = False
    as_json: bool = False

    @property
    def config(self) -> MemoryConfig:
        """The settings from the environment, with the database from `--db`."""
        from memoranda.settings import get_settings

        return self._with_database(get_settings().memory)

    @property
    def user_config(self) -> MemoryConfig:
        """The same, with the user's own database in place of one in the current folder."""
        from memoranda.settings import get_user_settings

        return self._with_database(get_user_settings().memory)

    def _with_database(self, settings: MemoryConfig) -> MemoryConfig:
        if self.db is None:
            return settings
        # A path on the command line is relative to the current folder, not to the configured storage folder.
        url = self.db if "://" in self.db else f"sqlite:///{Path(self.db).absolute()}"
        return replace(settings, db_url=url, read_url=None)

    def open_manager(self, *, create: bool = False) -> MemoryManager:
        """Return a manager for the chosen database and tenant, to be used with `with`.

        Only a command that stores something creates a database: a mistyped name must not look like an empty one.
        """
        from memoranda.manager.manager import MemoryManager

        if not create:
            self.require_database()
        return MemoryManager(self.config, tenant=self.tenant)

    def require_database(self) -> None:
        """Raise `NotFound` when the database is a file that does not exist."""
        from memoranda.settings import database_url
        from memoranda.storage import database_file

        file = database_file(database_url(self.config))
        if file is not None and not file.exists():
            raise NotFound(
                f"no database {file}: name another one with --db or MEMORY_DB_URL, "
                "or create it with `memoranda init` or `memoranda add`"
            )

    @property
    def scope(self) -> WriteScopeArguments:
        return {"agent": self.agent, "user": self.user, "session": self.session}

    @property
    def read_scope(self) -> ReadScopeArguments:
        return {"agent": self.agent, "user": ANY if self.all_users else self.user, "session": self.session}

    @property
    def tenant_scope(self) -> ReadScopeArguments:
        """The scope of a command that covers all users unless one is named."""
        return {"agent": self.agent, "user": ANY if self.user is None else self.user, "session": self.session}


def _scope_options(user_help: str, agent_help: str, session_help: str) -> OptionTable:
    return {
        "user": (Annotated[str | None, typer.Option("--user", "-u", help=user_help)], None),
        "agent": (Annotated[str | None, typer.Option("--agent", "-a", help=agent_help)], None),
        "session": (Annotated[str | None, typer.Option("--session", "-s", help=session_help)], None),
    }


def parse_start(text: str) -> datetime:
    """Return the first moment of the time that a person wrote: "2026-03-08", "yesterday", "last monday at 3 pm"."""
    return _parse_period(text)[0]


def parse_end(text: str) -> datetime:
    """Return the last moment of the time that a person wrote, but none after now when it has begun."""
    start, end = _parse_period(text)
    now = datetime.now().astimezone()
    last = max(start, end - timedelta(microseconds=1))
    return now if start <= now < last else last


_LEAD: Final = re.compile(r"(?:(?:on|in|at|the)\s+)*", re.I)


def _parse_period(text: str) -> tuple[datetime, datetime]:
    """Return the first moment of a time and the first one after it, in the zone of this machine unless one is given."""
    from memoranda.dates.find import find_mentions

    words, now = text.strip(), datetime.now().astimezone()
    if words.casefold() == "now":
        return now, now
    try:
        exact = datetime.fromisoformat(words)
    except ValueError:
        pass
    else:
        exact = exact if exact.tzinfo else exact.astimezone()
        whole_day = re.fullmatch(r"\d{4}-?(?:\d{2}-?\d{2}|W\d{2}-?\d)", words) is not None
        return exact, exact + timedelta(days=1) if whole_day else exact
    for mention in find_mentions(words, now, prefer="past"):
        start, end = mention.span
        if end == len(words) and _LEAD.fullmatch(words[:start]) and mention.kind == "at":
            return _exact(mention) if mention.precision in ("hour", "minute") else (mention.start, mention.end)
    raise typer.BadParameter(
        f'{text!r} is not a time: write it as 2026-03-08, 2026-03-08T15:00, yesterday, "last monday" or "3 days ago"'
    )


def _exact(mention: Mention) -> tuple[datetime, datetime]:
    """Return the moment that "at 3 pm" or "2 hours ago" names."""
    middle = mention.start + (mention.end - mention.start) / 2
    moment = middle if mention.text.casefold().endswith("ago") else mention.start
    return moment, moment


AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
_DATABASE: Final = {
    "db": (Annotated[str | None, typer.Option("--db", help="Database file or URL. Default: MEMORY_DB_URL.")], None),
    "tenant": (Annotated[str, typer.Option("--tenant", help="Tenant that owns the data.")], DEFAULT_TENANT),
}
_OWNER: Final = _scope_options(
    "User the memories belong to. Without it, they belong to no user.",
    "Agent the memories belong to.",
    "Session the memories belong to.",
)
_ONLY: Final = ("Only memories of this agent.", "Only memories of this session.")
_FILTER: Final = _scope_options("Memories of this user. Without it, memories that belong to no user.", *_ONLY)
_TENANT_FILTER: Final = _scope_options("Only memories of this user. Without it, of all users.", *_ONLY)
_ALL_USERS: Final = {
    "all_users": (Annotated[bool, typer.Option("--all-users", help="Include the memories of all users.")], False)
}
_AS_JSON: Final = {"as_json": (AsJson, False)}
OUTPUT: OptionTable = _AS_JSON
SERVED: OptionTable = {"db": _DATABASE["db"]}
DATABASE: OptionTable = {**SERVED, **_AS_JSON}
STORE: OptionTable = {**_DATABASE, **_AS_JSON}
WRITE: OptionTable = {**_DATABASE, **_OWNER, **_AS_JSON}
READ: OptionTable = {**_DATABASE, **_FILTER, **_ALL_USERS, **_AS_JSON}
WHOLE_TENANT: OptionTable = {**_DATABASE, **_TENANT_FILTER, **_AS_JSON}


def command(
    app: typer.Typer, name: str, *, shared: OptionTable = STORE
) -> Callable[[Callable[Concatenate[CommandOptions, P], None]], Callable[Concatenate[CommandOptions, P], None]]:
    """Register a function as a command that also takes the shared options and receives them as `CommandOptions`."""

    def register(
        function: Callable[Concatenate[CommandOptions, P], None],
    ) -> Callable[Concatenate[CommandOptions, P], None]:
        app.command(name)(with_options(function, shared))
        return function

    return register


def with_options(function: Callable[Concatenate[CommandOptions, P], None], shared: OptionTable) -> Callable[..., None]:
    """Return the function as Typer calls it: it also takes the shared options."""

    @functools.wraps(function)
    def run(**arguments: Any) -> None:
        options = CommandOptions(**{option: arguments.pop(option) for option in shared})
        if options.all_users and options.user is not None:
            raise InvalidInput("give --user, or --all-users, not both")
        try:
            function(options, **arguments)  # type: ignore[call-arg]
        except NotFound as error:
            if shared is not READ or options.user is not None or options.all_users:
                raise
            options.require_database()
            raise NotFound(f"{error}. It may belong to a user: name one with --user, or add --all-users") from error

    # Typer reads the command's options from the signature: those of the function, then the shared ones.
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=keyword_only) for parameter in parameters]
        + [
            inspect.Parameter(option, keyword_only, default=default, annotation=annotation)
            for option, (annotation, default) in shared.items()
        ]
    )
    run.__annotations__ = {}
    return run

"""`memoranda chat`: conversations from elsewhere into memory."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.calls import WRITE, Call, command
from memoranda.cli.errors import group
from memoranda.cli.output import progress_bar, said, show
from memoranda.errors import Incompatible

if TYPE_CHECKING:
    from memoranda.transfer.chats import ImportedConversation
    from memoranda.types import Progress

app = group("Bring conversations from elsewhere into memory.")


class Vendor(StrEnum):
    """Whose export it is."""

    AUTO = "auto"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"


def import_chats(
    call: Call,
    path: Annotated[Path, typer.Argument(help="The export: the zip as it came, or its conversations.json.")],
    vendor: Annotated[Vendor, typer.Option("--from", help="Whose export it is; found out by default.")] = Vendor.AUTO,
) -> None:
    """Remember every message of a ChatGPT or Claude data export; run again, it adds only what is new."""
    stored = messages = 0
    with call.manager() as manager, progress_bar("Remembering", call.as_json) as report:
        conversations = _read(path, vendor, None)
        for number, conversation in enumerate(conversations, start=1):
            session = call.session or conversation.id or conversation.title or path.stem
            outcomes = manager.remember(
                list(conversation.messages), agent=call.agent, user=call.user, session=session, source="chat import"
            )
            messages += len(outcomes)
            stored += sum(outcome.status == "stored" for outcome in outcomes)
            if report is not None:
                report(number, len(conversations))
    answer = {"conversations": len(conversations), "messages": messages, "stored": stored}
    text = f"{stored} of {messages} messages stored, from {len(conversations)} conversations"
    show(answer, call.as_json, said(text))


def _read(path: Path, vendor: Vendor, progress: Progress | None) -> list[ImportedConversation]:
    from memoranda.errors import NotFound
    from memoranda.transfer.chats import read_chatgpt_export, read_claude_export

    if not path.is_file():
        raise NotFound(f"no file {path}")
    if vendor is Vendor.CHATGPT:
        return read_chatgpt_export(path, progress=progress)
    if vendor is Vendor.CLAUDE:
        return read_claude_export(path, progress=progress)
    try:
        return read_chatgpt_export(path, progress=progress)
    except Incompatible:
        return read_claude_export(path, progress=progress)


command(app, "import", options=WRITE)(import_chats)

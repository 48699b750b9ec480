"""`SummarizingMemory`: a conversation whose oldest half becomes a summary when it is full."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from memoranda.conversation.base import AnyMessage, ListLog, MessageLog
from memoranda.conversation.memory import ConversationMemory, build_state, check_state, parse_messages
from memoranda.conversation.summary import (
    MIN_CHARACTERS,
    condense,
    summarize,
    summarize_lines_with_llm,
    summarize_with_llm,
)
from memoranda.conversation.window import TokenCounter, count_message_tokens, find_cut, fit_window
from memoranda.errors import InvalidInput, InvalidType
from memoranda.llm.base import LLM, MeteredLLM
from memoranda.llm.failures import describe_failure
from memoranda.messages.message import Message
from memoranda.types import JSON, Usage

MAX_SUMMARIES = 8
"""When there are more, the oldest half of the summaries is merged into one."""
_SUMMARY_SHARE = 4
"""The summary takes at most one part in so many of a window."""


class SummarizingMemory(ConversationMemory):
    """A conversation whose oldest half, when it is full, moves out of the window and into `summaries`.

    With `llm` the model writes the summaries. Without one, and where it fails, they consist of the conversation's most
    informative sentences; `degraded` has the reason of a failure. `get_window` puts as much of the summary as fits
    between the system message and the newest turns. The messages behind the summaries are read with `originals`.

    Args:
        max_messages: When the conversation has this many messages, its oldest half is summarized.
        retention_policy: `single_run`, `session` or `persistent`.
        llm: The model that writes the summaries.
        ratio: The share of the length that a summary keeps, between 0 and 1.
        counter: Counts the tokens of a text.
        log: Where the messages of the window are kept; without it, in this process.
        archive: Where the summarized messages are kept; without it, in this process.
    """

    def __init__(
        self,
        max_messages: int = 50,
        retention_policy: str = "session",
        *,
        llm: LLM | None = None,
        ratio: float = 0.1,
        counter: TokenCounter | None = None,
        log: MessageLog | None = None,
        archive: MessageLog | None = None,
    ) -> None:
        super().__init__(max_messages, retention_policy, counter=counter, log=log)
        if max_messages < 2:
            raise InvalidInput(f"max_messages is {max_messages}: a conversation of 2 or more can be summarized")
        if not 0 < ratio < 1:
            raise InvalidInput(f"ratio is {ratio}: give the share of the length to keep, between 0 and 1")
        self.summaries: list[str] = []
        self.degraded: str | None = None
        """Why the last summary was made without the model; None when the model made it."""
        self._llm = None if llm is None else MeteredLLM(llm)
        self._ratio = ratio
        self._archive: MessageLog = ListLog() if archive is None else archive
        self._spans: list[int] = []  # for each summary, how many messages it stands for
        # Summaries are made outside the conversation's own lock: a slow model must not block the conversation.
        self._summary_lock = threading.Lock()

    @property
    def usage(self) -> Usage:
        """What the model has used for all summaries so far."""
        return Usage() if self._llm is None else self._llm.usage

    @property
    def in_memory(self) -> bool:
        """Whether messages and originals are kept in this process only."""
        return super().in_memory and isinstance(self._archive, ListLog)

    def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Add one message, several, or none; then summarize the conversation if it is full."""
        super().add(messages, allow_duplicates)
        self._summarize_while_full()

    def summary_message(self) -> Message | None:
        """Return the summaries as one message; None while there are none."""
        with self._lock:
            return self._to_message(self.summaries) if self.summaries else None

    def originals(self, summary: int | None = None) -> list[Message]:
        """Return the messages that were summarized: all of them, or those of the summary with this index."""
        with self._lock:
            if summary is None:
                return self._archive.read(0, len(self._archive))
            index = range(len(self._spans))[summary]
            start = sum(self._spans[:index])
            return self._archive.read(start, start + self._spans[index])

    def clear(self) -> None:
        """Remove all messages, summaries and originals."""
        with self._lock:
            super().clear()
            self._archive.replace([])
            self.summaries, self._spans = [], []

    def state_dict(self) -> dict[str, JSON]:
        """Return everything that `load_state_dict` needs: messages, summaries and originals."""
        with self._lock:
            originals: list[JSON] = [message.to_dict() for message in self.originals()]
            return build_state(
                self.get_messages(), summaries=[*self.summaries], spans=[*self._spans], originals=originals
            )

    def load_state_dict(self, state_dict: Mapping[str, object], strict: bool = True) -> None:
        """Replace everything with a saved state, also one of a plain conversation. On an error, nothing changes."""
        state = check_state(state_dict, ("messages", "summaries", "spans", "originals"), strict=strict)
        if "messages" not in state:
            return
        messages, originals = parse_messages(state["messages"]), parse_messages(state.get("originals", []), "originals")
        summaries, spans = _parse_summaries(state, len(originals))
        with self._lock:
            self._log.replace(messages)
            self._archive.replace(originals)
            self.summaries, self._spans = summaries, spans
        self._summarize_while_full()

    def _window(self, max_tokens: int) -> list[Message]:
        summary = self._fit_summary(max_tokens // _SUMMARY_SHARE)
        try:
            return fit_window(self.messages, max_tokens, self._count, after_system=summary)
        except InvalidInput:
            if not summary:
                raise
        return super()._window(max_tokens)  # the newest turn matters more than the summary

    def _append(self, messages: Sequence[Message], *, skip_duplicates: bool) -> None:
        archived = self._archive.find_ids(message.message_id for message in messages) if skip_duplicates else set()
        new = [message for message in messages if message.message_id not in archived]
        self._log.append(new, keep=None, skip_duplicates=skip_duplicates)

    def _summarize_while_full(self) -> None:
        with self._summary_lock:
            while self._summarize_oldest():
                pass

    def _summarize_oldest(self) -> bool:
        """Move the oldest half into a summary; return False when there is nothing to move."""
        with self._lock:
            start, stop = self._oldest_half()
            oldest = self._log.read(start, stop)
        if not oldest:
            return False
        summary = self._summarize(oldest)
        with self._lock:
            if self._log.read(start, stop) != oldest:
                return True  # messages were deleted in the meantime: look again
            self._archive.append(oldest, keep=None)
            self._log.delete(range(start, stop))
            self.summaries.append(summary)
            self._spans.append(len(oldest))
        self._merge_summaries()
        return True

    def _oldest_half(self) -> tuple[int, int]:
        limit = self.max_messages or 0
        if len(self._log) < limit:
            return 0, 0
        start = sum(1 for _ in takewhile(lambda message: message.role == "system", self.messages))
        return start, max(start, find_cut(self.messages, max(limit // 2, start + 1), start))

    def _summarize(self, messages: list[Message]) -> str:
        if self._llm is not None:
            try:
                summary = summarize_with_llm(messages, self._llm, self._count, ratio=self._ratio)
            except Exception as error:  # noqa: BLE001 - `degraded` says so; a program's own model may raise anything
                self.degraded = describe_failure(error)
            else:
                self.degraded = None
                return summary
        return summarize(messages, ratio=self._ratio)

    def _merge_summaries(self) -> None:
        half = MAX_SUMMARIES // 2
        oldest = self.summaries[:half]
        if len(self.summaries) <= MAX_SUMMARIES:
            return
        merged = self._condense([line for summary in oldest for line in summary.splitlines()])
        with self._lock:
            if self.summaries[:half] == oldest:  # else they were cleared or loaded in the meantime
                self.summaries[:half] = [merged]
                self._spans[:half] = [sum(self._spans[:half])]

    def _condense(self, lines: list[str]) -> str:
        if self._llm is not None:
            try:
                return summarize_lines_with_llm(lines, self._llm, self._count, ratio=0.5)
            except Exception as error:  # noqa: BLE001 - `degraded` says so; a program's own model may raise anything
                self.degraded = describe_failure(error)
        return condense(lines, budget=max(MIN_CHARACTERS, sum(map(len, lines)) // 2))

    def _fit_summary(self, max_tokens: int) -> list[Message]:
        """Return the summaries as one message, reduced to the best lines that fit; nothing when none fits."""
        lines = [line for summary in self.summaries for line in summary.splitlines()]
        characters = sum(map(len, lines))
        while lines:
            message = self._to_message(lines)
            needed = count_message_tokens(message, self._count)
            if needed <= max_tokens:
                return [message]
            characters = min(characters * max_tokens // needed, characters - 1)
            lines = condense(lines, budget=characters).splitlines()
        return []

    def _to_message(self, lines: Sequence[str]) -> Message:
        # A user's message, not the system's: what somebody said must not come back as an instruction.
        newest = self._archive.read(len(self._archive) - 1, len(self._archive))
        return Message(
            "user",
            "Summary of the conversation before this point, as a record:\n" + "\n".join(lines),
            message_id=f"summary-{len(self._archive)}",
            timestamp=newest[0].timestamp if newest else None,
            metadata={"summary": True},
        )


def _parse_summaries(state: Mapping[str, object], originals: int) -> tuple[list[str], list[int]]:
    """Return the summaries in a state, and how many of the originals each of them stands for."""
    summaries, spans = state.get("summaries", []), state.get("spans", [])
    if not isinstance(summaries, list) or not all(isinstance(summary, str) for summary in summaries):
        raise InvalidType("summaries must be a list of strings")
    if not isinstance(spans, list) or not all(isinstance(span, int) and span >= 0 for span in spans):
        raise InvalidType("spans must be a list of whole numbers")
    if len(spans) != len(summaries) or sum(spans) != originals:
        raise InvalidInput("the state's summaries, spans and originals do not belong together")
    return list(summaries), list(spans)

"""A conversation that never grows too long: its oldest half becomes a summary."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from memoranda.conversation.base import ListLog, MessageLog
from memoranda.conversation.memory import AnyMessage, ConversationMemory, checked, packed, summaries_of, unpacked
from memoranda.conversation.summary import MIN_CHARACTERS, condense, rewrite, rewrite_lines, summarize
from memoranda.conversation.window import TokenCounter, message_tokens, newest_that_fit, whole_turns
from memoranda.errors import ExtractionFailed, InvalidInput, Unavailable
from memoranda.llm.base import LLM, MeteredLLM
from memoranda.messages.message import Message
from memoranda.types import JSON, Usage

MAX_SUMMARIES = 8
"""Beyond it, the oldest half of the summaries becomes one."""
_SUMMARY_SHARE = 4
"""The summary takes at most one part in so many of a window."""


class SummarizingMemory(ConversationMemory):
    """A conversation whose oldest half, when it is full, moves into `summaries` and out of the window.

    With `llm` the summaries are its words; without one, and where it fails, they are the conversation's own
    most telling sentences, and `degraded` says why. The originals stay in `archive` and are read with `originals`.
    `get_window` puts the summary, as far as it fits, between the system message and the newest turns.
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
            raise InvalidInput(f"max_messages is {max_messages}: a conversation of 2 or more can be summarised")
        if not 0 < ratio < 1:
            raise InvalidInput(f"ratio is {ratio}: give the share of the length to keep, between 0 and 1")
        self.summaries: list[str] = []
        self.degraded: str | None = None
        """Why the last summary had to do without the model; None when it did not."""
        self._llm = None if llm is None else MeteredLLM(llm)
        self._ratio = ratio
        self._archive: MessageLog = ListLog() if archive is None else archive
        self._spans: list[int] = []
        # Summaries are made outside the conversation's own lock: a slow model must not hold up the talk.
        self._folding = threading.Lock()

    @property
    def usage(self) -> Usage:
        """What the model was asked for all summaries so far."""
        return Usage() if self._llm is None else self._llm.usage

    @property
    def in_memory(self) -> bool:
        """Whether messages and originals are kept in this process alone."""
        return super().in_memory and isinstance(self._archive, ListLog)

    def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Adds one message, several, or none; a conversation that is full then is summarised."""
        super().add(messages, allow_duplicates)
        self._fold_while_full()

    def summary_message(self) -> Message | None:
        """The summaries as a message to put in front; None while there are none."""
        with self._lock:
            return self._as_message(self.summaries) if self.summaries else None

    def originals(self, summary: int | None = None) -> list[Message]:
        """The messages that were summarised: all of them, or those behind one of `summaries`."""
        with self._lock:
            if summary is None:
                return self._archive.read(0, len(self._archive))
            position = range(len(self._spans))[summary]
            start = sum(self._spans[:position])
            return self._archive.read(start, start + self._spans[position])

    def clear(self) -> None:
        """Removes all messages, summaries and originals."""
        with self._lock:
            super().clear()
            self._archive.replace([])
            self.summaries, self._spans = [], []

    def state_dict(self) -> dict[str, JSON]:
        """Everything that `load_state_dict` needs: messages, summaries and originals."""
        with self._lock:
            originals: list[JSON] = [message.to_dict() for message in self.originals()]
            return packed(self.get_messages(), summaries=[*self.summaries], spans=[*self._spans], originals=originals)

    def load_state_dict(self, state_dict: Mapping[str, object], strict: bool = True) -> None:
        """Replaces what is here by a saved state, also by a plain conversation's; on an error nothing changes."""
        state = checked(state_dict, ("messages", "summaries", "spans", "originals"), strict=strict)
        if "messages" not in state:
            return
        messages, originals = unpacked(state["messages"]), unpacked(state.get("originals", []), "originals")
        summaries, spans = summaries_of(state, len(originals))
        with self._lock:
            self._log.replace(messages)
            self._archive.replace(originals)
            self.summaries, self._spans = summaries, spans
        self._fold_while_full()

    def _window(self, max_tokens: int) -> list[Message]:
        summary = self._summary_within(max_tokens // _SUMMARY_SHARE, self._count)
        try:
            return newest_that_fit(self.messages, max_tokens, self._count, after_system=summary)
        except InvalidInput:
            if not summary:
                raise
        return super()._window(max_tokens)  # the newest turn matters more than what came before it

    def _append(self, messages: Sequence[Message], *, once: bool) -> None:
        summarized = self._archive.known(message.message_id for message in messages) if once else set()
        fresh = [message for message in messages if message.message_id not in summarized]
        self._log.append(fresh, keep=None, once=once)

    def _fold_while_full(self) -> None:
        with self._folding:
            while self._fold_once():
                pass

    def _fold_once(self) -> bool:
        """Moves the oldest half into a summary; False when there is nothing to move."""
        with self._lock:
            start, stop = self._oldest_half()
            oldest = self._log.read(start, stop)
        if not oldest:
            return False
        summary = self._summarized(oldest)
        with self._lock:
            if self._log.read(start, stop) != oldest:
                return True  # somebody deleted or cleared meanwhile: look again
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
        return start, max(start, whole_turns(self.messages, max(limit // 2, start + 1), start))

    def _summarized(self, messages: list[Message]) -> str:
        if self._llm is not None:
            try:
                summary = rewrite(messages, self._llm, self._count, ratio=self._ratio)
            except (Unavailable, ExtractionFailed) as error:
                self.degraded = f"{type(error).__name__}: {error}"
            else:
                self.degraded = None
                return summary
        return summarize(messages, ratio=self._ratio)

    def _merge_summaries(self) -> None:
        half = MAX_SUMMARIES // 2
        oldest = self.summaries[:half]
        if len(self.summaries) <= MAX_SUMMARIES:
            return
        merged = self._condensed([line for summary in oldest for line in summary.splitlines()])
        with self._lock:
            if self.summaries[:half] == oldest:  # else somebody cleared or loaded meanwhile
                self.summaries[:half] = [merged]
                self._spans[:half] = [sum(self._spans[:half])]

    def _condensed(self, lines: list[str]) -> str:
        if self._llm is not None:
            try:
                return rewrite_lines(lines, self._llm, self._count, ratio=0.5)
            except (Unavailable, ExtractionFailed) as error:
                self.degraded = f"{type(error).__name__}: {error}"
        return condense(lines, budget=max(MIN_CHARACTERS, sum(map(len, lines)) // 2))

    def _summary_within(self, budget: int, count: TokenCounter) -> list[Message]:
        """The summaries as one message, cut down to their best lines where they do not fit; none where none does."""
        lines = [line for summary in self.summaries for line in summary.splitlines()]
        room = sum(map(len, lines))
        while lines:
            message = self._as_message(lines)
            needed = message_tokens(message, count)
            if needed <= budget:
                return [message]
            room = min(room * budget // needed, room - 1)
            lines = condense(lines, budget=room).splitlines()
        return []

    def _as_message(self, lines: Sequence[str]) -> Message:
        # A user's turn, not the system's: what was said once must not come back as an instruction.
        newest = self._archive.read(len(self._archive) - 1, len(self._archive))
        return Message(
            "user",
            "Summary of the conversation before this point, as a record:\n" + "\n".join(lines),
            message_id=f"summary-{len(self._archive)}",
            timestamp=newest[0].timestamp if newest else None,
            metadata={"summary": True},
        )

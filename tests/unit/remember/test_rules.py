from __future__ import annotations

from memoranda.messages.message import Message
from memoranda.remember.base import Candidate
from memoranda.remember.extraction import extract, only_candidates
from memoranda.types import MemoryType
from tests.unit.remember.utterances import WEDNESDAY, one, said


def test_a_candidate_knows_its_message_speaker_and_time() -> None:
    found = one("Last Friday I saw Hamlet with my sister Anna.")
    assert isinstance(found, Candidate)
    assert (found.utterance.speaker, found.utterance.said_at, found.type) == ("Ana", WEDNESDAY, MemoryType.EPISODIC)
    assert [event.text for event in found.events] == ["Last Friday"]
    assert {entity.text for entity in found.entities} == {"Hamlet", "Anna"}


def test_spans_count_in_the_message_even_after_a_piece_was_cut_out() -> None:
    text = "The password is k7#pq2. My name is Ana Silva and I met Bo in Porto last Friday."
    (found,) = only_candidates(extract([said(text)]))
    spans = [*(each.span for each in found.entities), *(each.span for each in found.events)]
    assert [text[slice(*span)] for span in spans] == ["Ana Silva", "Bo", "Porto", "last Friday"]
    assert text[slice(*found.claims[0].span)] == "My name is Ana Silva"


def test_every_message_has_an_answer_in_order() -> None:
    texts = ["Hi!", "I live in Berlin.", "", "My dog is called Rex."]
    found = extract([said(text, key=str(n)) for n, text in enumerate(texts)])
    assert [each.message_id for each in found] == ["0", "1", "2", "3"]


def test_a_message_of_parts_is_read_as_text() -> None:
    message = Message("user", [{"type": "text", "text": "I live in"}, {"type": "text", "text": "Berlin with Bo."}])
    (found,) = only_candidates(extract([message]))
    assert found.content == "I live in\nBerlin with Bo."


def test_odd_input_is_judged_and_never_fails() -> None:
    odd = ["🎉🎉🎉", "\u202eabc def ghi", "a" * 50_000, "1\n2\n3", "<b>I live in Berlin</b>", "?", "I " * 3_000]
    assert len(extract([said(text) for text in odd])) >= len(odd)

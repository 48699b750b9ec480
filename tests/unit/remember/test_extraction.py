from __future__ import annotations

import json

import pytest

from memoranda.messages.message import Message
from memoranda.remember.duplicates import KnownTextIndex
from memoranda.remember.extraction import extract, only_candidates, rate_importance, to_notes
from memoranda.storage.claims import claims_in
from memoranda.types import MemoryType
from tests.unit.remember.samples import WEDNESDAY, extract_candidate, message


def importance(text: str, *, role: str = "user", name: str | None = "Ana") -> float:
    return extract_candidate(text, role=role, name=name).importance


def test_candidate_has_speaker_time_events_and_entities() -> None:
    found = extract_candidate("Last Friday I saw Hamlet with my sister Anna.")
    assert (found.utterance.speaker, found.utterance.said_at, found.type) == ("Ana", WEDNESDAY, MemoryType.EPISODIC)
    assert [event.text for event in found.events] == ["Last Friday"]
    assert {entity.text for entity in found.entities} == {"Hamlet", "Anna"}


def test_spans_are_offsets_in_the_message_after_a_part_was_rejected() -> None:
    text = "The password is k7#pq2. My name is Ana Silva and I met Bo in Porto last Friday."
    (found,) = only_candidates(extract([message(text)]))
    spans = [*(each.span for each in found.entities), *(each.span for each in found.events)]
    assert [text[slice(*span)] for span in spans] == ["Ana Silva", "Bo", "Porto", "last Friday"]
    assert text[slice(*found.claims[0].span)] == "My name is Ana Silva"


def test_extract_returns_a_result_for_every_message_in_order() -> None:
    texts = ["Hi!", "I live in Berlin.", "", "My dog is called Rex."]
    found = extract([message(text, key=str(n)) for n, text in enumerate(texts)])
    assert [each.message_id for each in found] == ["0", "1", "2", "3"]


def test_message_with_parts_is_extracted_as_one_text() -> None:
    parts = Message("user", [{"type": "text", "text": "I live in"}, {"type": "text", "text": "Berlin with Bo."}])
    (found,) = only_candidates(extract([parts]))
    assert found.content == "I live in\nBerlin with Bo."


def test_unusual_text_does_not_fail() -> None:
    texts = ["🎉🎉🎉", "\u202eabc def ghi", "a" * 50_000, "1\n2\n3", "<b>I live in Berlin</b>", "?", "I " * 3_000]
    assert len(extract([message(text) for text in texts])) >= len(texts)


def test_notes_are_unchanged_by_json() -> None:
    found = extract_candidate("I moved to Lisbon last month, and I used to live in Rome with Bo until 2019.")
    stored = json.loads(json.dumps(to_notes(found)))
    assert claims_in(stored) == found.claims != ()
    assert [event["text"] for event in stored["events"]] == [event.text for event in found.events] != []
    assert [entity["text"] for entity in stored["entities"]] == [entity.text for entity in found.entities] != []
    assert tuple(stored["evidence"]) == found.span
    assert stored["features"]["plan"] > 0.3


def test_notes_leave_out_what_is_empty() -> None:
    found = extract_candidate("The soup was thin but warm.")
    assert set(to_notes(found)) == {"evidence", "features"}
    assert claims_in({}) == ()
    assert claims_in({"claims": "damaged"}) == ()


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("What do you think of that painting?", 0.0, 0.2),
        ("The weather was quite nice on the way.", 0.0, 0.2),
        ("We saw a play at the Globe last Friday.", 0.1, 0.4),
        ("I moved to Lisbon in May.", 0.45, 0.85),
        ("I'll send the contract by Friday.", 0.45, 0.8),
        ("I'm allergic to penicillin.", 0.85, 1.0),
        ("Please remember: the gate code changes on Monday.", 0.85, 1.0),
    ],
)
def test_importance_follows_the_documented_scale(text: str, least: float, most: float) -> None:
    assert least <= importance(text) <= most


def test_importance_grows_with_the_number_of_features() -> None:
    plain = importance("I moved to a city.")
    named = importance("I moved to Lisbon.")
    dated = importance("I moved to Lisbon in May 2023.")
    assert plain < named < dated < 1.0


def test_text_of_an_assistant_is_less_important() -> None:
    text = "The museum in Porto opens at 9 am on Mondays."
    assert importance(text, role="assistant", name=None) < importance(text)


def test_known_text_is_less_important_unless_asked_to_remember() -> None:
    known = KnownTextIndex()
    first = "My cousin plays chess in the old harbour cafe."
    again = "Chess in the old harbour cafe, my cousin plays there on rainy evenings."
    new, repeated = (each.importance for each in only_candidates(extract([message(first), message(again)], known)))
    assert repeated < importance(again)
    assert new == importance(first)
    request = f"Please remember this: {again}"
    assert only_candidates(extract([message(request)], known))[0].importance == importance(request)


def test_importance_of_the_caller_replaces_the_score() -> None:
    (found,) = only_candidates(extract([message("I'm allergic to penicillin.")], importance=0.1))
    assert found.importance == 0.1
    assert "safety" in {feature.name for feature in found.features}


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to penicillin.",
        "We saw a play at the Globe last Friday.",
        "Please remember: the gate code changes on Monday.",
        "The budget is $40,000, ask bob@example.org.",
        "What do you think of that painting?",
    ],
)
def test_rate_importance_equals_the_score_of_the_same_message(text: str) -> None:
    found = extract_candidate(text, name=None)
    assert rate_importance(text) == (found.importance, found.features)


def test_rate_importance_does_not_apply_the_gate() -> None:
    assert rate_importance("ok")[0] == 0.05

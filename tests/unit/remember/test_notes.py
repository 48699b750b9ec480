from __future__ import annotations

import json

from memoranda.remember.base import Candidate
from memoranda.remember.extraction import to_notes
from memoranda.storage.claims import claims_in
from tests.unit.remember.utterances import one


def test_what_was_read_survives_json() -> None:
    found = one("I moved to Lisbon last month, and I used to live in Rome with Bo until 2019.")
    assert isinstance(found, Candidate)
    stored = json.loads(json.dumps(to_notes(found)))
    assert claims_in(stored) == found.claims != ()
    assert [event["text"] for event in stored["events"]] == [event.text for event in found.events] != []
    assert [entity["text"] for entity in stored["entities"]] == [entity.text for entity in found.entities] != []
    assert tuple(stored["evidence"]) == found.span
    assert stored["features"]["personal fact"] == 0.5


def test_nothing_read_is_nothing_stored() -> None:
    found = one("The soup was thin but warm.")
    assert isinstance(found, Candidate)
    assert set(to_notes(found)) == {"evidence", "features"}
    assert claims_in({}) == ()
    assert claims_in({"claims": "damaged"}) == ()

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from memoranda.storage import supersession
from memoranda.storage.claims import Claim, Operation
from memoranda.storage.supersession import Ending, MadeClaim, fold_value, names_value, relate, replay

MAY = datetime(2023, 5, 1, tzinfo=UTC)
JUNE = datetime(2023, 6, 1, tzinfo=UTC)
JULY = datetime(2023, 7, 1, tzinfo=UTC)
BEFORE = MAY - timedelta(days=90)


def claim(
    value: str,
    at: datetime = MAY,
    operation: Operation = "state",
    *,
    holds: bool = True,
    single: bool = True,
    trust: str = "user",
    valid_to: datetime | None = None,
    replaces: str | None = None,
) -> Claim:
    return Claim("Ana", "city", value, (0, 1), at, at, valid_to, holds, single, trust, operation, replaces)


BERLIN = claim("Berlin")


class TestRelate:
    @pytest.mark.parametrize("operation", ["update", "correct"])
    def test_explicit_change_ends_older_value(self, operation: Operation) -> None:
        assert relate(BERLIN, claim("Lisbon", JUNE, operation)) == "end"

    def test_plain_statement_with_another_value_follows(self) -> None:
        assert relate(BERLIN, claim("Lisbon", JUNE)) == "follow"

    def test_same_value_again_is_a_repeat(self) -> None:
        assert relate(BERLIN, claim("the  berlin.", JUNE, "update")) == "repeat"

    def test_claim_about_the_past_bears_on_nothing(self) -> None:
        assert relate(BERLIN, claim("Rome", JUNE, valid_to=JUNE)) == "none"
        assert relate(claim("Rome", BEFORE, valid_to=MAY), claim("Lisbon", JUNE, "update")) == "none"

    def test_value_that_holds_until_a_later_day_counts(self) -> None:
        assert relate(BERLIN, claim("Rome", JUNE, "update", valid_to=JULY)) == "end"

    @pytest.mark.parametrize("trust", ["assistant", "document", "tool", "model", "web page"])
    def test_lower_trust_contradicts_the_user(self, trust: str) -> None:
        assert relate(BERLIN, claim("Lisbon", JUNE, "update", trust=trust)) == "contradict"
        assert relate(BERLIN, claim("Lisbon", JUNE, trust=trust)) == "contradict"

    def test_user_ends_what_lower_trust_said(self) -> None:
        assert relate(claim("Berlin", trust="assistant"), claim("Lisbon", JUNE, "update")) == "end"

    def test_values_of_multi_valued_attribute_stay(self) -> None:
        assert relate(claim("tea", single=False), claim("snow", JUNE, "update", single=False)) == "none"

    def test_denial_ends_only_the_denied_value(self) -> None:
        denied = claim("rain", JUNE, "end", holds=False, single=False)
        assert relate(claim("rain", single=False), denied) == "end"
        assert relate(claim("tea", single=False), denied) == "none"

    def test_plain_denial_follows(self) -> None:
        assert relate(claim("rain", single=False), claim("rain", JUNE, holds=False, single=False)) == "follow"

    def test_denial_of_another_value_bears_on_nothing(self) -> None:
        assert relate(BERLIN, claim("Rome", JUNE, "end", holds=False)) == "none"

    def test_denial_without_a_value_ends_the_only_one(self) -> None:
        assert relate(BERLIN, claim("", JUNE, "end", holds=False)) == "end"

    def test_change_that_names_another_old_value_bears_on_nothing(self) -> None:
        assert relate(BERLIN, claim("Lisbon", JUNE, "update", replaces="Paris")) == "none"
        assert relate(BERLIN, claim("Lisbon", JUNE, "update", replaces="Berlin")) == "end"

    def test_named_old_value_of_multi_valued_attribute_ends(self) -> None:
        tidal = claim("Tidal", JUNE, "update", single=False, replaces="Spotify")
        assert relate(claim("Spotify", single=False), tidal) == "end"
        assert relate(claim("Deezer", single=False), tidal) == "none"

    def test_coarser_value_leaves_finer_one(self) -> None:
        finer = claim("Berlin, Germany")
        assert relate(finer, claim("Germany", JUNE)) == "none"
        assert relate(finer, claim("Germany", JUNE, "update")) == "none"

    def test_finer_value_follows_coarser_one_when_it_is_a_change(self) -> None:
        assert relate(claim("Germany"), claim("Berlin, Germany", JUNE)) == "none"
        assert relate(claim("Germany"), claim("Berlin, Germany", JUNE, "update")) == "follow"


@pytest.mark.parametrize(
    ("value", "named", "expected"),
    [
        ("a red Tesla", "the Tesla", True),
        ("Tesla", "my red Tesla", True),
        ("car wash", "car", False),
        ("Berlin", "Paris", False),
        ("Berlin", "", False),
    ],
)
def test_words_name_a_value_by_its_last_word(value: str, named: str, expected: bool) -> None:
    assert names_value(value, named) is expected


def test_folded_value_has_no_case_article_or_final_stop() -> None:
    assert fold_value("The  Hague.") == fold_value("hague") == "hague"
    assert fold_value("my") == "my"


class TestReplay:
    def test_each_claim_is_ended_by_the_next_change(self) -> None:
        chain = [
            MadeClaim(1, BERLIN),
            MadeClaim(2, claim("Lisbon", JUNE, "update")),
            MadeClaim(3, claim("Rome", JULY, "update")),
        ]
        assert replay(chain).endings == [Ending(JUNE, 2), Ending(JULY, 3), None]
        assert replay([chain[0], chain[2]]).endings == [Ending(JULY, 3), None]
        assert replay(chain[:2]).endings == [Ending(JUNE, 2), None]

    def test_plain_statement_ends_nothing(self) -> None:
        done = replay([MadeClaim(1, BERLIN), MadeClaim(2, claim("Lisbon", JUNE)), MadeClaim(3, claim("Rome", JULY))])
        assert done.endings == [None, None, None]
        assert done.follows == {(2, 1), (3, 1), (3, 2)}

    def test_order_of_storing_makes_no_difference(self) -> None:
        said = [BERLIN, claim("Lisbon", JUNE, "update"), claim("Rome", JULY)]
        for order in permutations(range(3)):
            made = [MadeClaim(n, said[n]) for n in order]
            done = replay(made)
            assert dict(zip(order, done.endings, strict=True)) == {0: Ending(JUNE, 1), 1: None, 2: None}
            assert done.follows == {(2, 1)}

    def test_claim_said_before_a_change_and_stored_after_it_is_ended(self) -> None:
        late = [MadeClaim(1, claim("Lisbon", JUNE, "update")), MadeClaim(2, BERLIN)]
        assert replay(late).endings == [None, Ending(JUNE, 1)]

    def test_change_ends_what_was_said_before_it_from_when_it_happened(self) -> None:
        moved = Claim("Ana", "city", "Lisbon", (0, 1), JULY, JUNE, single=True, operation="update")
        assert replay([MadeClaim(1, BERLIN), MadeClaim(2, moved)]).endings == [Ending(JUNE, 2), None]

    def test_conflict_names_both_memories(self) -> None:
        done = replay([MadeClaim(1, BERLIN), MadeClaim(2, claim("Lisbon", JUNE, "update", trust="tool"))])
        assert (done.endings, done.follows, done.conflicts) == ([None, None], set(), {(2, 1)})

    def test_memory_never_ends_or_follows_its_own_claims(self) -> None:
        done = replay([MadeClaim(1, BERLIN), MadeClaim(1, claim("Lisbon", JUNE, "update"))])
        assert (done.endings, done.follows) == ([None, None], set())

    def test_denial_ends_only_the_denied_value(self) -> None:
        likes = [MadeClaim(n, claim(str(n), single=False)) for n in range(50)]
        denied = MadeClaim(99, claim("7", JUNE, "end", single=False, holds=False))
        ends = replay([*likes, denied]).endings
        assert [n for n, end in enumerate(ends) if end is not None] == [7]

    def test_change_that_names_the_old_value_ends_it_among_several(self) -> None:
        uses = [MadeClaim(1, claim("Spotify", single=False)), MadeClaim(2, claim("Deezer", single=False))]
        switch = MadeClaim(3, claim("Tidal", JUNE, "update", single=False, replaces="Spotify"))
        assert replay([*uses, switch]).endings == [Ending(JUNE, 3), None, None]

    def test_ended_value_that_is_said_again_follows_the_change(self) -> None:
        again = [
            MadeClaim(1, BERLIN),
            MadeClaim(2, claim("Lisbon", JUNE, "update")),
            MadeClaim(3, claim("Berlin", JULY)),
        ]
        done = replay(again)
        assert (done.endings, done.follows) == ([Ending(JUNE, 2), None, None], {(3, 2)})


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Kreuzberg", "Berlin"),
        ("Berlin", "Kreuzberg"),
        ("Brooklyn", "New York"),
        ("Texas", "Austin"),
        ("Edinburgh", "the United Kingdom"),
        ("Leeds", "12 Elm Street"),
    ],
)
def test_place_of_another_size_follows(older: str, newer: str) -> None:
    assert relate(claim(older), claim(newer, JUNE, "update")) == "follow"


def test_place_that_is_named_as_the_old_one_ends_whatever_its_size() -> None:
    assert relate(claim("Kreuzberg"), claim("Hamburg", JUNE, "update", replaces="Kreuzberg")) == "end"


@pytest.mark.parametrize(
    ("older", "newer", "relation"),
    [
        ("Golf", "dirty", "follow"),
        ("Golf", "Tesla", "end"),
        ("MacBook", "MacBook Air", "follow"),
        ("900 euros", "980 dollars", "follow"),
        ("900 euros", "€950", "end"),
        ("Siemens", "Simens", "follow"),
        ("15:00", "3 pm", "follow"),
        ("a@x.example", "b@x.example", "end"),
    ],
)
def test_value_of_another_kind_follows(older: str, newer: str, relation: str) -> None:
    made = [replace(each, attribute="car") for each in (claim(older), claim(newer, JUNE, "update"))]
    assert relate(*made) == relation


class TestVoices:
    def test_another_person_contradicts_what_somebody_said(self) -> None:
        made = [MadeClaim(1, BERLIN, "ana"), MadeClaim(2, claim("Berlin", JUNE, "end", holds=False), "bob")]
        done = replay(made)
        assert done.endings == [None, None]
        assert done.conflicts == {(2, 1)}

    def test_anybody_may_end_a_note_that_nobody_in_particular_said(self) -> None:
        note = MadeClaim(1, claim("Berlin", trust="assistant"))
        assert replay([note, MadeClaim(2, claim("Rome", JUNE, "update"), "ana")]).endings == [Ending(JUNE, 2), None]

    def test_nobody_takes_back_the_words_of_another(self) -> None:
        back = claim("Berlin", JUNE, "retract", holds=False)
        assert replay([MadeClaim(1, BERLIN, "ana"), MadeClaim(2, back, "bob")]).endings == [None, None]


def test_value_that_was_said_a_thousand_times_is_compared_with_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[MadeClaim] = []
    monkeypatch.setattr(supersession, "relate_made", lambda older, _: compared.append(older) or "none")
    made = [MadeClaim(n, claim("Oslo", MAY + timedelta(days=n), "update")) for n in range(1000)]
    assert replay(made).endings == [None] * 1000
    replay([*made, MadeClaim(1000, claim("Rome", MAY + timedelta(days=1000), "update"))])
    assert compared == made

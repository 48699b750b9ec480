from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memoranda.storage.claims import Claim
from memoranda.storage.supersession import Ending, KnownClaim, MadeClaim, decide, replay

MAY = datetime(2023, 5, 1, tzinfo=UTC)
JUNE = datetime(2023, 6, 1, tzinfo=UTC)
JULY = datetime(2023, 7, 1, tzinfo=UTC)


def claim(
    value: str,
    at: datetime = MAY,
    *,
    attribute: str = "city",
    subject: str = "Ana",
    holds: bool = True,
    single: bool = True,
    trust: str = "user",
    valid_to: datetime | None = None,
) -> Claim:
    return Claim(subject, attribute, value, (0, 1), at, at, valid_to, holds, single, trust)


BERLIN = KnownClaim(1, claim("Berlin"))


def test_newer_value_supersedes_older_one() -> None:
    decision = decide(claim("Lisbon", JUNE), [BERLIN])
    assert (decision.action, decision.ends, decision.ends_at) == ("supersede", (1,), JUNE)


def test_same_value_again_is_a_repeat() -> None:
    decision = decide(claim("the  berlin", JUNE), [BERLIN])
    assert (decision.action, decision.of) == ("repeat", 1)


def test_older_value_learned_later_is_past() -> None:
    decision = decide(claim("Rome", MAY - timedelta(days=90)), [BERLIN])
    assert (decision.action, decision.valid_to, decision.of) == ("past", MAY, 1)


def test_claim_about_the_past_ends_nothing() -> None:
    assert decide(claim("Rome", JUNE, valid_to=JUNE), [BERLIN]).action == "add"


def test_claim_with_its_own_end_keeps_it() -> None:
    before = MAY - timedelta(days=90)
    assert decide(claim("Rome", before, valid_to=before + timedelta(days=9)), [BERLIN]).action == "add"


def test_source_of_lower_trust_never_supersedes_the_user() -> None:
    decision = decide(claim("Lisbon", JUNE, trust="assistant"), [BERLIN])
    assert (decision.action, decision.of, decision.ends) == ("conflict", 1, ())
    assert decide(claim("Lisbon", JUNE, trust="web page"), [BERLIN]).action == "conflict"


def test_user_supersedes_source_of_lower_trust() -> None:
    guess = KnownClaim(4, claim("Berlin", trust="assistant"))
    assert decide(claim("Lisbon", JUNE), [guess]).ends == (4,)


def test_values_of_multi_valued_attribute_hold_until_denied() -> None:
    likes = [KnownClaim(n, claim(value, attribute="likes", single=False)) for n, value in enumerate(("tea", "rain"))]
    assert decide(claim("snow", JUNE, attribute="likes", single=False), likes).action == "add"
    denied = decide(claim("rain", JUNE, attribute="likes", single=False, holds=False), likes)
    assert (denied.action, denied.ends) == ("supersede", (1,))


def test_denied_employer_ends_that_job_only() -> None:
    acme = KnownClaim(1, claim("Acme", attribute="employer"))
    assert decide(claim("Acme", JUNE, attribute="employer", holds=False), [acme]).ends == (1,)
    assert decide(claim("Initech", JUNE, attribute="employer", holds=False), [acme]).action == "add"


def test_other_subjects_and_ended_claims_are_ignored() -> None:
    ended = KnownClaim(2, claim("Rome", MAY, valid_to=MAY + timedelta(days=1)))
    sister = KnownClaim(3, claim("Madrid", subject="Ana's sister"))
    assert decide(claim("Lisbon", JUNE), [ended, sister]).action == "add"


class TestReplay:
    def test_each_claim_is_ended_by_the_next(self) -> None:
        chain = [MadeClaim(1, claim("Berlin")), MadeClaim(2, claim("Lisbon", JUNE)), MadeClaim(3, claim("Rome", JULY))]
        assert replay(chain).endings == [Ending(JUNE, 2), Ending(JULY, 3), None]
        assert replay([chain[0], chain[2]]).endings == [Ending(JULY, 3), None]
        assert replay(chain[:2]).endings == [Ending(JUNE, 2), None]

    def test_older_claim_made_later_is_past(self) -> None:
        late = [MadeClaim(1, claim("Lisbon", JUNE)), MadeClaim(2, claim("Berlin"))]
        assert replay(late).endings == [None, Ending(JUNE, 1)]

    def test_conflict_names_both_memories(self) -> None:
        done = replay([MadeClaim(1, claim("Berlin")), MadeClaim(2, claim("Lisbon", JUNE, trust="tool"))])
        assert (done.endings, done.conflicts) == ([None, None], {(2, 1)})

    def test_memory_never_ends_its_own_claims(self) -> None:
        assert replay([MadeClaim(1, claim("Berlin")), MadeClaim(1, claim("Lisbon", JUNE))]).endings == [None, None]

    def test_denial_ends_only_the_denied_value(self) -> None:
        likes = [MadeClaim(n, claim(str(n), attribute="likes", single=False)) for n in range(50)]
        denied = MadeClaim(99, claim("7", JUNE, attribute="likes", single=False, holds=False))
        ends = replay([*likes, denied]).endings
        assert [n for n, end in enumerate(ends) if end is not None] == [7]

from __future__ import annotations

import pytest

from memoranda.remember.importance.pleasantries import is_pleasantry


@pytest.mark.parametrize("text", ["I am happy.", "I'm excited.", "I was happy.", "We are lucky.", "I'm grateful."])
def test_how_somebody_is_is_no_pleasantry(text: str) -> None:
    assert not is_pleasantry(text)


@pytest.mark.parametrize("text", ["I'm so happy for you!", "I'm sorry.", "Glad to hear that.", "So happy!", "Thanks!"])
def test_a_whole_formula_is_a_pleasantry(text: str) -> None:
    assert is_pleasantry(text)


def test_formulas_again_and_again_are_read_in_a_moment() -> None:
    # 2**70 ways to cut it; a search through them would not end.
    assert is_pleasantry("you " * 70)
    assert not is_pleasantry("you " * 70 + "i have")

"""Which texts of a case are compared, and what is said when there are none."""

import pytest

from closecall.metrics.sides import (
    context_side,
    input_side,
    not_blank,
    reference_side,
    response_side,
)
from closecall.records import Case, Role, State, Unmeasured


def test_references_keep_the_places_the_user_gave_them():
    side = reference_side(Case(id="1", references=("", "a", " ", "b")))
    assert (side.texts, side.written) == (("a", "b"), (1, 3))


def test_texts_are_handed_on_as_they_came():
    case = Case(id="1", input=" q ", response="r\r\n", references=(" a ",), context=("c\t", "d "))
    assert input_side(case).texts == (" q ",)
    assert response_side(case).texts == ("r\r\n",)
    assert reference_side(case).texts == (" a ",)
    assert context_side(case, Role.DOCUMENT).texts == ("c\t\nd ",)


def test_each_side_knows_what_it_is_to_the_model():
    case = Case(id="1", input="q", response="r", references=("a",), context=("c",))
    assert input_side(case).keys[0].role is Role.QUERY
    assert response_side(case).keys[0].role is Role.TEXT
    assert reference_side(case).keys[0].role is Role.TEXT
    assert context_side(case, Role.DOCUMENT).keys[0].role is Role.DOCUMENT


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u3000", "\u2028"])
def test_white_space_of_any_kind_is_blank(blank):
    case = Case(id="1", input=blank, response=blank, references=(blank,), context=(blank,))
    for side in (
        input_side(case),
        response_side(case),
        reference_side(case),
        context_side(case, Role.TEXT),
    ):
        assert isinstance(side, Unmeasured)
        assert side.state is State.NOT_MEASURED
        assert side.reason.endswith(" is blank")
    assert not_blank([blank, "x"]) == ((1,), ("x",))

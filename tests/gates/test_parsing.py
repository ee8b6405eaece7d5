"""Rules as text: what they mean, what is refused and where the caret points, and back again."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from closecall.errors import UsageError
from closecall.gates.parsing import parse_gate
from closecall.gates.tokens import MAX_RULE, RuleError
from closecall.runs.gate_rule import AGGREGATES, Filter, Gate, Test


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("mean(llm_relevance) >= 3.5", Gate(aggregate="mean", metric="llm_relevance", op=">=", limit=3.5)),
        ("count(llm_relevance < 3) <= 1",
         Gate(aggregate="count", metric="llm_relevance", test=Test("<", 3.0), op="<=", limit=1.0)),
        ("pass_rate(m)>=.9", Gate(aggregate="pass_rate", metric="m", op=">=", limit=0.9)),
        ("pass_rate(m) >= 90%", Gate(aggregate="pass_rate", metric="m", op=">=", limit=0.9)),
        ("fail_rate(m) < 7%", Gate(aggregate="fail_rate", metric="m", op="<", limit=0.07)),
        ("all(expected_fact)", Gate(aggregate="all", metric="expected_fact")),
        ("none(m < -0.5)", Gate(aggregate="none", metric="m", test=Test("<", -0.5))),
        ("false_accept_upper(answer_alignment) <= 0.05",
         Gate(aggregate="false_accept_upper", metric="answer_alignment", op="<=", limit=0.05)),
        ("measured(m) == asked", Gate(aggregate="measured", metric="m", op="==")),
        ("measured(m) >= 20", Gate(aggregate="measured", metric="m", op=">=", limit=20.0)),
        ("count(m>=3)==5", Gate(aggregate="count", metric="m", test=Test(">=", 3.0), op="==", limit=5.0)),
        ("surely p05(m) > 1e-3", Gate(aggregate="p05", metric="m", op=">", limit=0.001, surely=True)),
        ("mean(embedding_similarity:method=dot) >= 2",
         Gate(aggregate="mean", metric="embedding_similarity:method=dot", op=">=", limit=2.0)),
        ("share(m:a=b.c:d=1<=3) <= 0.5",
         Gate(aggregate="share", metric="m:a=b.c:d=1", test=Test("<=", 3.0), op="<=", limit=0.5)),
        ('mean("a metric (of mine)") >= 1',
         Gate(aggregate="mean", metric="a metric (of mine)", op=">=", limit=1.0)),
        ("mean(m where tag=refunds and label = reject and group != 'q 1') >= 1",
         Gate(aggregate="mean", metric="m", op=">=", limit=1.0,
              where=(Filter("tag", "refunds"), Filter("label", "reject"),
                     Filter("group", "q 1", equal=False)))),
        ('all(m where slice.product.line = "y")',
         Gate(aggregate="all", metric="m", where=(Filter("slice.product.line", "y"),))),
    ],
)  # fmt: skip
def test_a_rule_means_what_it_says(rule, expected):
    found = parse_gate(rule)
    assert found == expected
    assert parse_gate(found.rule) == expected


@pytest.mark.parametrize(
    ("rule", "words", "under"),
    [
        ("mean(m) == 3.5", "a score is never compared for equality", "=="),
        ("mean(m) = 3.5", "one of <=, >=, <, >", "= "),
        ("mean(m) != 3.5", "one of <=, >=, <, >", "!="),
        ("pass_rate(m) == 0.9", "never compared for equality", "=="),
        ("count(m == 3) <= 1", "never compared for equality", "=="),
        ("count(m < 3) != 1", "one of <=, >=, <, >, ==", "!="),
        ("count(m < 3) <= 1.5", "whole number", "1.5"),
        ("count(m) <= 1", "needs a comparison", ") <="),
        ("mean(m < 3) >= 1", "takes a metric alone", "< 3"),
        ("meen(m) >= 1", "did you mean mean?", "meen"),
        ("p00(m) >= 1", "p01 to p99", "p00"),
        ("pass_rate(m) >= 90", "did you mean 90%?", "90"),
        ("pass_rate(m) >= 0", "holds for every run", "0"),
        ("pass_rate(m) > 100%", "holds for no run", "100%"),
        ("count(m < 3) >= 0", "holds for every run", "0"),
        ("measured(m) >= asked", "measured(...) == asked is the rule", ">="),
        ("false_accept_upper(m) >= 0.1", "a bound from above", "false_accept_upper"),
        ("all(m) >= 1", "compared with nothing", ">="),
        ("surely all(m)", "these very cases", "surely"),
        ("surely count(m < 3) <= 1", "ask for a share", "surely"),
        ("surely min(m) >= 1", "no interval", "surely"),
        ("mean(m) >= 1e999", "too large", "1e999"),
        ("mean(m) >= 3..5", "no number", "3..5"),
        ("mean(m) >= three", "expected a number", "three"),
        ("mean(m) >= 3 and mean(n) >= 2", "ends before this", "and"),
        ("mean(m where colour = red) >= 1", "tag, label, group or slice.NAME", "colour"),
        ("mean(m where label = wrong) >= 1", "accept or reject", "wrong"),
        ("mean(m where tag < 3) >= 1", "expected = or !=", "<"),
        ("mean(m where tag = ) >= 1", "expected a text", ") >="),
        ("mean(where tag = x) >= 1", "expected a metric", "where"),
        ("mean('m) >= 1", "no closing '", "'m"),
        ("mean(m; import os) >= 1", "';' has no place", ";"),
        ("mean(m)\n>= 1", "one line of printable", "\n"),
    ],
)
def test_what_is_refused_and_where_the_caret_points(rule, words, under):
    with pytest.raises(RuleError) as caught:
        parse_gate(rule)
    assert words in str(caught.value)
    assert rule[caught.value.position :].startswith(under)
    shown, caret = str(caught.value).split("\n")[-2:]
    assert caret.strip() == "^"
    if under.isprintable():
        assert shown[caret.index("^") :].startswith(under)


@pytest.mark.parametrize("rule", ["", "   ", "mean", "mean(", "mean(m", "mean(m)", "mean(m) >="])
def test_a_rule_that_stops_short_says_so_at_its_end(rule):
    with pytest.raises(RuleError, match="ends here") as caught:
        parse_gate(rule)
    assert caught.value.position == len(rule)


def test_a_long_rule_is_refused_and_shown_in_part():
    with pytest.raises(RuleError, match=r"at most 1,000 characters") as caught:
        parse_gate("mean(" + "m" * 5000 + ") >= 1")
    assert caught.value.position == MAX_RULE
    assert len(str(caught.value)) < 400


def test_filters_are_limited():
    many = " and ".join(["tag = x"] * 11)
    with pytest.raises(RuleError, match="at most 10 filters"):
        parse_gate(f"mean(m where {many}) >= 1")


def test_what_is_no_text_is_refused():
    with pytest.raises(UsageError, match="a gate is a text"):
        parse_gate(3)


def test_mode_name_and_place_are_kept():
    found = parse_gate("mean(m) >= 1", surely=True, name="good", place="closecall.toml:3")
    assert (found.surely, found.name, found.place) == (True, "good", "closecall.toml:3")
    assert str(found) == "good: surely mean(m) >= 1"
    with pytest.raises(RuleError, match="no place here"):
        parse_gate("all(m)", surely=True)


PIECES = st.sampled_from(
    [*AGGREGATES, "p05", "p95", "surely", "where", "and", "asked", "m", "tag", "label", "slice.a",
     "(", ")", "<", "<=", "==", "=", "!=", ">=", "0.5", "3", "-1", "90%", '"a b"', "'", "\x1b", ":"]
)  # fmt: skip


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=14).map(" ".join)))
@example("mean(m) >= ١")
@example("mean(\ud800) >= 1")
def test_any_text_is_a_gate_or_an_error_that_points_into_it(text):
    wrong = None
    try:
        found = parse_gate(text)
    except RuleError as error:
        wrong = error
    if wrong is None:
        assert parse_gate(found.rule) == found
        return
    assert isinstance(wrong, UsageError)
    assert 0 <= wrong.position <= len(text)
    shown, caret = str(wrong).rsplit("\n", 2)[1:]
    assert set(caret) <= {" ", "^"}
    assert len(caret) <= len(shown) + 1
    assert not shown.strip() or shown.isprintable() or "\ufffd" in shown


NAMES = st.from_regex(r"[a-z_]{1,8}(:[a-z]{1,3}=[a-z0-9.]{1,4}){0,2}", fullmatch=True)
TEXTS = st.text(st.characters(categories=["L", "N", "P", "Zs"], exclude_characters='"'), min_size=1, max_size=12).filter(
    lambda text: text.isprintable() and text.strip()
)  # fmt: skip


@given(
    st.sampled_from(["mean", "median", "p90", "min"]),
    st.one_of(NAMES, TEXTS),
    st.sampled_from(["<=", ">=", "<", ">"]),
    st.floats(-1e6, 1e6),
    st.lists(st.builds(Filter, st.sampled_from(["tag", "group"]), TEXTS, st.booleans()), max_size=3),
)  # fmt: skip
def test_a_gate_is_spelt_so_that_it_reads_back_the_same(aggregate, metric, op, limit, where):
    gate = Gate(aggregate=aggregate, metric=metric, op=op, limit=limit, where=tuple(where))
    assert parse_gate(gate.rule) == gate

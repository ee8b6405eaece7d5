"""The documents of a run: ids, spellings, sums, entries, seals."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.errors import UsageError
from closecall.runs.aef import (
    FileDigest,
    manifest,
    result_line,
    run_document,
    score,
    seal_document,
)
from closecall.runs.tally import exact_sum, summary_entry
from closecall.runs.values import (
    MAX_REASON,
    case_id,
    clip_reason,
    encode_ref,
    later,
    now_utc,
    result_id,
    time_key,
)
from closecall.runs.wire import dump_line, parse

FINITE = st.floats(allow_nan=False, allow_infinity=False)
ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("run_id", "case", "path", "trial", "expected"),
    [
        ("r-1", "case-3", "booking", 0, "r_26ddaab93e84b418bd4ce6031ad25658"),
        ("r-1", "case-3", "booking", 12, "r_242544b3bd811705238310e91ec2049b"),
        ("run-7", "casé-été ラン", "مرحبا/—", None, "r_ee576850e7406d9aeca69c9f03afc2e3"),
    ],
)
def test_result_ids_are_those_of_the_format(run_id, case, path, trial, expected):
    assert result_id(run_id, case, path, trial) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "-"),
        ("-", "%2D"),
        ("a b%", "a%20b%25"),
        ("é", "%C3%A9"),
        ("a/b:c", "a/b:c"),
    ],
)
def test_free_text_becomes_a_reference(text, name):
    assert encode_ref("agent", text) == f"agent:{name}"


def test_a_long_reference_is_cut_and_kept_apart():
    one, two = encode_ref("agent", "x" * 300), encode_ref("agent", "x" * 301)
    assert len(one) == len(two) == len("agent:") + 256
    assert one != two
    assert one[len("agent:") :][239] == "~"


@given(ANY_TEXT)
def test_every_text_has_a_case_id_the_format_accepts(text):
    filed = case_id(text)
    assert 1 <= len(filed) <= 256
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000 for c in filed)
    assert case_id(filed) == filed


def test_case_ids_that_look_alike_stay_apart():
    names = ["a\tb", "a\\u0009b", "a\nb", "x" * 257, "x" * 258, "", "\ud800", "\\ud800"]
    assert len({case_id(name) for name in names}) == len(names)
    assert case_id("plain – ok") == "plain – ok"


@given(
    st.dictionaries(
        ANY_TEXT,
        st.recursive(st.none() | st.booleans() | FINITE | ANY_TEXT, st.lists, max_leaves=5),
        max_size=4,
    )
)
def test_a_dumped_line_is_one_strict_line(value):
    data = dump_line(value)
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    assert b"\r" not in data
    back = parse(data[:-1]) if len({aef_visible(k) for k in value}) == len(value) else None
    if back is not None and not any("\ud800" <= c <= "\udfff" for c in str_of(value)):
        assert back == value


def aef_visible(text):
    return text.encode("utf-8", "backslashreplace")


def str_of(value):
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "".join(value) + "".join(map(str_of, value.values()))
    return "".join(map(str_of, value)) if isinstance(value, list) else ""


def test_lone_surrogates_are_spelled_out_and_whole_emoji_are_not():
    data = dump_line({"a": "x\ud800y \U0001f600 \u2028"})
    assert parse(data[:-1]) == {"a": "x\\ud800y \U0001f600 \u2028"}


@pytest.mark.parametrize("value", [math.nan, math.inf, 2**53, object(), {1: 2}, {1, 2}])
def test_what_json_cannot_hold_is_refused_by_its_place(value):
    with pytest.raises(UsageError, match=r"^details\.inner\[0\]"):
        dump_line({"details": {"inner": [value]}})


def test_depth_is_bounded_both_ways():
    deep = {}
    for _ in range(63):
        deep = {"a": deep}
    assert parse(dump_line(deep)[:-1]) == deep
    with pytest.raises(UsageError, match="64 levels"):
        dump_line({"a": deep})
    for levels in (65, 100_000):
        with pytest.raises(ValueError, match="64 levels"):
            parse(b'{"a":' + b"[" * levels + b"]" * levels + b"}")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\xef\xbb\xbf{}", "byte-order"),
        (b'{"a":1,"a":2}', "twice"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":-Infinity}', "Infinity"),
        (b'{"a":1e999}', "too large"),
        (b'{"a":' + b"9" * 400 + b"}", "too large"),
        (b'{"a":' + b"9" * 5000 + b"}", "too large"),
        (b'{"a":"\\ud800"}', "surrogate"),
        (b'{"\\uDC00":1}', "surrogate"),
        (b'{"a":"\xff"}', "UTF-8"),
        (b"[1]", "object"),
        (b'{"a":', "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_unsound_json_is_refused(data, problem):
    with pytest.raises(ValueError, match=problem):
        parse(data)


@pytest.mark.parametrize("state", ["not_measured", "not_applicable", "skipped", "error"])
def test_an_absence_has_a_reason_and_no_scores(state):
    line = result_line("r", "c", "p", ("e", "1"), state, reason="no vector")
    assert line["reason"] == "no vector"
    assert "scores" not in line
    for wrong in ({"scores": []}, {"scores": [], "reason": "x"}, {}, {"reason": " \n"}):
        with pytest.raises(UsageError):
            result_line("r", "c", "p", ("e", "1"), state, **wrong)


def test_a_line_has_one_spelling_whatever_the_order_of_its_facts():
    rule = {"expr": "p >= 1", "threshold": 1.0, "source": "default"}
    turned = dict(reversed(rule.items()))
    one, two = (
        result_line("r", "c", "p", ("e", "1"), "passed", scores=[score("p", 1.5)], verdict_rule=r)
        for r in (rule, turned)
    )
    assert dump_line(one) == dump_line(two)


def test_members_the_format_does_not_know_are_refused():
    with pytest.raises(UsageError, match="verdictRule has no member 'cutoff'"):
        result_line("r", "c", "p", ("e", "1"), "passed", verdict_rule={"expr": "x", "cutoff": 1})
    with pytest.raises(UsageError, match="state must be one of"):
        result_line("r", "c", "p", ("e", "1"), "green")
    with pytest.raises(UsageError, match="control"):
        result_line("r", "c", "p\n", ("e", "1"), "passed")


def test_a_long_reason_is_cut_at_a_space_and_says_so():
    text = "the backend said no, " * 400
    cut = clip_reason(text)
    assert len(cut) <= MAX_REASON
    assert cut.endswith(f"[... cut, {len(text.strip())} characters in all]")
    assert cut.split(" [... cut")[0].split(" ")[-1] in {"the", "backend", "said", "no,"}
    assert len(clip_reason("e\u0301" * 4000)) <= MAX_REASON
    assert clip_reason(" a\r\nb\x1b[31m\x85 ") == "a\nb\\u001b[31m\\u0085"


@given(ANY_TEXT.filter(lambda t: t.strip() and any(c.isalnum() for c in t)), st.integers(100, 200))
def test_a_reason_never_exceeds_its_room(text, most):
    cut = clip_reason(text * 50, most)
    assert 1 <= len(cut) <= most


# -- sums ------------------------------------------------------------------------------------


@given(st.lists(FINITE, max_size=30))
def test_sums_are_exact_and_rounded_once(values):
    try:
        expected = float(sum(map(Fraction, values), Fraction(0)))
    except OverflowError:
        expected = None
    assert exact_sum(values) == expected


def test_sums_cancel_overflow_and_refuse_what_is_no_number():
    assert exact_sum([1e20, 1.0, -1e20]) == 1.0
    assert exact_sum([1e308, 1e308, -1e308]) == 1e308
    assert exact_sum([1.7e308, 1.7e308]) is None
    assert exact_sum([]) == 0.0
    for bad in (math.nan, math.inf):
        with pytest.raises(UsageError):
            exact_sum([1.0, bad])
    with pytest.raises(UsageError):
        exact_sum([math.inf, -math.inf])


def entry(kind, states, values=()):
    return summary_entry("m", kind, "p", states, values)


def test_a_mean_is_the_rounded_sum_divided_once():
    values = [0.3, 0.4, 0.6, 0.2, 0.6]
    assert entry("score", {"scored": 5}, values)["value"] == 2.1 / 5 == 0.42000000000000004


def test_absences_stay_out_of_n_and_the_inapplicable_out_of_both():
    states = {"passed": 1, "failed": 1, "not_measured": 1, "error": 1, "not_applicable": 5}
    scores = entry("score", states, [0.8, 0.4])
    assert (scores["N"], scores["n"], scores["notMeasured"]) == (4, 2, 2)
    rate = entry("rate", states | {"scored": 2, "warn": 1, "inconclusive": 1})
    assert (rate["N"], rate["n"], rate["sum"], rate["value"]) == (8, 4, 1.0, 0.25)


def test_nothing_measured_has_no_value_and_no_verdict():
    for made in (entry("score", {"error": 3}), entry("rate", {"scored": 3})):
        assert (made["value"], made["verdict"], made["n"]) == (None, "not_measured", 0)


def test_figures_beyond_a_double_are_left_out():
    beyond = entry("score", {"scored": 2}, [1.7e308, 1.7e308])
    assert "sum" not in beyond
    assert "sumSq" not in beyond
    assert (beyond["value"], beyond["verdict"], beyond["n"]) == (None, "not_measured", 2)
    squares = entry("score", {"scored": 2}, [1e200, 1.0])
    assert "sumSq" not in squares
    assert squares["value"] == 5e199


def test_counts_add():
    assert entry("count", {"scored": 2}, [3.0, 4.0])["value"] == 7.0


def test_an_entry_refuses_counts_that_cannot_be():
    for wrong in (
        ("score", {"error": 2}, [1.0]),
        ("rate", {"passed": 1}, [1.0]),
        ("mean", {}, []),
        ("score", {"green": 1}, []),
    ):
        with pytest.raises(UsageError):
            entry(*wrong)


# -- whole documents -------------------------------------------------------------------------


HEADER = {
    "runId": "r-1",
    "producer": {"name": "closecall", "version": "1"},
    "subject": {"ref": "agent:a", "kind": "agent"},
    "startedAt": "2026-01-01T00:00:00Z",
    "execution": {"targetMode": "replayed"},
}


@pytest.mark.parametrize(
    "change",
    [
        {"runId": "a b"},
        {"runId": "a\n"},
        {"startedAt": "2026-02-31T00:00:00Z"},
        {"startedAt": "2026-01-01T24:00:00Z"},
        {"startedAt": "2026-01-01T00:00:00+00:00"},
        {"subject": {"ref": "agent:a b", "kind": "agent"}},
        {"producer": {"name": "x", "version": "Latest"}},
        {"execution": {"targetMode": "recorded"}},
        {"execution": None},
        {"colour": "red"},
        {"suite": {"ref": "suite:a", "version": "1", "digest": "0" * 64}},
    ],
)
def test_a_header_the_format_forbids_is_refused(change):
    assert run_document(HEADER, "running")["status"] == "running"
    with pytest.raises(UsageError):
        run_document({**HEADER, **change}, "running")


def test_status_and_end_belong_together():
    for status, facts in (
        ("completed", {}),
        ("running", {"ended_at": "2026-01-01T00:00:00Z"}),
        ("aborted", {"ended_at": "2026-01-01T00:00:00Z"}),
        ("sealed", {}),
    ):
        with pytest.raises(UsageError):
            run_document(HEADER, status, **facts)


def test_a_clock_set_back_does_not_end_a_run_before_its_start():
    run = run_document(HEADER, "completed", ended_at="2025-12-31T23:59:59.999999Z")
    assert run["endedAt"] == HEADER["startedAt"]
    seal = seal_document(run, {}, "2025-01-01T00:00:00Z")
    assert seal["predicate"]["sealedAt"] == run["endedAt"]
    assert later("2026-01-01T00:00:00.1Z", "2026-01-01T00:00:00.09Z").endswith(".1Z")
    assert time_key(now_utc()) > time_key("2025-01-01T00:00:00Z")


def test_the_manifest_is_ordered_by_bytes():
    names = ["ext/a/b", "ext/a.b", "ext/a-b", "ext/Z"]
    text = manifest({name: FileDigest("0" * 64, 1) for name in names}).decode()
    assert [line.split("  ")[2] for line in text.splitlines()] == [
        "ext/Z", "ext/a-b", "ext/a.b", "ext/a/b",
    ]  # fmt: skip


def test_the_pass_rate_of_a_big_run_needs_no_list_of_python_numbers():
    rate = entry("rate", {"passed": 700_000, "failed": 300_000})
    assert (rate["n"], rate["value"]) == (1_000_000, 0.7)
    assert json.loads(dump_line(rate))["sum"] == 700_000

"""A stress test in words: the worst family first, counts beside every rate, nothing promised."""

import io

import msgspec
import pytest

from closecall.calibration.binomial import observed_rate
from closecall.report.stress import MADE_UP, blindness, ordered, write
from closecall.stress.edits import FAMILIES
from closecall.stress.results import Example, FamilyMade, FamilyResult, MetricStress, StressResult


def family(name, wrong, n, *, unsure=0, held=0, cutoff=True, **more):
    kind = FAMILIES[name]
    right = n - wrong - unsure
    accepted, rejected = (wrong, right) if kind == "wrong" else (right, wrong)
    counts = {"accepted": accepted, "rejected": rejected, "unsure": unsure, "scored": 0}
    if not cutoff:
        counts = {"accepted": 0, "rejected": 0, "unsure": 0, "scored": n}
    fields = {
        "family": name, "kind": kind, "measured": n, "groups": n, "held": held, "absent": {},
        "median": 81.25, "as_high": wrong, "example": None,
        "rate": observed_rate(wrong, n) if cutoff else None, **counts,
    }  # fmt: skip
    return FamilyResult(**{**fields, **more})


def metric(*families, cutoff=70.0):
    return MetricStress(
        metric="embed_answer_similarity",
        high=100.0,
        cutoff=cutoff,
        cutoff_source="default",
        cutoff_note="default cutoff, not calibrated",
        harmless_low=90.0,
        families=families,
    )


def result(*metrics, **more):
    fields = {
        "name": "cases.jsonl", "model": "small (local)", "base": "references", "seed": 3,
        "most": 200, "seen": 12, "sources": 9, "groups": 8, "left_out": {"no reference": 3},
        "made": tuple(
            FamilyMade(family=name, kind=kind, made=0 if name == "unit" else 5, tried=9)
            for name, kind in FAMILIES.items()
        ),
        "metrics": metrics, "answers": (), "cases": (),
    }  # fmt: skip
    return StressResult(**{**fields, **more})


def said(*metrics, width=100, **more):
    out = io.StringIO()
    write(result(*metrics, **more), out, width)
    return out.getvalue()


EXAMPLE = Example(
    id="q1~number~1", source="q1", before="30", after="60", response="In 60 days.", value=98.765
)
NUMBER = family("number", 18, 20, example=EXAMPLE)
CASE = family("case", 0, 20)


def test_the_report():
    text = said(metric(family("date", 1, 10), NUMBER, CASE, family("politeness", 4, 20)))
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines[0] == "cases.jsonl: 65 edited answers in 13 families, small (local)"
    assert lines[1] == (
        "Made from the references of 9 cases in 8 groups (seed 3, at most 200 of a family)."
    )
    assert lines[2:4] == ["Left out of 12 rows: 3 no reference.", "Nothing to edit for: unit."]
    assert "embed_answer_similarity, cutoff 70 (default cutoff, not calibrated)" in lines
    row = next(line for line in lines if line.startswith("number"))
    assert row.split() == (
        [
            "number",
            "18",
            "of",
            "20",
            "=",
            "90%",
            "68-99%",
            "18",
            "0",
            "81.2",
            "30",
            "->",
            "60:",
            "98.8,",
            "q1",
        ]
    )
    order = [line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in FAMILIES]
    assert order == ["number", "date", "politeness", "case"]
    flat = " ".join(text.split())
    assert "the score alone accepts at least half of: number (18 of 20)." in flat
    assert "It turns away right answers for their wording: politeness (4 of 20)." in flat
    assert flat.endswith(MADE_UP)


def test_families_stand_by_what_the_score_alone_accepts():
    held = family("negation", 0, 10, unsure=10, held=10)
    found = metric(family("date", 3, 10), held)
    assert [one.family for one in ordered(found, "wrong")] == ["negation", "date"]
    (line,) = blindness(found)
    assert line.endswith("negation (10 of 10); guards hold back 10 of these and let 0 through.")
    assert "guards look better here" in " ".join(said(found).split())
    assert "guards" not in said(metric(NUMBER))


def test_a_metric_that_sees_all_of_it():
    assert blindness(metric(family("number", 0, 20), CASE)) == [
        "At this cutoff the score alone accepts less than half of every family."
    ]
    assert blindness(metric(CASE)) == []


def test_without_a_cutoff_there_is_no_rate():
    found = metric(family("number", 15, 20, cutoff=False), family("case", 0, 20, cutoff=False),
                   cutoff=None)  # fmt: skip
    text = said(found)
    assert "embed_answer_similarity: no cutoff, so no verdicts" in text
    assert "let through   " not in text
    assert "turned away   " not in text
    assert "15 of 20 = 75%" in text
    flat = " ".join(text.split())
    assert "keeps nine in ten harmless edits would let through at least half of: number" in flat
    assert "--cutoff embed_answer_similarity=VALUE or --calibration FILE" in flat


def test_what_was_not_measured_is_said_with_its_reason():
    lost = [family(name, 0, 2, absent={"it broke": 3}) for name in ("date", "unit")]
    assert "Not measured, 6 answers: it broke" in said(metric(*lost))


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_text_of_a_case_reaches_the_terminal_as_an_order(width):
    evil = msgspec.structs.replace(EXAMPLE, before="\x1b[31mred", source="a\x1b]0;b", after="[b]")
    text = said(metric(family("number", 5, 5, example=evil)), width=width, name="a\x1b[2Jb")
    assert "\x1b" not in text
    assert "\\x1b" in text


def test_lines_of_prose_fit_the_width():
    text = said(metric(NUMBER, CASE), width=70)
    assert all(len(line.rstrip()) <= 100 for line in text.splitlines())

"""Ordinary cases are spelled at once and held: the same bytes, and what the folder gives back."""

import pytest

from closecall.embedders.base import TextKey
from closecall.records import Case, Label, Measured, State, Tokens, Unmeasured
from closecall.runs import held, sinks
from closecall.runs.evaluate import evaluate
from closecall.runs.folder import RunFolder
from closecall.runs.results import CaseResult, MetricResult
from closecall.runs.sinks import FolderSink
from closecall.runs.stored import load_run
from closecall.testing import HashEmbedder

METRICS = "embed_answer_similarity,embedding_similarity"
UGLY = (
    "plain",
    'quotes " and \\ and / and \u2028',
    "tab\tand\nlines\x00\x1f\x7f",
    "Zo\u00eb \U0001f600 \u4e00",
    " \u00a0 blanks around ",
    "x" * 300,
)


def cases():
    for at, text in enumerate(UGLY):
        yield Case(
            id=f"case-{at}",
            input=text,
            response=f"the answer {at} is 12",
            references=("the answer is 12", text, f"the answer {at} is 12"[: 5 + at]),
            label=(None, Label.ACCEPT, Label.REJECT)[at % 3],
            group=text or None,
            tags=(text[:9],),
            place=f"file:{at}",
            metadata={"model": "a", "deep": {"n": 1.5, "yes": True, "no": None}, "l": ["a", 1]},
        )
    yield Case(id="named \t oddly", response="the answer", references=("the answer",))
    yield Case(id="i" * 300, response="the answer", references=("the answer",))
    yield Case(id="none", response=None, references=("the answer",))
    yield Case(id="left out", response="a", references=("a",), metadata={"talk": "x" * 300})
    yield Case(id="pair", response="a", references=("a",), metadata={"pair": ("a", "b")})
    yield Case(id="nothing", response="", references=(), context=("c", ""))
    yield Case(id="held", response="It is 13.", references=("It is 12.",))


def odd_results(row):
    """Measurements that no built-in metric makes, each in a case of its own."""
    measured = row.results[0].measurement
    for at, change in enumerate(
        (
            {"details": {"a": 1, "b": True, "c": None, "d": 1e-7, "e": 1e22, "f": "\ud800"}},
            {"details": {"parts": [1, 2], "more": {"x": (1, 2)}}},
            {"details": {"big": 2**53 - 1, "\u00e9": -0.0, 'q"': "\x01"}},
            {"details": {}, "tokens": {}},
            {"tokens": {"t\n\u00e9": Tokens(1, 2, 3, 4, 5)}},
            {"score": None},
            {"score": 100.0, "value": -0.0, "similarity": 1e-9},
        )
    ):
        own = {"similarity": 0.25, "value": 25.0, "score": 25.0, **change}
        details = own.pop("details", measured.details)
        found = Measured(details=details, tokens=own.pop("tokens", measured.tokens), **own)
        for state, reason in (
            (State.PASSED, "fine"),
            (State.FAILED, " a\r\nb\x07 "),
            (State.WARN, ""),
        ):
            first = MetricResult(
                metric=row.results[0].metric,
                state=state,
                measurement=found,
                cutoff=row.results[0].cutoff,
                reason=reason,
                borderline=state is State.WARN,
            )
            case = Case(id=f"odd-{at}-{state}", response=("r", "half \ud83d a pair")[at % 2])
            yield CaseResult(case=case, results=(first, *row.results[1:]), duration_ms=0.05)
    long = Case(id="long", response="word " * 900_000, references=("word",))
    yield CaseResult(case=long, results=row.results, duration_ms=7.0)
    for name in ("\ud800", "r\u00e9"):
        yield CaseResult(case=Case(id=name, tags=("\udfff",)), results=row.results)


@pytest.fixture(scope="module")
def measured():
    run = evaluate(cases(), METRICS, HashEmbedder(), cache=False)
    rows = list(run)
    return run.header, [*rows, *odd_results(rows[0])]


def written(place, header, rows):
    folder = RunFolder.create(
        place,
        sinks.run_json(header),
        sinks.declared(header.metrics),
        paths=[plan.id for plan in header.metrics],
    )
    with folder:
        sink = FolderSink(folder, header)
        for start in range(0, len(rows), 5):
            sink.add(rows[start : start + 5])
    return sink.held


def test_the_short_way_writes_the_bytes_of_the_long_one(tmp_path, measured, monkeypatch):
    header, rows = measured
    calls = []
    whole = sinks.row_lines
    monkeypatch.setattr(sinks, "row_lines", lambda *a: calls.append(a[1].case.id) or whole(*a))
    written(tmp_path / "short", header, rows)
    odd = len(calls)
    assert 0 < odd < len(rows)
    monkeypatch.setattr(sinks.PlainLines, "of", lambda _header: None)
    written(tmp_path / "long", header, rows)
    assert len(calls) == odd + len(rows)
    for name in ("results.ndjson", "ext/closecall/cases.ndjson"):
        assert (tmp_path / "short" / name).read_bytes() == (tmp_path / "long" / name).read_bytes()


def test_what_is_held_is_what_the_folder_gives_back(tmp_path, measured):
    header, rows = measured
    kept = written(tmp_path / "run", header, rows)
    assert kept.holds
    assert list(kept) == list(load_run(tmp_path / "run"))


@pytest.mark.parametrize("metrics", ["embed_answer_similarity", METRICS])
def test_a_finished_run_yields_its_folders_cases(tmp_path, metrics):
    run = evaluate(cases(), metrics, HashEmbedder(), aef=tmp_path / "run", cache=False)
    found = list(run)
    (tmp_path / "run" / "results.ndjson").rename(tmp_path / "elsewhere")
    assert list(run) == found  # nothing was read
    (tmp_path / "elsewhere").rename(tmp_path / "run" / "results.ndjson")
    assert found == list(load_run(tmp_path / "run"))


@pytest.mark.parametrize(
    ("name", "limit"), [("MOST_CASES", 9), ("MOST_BYTES", 9_000), ("MOST_ODD", 3)]
)
def test_a_large_run_is_read_from_its_folder(tmp_path, monkeypatch, name, limit):
    monkeypatch.setattr(held, name, limit)
    run = evaluate(cases(), METRICS, HashEmbedder(), aef=tmp_path / "run", cache=False)
    assert list(run) == list(load_run(tmp_path / "run"))
    (tmp_path / "run" / "results.ndjson").unlink()
    with pytest.raises(Exception, match=r"results\.ndjson: there is no such file"):
        list(run)


def test_without_texts_nothing_of_them_is_held(tmp_path):
    run = evaluate(
        cases(), METRICS, HashEmbedder(), aef=tmp_path / "run", cache=False, content=False
    )
    assert list(run) == list(load_run(tmp_path / "run"))
    assert all(row.case.response is None for row in run)


class Absent:
    """Says of every other case that it has no number."""

    def __init__(self, metric):
        self.spec, self.cutoff = metric.spec, metric.cutoff

    def texts(self, case):
        return (TextKey(case.id),)

    def measure(self, case, vectors):
        if len(case.id) % 2:
            return Unmeasured("no number\nfor this one", State.ERROR)
        return Measured(similarity=1.0, value=100.0, score=100.0, details={1: 2})


def test_a_member_without_a_name_costs_the_case_alone(tmp_path):
    from closecall.metrics.registry import load_metrics

    (metric,) = load_metrics(["embed_answer_similarity"])
    given = [Case(id="odd", response="a"), Case(id="even", response="a")]
    run = evaluate(given, Absent(metric), HashEmbedder(), aef=tmp_path / "run", cache=False)
    assert list(run) == list(load_run(tmp_path / "run"))
    reasons = [row.results[0].reason for row in run]
    assert "no number" in reasons[0]
    assert "a member's name must be text, got 1" in reasons[1]

"""Numbers that cannot lie, over random runs: they add up, are finite, lie in their intervals, and
do not depend on how the run was done."""

import io
import json
import re
import tempfile
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from every_run import Failing, asked, decided, later
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from labelled_rows import WORDS, made, rows

from closecall import compare_runs, evaluate, load_run, save_report, verify_run
from closecall.bulk.merging import merge_runs
from closecall.calibration.groups import rate_of_groups
from closecall.calibration.records import Interval, Rate
from closecall.cassettes import open_cassette
from closecall.records import ABSENCES, Measured, State
from closecall.report.compared_runs import formats as comparing
from closecall.report.slices import slices_of
from closecall.retrieval.estimates import Drawing, estimates
from closecall.runs import runner
from closecall.subjects.agreement import Repeats

FEW = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
METRICS = ("semantic_similarity", "embed_answer_similarity", "chrf", "token_f1")
ENDS = 1e-9
"""An estimate may lie beyond an end by rounding alone."""


@st.composite
def random_rows(draw, fewest=1, most=14):
    """Good, wrong, blank and missing answers; with labels, tags and groups, or without."""
    found = []
    for at in range(draw(st.integers(fewest, most))):
        reference = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
        kind = draw(st.sampled_from(["good", "near", "wrong", "blank", "missing", "no reference"]))
        response = {
            "good": " ".join(reference),
            "near": " ".join([*reference[1:], draw(st.sampled_from(WORDS))]),
            "wrong": " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))),
        }.get(kind, " ")
        row = {"id": f"c{at}", "input": f"What is {at}?", "response": response}
        if kind != "no reference":
            row["reference"] = " ".join(reference)
        if kind == "missing":
            del row["response"]
        for name, values in (("label", ["accept", "reject"]), ("group", ["g1", "g2", "g3"]),
                             ("tags", [["a"], ["b"], ["a", "b"]])):  # fmt: skip
            value = draw(st.none() | st.sampled_from(values))
            if value is not None:
                row[name] = value
        found.append(row)
    return found


chosen = st.lists(st.sampled_from(METRICS), min_size=1, max_size=3, unique=True)


def done(given, metrics=("semantic_similarity",), aef=None, embedder=None, **options):
    options = {"cache": False, "guards": "unsure"} | options
    return evaluate(given, list(metrics), embedder or Failing(), aef=aef, **options)


def came_to(run):
    """Every verdict, value and reason by case and metric; ids and times are no part of it."""
    return {
        row.case.id: [
            (
                result.metric,
                result.state,
                result.measurement.value if isinstance(result.measurement, Measured) else None,
                result.borderline,
                result.held,
            )
            for result in row.results
        ]
        for row in run
    }


def counted(run):
    """The counts of a run, and its means but for the order in which they were added up."""
    return run.cases, [msgspec.structs.replace(one, absent={}) for one in run.metrics]


def same(one, other):
    assert came_to(one) == came_to(other)
    assert counted(one) == counted(other)
    assert [Counter(a.absent) for a in one.metrics] == [Counter(b.absent) for b in other.metrics]
    assert one.gates == other.gates
    assert one.exit_code == other.exit_code


# -- what was asked is what was measured and what was not -----------------------------------------


def add_up(run):
    rows = list(run)
    for at, summary in enumerate(run.metrics):
        states = Counter(row.results[at].state for row in rows)
        absent = sum(summary.absent_states.values())
        decided_or_scored = summary.passed + summary.failed + summary.inconclusive + summary.scored
        assert summary.measured == decided_or_scored
        assert summary.asked == summary.measured + absent
        assert sum(summary.absent.values()) == absent
        assert summary.asked + summary.not_applicable == len(rows)
        assert summary.absent_states == {s: n for s, n in states.items() if s in ABSENCES and n
                                         and s is not State.NOT_APPLICABLE}  # fmt: skip
        assert summary.passed == states[State.PASSED]
        if summary.labelled is not None:
            one = summary.labelled
            labelled = one.accepts + one.rejects + summary.unsure_accepts + summary.unsure_rejects
            assert labelled == sum(
                row.case.label is not None and row.results[at].state.measured for row in rows
            )
    cases = run.cases
    assert cases.total == len(rows) == (
        cases.passed + cases.failed + cases.scored + cases.unmeasured + cases.inconclusive
        + cases.not_applicable
    )  # fmt: skip


def slices_add_up(run):
    rows = list(run)
    for field in slices_of(run.header, rows).fields:
        if field.field != "tag":  # a case has several tags
            assert sum(one.cases for one in field.slices) + field.absent == len(rows)
        for one in field.slices:
            for figures in one.metrics:
                assert figures.measured <= figures.asked <= one.cases
                if figures.passed is not None:
                    assert figures.passed.n <= figures.measured
        for at, summary in enumerate(run.metrics):
            if field.field != "tag":
                asked_of = sum(one.metrics[at].asked for one in field.slices)
                assert asked_of <= summary.asked
                if not field.absent:
                    assert asked_of == summary.asked


@FEW
@given(given=random_rows(), metrics=chosen)
def test_every_metric_adds_up_and_so_does_every_slice(given, metrics):
    run = done(given, metrics)
    add_up(run)
    slices_add_up(run)


@FEW
@given(given=random_rows(), threshold=st.sampled_from([0.5, 0.6, 1.0]), fails=st.integers(0, 4))
def test_repeated_cases_add_up(given, threshold, fails):
    turns = Counter()

    def answer(case):
        turns[case.id] += 1
        if (turns[case.id] + len(case.id)) % 5 < fails - 2:
            raise RuntimeError("429 too many")
        return case.references[0] if (turns[case.id] + len(case.input)) % 3 else "harbour"

    rows_of = [row | {"reference": row.get("reference", "harbour")} for row in given]
    run = done(rows_of, METRICS[:2], answers=answer, runs=3, success_threshold=threshold)
    add_up(run)
    for row in run:
        for at, result in enumerate(row.results):
            for trial in row.trials:
                assert trial.results[at].metric == result.metric
    for repeats in run.repeats:
        assert repeats.cases + repeats.once == len(list(run))


# -- no number that is none ----------------------------------------------------------------------


def no_constant(name):
    raise AssertionError(f"{name} is no number")


def strictly(text):
    return json.loads(text, parse_constant=no_constant)


def read_all(folder):
    for path in sorted(Path(folder).rglob("*")):
        if path.suffix in {".json", ".jsonl", ".ndjson"}:
            data = path.read_text(encoding="utf-8")
            for line in [data] if path.suffix == ".json" else data.split("\n")[:-1]:
                strictly(line)
                yield path.name
        elif path.suffix == ".html":
            page = path.read_text(encoding="utf-8")
            for found in re.findall(
                r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL
            ):
                strictly(found)
                yield path.name
        elif path.suffix in {".csv", ".md", ".xml", ".txt"}:
            page = path.read_text(encoding="utf-8")
            assert not re.search(r"\b(?:nan|inf|infinity)\b", page, re.IGNORECASE), path


FORMATS = ("json", "jsonl", "csv", "md", "xml", "html")


@FEW
@given(given=random_rows(), metrics=chosen, trials=st.booleans())
def test_no_file_and_no_report_holds_nan_or_infinity(given, metrics, trials):
    with tempfile.TemporaryDirectory() as parent:
        place = Path(parent)
        more = {"answers": lambda _: "harbour", "runs": 3} if trials else {}
        run = done(given, metrics, place / "one", **more)
        done(given[::-1], metrics, place / "two", **more)
        for form in FORMATS:
            save_report(run, place / f"r.{form}")
        found = compare_runs(place / "one", place / "two", allow=["cases"])
        for form in comparing.FORMATS:
            out = io.StringIO()
            comparing.write(found, form, out)
            suffix = {"json": "json", "html": "html"}.get(form, "txt")
            (place / f"c-{form}.{suffix}").write_text(out.getvalue(), encoding="utf-8")
        names = set(read_all(place))
        assert {"run.json", "summary.json", "results.ndjson", "r.json", "r.jsonl", "r.html",
                "c-json.json"} <= names  # fmt: skip
        assert verify_run(place / "one").problems == ()


def test_what_a_page_holds_is_looked_at(tmp_path):
    (tmp_path / "x.json").write_text('{"a": NaN}')
    with pytest.raises(AssertionError, match="NaN"):
        list(read_all(tmp_path))


def test_a_calibration_file_and_its_reports(tmp_path):
    from closecall import save_calibration

    found = made()
    save_calibration(found, tmp_path / "c.json")
    assert list(read_all(tmp_path)) == ["c.json"]
    assert intervals_hold(found)


# -- an interval holds what it is about ------------------------------------------------------------


ESTIMATES = ("value", "difference", "estimate", "rate", "mean", "auc")


def intervals_hold(value, path="", counted_here=None):
    """Walk all records; every interval has an estimate beside it, which it contains."""
    counted_here = counted_here if counted_here is not None else []
    if isinstance(value, Rate):
        inside(value.value, value.interval, path)
        counted_here.append(path)
        return counted_here
    if isinstance(value, msgspec.Struct) or hasattr(value, "__dataclass_fields__"):
        names = getattr(value, "__struct_fields__", None) or list(value.__dataclass_fields__)
        members = {name: getattr(value, name) for name in names if not name.startswith("_")}
        for name, member in members.items():
            if isinstance(member, Interval):
                about = next(
                    (members[one] for one in ESTIMATES if members.get(one) is not None), None
                )
                assert about is not None, (path, name, members)
                inside(about, member, f"{path}.{name}")
                counted_here.append(f"{path}.{name}")
            else:
                intervals_hold(member, f"{path}.{name}", counted_here)
    elif isinstance(value, dict):
        for name, member in value.items():
            intervals_hold(member, f"{path}.{name}", counted_here)
    elif isinstance(value, list | tuple):
        for at, member in enumerate(value):
            intervals_hold(member, f"{path}[{at}]", counted_here)
    return counted_here


def inside(estimate, interval, path):
    assert interval.low <= interval.high, path
    assert interval.low - ENDS <= estimate <= interval.high + ENDS, (path, estimate, interval)


@FEW
@given(given=random_rows(fewest=4), metrics=chosen)
def test_every_interval_of_a_run_its_gates_and_comparisons(given, metrics):
    with tempfile.TemporaryDirectory() as parent:
        place = Path(parent)
        both = sorted({"semantic_similarity", *metrics})
        run = done(given, both, place / "one", watch=decided, asked=asked())
        intervals_hold(run.metrics)
        intervals_hold(run.gates)
        intervals_hold(slices_of(run.header, list(run)))
        changed = [row | {"response": row.get("reference", "harbour")} for row in given]
        done(changed, both, place / "two")
        intervals_hold(compare_runs(place / "one", place / "two", allow=["cases"]))


def test_there_are_intervals_to_look_at(tmp_path):
    many = rows(30, 30, seed=4)
    run = done(many, watch=decided, asked=asked(), aef=tmp_path / "one")
    assert len(intervals_hold(run.metrics)) == 2
    assert len(intervals_hold(run.gates)) >= 3
    done(rows(30, 30, seed=4)[::-1], aef=tmp_path / "two")
    assert intervals_hold(compare_runs(tmp_path / "one", tmp_path / "two"))
    assert intervals_hold(made())


@settings(max_examples=60, deadline=None)
@given(
    groups=st.lists(
        st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
        min_size=1, max_size=12,
    ),
    level=st.sampled_from([0.8, 0.95, 0.999]),
)  # fmt: skip
def test_a_rate_over_groups_lies_in_its_interval(groups, level):
    import numpy as np

    sizes, hits = np.array(groups, dtype=np.int64).T
    found = rate_of_groups(sizes, hits, level)
    assert (found.count, found.n) == (int(hits.sum()), int(sizes.sum()))
    inside(found.value, found.interval, "rate")
    assert 0 <= found.interval.low <= found.interval.high <= 1


@settings(max_examples=25, deadline=None)
@given(
    values=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=20),
    units=st.integers(1, 6),
)
def test_a_mean_of_a_search_lies_in_its_interval(values, units):
    groups = [f"g{at % units}" for at in range(len(values))]
    found = estimates({"m": values}, groups, Drawing(resamples=100))["m"]
    if found.interval is not None:
        inside(found.value, found.interval, "search")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([*State]), min_size=3, max_size=3), min_size=1, max_size=9)
)
def test_what_runs_agree_on_lies_in_its_interval(cases):
    from closecall.subjects.agreement import RepeatsTally
    from closecall.subjects.repeats import repeated

    tally = RepeatsTally("m", 3, 0.6)
    for at, states in enumerate(cases):
        tally.add(states, repeated(f"c{at}", states, threshold=0.6))
    found = tally.repeats()
    assert isinstance(found, Repeats)
    intervals_hold(found)
    assert 0 <= found.agreeing <= found.pairs


# -- however it is done, it comes to the same ----------------------------------------------------


@FEW
@given(given=random_rows(fewest=2), metrics=chosen, order=st.randoms(use_true_random=False))
def test_the_order_of_the_cases_changes_nothing(given, metrics, order):
    turned = list(given)
    order.shuffle(turned)
    both = sorted({"semantic_similarity", *metrics})
    one, other = (done(some, both, watch=decided, asked=asked()) for some in (given, turned))
    assert came_to(one) == came_to(other)
    assert one.cases == other.cases
    for a, b in zip(one.metrics, other.metrics, strict=True):
        assert counts_of(a) == counts_of(b)
        assert a.mean == b.mean
        assert Counter(a.absent) == Counter(b.absent)
    assert [(g.state, g.value, g.measured, g.asked, g.count) for g in one.gates] == [
        (g.state, g.value, g.measured, g.asked, g.count) for g in other.gates
    ]
    assert one.exit_code == other.exit_code


def counts_of(summary):
    return {
        name: value
        for name, value in msgspec.to_builtins(summary).items()
        if isinstance(value, int) and not isinstance(value, bool)
    }


@FEW
@given(given=random_rows(fewest=2), size=st.integers(1, 5))
def test_the_size_of_a_batch_changes_nothing(given, size):
    whole = done(given, METRICS, watch=decided, asked=asked())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "BATCH_CASES", size)
        patch.setattr(runner, "BATCH_CHARS", 40 * size)
        same(done(given, METRICS, watch=decided, asked=asked()), whole)


@FEW
@given(given=random_rows(fewest=2), half=st.integers(0, 14))
def test_a_cache_that_is_cold_warm_or_half_full_changes_nothing(given, half):
    with tempfile.TemporaryDirectory() as parent:
        without = done(given, METRICS[:2])
        part = given[:half] or given[:1]
        done(part, METRICS[:1], cache=f"{parent}/half")
        same(done(given, METRICS[:2], cache=f"{parent}/half"), without)
        same(done(given, METRICS[:2], cache=f"{parent}/cold"), without)
        same(done(given, METRICS[:2], cache=f"{parent}/cold"), without)


@FEW
@given(given=random_rows(fewest=2), count=st.integers(1, 5), parts=st.booleans())
def test_shards_put_together_change_nothing(given, count, parts):
    count = min(count, len(given))
    with tempfile.TemporaryDirectory() as parent:
        place = Path(parent)
        whole = done(given, METRICS, place / "whole", watch=decided, asked=asked())
        shards = []
        for index in range(1, count + 1):
            to = place / f"shard-{index}"
            shards.append(to)
            if parts:
                from closecall.runs.parts.folder import PartsFolder

                to = PartsFolder(to, cases=2)
            done(given, METRICS, to, shard=(index, count), watch=later, asked=asked())
        merged = merge_runs(shards[::-1], place / "merged", watch=decided)
        same(merged, load_run(place / "whole"))
        assert merged.gates == whole.gates
        assert verify_run(place / "merged").problems == ()


class StopError(Exception):
    pass


@FEW
@given(given=random_rows(fewest=3), at=st.integers(1, 12))
def test_a_run_that_was_cut_off_and_went_on_changes_nothing(given, at):
    def stop(count, total):
        if at <= count < total:
            raise StopError

    with tempfile.TemporaryDirectory() as parent, pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "BATCH_CASES", 1)
        place = Path(parent)
        whole = done(given, METRICS, place / "whole", watch=decided, asked=asked())
        try:
            done(given, METRICS, place / "cut", watch=decided, asked=asked(), progress=stop)
        except StopError:
            done(given, METRICS, place / "cut", watch=decided, asked=asked(), resume=True)
        same(load_run(place / "cut"), load_run(place / "whole"))
        same(load_run(place / "cut"), whole)
        assert verify_run(place / "cut").problems == ()


@FEW
@given(given=random_rows(fewest=2))
def test_a_replay_changes_nothing(given):
    from closecall.testing import HashEmbedder

    with tempfile.TemporaryDirectory() as parent:
        plain = done(given, METRICS[:2], embedder=HashEmbedder())
        found = []
        for mode in ("record", "replay"):
            with open_cassette(Path(parent) / "tape", mode) as cassette:
                embedder = cassette.embedder(HashEmbedder, "hash")
                found.append(
                    evaluate(
                        given, list(METRICS[:2]), embedder, cassette=cassette, guards="unsure"
                    )
                )
        assert came_to(found[0]) == came_to(found[1]) == came_to(plain)
        assert counted(found[0]) == counted(found[1]) == counted(plain)


def test_threads_change_nothing():
    given = rows(4, 4, seed=6)
    one, two = (
        evaluate(given, list(METRICS[:2]), threads=threads, cache=False) for threads in (1, 2)
    )
    assert {k: [(m, s) for m, s, *_ in v] for k, v in came_to(one).items()} == {
        k: [(m, s) for m, s, *_ in v] for k, v in came_to(two).items()
    }
    for a, b in zip(one.metrics, two.metrics, strict=True):
        assert counts_of(a) == counts_of(b)
        assert a.mean == pytest.approx(b.mean, abs=1e-4)

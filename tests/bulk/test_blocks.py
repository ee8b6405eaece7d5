"""Blocks evaluated apart, in any order and by several workers, close as one run."""

import random

import pytest
from bulk_cases import parts, rows, run, same_run, write
from labelled_rows import made

from closecall import Goal, load_run
from closecall.bulk.blocks import BlockWorker, evaluate_block
from closecall.bulk.closing import close
from closecall.bulk.counting import Totals, since, total_of
from closecall.datasets import open_dataset
from closecall.embedders.base import Usage
from closecall.errors import RunFolderError
from closecall.gates.deciding import DecidingGates, LaterGates
from closecall.runs.parts.documents import begin, header_in
from closecall.runs.parts.ranges import Part, parts_in
from closecall.runs.preparing import choose, monitor_of
from closecall.runs.reader import open_run
from closecall.runs.record import Answers
from closecall.runs.spending import Spending, Spent
from closecall.storage import open_store
from closecall.testing import HashEmbedder

CASES = 100
GATES = ('pass_rate(semantic_similarity where slice.kind = "kind 2") >= 0.1',)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return write(tmp_path_factory.mktemp("cases") / "cases.jsonl", CASES)


def begun(cases, place, **options):
    """A run in parts that is open and holds nothing yet, and the whole run."""
    whole = run(cases, parts(place.with_name("whole")), **options)
    store = open_store(place, create=True)
    begin(store, whole.header, 30)
    return whole, store, header_in(store)


def worker_of(header, notes=None, **options):
    chosen = choose(["semantic_similarity"], HashEmbedder(), **options)
    return BlockWorker(chosen, chosen.decided(), header, notes=notes), chosen


def test_blocks_in_any_order_close_as_one_run(cases, tmp_path):
    whole, store, header = begun(cases, tmp_path / "run", watch=lambda h: DecidingGates(GATES, h))
    data = open_dataset(cases)
    data.scan()
    blocks = [(first, min(first + 17, CASES)) for first in range(0, CASES, 17)]
    random.Random(2).shuffle(blocks)
    workers = [worker_of(header, LaterGates(GATES, header))[0] for _ in range(2)]
    done = []
    for at, (first, stop) in enumerate(blocks):
        block = workers[at % 2].evaluate(data.between(first, stop), store, first, stop)
        assert block.written
        done.append(block.totals)
    again = workers[0].evaluate(iter(()), store, *blocks[0])
    assert not again.written
    assert again.part == Part(*blocks[0])
    found = close(store, header, totals=done, watch=lambda h: DecidingGates(GATES, h))
    assert same_run(found, whole)
    assert rows(found) == rows(whole)
    assert open_run(tmp_path / "run").verify() == []
    assert same_run(load_run(tmp_path / "run"), load_run(tmp_path / "whole"))


def test_what_is_watched_is_found_at_the_close(tmp_path):
    from labelled_rows import rows as labelled

    from closecall import evaluate

    made_ = made(goal=Goal(max_far=0.1))
    given = [one | {"response": one["response"] * 2} for one in labelled(seed=4)]
    whole = evaluate(
        given, embedder=HashEmbedder(), calibration=made_, aef=parts(tmp_path / "whole")
    )
    store = open_store(tmp_path / "run", create=True)
    begin(store, whole.header, 30)
    header = header_in(store)
    chosen = choose(None, HashEmbedder(), calibration=made_)
    from closecall.datasets import cases_from

    worker = BlockWorker(chosen, chosen.decided(), header)
    every = cases_from(given)
    for first in (60, 0, 90, 30):
        worker.evaluate(every[first : first + 30], store, first, first + 30)
    monitor = monitor_of(chosen.made, header.metrics, cascade=False, texts=True)
    found = close(store, header, monitor=monitor)
    assert found.watched
    assert same_run(found, whole)


def test_a_run_that_lacks_blocks_is_not_closed(cases, tmp_path):
    _, store, header = begun(cases, tmp_path / "run")
    worker, _ = worker_of(header)
    data = list(open_dataset(cases))
    worker.evaluate(data[20:30], store, 20, 30)
    with pytest.raises(RunFolderError, match="lack cases: 0 to 19, 30 to 99"):
        close(store, header)
    assert not store.exists("seal.json")


def test_a_block_has_all_its_cases(cases, tmp_path):
    _, store, header = begun(cases, tmp_path / "run")
    worker, chosen = worker_of(header)
    with pytest.raises(RunFolderError, match="only 5 cases from position 10 on, not 10"):
        worker.evaluate(list(open_dataset(cases))[:5], store, 10, 20)
    assert parts_in(store) == []
    evaluate_block(chosen, chosen.decided(), header, open_dataset(cases), store, 0, 10)
    assert parts_in(store) == [Part(0, 10)]


def test_a_worker_that_measures_with_something_else_is_refused(cases, tmp_path):
    _, _, header = begun(cases, tmp_path / "run")
    chosen = choose(["semantic_similarity"], HashEmbedder(32))
    with pytest.raises(RunFolderError, match="would measure with something else"):
        BlockWorker(chosen, chosen.decided(), header)


def spent(tokens):
    return Spending(
        spent=(Spent(role="judge", provider="p", model="m", requests=1, prompt_tokens=tokens),)
    )


def test_what_was_spent_adds_up():
    answers = Answers(
        answers=2, cut=0, missing=1, unreported=0, prompt_tokens=5, completion_tokens=None
    )
    one = Totals(Usage(1, 0, 10), answers, spent(3))
    two = Totals(Usage(2, 1, 20), answers, spent(4))
    total = total_of([one, Totals(), two])
    assert total.usage == Usage(3, 1, 30)
    assert (total.answered.answers, total.answered.completion_tokens) == (4, None)
    assert total.spending.tokens == 7
    assert (
        since(one, two) == Totals(Usage(1, 1, 10), answers, Spending(spent=()))
        or since(one, two).spending.spent == ()
    )
    assert total_of([]) == Totals()


def test_what_blocks_spent_is_kept_in_the_folder(cases, tmp_path):
    _, store, header = begun(cases, tmp_path / "run")
    worker, _ = worker_of(header)
    worker.evaluate(open_dataset(cases), store, 0, CASES)
    found = close(store, header, totals=[Totals(spending=spent(3)), Totals(spending=spent(4))])
    stored = load_run(tmp_path / "run")
    assert stored.spending == found.spending
    assert stored.spending.tokens == 7
    assert open_run(tmp_path / "run").verify() == []


def test_a_block_that_no_part_could_hold_is_refused_before_it_is_written(
    cases, tmp_path, monkeypatch
):
    _, store, header = begun(cases, tmp_path / "run")
    worker, _ = worker_of(header)
    monkeypatch.setattr("closecall.runs.parts.writing.BLOCK_BYTES", 5000, raising=False)
    with pytest.raises(
        RunFolderError, match=r"cases from position 0 on have more than 5,000 bytes.*--part-cases"
    ):
        worker.evaluate(open_dataset(cases), store, 0, CASES)
    assert parts_in(store) == []

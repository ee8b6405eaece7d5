"""Which rows two are compared on: those both measured, each item once, and an account of the rest."""

import msgspec
import pytest
from word_cases import narrow, rows, wide

from closecall import Goal, calibrate
from closecall.errors import DataError, EmbeddingError
from closecall.runs.compare import Reading, compare_cutoffs, compare_embedders

LABELLED = rows(300, seed=1)
FRESH = rows(200, seed=2, first=1000)
TENTH = Goal(max_far=0.1)


def made(embedder, cases=LABELLED, **options):
    return calibrate(cases, embedder=embedder, goal=options.pop("goal", TENTH), **options)


@pytest.fixture(scope="module")
def clear():
    return made(wide())


@pytest.fixture(scope="module")
def blurred():
    return made(narrow())


def cutoffs(a, b, cases=FRESH, embedders=None, **options):
    return compare_cutoffs(a, b, cases, embedders=embedders or (narrow(), wide()), **options)


def adds_up(found):
    out = msgspec.structs.asdict(found.left_out)
    out.pop("problems")
    return found.comparison.n + sum(out.values()) == found.rows


def test_rows_one_of_the_two_cannot_measure_are_left_out_and_counted(clear, blurred):
    hard = {FRESH[0]["response"], FRESH[7]["response"]}

    def fails(texts):
        bad = [at for at, text in enumerate(texts) if text in hard]
        if bad:
            raise EmbeddingError("out of reach", bad)

    cases = [*FRESH, {**FRESH[1], "id": "blank", "response": " "}]
    found = cutoffs(blurred, clear, cases, (narrow(), wide(on_embed=fails)))
    assert (found.comparison.n, found.left_out.unmeasured) == (198, 3)
    assert found.a.unmeasured == {"the case's response is blank": 1}
    assert sorted(found.b.unmeasured.values()) == [1, 2]
    assert adds_up(found)
    with pytest.raises(DataError, match="none of 2 labelled rows was measured by both: B lacks 2"):
        cutoffs(blurred, clear, [FRESH[0], FRESH[7]], (narrow(), wide(on_embed=fails)))


def test_without_labels_nothing_is_embedded(clear, blurred):
    bare = [{key: row[key] for key in row if key != "label"} for row in FRESH]
    embedder = narrow()
    for compare in (
        lambda: cutoffs(blurred, clear, bare, (embedder, wide())),
        lambda: compare_embedders(bare, (embedder, wide())),
    ):
        with pytest.raises(DataError, match="none of 200 rows has a label") as error:
            compare()
        assert error.value.exit_code == 4
    assert bare[0]["response"] not in embedder.texts
    found = cutoffs(blurred, clear, [*bare[:50], *FRESH[50:]], (embedder, wide()))
    assert (found.comparison.n, found.left_out.unlabelled) == (150, 50)
    assert bare[0]["response"] not in embedder.texts


def test_an_item_said_twice_counts_once_and_one_labelled_both_ways_not_at_all(clear, blurred):
    other = {"accept": "reject", "reject": "accept"}[FRESH[1]["label"]]
    more = [{**FRESH[0], "id": "again"}, {**FRESH[1], "id": "otherwise", "label": other}]
    found = cutoffs(blurred, clear, [*FRESH, *more])
    assert (found.left_out.merged, found.left_out.conflicts, found.comparison.n) == (1, 2, 199)
    assert adds_up(found)
    with pytest.raises(DataError, match="of items labelled both ways"):
        cutoffs(blurred, clear, [FRESH[1], more[1]])


def test_questions_one_was_calibrated_on_are_counted_for_that_one(clear, blurred):
    known = [
        {**row, "id": f"k{at}", "input": row["input"].upper()}
        for at, row in enumerate(LABELLED[:12])
    ]
    far = made(narrow(), rows(90, seed=7, first=9000))
    by_id = made(wide(), rows(60, seed=5, first=5000), group="id", goal=Goal(max_far=0.2))
    for one, cases, count in (
        (clear, [*FRESH, *known], 12),
        (made(wide(), keep_texts=False), [*FRESH, *known], 12),
        (by_id, [*FRESH, *rows(9, seed=6, first=5051)], 9),
        (clear, [{**row, "group": "one"} for row in known] + FRESH, 12),
    ):
        found = cutoffs(far, one, cases)
        assert (found.a.known, found.b.known) == (0, count)
    assert compare_embedders(LABELLED, (narrow(), wide()), TENTH).a.known == 0


def test_groups_by_another_field_are_found_again_and_rows_set_aside_are_not_known(clear):
    by_page = [{**row, "page": f"p{at % 40}"} for at, row in enumerate(rows(120, seed=8))]
    one = made(wide(), by_page, group="page", goal=Goal(max_far=0.2))
    cases = [{**row, "page": "p3"} for row in FRESH[:30]] + FRESH[30:]
    assert cutoffs(clear, one, cases, (wide(), wide())).b.known == 30
    many = rows(700, seed=9, first=20_000)
    locked = made(wide(), many)
    assert 0 < len(locked.sample.locked) < 350
    found = cutoffs(clear, locked, many, (wide(), wide()))
    assert (found.b.known, found.a.known) == (700 - len(locked.sample.locked), 0)


def test_groups_count_as_wholes(clear, blurred):
    cases = rows(60, seed=3, first=1000, answers=3)
    found = cutoffs(blurred, clear, cases)
    assert (found.comparison.groups, found.grouped_by) == (60, "question")
    paged = [{**row, "page": at // 9} for at, row in enumerate(cases)]
    found = cutoffs(blurred, clear, paged, reading=Reading(group="page"))
    assert (found.comparison.groups, found.grouped_by) == (20, "page")
    assert cutoffs(blurred, clear, FRESH).comparison.groups is None


def test_labels_picked_by_score_back_no_promise_and_are_named(clear, blurred):
    picked = [{**row, "sampling": "active"} for row in FRESH[:30]] + FRESH[30:]
    with pytest.raises(DataError, match=r"30 of 200 labels were picked by score.*--leave-out"):
        compare_embedders(picked, (narrow(), wide()))
    assert cutoffs(blurred, clear, picked).picked == 30
    found = cutoffs(blurred, clear, picked, reading=Reading(leave_out_active=True))
    assert (found.picked, found.left_out.picked, found.comparison.n) == (0, 30, 170)
    assert adds_up(found)
    with pytest.raises(DataError, match="all 30 labels were picked by score"):
        compare_embedders(picked[:30], (narrow(), wide()), reading=Reading(leave_out_active=True))


def test_cases_may_come_once_and_one_by_one(clear, blurred):
    once = cutoffs(blurred, clear, iter(FRESH))
    assert once == cutoffs(blurred, clear, FRESH)
    assert compare_embedders((row for row in FRESH), (narrow(), wide()), TENTH).comparison.n == 200


def test_progress_runs_once_over_both():
    seen = []
    reading = Reading(progress=lambda *at: seen.append(at), cache=False)
    compare_embedders(LABELLED, (narrow(), wide()), TENTH, reading=reading)
    assert seen == [(at, 600) for at in (0, 256, 300, 300, 556, 600)]

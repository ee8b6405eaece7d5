"""What the bundled pair model learns from: rows that are right, apart, and the same every time."""

import json
from collections import defaultdict
from random import Random

import pytest
import tiny_pair  # noqa: F401 - lets ``pair`` be found
from pair import edits, judged, sets
from pair.calibrating import require_learnt
from pair.rows import Row, digest
from pair.statements import MAKERS, made_statements
from pair.wordnet import Pointer, Synset, WordNet
from pair.words_in_use import put, rows_in_use

SHARE_ALIKE = {"semantoneg", "med", "nan_nli", "wikifactcheck_refuted", "stsb_images_multi"}


def words(text):
    return len(text.split())


def test_made_statements_are_the_same_every_time_and_of_both_labels():
    rows = made_statements(Random(3), 2000)
    assert digest(rows) == digest(made_statements(Random(3), 2000))
    assert digest(rows) != digest(made_statements(Random(4), 2000))
    labels = defaultdict(set)
    for row in rows:
        labels[row.kind].add(row.accept)
    assert len(labels) >= len(set(MAKERS))
    assert all(found == {True, False} for found in labels.values())


def test_no_statement_is_made_right_and_wrong():
    found, rng = defaultdict(set), Random(0)
    for row in (maker(rng) for _ in range(1000) for maker in MAKERS):
        found[row.first, row.response].add(row.accept)
    assert [pair for pair, labels in found.items() if len(labels) > 1] == []


@pytest.mark.parametrize(
    ("edit", "text", "changed"),
    [
        (edits.denial, "The shop is open on Sundays.", {"not", "n't", "never", "no longer"}),
        (edits.number, "It opened in 1987.", None),
        (edits.unit, "The river is 300 km long.", {"miles"}),
        (edits.swapped, "All shops open before noon.", None),
        (edits.names_exchanged, "In spring Anna met Paul.", None),
    ],
)
def test_a_wrong_edit_says_something_else(edit, text, changed):
    made = edit(text, Random(1))
    assert made
    assert sets.folded(made) != sets.folded(text)
    if changed:
        assert any(word in made for word in changed)


def test_a_denial_is_taken_away_where_there_is_one():
    assert edits.denial("The shop is not open.", Random(0)) == "The shop is open."


@pytest.mark.parametrize("name", ["marked", "polite", "again", "ordered", "digits", "shorter"])
def test_a_harmless_edit_keeps_every_word_of_matter(name):
    text = {
        "ordered": "They sell apples, pears and plums.",
        "digits": "There are 3 doors.",
        "shorter": "It is not far.",
    }.get(name, "The red door")
    # Which way it goes is drawn: not every text can go both.
    made = next(filter(None, (edits.HARMLESS[name](text, Random(n)) for n in range(20))))
    assert made != text
    kept = {"digits": {"doors", "three"}, "shorter": {"far"}}.get(name, set())
    if not kept:
        kept = {word.strip(".,").lower() for word in text.split()}
    assert kept <= {word.strip('.,!"*`()-').lower() for word in made.split()}


def test_a_contraction_keeps_the_capital_it_begins_with():
    made = {edits.shorter("It is far.", Random(n)) for n in range(20)}
    assert made == {"It's far.", None}  # drawn: whether it contracts or writes out
    assert {edits.shorter("Is it far?", Random(n)) for n in range(20)} == {None}


def test_an_edit_that_finds_nothing_makes_nothing():
    for edit in (edits.denial, edits.number, edits.unit, edits.names_exchanged, edits.ordered):
        assert edit("Paris", Random(0)) is None


def test_a_group_stays_on_its_side():
    groups = [f"question {number}" for number in range(3000)]
    found = [sets.side(group) for group in groups]
    assert found == [sets.side(group) for group in groups]
    assert 0.60 < found.count("train") / 3000 < 0.68
    assert 0.04 < found.count("dev") / 3000 < 0.08
    assert {sets.side(f"question {number}") for number in TEST} == {"test"}


TEST = (1, 3, 7, 11, 12, 16)
"""Sides may not move: figures on rows kept apart would be of rows that were learnt from."""


def test_nothing_is_learnt_from_sets_under_share_alike_licences():
    assert not SHARE_ALIKE & {name.split("/")[1] for name in sets.LEARNT}
    assert set(sets.LEARNT.values()) <= {"Apache-2.0", "MIT", "CC-BY-4.0"}


def test_questions_of_a_set_kept_out_are_learnt_from_nowhere(shared_data):
    rows = judged.Judged(shared_data, words, "train")
    kept_out = {sets.folded(row["input"]) for row in sets.rows_of(shared_data, "answers/nq301")}
    found = {sets.folded(row["input"]) for row in rows.found("answers/evouna_nq")}
    assert found
    assert not found & kept_out


def test_sides_share_no_question_and_rows_fit_the_window(shared_data):
    sides = {}
    for which in ("train", "dev"):
        made = judged.Judged(shared_data, words, which).answers("answers/diver_qa", Random(0))
        assert made
        sides[which] = {row.group for row in made}
        assert all(words(row.first) + words(row.response) <= judged.WINDOW for row in made)
    assert not sides["train"] & sides["dev"]


def test_a_summary_sentence_is_wrong_only_where_it_was_edited(tmp_path):
    row = {
        "id": "1", "input": "", "reference": ["Ann called. She sold two plans."], "label": "reject",
        "context": ["Ann called and sold two plans to him."], "group": "a",
        "response": "Ann called. She sold nine plans.",
    }  # fmt: skip
    for name in (*sets.LEARNT, *sets.UNSEEN, *EMPTY):
        path = tmp_path / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(row) if "summedits" in name else "", encoding="utf-8")
    which = sets.side("a")
    made = judged.Judged(tmp_path, words, which).passages("grounded/summedits_open", Random(0))
    assert [(one.response, one.accept) for one in made] == [("She sold nine plans.", False)]


EMPTY = ("grounded/q2_wow", "grounded/begin_cmu", "grounded/begin_topicalchat")


class Net(WordNet):
    """Two adjectives that deny each other, as WordNet would give them."""

    def __init__(self):
        self._found = {
            "a1": Synset("a1", ("open",), (Pointer("!", "2", 1, 1),), ("the door is open",)),
            "a2": Synset("a2", ("shut",), (Pointer("!", "1", 1, 1),), ("it was shut today",)),
        }

    synsets = property(lambda self: self._found)
    totals = property(lambda self: {("open", "a"): 3, ("shut", "a"): 3})
    counts = property(lambda self: {})


def test_words_that_deny_each_other_are_put_into_their_own_examples():
    most = {"wordnet antonym": 9, "wordnet negated": 9, "wordnet negated antonym": 9}
    rows = rows_in_use(Net(), Random(0), most)
    found = {(row.first, row.response): row.accept for row in rows}
    assert found["the door is open", "the door is not open"] is False
    assert found["the door is open", "the door is not shut"] is True
    assert found["the door is not open", "the door is shut"] is True
    assert {row.group for row in rows} == {"open"}


def test_the_article_goes_with_the_word():
    assert put("a narrow road", "narrow", "open") == "an open road"
    assert put("An open road", "open", "narrow") == "A narrow road"


def test_a_digest_moves_with_every_field():
    row = Row("a", "b", True, "k", "g")
    others = [row._replace(**{name: "x"}) for name in ("first", "response", "kind", "group")]
    found = {digest([one]) for one in (row, row._replace(accept=False), *others)}
    assert len(found) == 6


def test_a_run_that_has_not_left_chance_ends_and_says_how_to_go_on():
    require_learnt({"all": {"n": 90, "right": 60, "auc": 0.61}}, 600)
    with pytest.raises(SystemExit, match=r"step 600: AUC 0\.533 on the 90 rows.*another seed"):
        require_learnt({"all": {"n": 90, "right": 48, "auc": 0.533}}, 600)

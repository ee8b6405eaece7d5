"""``closecall compare-cutoffs`` and ``compare-models``: files in, a verdict and an exit code out."""

import csv
import json
import random

import msgspec
import pytest
import tiny_bert

from closecall import Goal, calibrate, save_calibration
from closecall.models.compiler import Naming, compile_folder
from closecall.runs.compared import Compared

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SHARED = {"accept": (4, 5, 6, 7), "reject": (0, 1, 2, 3, 4)}


def rows(count, seed, first=0):
    """Answers share more or fewer letters with the reference; the context says nothing."""
    draw = random.Random(seed)
    made = []
    for at in range(count):
        label = draw.choice(["accept", "reject"])
        reference = draw.sample(LETTERS, 8)
        shared = draw.choice(SHARED[label])
        said = reference[:shared] + draw.sample(LETTERS, 8 - shared)
        made.append(
            {
                "id": f"{seed}-{at}",
                "input": f"{first + at}?",
                "response": " ".join(said),
                "reference": " ".join(reference),
                "context": [" ".join(draw.sample(LETTERS, 8))],
                "label": label,
            }
        )
    return made


FRESH = rows(160, seed=2, first=1000)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two names for ``--embedder``."""
    folder = tmp_path_factory.mktemp("models")
    for name, size in (("tiny", {}), ("tinier", {"hidden_size": 6, "intermediate_size": 8})):
        tiny_bert.write_folder(folder / "source" / name, config=size)
        compile_folder(folder / "source" / name, folder / name, Naming(name=name))
    return tuple(f"onnx:{folder / name}" for name in ("tiny", "tinier"))


@pytest.fixture(scope="module")
def files(tmp_path_factory, models):
    """One that reads the answer, one that reads the useless context, one that leaves some open."""
    folder = tmp_path_factory.mktemp("calibrations")
    for name, metric, goal in (
        ("good", "embed_answer_similarity", Goal(max_far=0.1)),
        ("useless", "embed_response_context", Goal(max_far=0.2)),
        ("open", "embed_answer_similarity", Goal(max_far=0.1, max_frr=0.2)),
    ):
        made = calibrate(rows(200, seed=1), metric, models[0], goal, cache=False)
        save_calibration(made, folder / f"{name}.json")
    return folder


@pytest.fixture
def compare(cli, files, write):
    """Compare two of the files on the fresh labels."""

    def call(a, b, *options, cases=FRESH):
        path = write(*cases, name="fresh.jsonl") if isinstance(cases, list) else cases
        return cli("compare-cutoffs", files / f"{a}.json", files / f"{b}.json", path, *options)

    return call


def test_the_better_one_decides_the_exit_code(compare):
    said = compare("useless", "good")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("Better: good (B).\n  With n = 160 (")
    assert "Both on the same 160 labelled answers of fresh.jsonl: " in said.out
    assert "at most 20% of wrong answers are accepted, at confidence 95%" in said.out
    said = compare("good", "useless")
    assert said.code == 1
    assert said.out.startswith("Better: good (A).\n")


def test_models_and_metrics_by_name(cli, write, models):
    path = write(*FRESH)
    metrics = ("-m", "embed_answer_similarity", "-m", "embed_response_context")
    promise = ("--max-far", "0.1", "--resamples", "200")
    said = cli("compare-models", path, "--embedder", models[0], *metrics, *promise)
    assert said.code == 1
    assert said.out.startswith("Better: embed_answer_similarity (A).\n")
    both = [word for name in models for word in ("--embedder", name)]
    said = cli("compare-models", path, *both, *promise, "--seed", "5", "--level", "0.9")
    assert said.code == said.out.startswith("Better: tiny (A).\n")
    assert "A, tiny: embed_answer_similarity\n  B, tinier: embed_answer_similarity\n" in said.out
    assert "over 200 draws of these answers (seed 5)" in said.out
    assert "the middle 90% put " in said.out


def test_no_word_is_about_scores_and_no_cutoff_is_shown(compare, files):
    said = compare("useless", "good")
    for name in ("useless", "good"):
        value = json.loads((files / f"{name}.json").read_text())["rule"]["value"]
        assert f"{value:.4g}" not in said.out
    assert "a good answer scores above a wrong one in" in said.out
    assert said.out.count("score") == 1


@pytest.mark.parametrize("command", ["compare-cutoffs", "compare-models"])
def test_json_is_strict_and_whole(command, compare, cli, write, models):
    def refuse(name):
        raise AssertionError(name)

    if command == "compare-cutoffs":
        said = compare("good", "open", "--format", "json")
    else:
        metrics = ("-m", "semantic_similarity", "-m", "embed_response_context")
        options = (*metrics, "--embedder", models[0], "--max-far", "0.1", "--format", "json")
        said = cli(command, write(*FRESH), *options)
    assert said.err == ""
    document = json.loads(said.out, parse_constant=refuse)
    found = msgspec.convert(document, Compared)
    assert (found.rows, found.comparison.n) == (160, 160)
    if command == "compare-cutoffs":
        assert (found.a.name, found.b.name, said.code) == ("good", "open", 0)
        assert found.comparison.unsure.errors_b > 0
    else:
        assert (found.goal.seed, found.comparison.acceptance.seed) == (0, 0)
        assert (found.comparison.verdict, said.code) == ("A", 1)


def test_answers_left_to_a_person_are_counted(compare):
    said = compare("good", "open")
    assert said.code == 0
    assert said.out.startswith("Neither can be called better.\n")
    assert "Left to a person (unsure), of 160: 0 by good, " in said.out
    assert "Both cut the same score" in said.out


def test_another_embedder_exits_with_6_and_one_calibration_twice_with_2(compare, models, files):
    said = compare("good", "useless", "--embedder-b", models[1])
    assert (said.code, said.out) == (6, "")
    assert "useless.json belongs to another embedder" in said.err
    assert compare("good", "useless", "--embedder-a", models[1]).code == 6
    assert compare("good", "useless", "--embedder-a", models[0]).code == 1
    said = compare("good", "good")
    assert (said.code, said.out) == (2, "")
    assert "are the same calibration: give two that differ" in said.err
    edited = (files / "good.json").read_text().replace('"embedder": "', '"embedder": "x', 1)
    (files / "edited.json").write_text(edited)
    said = compare("edited", "good")
    assert (said.code, "edited after it was written" in said.err) == (4, True)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ((), 2, "the two are the same, embed_answer_similarity with"),
        (("-m", "a", "-m", "b", "-m", "c"), 2, "--metric is given at most twice: A, then B"),
        (("-m", "nothing"), 3, "there is no metric 'nothing'"),
        (("--embedder", "nothing"), 3, "nothing"),
        (("--resamples", "100", "--level", "0.99"), 2, "needs at least 199 resamples, got 100"),
        (("--level", "1"), 2, "--level"),
        (("--cache-dir", "x", "--no-cache"), 2, "exclude each other"),
        (("--map", "label"), 2, "--map takes FIELD=COLUMN"),
        (("-m", "semantic_similarity", "-m", "embedding_similarity"), 4, "none of 2 rows has a"),
    ],
    ids=["same", "three", "metric", "embedder", "resamples", "level", "cache", "map", "no labels"],
)
def test_what_is_wrong_is_said_with_its_code(args, code, said, cli, write):
    bare = [{key: row[key] for key in row if key != "label"} for row in FRESH[:2]]
    found = cli("compare-models", write(*bare), *args)
    assert (found.code, found.out) == (code, "")
    assert said in " ".join(found.err.split())


def test_few_labels_cannot_tell(compare, cli, write, models):
    few = [row for row in FRESH if row["label"] == "accept"][:14]
    few += [row for row in FRESH if row["label"] == "reject"][:10]
    said = compare("useless", "good", cases=few)
    assert said.code == 0
    assert "Cannot tell with n = 24 (14 accepts, 10 rejects): " in said.out
    both = [word for name in models for word in ("--embedder", name)]
    said = cli("compare-models", write(*few), *both)
    assert said.code == 0
    assert "Cannot tell with n = 24 (14 accepts, 10 rejects): --max-far 0.05 at" in said.out
    said = compare("useless", "good", cases=[{**row, "label": "accept"} for row in few])
    assert "No answer is labelled wrong" in said.out


def test_rows_it_was_calibrated_on_are_named(compare):
    said = compare("useless", "good", cases=[*FRESH, *rows(30, seed=1)])
    assert "30 belong to questions that useless was calibrated on and 30 belong to" in said.out


def test_other_formats_groups_and_rows_that_cannot_be_read(compare, tmp_path):
    path = tmp_path / "fresh.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["question", "response", "reference", "context", "verdict", "page"])
        for at, row in enumerate(FRESH):
            texts = (row["response"], row["reference"], row["context"][0])
            table.writerow([row["input"], *texts, row["label"], f"p{at // 4}"])
        table.writerow(["?", "a", "a", "a", "maybe", "p9"])
    options = ("--map", "label=verdict", "--group", "page")
    said = compare("useless", "good", *options, cases=path)
    assert (said.code, said.out) == (4, "")
    assert "1 row of 161 cannot be read" in said.err
    said = compare("useless", "good", *options, "--on-bad-row", "skip", cases=path)
    assert said.code == 0
    assert "of fresh.csv: " in said.out
    assert "in 40 groups by page, which count as wholes." in said.out
    assert "Left out of 161 rows: 1 that cannot be read." in said.out
    assert "fresh.csv:162: " in said.out
    path = tmp_path / "fresh.json"
    path.write_text(json.dumps({"cases": FRESH}), encoding="utf-8")
    assert "160 labelled answers of fresh.json:" in compare("useless", "good", cases=path).out


def test_labels_picked_by_score(compare, cli, write, models):
    picked = [{**row, "sampling": "active"} for row in FRESH[:40]] + FRESH[40:]
    assert "Caution: 40 of the labels were picked by" in compare("good", "open", cases=picked).out
    said = compare("good", "open", "--leave-out-active", cases=picked)
    assert "Left out of 160 rows: 40 picked by score." in said.out
    both = [word for name in models for word in ("--embedder", name)]
    said = cli("compare-models", write(*picked), *both)
    assert (said.code, "--leave-out-active" in said.err) == (4, True)


def test_progress_goes_to_standard_error_and_quiet_says_nothing(compare, monkeypatch):
    monkeypatch.setattr("closecall.cli.progress.QUIET_SECONDS", 0.0)
    monkeypatch.setattr("closecall.cli.progress.LINE_SECONDS", 0.0)
    cases = FRESH + rows(140, seed=4, first=5000)
    said = compare("useless", "good", cases=cases)
    assert "closecall: 256 / 300 cases" in said.err
    quiet = compare("useless", "good", "-q", cases=cases)
    assert (quiet.err, quiet.out) == ("", said.out)


def test_control_characters_of_a_file_are_shown_not_obeyed(compare, files, tmp_path):
    evil = tmp_path / "new\x1b[31m.json"
    evil.write_bytes((files / "good.json").read_bytes())
    said = compare("useless", evil.with_suffix(""))
    assert "\x1b" not in said.out
    assert "Better: new\\x1b[31m (B)." in said.out

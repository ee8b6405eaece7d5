"""``closecall models isotropy``, and every command that takes what it writes."""

import json
import random
import shutil
from pathlib import Path

import pytest
import tiny_bert

from closecall import load_calibration
from closecall.embedders.isotropy.file import load_isotropy
from closecall.embedders.isotropy.fit import LEAST
from closecall.models.compiler import Naming, compile_folder
from closecall.runs import runner

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SHARED = {"accept": (4, 5, 6, 7), "reject": (0, 1, 2, 3, 4)}
OUT = Path("mine.isotropy.json")


def rows(count, seed):
    """Answers share more or fewer letters with the reference; the texts all differ."""
    draw = random.Random(seed)
    made, seen = [], set()
    while len(made) < count:
        label = draw.choice(["accept", "reject"])
        reference = draw.sample(LETTERS, 8)
        shared = draw.choice(SHARED[label])
        said = reference[:shared] + draw.sample(LETTERS, 8 - shared)
        at, texts = len(made), {" ".join(said), " ".join(reference)}
        if len(texts) < 2 or texts & seen:
            continue
        seen |= texts
        made.append(
            {
                "id": f"{seed}-{at}",
                "input": f"red {at}?",
                "response": " ".join(said),
                "reference": " ".join(reference),
                "context": [f"blue {at}"],
                "label": label,
            }
        )
    return made


TEXTS = rows(600, seed=1)
LABELLED = rows(200, seed=2)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    tiny_bert.write_folder(folder / "source")
    compile_folder(folder / "source", folder / "tiny", Naming(name="tiny"))
    return folder / "tiny"


@pytest.fixture
def fit(cli, write, model):
    """Fit on the texts of cases, or of a file, with the tiny model."""

    def call(*args, texts=None, output=OUT):
        texts = write(*TEXTS, name="texts.jsonl") if texts is None else texts
        spec = () if "--embedder" in args else ("--embedder", f"onnx:{model}")
        return cli("models", "isotropy", texts, "-o", output, *spec, *args)

    return call


@pytest.fixture(scope="module")
def made(tmp_path_factory, model):
    """A transform, fitted once."""
    from closecall.cli import run

    folder = tmp_path_factory.mktemp("isotropy")
    texts = folder / "texts.jsonl"
    texts.write_text("".join(f"{json.dumps(row)}\n" for row in TEXTS), encoding="utf-8")
    path = folder / OUT
    code = run(
        ["models", "isotropy", str(texts), "-o", str(path), "--embedder", f"onnx:{model}",
         "--method", "whiten:16", "--no-cache"]
    )  # fmt: skip
    assert code == 0
    return path


def test_it_says_what_it_did_and_what_to_type_next(fit, model):
    said = fit()
    assert said.code == 0, said.err
    held, _ = load_isotropy(OUT)
    left = f"{held.texts.kept:.1%} of the variance"
    assert said.out.splitlines() == [
        "components:8 of tiny: fitted on 1,200 texts",
        f"two of them had a mean cosine of {held.texts.mean_cosine:.3f}; {left} is left",
        "with 2,000 texts or more it would carry over better",
    ]
    assert "closecall calibrate FILE --embedder isotropic:mine.isotropy.json -o" in said.err
    assert "no cutoff chosen for the plain vectors holds for them" in said.err
    assert "answer_alignment and context_alignment score as before" in said.err
    assert held.embedder == f"onnx:{model}"
    assert held.texts.fields == ("response", "reference")


def test_labels_are_not_looked_at(fit, write):
    fit()
    other = [{**row, "label": "accept", "input": "another"} for row in TEXTS]
    assert fit(texts=write(*other), output="b.json").code == 0
    one, two = (load_isotropy(path)[0] for path in (OUT, "b.json"))
    assert (one.mean, one.matrix, one.texts) == (two.mean, two.matrix, two.texts)


def test_a_file_of_lines_gives_what_its_cases_give(fit, tmp_path):
    fit()
    lines = [text for row in TEXTS[::-1] for text in (row["response"], "", row["reference"])]
    path = tmp_path / "texts.txt"
    path.write_text("\r\n".join(lines), encoding="utf-16")
    assert fit(texts=path, output="b.json").code == 0
    assert load_isotropy(OUT)[1].digest == load_isotropy("b.json")[1].digest


def test_fields_are_chosen(fit):
    assert fit("--field", "context", "--field", "input").code == 0
    held, _ = load_isotropy(OUT)
    assert (held.texts.count, held.texts.fields) == (1_200, ("input", "context"))


def test_texts_are_drawn_where_there_are_more_than_wanted(fit):
    said = fit("--at-most", "1000", "--seed", "3")
    assert said.out.startswith(
        "components:8 of tiny: fitted on 1,000 of 1,200 texts, drawn with seed 3"
    )


def test_the_same_texts_at_the_same_time_give_the_same_file(fit, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    fit("--no-cache")
    fit("--threads", "1", output="b.json")
    assert OUT.read_bytes() == Path("b.json").read_bytes()
    assert load_isotropy(OUT)[0].created == "2023-11-14T22:13:20Z"


# --- refusals -------------------------------------------------------------------------------------


def test_too_few_texts(fit, write):
    said = fit(texts=write(*TEXTS[:400]))
    assert said.code == 4
    assert "800 distinct texts were given, and a transform that carries over" in said.err
    assert f"{LEAST:,} at least" in said.err
    assert not OUT.exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--method", "zca"), "method must be centre, components:K"),
        (("--method", "whiten:25"), "have room for whiten:24"),
        (("--at-most", "999"), "--at-most"),
        (("--field", "label"), "--field"),
        (("--cache-dir", ".", "--no-cache"), "exclude each other"),
    ],
)
def test_wrong_options(fit, args, said):
    found = fit(*args)
    assert found.code == 2
    assert said in found.err
    assert not OUT.exists()


def test_options_for_cases_beside_a_file_of_lines(fit, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("a\nb\n", encoding="utf-8")
    assert "each line here is a text" in fit("--field", "input", texts=path).err
    assert fit(texts=path).code == 4


def test_a_file_that_is_there_is_not_replaced_unless_asked(fit, write):
    OUT.write_text("mine", encoding="utf-8")
    said = fit()
    assert said.code == 2
    assert "--force" in said.err
    assert OUT.read_text(encoding="utf-8") == "mine"
    assert fit("--force").code == 0
    texts = write(*TEXTS, name="texts.jsonl")
    assert "it would be lost" in fit("--force", texts=texts, output=texts).err


def test_vectors_are_not_spread_twice(fit, made):
    said = fit("--embedder", f"isotropic:{made}")
    assert said.code == 2
    assert "spread already" in said.err


# --- what takes the file --------------------------------------------------------------------------


def test_info_shows_what_it_is_without_its_numbers(cli, made):
    found = cli("models", "info", f"isotropic:{made}", "--json").json
    assert found["instrument"]["model"] == "tiny+whiten:16"
    assert found["instrument"]["dims"] == 16
    assert found["transform"]["texts"]["count"] == 1_200
    assert not {"mean", "matrix"} & {*found["transform"]}
    assert "whiten:16" in cli("models", "info", f"isotropic:{made}").out


def test_a_pair_is_scored_and_its_alignment_is_that_of_the_plain_model(cli, made, model):
    pair = ("score", "red cat", "red dog", "--json")
    plain, spread = (
        [
            cli(*pair, "-m", metric, "--embedder", spec).json["score"]
            for metric in ("embed_answer_similarity", "answer_alignment")
        ]
        for spec in (f"onnx:{model}", f"isotropic:{made}")
    )
    assert plain[0] != spread[0]
    assert plain[1] == spread[1]


def test_it_carries_a_calibration_from_another_folder(cli, made, write, tmp_path, monkeypatch):
    shutil.copy(made, tmp_path / OUT)
    cases, cutoff = write(*LABELLED), tmp_path / "cutoff.json"
    said = cli(
        "calibrate", cases, "--embedder", f"isotropic:{OUT}", "--max-far", "0.2", "-o", cutoff
    )
    assert said.code == 0, said.err
    found = load_calibration(cutoff)
    assert found.embedder == f"isotropic:{tmp_path / OUT}"
    assert found.instrument.options["isotropy"].startswith("whiten:16 sha256:")
    assert found.canaries.dims == 16

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    run = cli("eval", cases, "--calibration", cutoff, "--format", "json", "--no-aef")
    assert run.code in {0, 1}, run.err
    assert run.json["metadata"]["EmbeddingModel"] == "tiny+whiten:16"
    assert cli("score", "a b", "a b", "--calibration", cutoff).code == 0
    assert cli("calibrate", "--refresh", cutoff).code == 0

    said = cli(
        "eval", cases, "--calibration", cutoff, "--embedder", found.embedder[10:], "--no-aef"
    )
    assert said.code == 3
    plain = f"onnx:{load_isotropy(made)[0].embedder.partition(':')[2]}"
    said = cli("eval", cases, "--calibration", cutoff, "--embedder", plain, "--no-aef")
    assert said.code == 6
    assert "dims 16 then, 24 now" in said.err
    assert cli("calibrate", "--refresh", cutoff, "--embedder", plain, "-o", "plain.json").code == 0
    assert load_calibration("plain.json").instrument.options == {}


def test_a_transform_that_was_fitted_again_on_other_texts_is_another_embedder(
    cli, fit, made, write, tmp_path
):
    shutil.copy(made, tmp_path / OUT)
    cases = write(*LABELLED)
    spec = f"isotropic:{OUT}"
    assert (
        cli("calibrate", cases, "--embedder", spec, "--max-far", "0.2", "-o", "c.json").code == 0
    )
    fit("--method", "whiten:16", "--force", texts=write(*rows(600, seed=9), name="t.jsonl"))
    said = cli("eval", cases, "--calibration", "c.json", "--no-aef")
    assert said.code == 6
    assert "belongs to another embedder" in said.err
    OUT.unlink()
    said = cli("eval", cases, "--calibration", "c.json", "--no-aef")
    assert said.code == 3
    assert "No such file" in said.err


def test_a_run_is_resumed_from_another_folder(cli, made, write, tmp_path, monkeypatch):
    shutil.copy(made, tmp_path / OUT)
    cases, place = write(*LABELLED[:20]), tmp_path / "run"
    spec = ("--embedder", f"isotropic:{OUT}", "--format", "csv")
    kept = runner.measured_case

    def measure(metric, case, vectors):
        if case.id == LABELLED[9]["id"]:
            raise KeyboardInterrupt
        return kept(metric, case, vectors)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "BATCH_CASES", 4)
        patch.setattr(runner, "measured_case", measure)
        assert cli("eval", cases, *spec, "--aef", place).code == 130
    whole = cli("eval", cases, *spec, "--no-aef").out
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    said = cli("eval", "--resume", place, "--format", "csv")
    assert said.code in {0, 1}, said.err
    assert said.out == whole
    assert whole.count("\n") == 21
    assert cli("verify", place).code == 0


def test_the_cache_knows_its_vectors_apart(cli, made, model):
    spread = ("cache", "explain", "a b c", "--embedder", f"isotropic:{made}")
    assert "miss" in cli(*spread).out
    cli("eval", _one_case(), "--embedder", f"isotropic:{made}", "--no-aef")
    assert "hit" in cli(*spread).out
    assert "miss" in cli("cache", "explain", "a b c", "--embedder", f"onnx:{model}").out
    assert "tiny+whiten:16" in cli("cache", "info").out


def _one_case():
    path = Path("one.jsonl")
    path.write_text(json.dumps({"response": "a b c", "reference": "a b d"}), encoding="utf-8")
    return path


def test_two_embedders_are_compared(cli, made, model, write):
    said = cli(
        "compare-models", write(*LABELLED), "--max-far", "0.2",
        "--embedder", f"onnx:{model}", "--embedder", f"isotropic:{made}",
    )  # fmt: skip
    assert said.code in {0, 1, 10, 11}, said.err
    assert "tiny+whiten:16" in said.out


def test_the_window_is_part_of_what_it_was_fitted_with(cli, made):
    said = cli("score", "a", "b", "--embedder", f"isotropic:{made}", "--window", "truncate")
    assert said.code == 6
    assert "window chunk then, truncate now" in said.err


def test_help_says_how_many_texts_it_takes(cli):
    said = cli("models", "isotropy", "--help")
    assert "at least 1,000 different ones" in " ".join(said.out.split())
    assert "isotropy" in cli("models", "--help").out

"""``closecall models distil``, and every command that takes the folder it writes."""

import random
from pathlib import Path

import pytest
import tiny_bert

from closecall import load_calibration
from closecall.models.compiler import Naming, compile_folder
from closecall.models.static_files import read_static
from closecall.runs import runner
from closecall.runs.asked import anywhere

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SHARED = {"accept": (4, 5, 6, 7), "reject": (0, 1, 2, 3, 4)}


def rows(count, seed):
    """Answers share more or fewer letters with the reference."""
    draw = random.Random(seed)
    made = []
    for at in range(count):
        label = draw.choice(["accept", "reject"])
        reference = draw.sample(LETTERS, 8)
        shared = draw.choice(SHARED[label])
        said = reference[:shared] + draw.sample(LETTERS, 8 - shared)
        made.append(
            {"id": f"{at}", "response": " ".join(said), "reference": " ".join(reference),
             "label": label}
        )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    tiny_bert.write_folder(folder / "source")
    compile_folder(folder / "source", folder / "tiny", Naming(name="tiny"))
    return folder / "tiny"


@pytest.fixture
def distil(cli, model):
    def call(*args, output="static"):
        return cli("models", "distil", f"onnx:{model}", "-o", output, "--dims", "8", *args)

    return call


def test_it_says_what_it_made_and_what_to_type_next(distil):
    said = distil()
    assert said.code == 0, said.err
    record = read_static("static").made
    assert said.out == (
        f"tiny-static-8: {record.rows} tokens of tiny, 8 dims, sif:3e-05; "
        f"{record.kept:.1%} of the variance is left\n"
    )
    assert "closecall eval FILE --embedder static:static" in said.err
    assert "calibrate anew" in said.err


def test_options_reach_the_model(distil):
    assert distil("--weighting", "log", "--name", "mine", "--threads", "1", "-q").code == 0
    record = read_static("static").made
    assert (record.name, record.weighting) == ("mine", "log")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--weighting", "idf"), "weighting must be"),
        (("--dims", "25"), "from 1 to 24"),
        (("--dims", "0"), "--dims"),
        (("--name", "a/b"), "cannot name a model"),
    ],
)
def test_wrong_options(distil, args, said):
    found = distil(*args)
    assert found.code == 2
    assert said in found.err
    assert not Path("static").exists()


@pytest.mark.parametrize("name", ["st:x", "static:x", "openai:x", "onnx:"])
def test_a_model_that_is_not_compiled(cli, name):
    said = cli("models", "distil", name, "-o", "static")
    assert said.code == 2
    assert "made from a compiled one" in said.err


def test_a_folder_that_is_there_is_not_replaced_unless_asked(distil):
    assert distil().code == 0
    said = distil()
    assert said.code == 2
    assert "--force" in said.err
    assert distil("--force").code == 0
    Path("mine").mkdir()
    assert "no static model" in distil("--force", output="mine").err


def test_info_shows_the_record_and_the_identity(cli, distil):
    distil()
    found = cli("models", "info", "static:static", "--json").json
    assert found["made"]["encoder"] == "tiny"
    assert found["instrument"]["kind"] == "static"
    assert "tiny-static-8" in cli("models", "info", "static:static").out


def test_a_pair_is_scored_by_vector_and_by_token(cli, distil):
    distil()
    for metric in ("embed_answer_similarity", "answer_alignment"):
        scores = [
            cli("score", "red cat", other, "-m", metric, "--embedder", "static:static", "--json")
            .json["score"]
            for other in ("red cat", "blue dog ran")
        ]  # fmt: skip
        assert scores[0] == pytest.approx(100, abs=1e-3)
        assert scores[1] < 95


def test_a_name_of_the_store_will_do(cli, distil, tmp_path, monkeypatch):
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(tmp_path))
    distil(output="quick")
    found = cli("score", "red cat", "red cat", "--embedder", "quick", "--json")
    assert found.code == 0, found.err
    assert cli("models", "info", "quick", "--json").json["instrument"]["kind"] == "static"


def test_it_carries_a_calibration_from_another_folder(cli, distil, write, tmp_path, monkeypatch):
    distil()
    cases, cutoff = write(*rows(200, 2)), tmp_path / "cutoff.json"
    said = cli("calibrate", cases, "--embedder", "static:static", "--max-far", "0.2", "-o", cutoff)
    assert said.code == 0, said.err
    found = load_calibration(cutoff)
    assert found.embedder == f"static:{tmp_path / 'static'}"
    assert (found.instrument.kind, found.canaries.dims) == ("static", 8)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    run = cli("eval", cases, "--calibration", cutoff, "--format", "json", "--no-aef")
    assert run.code in {0, 1}, run.err
    assert run.json["metadata"]["EmbeddingModel"] == "tiny-static-8"
    said = cli("eval", cases, "--calibration", cutoff, "--embedder", "minilm", "--no-aef")
    assert said.code == 6


def test_a_run_is_resumed_from_another_folder(cli, distil, write, tmp_path, monkeypatch):
    distil()
    labelled = rows(20, 3)
    cases, place = write(*labelled), tmp_path / "run"
    spec = ("--embedder", "static:static", "--format", "csv")
    kept = runner.measured_case

    def measure(metric, case, vectors):
        if case.id == labelled[9]["id"]:
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


def test_a_folder_or_a_hub_name_of_st_holds_everywhere(tmp_path):
    (tmp_path / "model").mkdir()
    assert anywhere("st:model?dims=8") == f"st:{tmp_path / 'model'}?dims=8"
    assert anywhere("st:all-mpnet-base-v2") == "st:all-mpnet-base-v2"
    assert anywhere("static:model") == f"static:{tmp_path / 'model'}"
    assert anywhere("static:") == "static:"
    assert anywhere("minilm") == "minilm"

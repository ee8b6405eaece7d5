"""Going on with a run: only as the run that was begun, and what changed is said."""

import json

import pytest

from closecall import AnswerSimilarity
from closecall.errors import ConfigurationError, RunFolderError
from closecall.metrics.pooled import SemanticSimilarity
from closecall.runs.evaluate import evaluate
from closecall.runs.resuming import resume
from closecall.runs.stored import load_run
from closecall.runs.values import result_id
from closecall.testing import HashEmbedder


class StoppedError(Exception):
    pass


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 2)


def rows(count=6):
    return [
        {"id": str(i), "response": f"answer {i}", "reference": "answer 1"} for i in range(count)
    ]


def write(path, cases):
    path.write_text("".join(json.dumps(row) + "\n" for row in cases), encoding="utf-8")
    return path


def begin(cases, folder, stop_after=2, **options):
    """Start a run that ends with an error once some cases are done."""

    def progress(done, _):
        if done >= stop_after:
            raise StoppedError

    with pytest.raises(StoppedError):
        evaluate(cases, aef=folder, progress=progress, **options)
    return folder


def test_a_run_goes_on_where_it_was(tmp_path):
    folder = begin(rows(), tmp_path / "run", embedder=HashEmbedder(), cache=False)
    embedder = HashEmbedder()
    seen = []
    run = evaluate(
        rows(),
        embedder=embedder,
        aef=folder,
        resume=True,
        cache=False,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(2, 6), (4, 6), (6, 6)]
    assert not {"answer 0"} & set(embedder.texts)
    whole = evaluate(rows(), embedder=HashEmbedder(), cache=False)
    assert [row.results for row in run] == [row.results for row in whole]
    assert (run.metrics, run.cases) == (whole.metrics, whole.cases)


def test_it_keeps_the_id_and_the_start_it_had(tmp_path):
    folder = begin(rows(), tmp_path / "run", embedder=HashEmbedder(), run_id="mine", name="first")
    run = evaluate(rows(), embedder=HashEmbedder(), aef=folder, resume=True, name="second")
    assert (run.header.run_id, run.header.name) == ("mine", "first")
    assert run.header.started_at == json.loads((folder / "run.json").read_bytes())["startedAt"]
    lines = [json.loads(line) for line in (folder / "results.ndjson").read_bytes().splitlines()]
    expected = [result_id("mine", str(i), "embed_answer_similarity") for i in range(6)]
    assert [line["resultId"] for line in lines] == expected


CHANGED = {
    "a text": ({"cases": [*rows(5), rows()[0] | {"id": "5"}]}, r"the cases \(6 in both, "),
    "a case more": ({"cases": rows(7)}, r"the cases \(6 then, 7 now\)"),
    "the model": ({"embedder": HashEmbedder(model="other")}, "the embedder .*model hash-words"),
    "the width": ({"embedder": HashEmbedder(dims=32)}, "the embedder .*dims 64 then, 32 now"),
    "the metric": ({"metrics": [SemanticSimilarity()]}, "the metrics .*semantic_similarity now"),
    "one metric more": (
        {"metrics": [AnswerSimilarity(), SemanticSimilarity()]},
        r"the metrics \(embed_answer_similarity then",
    ),
    "the cutoff": (
        {"metrics": [AnswerSimilarity(71)]},
        r"the cutoff of embed_answer_similarity \(70 then, 71 now\)",
    ),
}


@pytest.mark.parametrize("what", CHANGED)
def test_another_question_is_refused_by_name(tmp_path, what):
    changes, message = CHANGED[what]
    folder = begin(rows(), tmp_path / "run", embedder=HashEmbedder())
    before = (folder / "results.ndjson").read_bytes()
    asked = {"cases": rows(), "embedder": HashEmbedder()} | changes
    with pytest.raises(RunFolderError, match=message) as caught:
        evaluate(asked.pop("cases"), aef=folder, resume=True, **asked)
    said = str(caught.value)
    assert said.count("then,") + said.count(" then") + said.count(" in both") >= 1
    for other in ("the cases", "the embedder", "the metrics", "the cutoff"):
        assert (other in said) == (other in message), said
    assert (folder / "results.ndjson").read_bytes() == before


def test_a_new_version_of_a_metric_is_another_question(tmp_path, monkeypatch):
    folder = begin(rows(), tmp_path / "run", embedder=HashEmbedder())
    monkeypatch.setattr(AnswerSimilarity, "VERSION", "2")
    with pytest.raises(RunFolderError, match=r"the version of embed_answer_similarity"):
        evaluate(rows(), embedder=HashEmbedder(), aef=folder, resume=True)


def test_a_file_goes_on_by_its_folder_alone(tmp_path, monkeypatch):
    write(tmp_path / "cases.jsonl", rows())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    options = {"cutoffs": {"embed_answer_similarity": 12.5}, "subject": "desk", "content": False}
    begin("cases.jsonl", tmp_path / "run", subject_version="3", **options)
    monkeypatch.chdir(elsewhere)
    run = resume(tmp_path / "run")
    assert run.cases.total == 6
    assert run.metrics[0].cutoff == 12.5
    assert (run.header.subject, run.header.subject_version) == ("desk", "3")
    assert not run.header.content


def test_a_model_in_a_folder_is_found_from_anywhere(tmp_path, monkeypatch):
    from closecall.models.store import find_model

    write(tmp_path / "cases.jsonl", rows())
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "model").symlink_to(find_model("minilm").folder)
    monkeypatch.chdir(tmp_path)
    begin("cases.jsonl", tmp_path / "run", embedder="onnx:model")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert resume(tmp_path / "run").cases.total == 6


def test_a_changed_file_is_refused(tmp_path):
    path = write(tmp_path / "cases.jsonl", rows())
    folder = begin(path, tmp_path / "run")
    write(path, rows(5))
    with pytest.raises(RunFolderError, match=r"the cases \(6 then, 5 now\)"):
        resume(folder)


def test_rows_that_became_bad_are_refused(tmp_path):
    path = write(tmp_path / "cases.jsonl", rows())
    folder = begin(path, tmp_path / "run", on_bad_row="skip")
    with path.open("a", encoding="utf-8") as out:
        out.write("{broken\n")
    with pytest.raises(RunFolderError, match=r"cannot be read \(0 then, 1 now\)"):
        resume(folder)


@pytest.mark.parametrize("what", ["cases", "embedder", "metrics"])
def test_what_was_given_in_python_cannot_come_from_the_folder(tmp_path, what):
    class Own(AnswerSimilarity):
        NAME = "own"

    path = write(tmp_path / "cases.jsonl", rows())
    given = {
        "cases": {"cases": rows()},
        "embedder": {"cases": path, "embedder": HashEmbedder()},
        "metrics": {"cases": path, "metrics": [Own()]},
    }[what]
    folder = begin(given.pop("cases"), tmp_path / "run", **given)
    with pytest.raises(RunFolderError, match=rf"the {what} of this run were given in Python"):
        resume(folder)


def test_a_finished_run_is_left_as_it_is(tmp_path):
    folder = tmp_path / "run"
    evaluate(rows(), embedder=HashEmbedder(), aef=folder)
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    said = []
    again = resume(folder, on_notice=said.append)
    assert [row.state for row in again] == [row.state for row in load_run(folder)]
    assert again.cases.total == len(rows())
    assert "had ended" in said[0]
    with pytest.raises(RunFolderError, match="nothing to resume"):
        evaluate(rows(), embedder=HashEmbedder(), aef=folder, resume=True)
    assert before == {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_all_cases_done_but_not_closed(tmp_path):
    folder = begin(rows(), tmp_path / "run", stop_after=6, embedder=HashEmbedder())
    embedder = HashEmbedder()
    run = evaluate(rows(), embedder=embedder, aef=folder, resume=True)
    assert embedder.texts == []
    assert run.cases.total == 6 == load_run(folder).cases.total


TWO = "embed_answer_similarity,embedding_similarity"


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_run_killed_within_a_case_is_reported_up_to_the_case_before(tmp_path, lost):
    folder = begin(rows(), tmp_path / "run", 4, metrics=TWO, embedder=HashEmbedder())
    path = folder / "results.ndjson"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-lost]))
    run = load_run(folder)
    assert run.cases.total == len(list(run)) == 4 - (lost + 1) // 2
    assert [row.case.response for row in run] == [f"answer {i}" for i in range(len(run))]


def test_a_run_whose_last_texts_were_lost_is_reported_without_them(tmp_path):
    folder = begin(rows(), tmp_path / "run", 4, embedder=HashEmbedder())
    path = folder / "ext/closecall/cases.ndjson"
    path.write_bytes(path.read_bytes()[:-10])
    assert load_run(folder).cases.total == 3


@pytest.mark.parametrize("member", ["ext", "scores", "reason"])
def test_a_result_that_lost_a_member_is_named_when_the_run_goes_on(tmp_path, member):
    folder = begin(rows(), tmp_path / "run", embedder=HashEmbedder())
    path = folder / "results.ndjson"
    lines = path.read_bytes().splitlines(keepends=True)
    line = json.loads(lines[1])
    line[member] = None
    lines[1] = json.dumps(line).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    for again in (
        lambda: evaluate(rows(), embedder=HashEmbedder(), aef=folder, resume=True),
        lambda: load_run(folder),
    ):
        with pytest.raises(RunFolderError, match=r"results\.ndjson:2: "):
            again()


@pytest.mark.parametrize(
    ("member", "value", "said"),
    [
        ("suite", {"version": "1"}, r"suite\.ref must match"),
        ("execution", True, "execution must be an object"),
        ("contentCapture", "1e999", "contentCapture must be one of on, off"),
    ],
)
def test_a_header_that_cannot_be_closed_is_refused_before_anything_is_measured(
    tmp_path, member, value, said
):
    folder = begin(rows(), tmp_path / "run", embedder=HashEmbedder())
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {member: value}), encoding="utf-8")
    before = (folder / "results.ndjson").read_bytes()
    with pytest.raises(RunFolderError, match=rf"run\.json: {said}"):
        evaluate(rows(), embedder=HashEmbedder(), aef=folder, resume=True)
    assert (folder / "results.ndjson").read_bytes() == before


def test_an_embedder_that_cannot_be_used_leaves_the_run_as_it_was(tmp_path):
    class Unloadable(HashEmbedder):
        def load(self):
            raise ConfigurationError("the model is damaged")

    folder = begin(rows(), tmp_path / "run", embedder=HashEmbedder())
    path = folder / "results.ndjson"
    path.write_bytes(path.read_bytes() + b"half a line")
    with pytest.raises(ConfigurationError, match="damaged"):
        evaluate(rows(), embedder=Unloadable(), aef=folder, resume=True)
    assert path.read_bytes().endswith(b"half a line")


def test_an_error_in_the_middle_leaves_a_run_that_can_go_on(tmp_path):
    """Reported before it is finished, a run shows what it has."""
    folder = begin(rows(), tmp_path / "run", stop_after=4, embedder=HashEmbedder())
    assert load_run(folder).cases.total == 4
    with pytest.raises(RunFolderError, match="--resume"):
        evaluate(rows(), embedder=HashEmbedder(), aef=folder)

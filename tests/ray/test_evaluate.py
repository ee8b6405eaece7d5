"""A run on two workers is the run of one process: the same cases, numbers, counts and verdicts."""

import json
import os
import shutil
import signal

import msgspec
import pytest

from closecall import evaluate
from closecall.errors import ClosecallError, ConfigurationError, RunFolderError, UsageError
from closecall.testing import HashEmbedder

pytestmark = [pytest.mark.loopback, pytest.mark.filterwarnings("ignore")]

METRICS = ["embed_answer_similarity", "answer_alignment"]
CASES = 1200


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {
            "id": f"q{n}",
            "question": f"How high did river {n % 97} rise?",
            "response": None if n % 201 == 7 else f"River {n % 97} rose by {n % 5} metres in May",
            "reference": [f"River {n % 97} rose {n % 3} metres", "It rose in May"][: 1 + n % 2],
            "label": ["accept", "reject", None][n % 3],
            "group": f"river {n % 97}",
            "part": f"p{n % 4}",
        }
        for n in range(CASES)
    ]
    place = tmp_path_factory.mktemp("cases") / "cases.parquet"
    parquet.write_table(pa.Table.from_pylist(rows), place, row_group_size=350)
    return place


@pytest.fixture(scope="module")
def on_ray(_ray, cases):
    from closecall.ray import evaluate_dataset

    def run(output, metrics=METRICS, source=cases, **options):
        asked = {"embedder": HashEmbedder(), "concurrency": 2, "part_size": 100}
        return evaluate_dataset(source, metrics, output=output, **asked | options)

    return run


@pytest.fixture(scope="module")
def alone(cases):
    return evaluate(cases, METRICS, HashEmbedder())


def numbers(run):
    """Everything a run came to, without its id and how long it took."""
    rows = [
        (
            row.case.id,
            row.state,
            row.score,
            [msgspec.structs.replace(result, duration_ms=None) for result in row.results],
        )
        for row in run
    ]
    metrics = [msgspec.structs.replace(metric, duration_ms=None) for metric in run.metrics]
    return rows, metrics, run.cases, run.exit_code, run.header.definition_digest


@pytest.fixture(scope="module")
def whole(on_ray, tmp_path_factory):
    """A run of two workers, where it lies, and what was said of its progress."""
    place, seen = tmp_path_factory.mktemp("whole"), []
    run = on_ray(place / "parts", aef=place / "folder", progress=lambda *done: seen.append(done))
    return run, place, seen


def test_two_workers_and_one_process_are_equal_to_the_last_bit(whole, alone):
    run, place, seen = whole
    assert numbers(run) == numbers(alone)
    assert len(list((place / "parts" / "parts").iterdir())) == 12
    assert seen[0] == (0, CASES)
    assert seen[-1] == (CASES, CASES)
    assert seen == sorted(seen)

    from closecall.runs.reader import open_run
    from closecall.runs.stored import load_run

    assert open_run(place / "folder").verify() == []
    assert numbers(load_run(place / "folder"))[1:] == numbers(alone)[1:]


def killing(mark):
    """Return an embedder that kills its process at a river half-way, where ``mark`` is not set."""

    def on_embed(texts):
        if any("river 96 " in text.lower() for text in texts) and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    return HashEmbedder(on_embed=on_embed)


def test_a_worker_killed_half_way_changes_no_number(on_ray, alone, tmp_path):
    mark, told = tmp_path / "mark", []
    run = on_ray(tmp_path / "parts", embedder=killing(mark), on_notice=told.append)
    assert mark.exists()
    assert [line for line in told if line.startswith("a worker died; cases ")] == told != []
    assert numbers(run) == numbers(alone)


def test_a_run_that_failed_goes_on(on_ray, alone, tmp_path):
    def fails(texts):
        raise ConfigurationError("the key was revoked")

    with pytest.raises(ConfigurationError, match=r"^the key was revoked$"):
        on_ray(tmp_path / "parts", embedder=HashEmbedder(on_embed=fails))
    assert numbers(on_ray(tmp_path / "parts", resume=True)) == numbers(alone)


def test_only_what_is_missing_is_done_and_another_question_is_refused(
    on_ray, whole, alone, tmp_path
):
    place, seen = tmp_path / "parts", []
    shutil.copytree(whole[1] / "parts", place)
    with pytest.raises(RunFolderError, match="already holds a run"):
        on_ray(place)
    with pytest.raises(RunFolderError, match="the metrics"):
        on_ray(place, METRICS[:1], resume=True)
    _reopen(place)
    for part in sorted((place / "parts").iterdir())[3:]:
        part.unlink()
    run = on_ray(place, resume=True, progress=lambda *done: seen.append(done))
    assert seen[0] == (300, CASES)
    assert numbers(run) == numbers(alone)


def _reopen(place):
    import json

    document = json.loads((place / "run.json").read_text())
    document["status"] = "running"
    document.pop("endedAt")
    (place / "run.json").write_text(json.dumps(document))
    for name in ("seal.json", "summary.json"):
        (place / name).unlink()


def test_a_worker_with_another_embedder_is_refused_by_name(on_ray, tmp_path):
    class Shifting(HashEmbedder):
        """Another instrument in every other process, as where machines hold other weights."""

        def __init__(self):
            super().__init__(model=f"weights of {os.getpid()}")

        def __reduce__(self):
            return (Shifting, ())

    with pytest.raises(ClosecallError, match=r"the embedder .its instrument digest. is") as error:
        on_ray(tmp_path / "parts", embedder=Shifting())
    assert "Install the same versions and models on every machine" in str(error.value)


def test_gates_decide_as_they_do_in_one_process(on_ray, cases, tmp_path):
    from closecall.gates.deciding import DecidingGates

    rules = [
        "pass_rate(embed_answer_similarity) >= 0.9",
        "mean(answer_alignment where slice.part = p3) >= 1",
    ]
    run = on_ray(tmp_path / "parts", gates=rules)
    here = evaluate(
        cases, METRICS, HashEmbedder(), watch=lambda header: DecidingGates(rules, header)
    )
    with pytest.raises(UsageError, match="answer_alignment has no cutoff"):
        on_ray(tmp_path / "other", gates=["pass_rate(answer_alignment) >= 0.9"])
    assert not (tmp_path / "other").exists()
    assert run.gates == here.gates
    assert [one.asked for one in run.gates] == [CASES, CASES // 4]
    assert run.exit_code == here.exit_code == 1


def test_what_workers_cannot_do_is_refused_before_anything_is_written(on_ray, tmp_path):
    with pytest.raises(UsageError, match="output names the folder"):
        on_ray(None)
    with pytest.raises(UsageError, match="got list"):
        on_ray(tmp_path / "parts", source=[{"response": "a", "reference": "a"}])
    with pytest.raises(UsageError, match="part_size"):
        on_ray(tmp_path / "parts", part_size=0)
    assert not (tmp_path / "parts").exists()


def test_a_function_and_a_file_of_lines_and_a_name_work_too(on_ray, tmp_path):
    lines = [f'{{"response": "answer {n}", "reference": "answer 1"}}\n' for n in range(40)]
    (tmp_path / "c.jsonl").write_text("".join(lines) + "not a row\n", encoding="utf-8")

    def short(case) -> bool:
        return len(case.response) < 9

    run = on_ray(
        tmp_path / "parts",
        ["embed_answer_similarity", short],
        source=tmp_path / "c.jsonl",
        embedder="minilm",
        on_bad_row="skip",
        part_size=None,
    )
    here = evaluate(
        tmp_path / "c.jsonl", ["embed_answer_similarity", short], "minilm", on_bad_row="skip"
    )
    assert numbers(run) == numbers(here)
    assert run.cases.bad_rows == 1


@pytest.mark.parametrize("kept", [True, False])
def test_values_of_rows_that_cannot_be_read_are_kept_only_with_content(on_ray, tmp_path, kept):
    rows = [
        {"response": f"answer {n}", "reference": "answer 1", "label": "accept"} for n in range(40)
    ]
    rows[7] |= {"label": "a secret verdict"}
    (tmp_path / "c.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    run = on_ray(tmp_path / "parts", source=tmp_path / "c.jsonl", on_bad_row="skip", content=kept)
    assert run.cases.bad_rows == 1
    (told,) = run.header.dataset.problems
    assert "label" in told
    files = [path.read_bytes() for path in (tmp_path / "parts").rglob("*") if path.is_file()]
    assert any(b"a secret verdict" in data for data in files) is kept

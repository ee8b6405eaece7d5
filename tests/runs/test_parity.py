"""Parity: how far two embedders are apart, and which verdicts that flips."""

import json
import shutil

import numpy as np
import pytest
from judged_rows import Quick
from judged_rows import made as judged
from judged_rows import rows as judged_rows
from msgspec.structs import replace

from closecall import Case, Goal, calibrate, save_calibration
from closecall.cli import run as command_line
from closecall.errors import EmbeddingError, InstrumentMismatchError, UsageError
from closecall.metrics.registry import load_metric
from closecall.models.store import bundled_folder
from closecall.records import Label, State
from closecall.report.parity import parity_lines
from closecall.runs.applied import Applied
from closecall.runs.parity import Apart, parity
from closecall.testing import HashEmbedder


class Shaken(HashEmbedder):
    """The same vectors, moved a little; another identity."""

    def __init__(self, by=0.0, dims=64):
        super().__init__(dims=dims, model="shaken")
        self.by = by

    def embed_counted(self, texts, role="text"):
        vectors, tokens = super().embed_counted(texts, role)
        moved = vectors + np.float32(self.by) * np.sign(np.sin(np.arange(self.instrument.dims)))
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        return type(super().embed_counted([]))(moved.astype(np.float32), tokens)


def cases(n=60):
    return [
        Case(
            id=f"c{i}",
            references=(f"one two three four five w{i}",),
            response=" ".join(["one two three four five".rsplit(" ", i % 5)[0], f"v{i}"]),
            label=Label.ACCEPT if i % 5 < 2 else Label.REJECT,
        )
        for i in range(n)
    ]


def test_equal_vectors_under_two_names_agree_in_everything():
    found = parity(cases(), HashEmbedder(), Shaken())
    assert found.same
    assert (found.cases, found.decided) == (60, 60)
    assert found.components.largest < 1e-6
    assert found.lowest_cosine > 1 - 1e-6
    assert found.scores.n == 60
    assert found.scores.largest < 1e-3
    assert found.identities == ("model hash-words then, shaken now",)
    assert found.texts == len({t for c in cases() for t in (*c.references, c.response)})


def test_verdicts_that_flip_are_counted_and_named():
    found = parity(cases(), HashEmbedder(), Shaken(by=0.2))
    assert found.flips
    assert not found.same
    for flip in found.flips:
        low, high = sorted((flip.value_a, flip.value_b))
        assert low < 70 <= high
        assert {flip.state_a, flip.state_b} == {State.PASSED, State.FAILED}
    said = "\n".join(parity_lines(found))
    assert f"{len(found.flips)} / 60 (" in said
    assert f"{found.flips[0].id}: " in said
    assert f"lowest cosine {found.lowest_cosine:.8f}" in said


def test_other_widths_are_compared_by_scores_alone():
    told = []
    found = parity(cases(), HashEmbedder(), Shaken(dims=32), on_notice=told.append)
    assert found.components is None
    assert found.lowest_cosine is None
    assert found.scores.n == 60
    assert "64 and 32 numbers" in told[0]
    assert "not compared" in "\n".join(parity_lines(found))


def test_without_a_cutoff_there_are_no_verdicts():
    found = parity(cases(), HashEmbedder(), Shaken(), "answer_alignment")
    assert (found.decided, found.flips, found.cutoff) == (0, (), "none")
    assert found.compared
    assert not found.same
    assert "the metric has no cutoff" in "\n".join(parity_lines(found))


def unanswered(n=5):
    return [Case(id=f"u{i}", response=f"word {i}", label=Label.ACCEPT) for i in range(n)]


def test_where_no_case_is_measured_nothing_is_the_same():
    found = parity(unanswered(), HashEmbedder(), Shaken(by=0.2))
    assert (found.decided, found.scores, found.unlike_absences) == (0, None, 0)
    assert not found.compared
    assert not found.same
    said = "\n".join(parity_lines(found))
    assert "none: no case was measured by both, so nothing was decided (cutoff 70)" in said
    assert "flip" not in said
    assert not parity(unanswered(), HashEmbedder(), Shaken(), "answer_alignment").compared


def test_cases_without_two_verdicts_are_counted():
    found = parity([*cases(), *unanswered()], HashEmbedder(), Shaken())
    assert (found.cases, found.decided) == (65, 60)
    assert "5 cases without two verdicts" in "\n".join(parity_lines(found))


def calibration(**options):
    return calibrate(
        cases(120),
        "embed_answer_similarity",
        HashEmbedder(),
        Goal(max_far=0.2),
        cache=False,
        **options,
    )


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_calibration_decides_where_it_was_made_with_one_of_the_two(side):
    pair = (HashEmbedder(), Shaken())
    found = parity(cases(), *(pair if side == "a" else pair[::-1]), calibration=calibration())
    assert found.same
    assert (found.metric, found.calibrated) == ("embed_answer_similarity", side)
    assert f"calibrated with {side.upper()})" in "\n".join(parity_lines(found))


def test_a_calibration_of_neither_is_refused_before_anything_is_embedded():
    made = calibration()
    asked = [Shaken(dims=32), Shaken(dims=16)]
    with pytest.raises(InstrumentMismatchError, match=r"(?s)A: .*another embedder.*\nB: .*"):
        parity(cases(), *asked, calibration=made)
    said = {case.response for case in cases()}
    assert not said.intersection(text for one in asked for text in one.texts)


def test_a_calibration_of_another_metric_or_version_is_refused():
    made = calibration()
    with pytest.raises(InstrumentMismatchError, match="for the metric embed_answer_similarity"):
        parity(cases(), HashEmbedder(), Shaken(), "answer_alignment", calibration=made)
    older = replace(made, metric=replace(made.metric, version="0"))
    with pytest.raises(InstrumentMismatchError, match="was made with version 0") as caught:
        parity(cases(), HashEmbedder(), Shaken(), calibration=older)
    assert str(caught.value).count("version 0") == 1, "once, and not for A and B"
    own = load_metric("embed_answer_similarity", 50.0)
    with pytest.raises(UsageError, match="a cutoff of your own"):
        parity(cases(), HashEmbedder(), Shaken(), own, calibration=made)


def test_several_metrics_are_refused():
    with pytest.raises(UsageError, match="one metric, got 2"):
        parity(cases(), HashEmbedder(), Shaken(), "answer_alignment,embed_answer_similarity")


def test_a_fitted_judge_decides(tmp_path):
    made = judged()
    save_calibration(made, tmp_path / "judge.json")
    told = parity(judged_rows(40, seed=3), Quick(), Shaken(), calibration=tmp_path / "judge.json")
    assert told.metric == made.metric.id == "fitted_judge"
    assert (told.decided, told.calibrated) == (40, "a")
    assert told.cutoff == f"{Applied.of(made, '').accept:.10g}"
    assert told.scores.n == 40


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(bundled_folder() / "all-MiniLM-L6-v2", tmp_path / "copy")
    card = tmp_path / "copy" / "card.toml"
    card.write_text(card.read_text().replace("max_tokens = 256", "max_tokens = 128"))
    return tmp_path


def write(path, rows):
    path.write_text(
        "".join(
            json.dumps(
                {
                    "id": c.id,
                    "response": c.response,
                    "references": list(c.references),
                    "label": c.label,
                }
            )
            + "\n"
            for c in rows
        )
    )


def test_the_window_is_that_of_the_calibration_unless_said_otherwise(folder, capsys):
    write(folder / "c.jsonl", cases(120))
    made = calibrate("c.jsonl", embedder="minilm", goal=Goal(max_far=0.2), window="truncate")
    save_calibration(made, folder / "cut.json")
    asked = ["models", "parity", "minilm", "onnx:copy", "c.jsonl", "-q"]
    asked += ["--calibration", "cut.json"]
    assert command_line(asked) == 0
    assert "calibrated with A" in capsys.readouterr().out
    assert command_line([*asked, "--window", "chunk"]) == 6
    assert "belongs to another embedder" in capsys.readouterr().err


def test_nothing_compared_is_no_success(folder, capsys):
    write(folder / "u.jsonl", unanswered())
    asked = ["models", "parity", "minilm", "onnx:copy", "u.jsonl", "-q"]
    assert command_line(asked) == 11
    assert "nothing was decided" in capsys.readouterr().out
    assert command_line([*asked, "-m", "answer_alignment"]) == 11
    assert "none measured by both" in capsys.readouterr().out
    write(folder / "c.jsonl", cases(4))
    asked[4] = "c.jsonl"
    assert command_line([*asked, "-m", "answer_alignment"]) == 0
    assert "the metric has no cutoff" in capsys.readouterr().out
    assert command_line([*asked, "--cutoff", "70"]) == 0
    assert "0 / 4" in capsys.readouterr().out


def test_a_case_that_only_one_measures_is_no_agreement():
    def refuse(texts):
        if cases()[3].response in texts:
            raise EmbeddingError("no", [list(texts).index(cases()[3].response)])

    class Refusing(Shaken):
        def embed_counted(self, texts, role="text"):
            refuse(texts)
            return super().embed_counted(texts, role)

    found = parity(cases(), HashEmbedder(), Refusing())
    assert found.unlike_absences == 1
    assert not found.same


def test_one_instrument_against_itself_is_refused():
    with pytest.raises(UsageError, match="the same instrument"):
        parity(cases(), HashEmbedder(), HashEmbedder())


def test_percentiles_are_distances_that_were_seen():
    apart = Apart.of([0.5, *([0.1] * 98), 0.9])
    assert (apart.n, apart.median, apart.p99, apart.largest) == (100, 0.1, 0.5, 0.9)
    assert Apart.of([]) is None
    assert Apart.of([0.25]) == Apart(n=1, median=0.25, p99=0.25, largest=0.25)


def test_the_command_line_uses_a_calibration_and_says_it_in_json(folder, capsys):
    write(folder / "c.jsonl", cases(120))
    made = calibrate("c.jsonl", "embed_answer_similarity", "minilm", Goal(max_far=0.2))
    save_calibration(made, folder / "cut.json")
    asked = ["models", "parity", "minilm", "onnx:copy", "c.jsonl", "-q"]
    assert command_line([*asked, "--calibration", "cut.json", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["flips"] == []
    assert told["decided"] == 120
    assert told["cutoff"] == f"{Applied.of(made, '').accept:.10g}"
    assert told["components"]["largest"] < 1e-6
    assert command_line(["models", "parity", "minilm", "minilm", "c.jsonl", "-q"]) == 2
    assert "the same instrument" in capsys.readouterr().err

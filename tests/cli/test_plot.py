"""``closecall plot``: from runs, calibrations and files of scores to pictures."""

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from closecall import Case, evaluate
from closecall.calibration.store import save_calibration
from closecall.testing import HashEmbedder

sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))  # for labelled_rows

from labelled_rows import made, rows, unlabelled

KINDS = ("distributions", "roc", "det", "errors", "precision", "reliability")


@pytest.fixture(scope="module")
def calibration(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "cutoff.json"
    save_calibration(made(lock=False), path)
    return path


@pytest.fixture
def run_folder(tmp_path):
    def folder(cases, name="run", metrics=("embed_answer_similarity",), **more):
        evaluate(
            cases,
            list(metrics),
            HashEmbedder(),
            cache=False,
            aef=tmp_path / name,
            name=name,
            **more,
        )
        return tmp_path / name

    return folder


def words(path):
    root = ET.parse(path).getroot()  # noqa: S314 - our own picture
    return " ".join(node.text or "" for node in root.iter() if node.text)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_from_a_calibration(cli, calibration, tmp_path, kind):
    said = cli("plot", calibration, "--kind", kind, "-o", tmp_path / "x.svg")
    assert said.code == 0
    assert said.out == ""
    assert "written to" in said.err
    text = words(tmp_path / "x.svg")
    assert "n = " in text
    assert "60" in text
    assert "these labels chose the cutoff" in text


def test_the_same_source_gives_the_same_bytes_and_png_too(cli, calibration, tmp_path):
    for name in ("a", "b"):
        for suffix in ("svg", "png"):
            assert cli("plot", calibration, "-o", tmp_path / f"{name}.{suffix}").code == 0
    for suffix in ("svg", "png"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert not list(tmp_path.glob(".closecall-*"))


def test_a_run_is_drawn_with_its_labels_and_its_cutoff(cli, run_folder, tmp_path):
    folder = run_folder(rows(20, 15))
    assert cli("plot", folder, "-o", tmp_path / "x.svg").code == 0
    text = words(tmp_path / "x.svg")
    assert "accepted by people, n = 20" in text
    assert "rejected by people, n = 15" in text
    assert "cutoff" in text


def test_what_is_not_drawn_is_counted(cli, run_folder, tmp_path):
    cases = rows(20, 15)
    cases[0] = {**cases[0], "response": " "}
    del cases[1]["label"]
    folder = run_folder(cases)
    cli("plot", folder, "-o", tmp_path / "x.svg")
    assert "not drawn: 1 without a label, 1 without a score" in words(tmp_path / "x.svg")


def test_a_run_without_labels_shows_all_its_scores_and_no_errors(cli, run_folder, tmp_path):
    folder = run_folder(unlabelled(rows(20, 15)))
    assert cli("plot", folder, "-o", tmp_path / "x.svg").code == 0
    assert "not labelled, n = 35" in words(tmp_path / "x.svg")
    said = cli("plot", folder, "--kind", "roc", "-o", tmp_path / "roc.svg")
    assert said.code == 4
    assert "needs answers that people accept and answers that they reject" in said.err
    assert not (tmp_path / "roc.svg").exists()


def test_labels_of_one_kind_alone_make_no_picture(cli, run_folder, tmp_path):
    said = cli("plot", run_folder(rows(20, 0)), "-o", tmp_path / "x.svg")
    assert said.code == 4
    assert "20 accepted and none rejected" in said.err


def test_of_several_metrics_one_is_named(cli, run_folder, tmp_path):
    folder = run_folder(rows(20, 15), metrics=("embed_answer_similarity", "token_f1"))
    said = cli("plot", folder, "-o", tmp_path / "x.svg")
    assert said.code == 2
    assert "-m embed_answer_similarity or -m token_f1" in said.err
    assert cli("plot", folder, "-m", "token_f1", "-o", tmp_path / "x.svg").code == 0
    assert "token_f1" in words(tmp_path / "x.svg")
    assert cli("plot", folder, "-m", "bleu", "-o", tmp_path / "x.svg").code == 2


def test_history_draws_a_point_a_run_and_says_the_oldest_first(cli, run_folder, tmp_path):
    folders = [run_folder(rows(20, n), name=f"run-{n}") for n in (5, 10, 15)]
    said = cli("plot", *reversed(folders), "--kind", "history", "-o", tmp_path / "x.svg")
    assert said.code == 0
    text = words(tmp_path / "x.svg")
    assert "3 runs, n = 25 to 35 measured cases each" in text
    assert text.index("run-5") < text.index("run-10") < text.index("run-15")


def test_one_kind_draws_one_source(cli, calibration, tmp_path):
    said = cli("plot", calibration, calibration, "-o", tmp_path / "x.svg")
    assert said.code == 2
    assert "draws one source, got 2" in said.err


def test_the_csv_report_of_a_run_can_be_drawn(cli, run_folder, tmp_path):
    folder = run_folder(rows(20, 15))
    cli("runs", "show", folder, "-o", tmp_path / "report.csv")
    assert (
        cli("plot", tmp_path / "report.csv", "--kind", "roc", "-o", tmp_path / "a.svg").code == 0
    )
    assert cli("plot", folder, "--kind", "roc", "-o", tmp_path / "b.svg").code == 0
    lines = [
        [
            n.get("d")
            for n in ET.parse(tmp_path / name).getroot().iter()  # noqa: S314 - our own picture
            if n.get("class") == "cc-line k-one"
        ]
        for name in ("a.svg", "b.svg")
    ]
    assert lines[0] == lines[1]


def test_a_file_of_anybody_s_scores_can_be_drawn(cli, tmp_path):
    path = tmp_path / "scores.jsonl"
    lines = [{"label": "accept" if at % 3 else "reject", "mine": at / 30} for at in range(30)]
    lines.append({"label": None, "mine": 0.5})
    lines.append({"label": "accept", "mine": None})
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert cli("plot", path, "-m", "mine", "-o", tmp_path / "x.svg").code == 0
    text = words(tmp_path / "x.svg")
    assert "n = 30 labelled answers" in text
    assert "1 without a label, 1 without a score" in text


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a.csv",
            "label,score\naccept,high\nreject,0.1\n",
            "a.csv:2: score: expected a finite number, got 'high'",
        ),
        ("a.csv", "label,score\naccept,nan\n", "got 'nan'"),
        (
            "a.csv",
            "label,score\nyes,0.5\n",
            "label: got 'yes'; allowed are accept, reject and nothing",
        ),
        ("a.csv", "name,points\na,1\n", "found: name, points"),
        ("a.csv", "", "found: none"),
        (
            "a.jsonl",
            '{"label": "accept", "score": 1}\n[1]\n',
            "a.jsonl:2: expected an object, got list",
        ),
        ("a.jsonl", "{nope\n", "a.jsonl:1: not JSON"),
        ("a.jsonl", '{"label": "accept", "score": true}\n', "expected a finite number, got True"),
    ],
)
def test_a_file_that_cannot_be_drawn_is_refused_with_its_line(cli, tmp_path, name, text, said):
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = cli("plot", tmp_path / name, "-o", tmp_path / "x.svg")
    assert found.code == 4
    assert said in found.err
    assert not (tmp_path / "x.svg").exists()


def test_a_file_of_no_known_form_and_a_picture_of_none(cli, calibration, tmp_path):
    (tmp_path / "x.txt").write_text("hello", encoding="utf-8")
    said = cli("plot", tmp_path / "x.txt", "-o", tmp_path / "x.svg")
    assert said.code == 2
    assert "neither a run folder, nor a calibration file" in said.err
    said = cli("plot", calibration, "-o", tmp_path / "x.gif")
    assert said.code == 2
    assert ".svg or .png" in said.err
    assert cli("plot", "no-such-run", "-o", tmp_path / "x.svg").code == 2


def test_what_is_drawn_is_never_overwritten(cli, tmp_path):
    path = tmp_path / "x.svg"
    path.write_text("not a picture", encoding="utf-8")
    said = cli("plot", path, "-o", path)
    assert said.code == 2
    assert path.read_text(encoding="utf-8") == "not a picture"


def test_a_png_without_matplotlib_says_what_to_install(process, calibration):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        f"from closecall.cli import run; sys.exit(run(['plot', {str(calibration)!r}, '-o', 'x.png']))"
    )
    said = process(code=code, text=True)
    assert said.returncode == 3
    assert "pip install 'closecall[plot]'" in said.stderr
    assert not Path("x.png").exists()


def test_an_svg_loads_no_matplotlib_and_help_loads_nothing_heavy(process, calibration):
    code = (
        "import sys\nfrom closecall.cli import run\n"
        "run(['plot', '--help'])\n"
        "print('HEAVY', [m for m in ('numpy', 'scipy', 'matplotlib', 'msgspec') if m in sys.modules])\n"
        f"assert run(['plot', {str(calibration)!r}, '-o', 'x.svg']) == 0\n"
        "print('THEN', [m for m in ('matplotlib', 'onnxruntime') if m in sys.modules])"
    )
    said = process(code=code, text=True)
    assert "HEAVY []" in said.stdout
    assert "THEN []" in said.stdout


def test_hostile_names_stay_text(cli, run_folder, tmp_path):
    def odd(case: Case) -> float:
        return 0.5 if case.label == "accept" else 0.4

    from closecall.metrics.function import FunctionMetric

    metric = FunctionMetric(odd, name="<script>alert(1)</script>", cutoff=0.45)
    folder = run_folder(rows(20, 15), metrics=(metric,))
    assert cli("plot", folder, "-o", tmp_path / "x.svg").code == 0
    text = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "alert(1)" in words(tmp_path / "x.svg")

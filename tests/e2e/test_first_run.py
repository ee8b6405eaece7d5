"""From a labelled file to a verdict with the bundled model, and files of other projects."""

import json

import pytest
from e2e_helpers import cli, environment, normalised, only_run, write_cases

from closecall import load_embedder, load_run
from closecall.cli import run

EVAL_FILES = 26


def report_of(path):
    return json.loads(path.read_bytes())


def test_the_small_labelled_file_is_measured_whole(home, shared_data, capsys):
    cases = shared_data / "small" / "evouna_nq.jsonl"
    command = ["eval", str(cases), "-m", "embed_answer_similarity", "--format", "json"]
    assert run([*command, "-o", "report.json"]) == 1  # some answers are wrong
    report = report_of(home / "report.json")
    stats, (metric,) = report["stats"], report["metrics"]
    assert (stats["total"], stats["measured"], stats["skipped"]) == (300, 300, 0)
    assert (metric["asked"], metric["measured"]) == (300, 300)
    unsure = metric["inconclusive"]
    assert unsure == metric["heldBack"] > 0
    assert metric["passed"] + metric["failed"] + unsure == 300
    assert sum(metric["labelled"].values()) == 300 - unsure
    assert len(report["results"]) == 300
    assert all(0 <= result["score"] <= 100 for result in report["results"])
    assert report["metadata"]["EmbeddingModel"] == "all-MiniLM-L6-v2"
    assert report["metadata"]["EmbeddingProvider"] == "local"
    assert "not calibrated" in metric["cutoffNote"]
    # Right answers are closer than wrong ones, or the numbers mean nothing.
    means = {}
    for label in ("accept", "reject"):
        scores = [r["score"] for r in report["results"] if r["label"] == label]
        means[label] = sum(scores) / len(scores)
    assert means["accept"] > means["reject"] + 5
    capsys.readouterr()


def test_a_second_run_has_the_same_numbers_and_embeds_nothing(home, shared_data, monkeypatch):
    cases = str(shared_data / "small" / "evouna_nq.jsonl")
    assert run(["eval", cases, "-q", "--aef", "first", "-o", "1.json"]) == 1
    kind = type(load_embedder())

    def refuse(self, texts, role="text"):
        raise AssertionError(f"{len(texts)} texts were embedded again")

    monkeypatch.setattr(kind, "embed_counted", refuse)
    monkeypatch.setattr(kind, "embed", refuse)
    assert run(["eval", cases, "-q", "--aef", "second", "-o", "2.json"]) == 1
    assert normalised("first") == normalised("second")
    first, second = report_of(home / "1.json"), report_of(home / "2.json")
    assert first["metrics"] == second["metrics"]
    assert first["metadata"]["DefinitionDigest"] == second["metadata"]["DefinitionDigest"]


def eval_files(shared_data):
    manifest = json.loads((shared_data / "eval_files" / "MANIFEST.json").read_bytes())
    for entry in manifest:
        owner, _, repository = entry["repo"].partition("/")
        yield shared_data / "eval_files" / f"{owner}__{repository}" / entry["path"]


def test_every_eval_file_runs_or_says_what_to_do(home, shared_data, capsys):
    files = list(eval_files(shared_data))
    assert len(files) == EVAL_FILES
    refused = []
    for number, path in enumerate(files):
        code = run(["eval", str(path), "-q", "--aef", f"run-{number}", "--format", "json"])
        out, err = capsys.readouterr()
        assert "Traceback" not in err, (path, err)
        assert "internal error" not in err, (path, err)
        assert code in {0, 1, 4, 11}, (path, code, err)
        if code == 4:
            refused.append(path)
            assert out == ""
            assert str(path) in err
            assert len(err.split()) >= 8, err  # says more than that it failed
            assert not (home / f"run-{number}").exists()
        else:
            report = json.loads(out)
            assert report["stats"]["total"] >= 1
            assert report["stats"]["total"] == len(load_run(home / f"run-{number}"))
    assert 0 < len(refused) < EVAL_FILES


def test_the_whole_command_line_opens_no_socket(home):
    guard = home / "guard"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(
        "import socket\n"
        "def refuse(*a, **k):\n"
        "    open('touched', 'w').close()\n"
        "    raise OSError('no network here')\n"
        "for name in ('connect', 'connect_ex', 'sendto', 'bind'):\n"
        "    setattr(socket.socket, name, refuse)\n"
        "socket.getaddrinfo = socket.create_connection = socket.gethostbyname = refuse\n"
        "open('loaded', 'w').close()\n",
        encoding="utf-8",
    )
    path = f"{guard}:{environment()['PYTHONPATH']}"
    cases = write_cases(home / "cases.jsonl", 20)
    proxy = "http://127.0.0.1:9"
    env = environment(PYTHONPATH=path, HTTPS_PROXY=proxy, HTTP_PROXY=proxy)
    done = cli("eval", cases, "--format", "json", cwd=home, env=env)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["stats"]["total"] == 20
    assert (home / "loaded").exists()
    assert not (home / "touched").exists()


def test_a_model_whose_bytes_changed_ends_the_run_before_any_case(home, capsys):
    model = load_embedder()._model.folder
    tampered = home / "model"
    tampered.mkdir()
    for name in ("card.toml", "tokenizer.json"):
        (tampered / name).write_bytes((model / name).read_bytes())
    weights = bytearray((model / "model.onnx").read_bytes())
    weights[len(weights) // 2] ^= 1
    (tampered / "model.onnx").write_bytes(weights)
    cases = write_cases(home / "cases.jsonl", 5)
    code = run(["eval", str(cases), "--embedder", f"onnx:{tampered}"])
    out, err = capsys.readouterr()
    assert code == 3, err
    assert "model.onnx" in err
    assert "internal error" not in err
    assert out == ""  # no report of cases that were "not measured"


def test_the_run_folder_keeps_itself_out_of_version_control(home, capsys):
    cases = write_cases(home / "cases.jsonl", 3)
    assert run(["eval", str(cases), "-q"]) == 1
    assert (home / ".closecall" / ".gitignore").read_text(encoding="utf-8").endswith("*\n")
    assert len(load_run(only_run(home))) == 3
    capsys.readouterr()


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv", "markdown", "junit", "html"])
@pytest.mark.parametrize("content", [[], ["--no-content"]])
def test_every_report_can_be_made_with_and_without_kept_texts(home, capsys, form, content):
    cases = write_cases(home / "cases.jsonl", 100)
    metrics = "embed_answer_similarity,embed_response_context,embed_query_context"
    code = run(["eval", str(cases), "-m", metrics, "--format", form, *content])
    out, err = capsys.readouterr()
    assert code == 1, err
    assert out.strip()
    assert "case-3" in out

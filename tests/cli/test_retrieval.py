"""``closecall retrieval``: files in, a report, a run and labelled cases out."""

import csv
import io
import json

import pytest

THINGS = (
    "kettle", "ladder", "violin", "compass", "blanket", "lantern", "hammer", "teapot", "bicycle",
    "umbrella", "telescope", "piano", "anchor", "basket", "candle", "mirror",
)  # fmt: skip


def rows():
    corpus, queries, qrels = [], [], ["query-id\tcorpus-id\tscore"]
    for at, thing in enumerate(THINGS):
        text = f"The {thing} is kept in room {at + 1}, and it costs {at + 20} euros a day."
        corpus.append({"_id": f"d{at:02}", "title": thing.title(), "text": text})
        for kind, asked in (
            ("price", f"What does the {thing} cost a day?"),
            ("place", f"In which room do I find the {thing}?"),
        ):
            queries.append(
                {
                    "_id": f"q{at:02}-{kind}",
                    "text": asked,
                    "metadata": {"group": thing, "kind": kind},
                }
            )
            qrels.append(f"q{at:02}-{kind}\td{at:02}\t1")
    return corpus, queries, qrels


def write_set(folder, corpus, queries, qrels):
    folder.mkdir()
    for name, lines in (
        ("corpus.jsonl", map(json.dumps, corpus)),
        ("queries.jsonl", map(json.dumps, queries)),
        ("qrels.tsv", qrels),
    ):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def rentals(tmp_path):
    return write_set(tmp_path / "rentals", *rows())


def one_line(text):
    return " ".join(text.split())


def test_a_folder_is_searched_and_reported_beside_a_search_by_words(cli, rentals):
    said = cli("retrieval", rentals, "--resamples", 200)
    assert said.code == 0
    assert said.out.startswith("rentals: 32 questions to 16 documents, tested: minilm")
    assert said.out.count("n = 32") >= 3
    for name in ("recall@10", "precision@3", "hit@1", "MRR@5", "nDCG@10", "MAP", "R-precision"):
        assert name in said.out
    whole = one_line(said.out)
    assert "16 groups of questions, 200 resamples, seed 0" in whole
    assert "k1 1.5, b 0.75" in whole
    assert "reciprocal rank fusion (k 60)" in whole
    assert "cannot tell" in whole.lower()
    assert "Worst by nDCG@10" in whole


def test_three_files_and_json(cli, rentals):
    names = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")
    said = cli("retrieval", *(rentals / n for n in names), "--format", "json", "-k", "1,5", "-q")
    assert said.err == ""
    found = said.json
    assert (found["format"], found["version"]) == ("closecall-retrieval", 1)
    assert found["cutoffs"] == [1, 5]
    assert found["exit_code"] == said.code == 0
    tested = found["systems"][0]
    assert tested["measures"]["recall@5"]["n"] == 32
    assert tested["measures"]["recall@5"]["interval"]["level"] == 0.95
    assert len(tested["facts"]["instrument_digest"]) == 64
    assert len(found["queries"]) == 32
    assert found["drawing"] == {"resamples": 2000, "seed": 0, "level": 0.95}


def test_csv_has_a_line_for_each_question_and_search(cli, rentals, tmp_path):
    said = cli("retrieval", rentals, "-o", tmp_path / "report.csv", "-q")
    assert (said.code, said.out, said.err) == (0, "", "")
    lines = list(csv.DictReader(io.StringIO((tmp_path / "report.csv").read_text())))
    assert len(lines) == 32 * 3
    assert {line["search"] for line in lines} == {"minilm", "BM25", "minilm + BM25"}
    assert lines[0]["state"] == "measured"
    assert 0 <= float(lines[0]["ndcg@10"]) <= 1


def test_a_saved_run_is_compared_with(cli, rentals, tmp_path):
    run = tmp_path / "saved.run"
    assert cli("retrieval", rentals, "--save-run", run, "-q").code == 0
    again = cli("retrieval", rentals, "--run", run, "--no-baselines", "--resamples", 200)
    assert again.code == 0
    assert "no question comes out differently" in one_line(again.out)
    alone = cli("retrieval", rentals, "--embedder", "none", "--run", run, "--format", "json")
    assert alone.json["systems"][0]["kind"] == "run"
    reversed_run = tmp_path / "bad.run"
    lines = [line.split() for line in run.read_text().splitlines()]
    reversed_run.write_text(
        "".join(f"{q} Q0 {d} 1 {rank} x\n" for q, _, d, rank, _, _ in lines), encoding="utf-8"
    )
    worse = cli(
        "retrieval", rentals, "--embedder", "none", "--run", reversed_run, "--run", run,
        "--resamples", 200,
    )  # fmt: skip
    assert worse.code == 1
    assert "saved.run is better than bad.run with n = 32 in 16 groups" in one_line(worse.out)


def test_demands_decide_the_exit_code(cli, rentals):
    def code(*demands):
        options = [part for demand in demands for part in ("--at-least", demand)]
        return cli("retrieval", rentals, *options, "--no-baselines", "--resamples", 200)

    assert code("recall@10=0.5").code == 0
    unsure = code("recall@10=0.999")
    assert unsure.code == 11
    assert "cannot tell with n = 32" in one_line(unsure.out)
    missed = code("precision@10=0.5", "recall@10=0.5")
    assert missed.code == 1
    assert "missed: precision@10 at least 0.5" in one_line(missed.out)


def test_slices_and_case_files(cli, write, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # workers that test side by side are told 80
    cases = write(
        *(
            {
                "id": f"c{at}",
                "input": f"Where is the {thing}?",
                "context": [{"id": thing, "text": f"The {thing} hangs behind door {at}."}],
                "relevant": [thing],
                "tags": ["odd" if at % 2 else "even"],
            }
            for at, thing in enumerate(THINGS)
        )
    )
    said = cli("retrieval", cases, "--slice", "tag", "--resamples", 200)
    assert said.code == 0
    assert "The corpus is the 16 different passages of all cases." in one_line(said.out)
    assert "By tag" in said.out
    assert [line.split()[:3] for line in said.out.splitlines() if line.startswith(("even", "odd"))]


def test_labelled_cases_calibrate(cli, rentals, tmp_path):
    cases = tmp_path / "found.jsonl"
    said = cli("retrieval", rentals, "--write-cases", cases, "--no-baselines")
    assert said.code == 0
    assert f"closecall calibrate {cases} -m embed_query_context" in one_line(said.err)
    made = cli(
        "calibrate", cases, "-m", "embed_query_context", "--max-far", 0.3, "-o", "cutoff.json",
        "--slice", "tags",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert "on embed_query_context" in one_line(made.out)
    decided = cli("score", "What does the violin cost a day?", THINGS[2], "--calibration",
                  "cutoff.json")  # fmt: skip
    assert decided.code in {0, 1}


def test_texts_that_the_model_does_not_know_are_told(cli, tmp_path):
    corpus, queries, qrels = rows()
    for at, row in enumerate(queries[:6]):
        row["text"] = "ᚠᚢᚦ ᚨᚱᚲ" if at < 3 else f"ᚠᚢᚦ ᚨᚱᚲ {THINGS[at]}"
    folder = write_set(tmp_path / "runes", corpus, queries, qrels)
    said = cli("retrieval", folder, "--resamples", 200)
    assert said.code == 11
    whole = one_line(said.out)
    assert "minilm: 3 of 32 questions not measured" in whole
    assert "6 of 32 questions are mostly unknown to the model" in whole
    assert "it knows no word or sign of the text" in whole
    assert "Columns of another n are about other questions" in whole


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["-k", "1,x"], 2, "such as 1,3,5,10"),
        (["-k", "0"], 2, "a whole number from 1 to 1,000,000"),
        (["-k", "1" * 30], 2, "a whole number from 1 to 1,000,000"),
        (["--resamples", str(10**12)], 2, "100<=x<=1000000"),
        (["--measure", "f1"], 2, "measures: recall@K"),
        (["--at-least", "recall@10"], 2, "MEASURE=VALUE"),
        (["--slice", "colour"], 2, "fields: group, kind"),
        (["--split", "dev"], 2, "without splits"),
        (["--embedder", "none"], 2, "--run FILE"),
        (["--embedder", "none", "--write-cases", "x.jsonl"], 2, "a cutoff belongs to one"),
        (["--run", "gone.run"], 4, "there is no such file"),
        (["--save-run", "a.txt", "-o", "a.txt"], 2, "name the same file"),
        (["-o", "report.pdf"], 2, "no format for this suffix"),
        (["--level", "0.9999"], 2, "needs at least"),
        (["--relevant-from", "2"], 4, "grade 2 or more"),
        (["--cache-dir", "x", "--no-cache"], 2, "exclude each other"),
    ],
)
def test_what_is_refused(cli, rentals, args, code, said):
    found = cli("retrieval", rentals, *args)
    assert found.code == code
    assert said in one_line(found.err)
    assert found.out == ""


def test_inputs_are_not_overwritten(cli, rentals):
    before = (rentals / "qrels.tsv").read_bytes()
    said = cli("retrieval", rentals, "--save-run", rentals / "qrels.tsv")
    assert said.code == 2
    assert "would be lost" in said.err
    assert (rentals / "qrels.tsv").read_bytes() == before


def test_hostile_texts_reach_no_terminal_as_they_are(cli, tmp_path):
    corpus, queries, qrels = rows()
    corpus[0]["text"] += "\x1b[31m\u202e"
    queries[0]["text"] = "\x1b]0;owned\x07 unrelated"
    folder = write_set(tmp_path / "hostile", corpus, queries, qrels)
    for form in ("table", "json", "csv"):
        said = cli("retrieval", folder, "--format", form, "--worst", 32, "--resamples", 200)
        assert "\x1b" not in said.out
        assert "\u202e" not in said.out
        assert "\x07" not in said.out


def test_help_loads_nothing_heavy(process):
    code = (
        "from closecall.cli import run; run(['retrieval', '--help']); import sys; "
        "print([m for m in ('numpy', 'bm25s', 'faiss', 'scipy', 'onnxruntime') if m in sys.modules])"
    )
    said = process(code=code)
    assert said.returncode == 0
    assert said.stdout.decode().splitlines()[-1] == "[]"

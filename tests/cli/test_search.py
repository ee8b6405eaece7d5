"""``closecall search``: questions in, the nearest passages out, and what is not close enough."""

import io
import json
import os
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from closecall.calibration.store import load_calibration
from closecall.cli import search as command
from closecall.embedders import registry
from closecall.embedders.checked import Checked
from closecall.index.building import build_index
from closecall.index.manifest import read_manifest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "models"), str(HERE.parent / "embedders" / "static")]
from static_models import write_static  # noqa: E402

ROWS = (
    {"_id": "d1", "text": "Refunds take five working days.", "lang": "en", "year": 2021},
    {"_id": "d2", "text": "We rent boats on the lake in summer.", "lang": "en", "year": 2019},
    {"_id": "d3", "text": "Our shop opens at nine in the morning.", "lang": "fr", "code": "007"},
    {"_id": "d4", "text": "Bring an umbrella when it rains.", "lang": "xx", "open": True},
)


@pytest.fixture
def corpus(write):
    return write(*ROWS, name="corpus.jsonl")


@pytest.fixture
def index(cli, corpus, tmp_path):
    folder = tmp_path / "corpus.index"
    assert cli("index", "build", corpus, "-o", folder, "-q").code == 0
    return folder


@pytest.fixture
def stdin(monkeypatch):
    def typed(text):
        data = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return typed


def ids(said):
    assert said.code == 0, said.err
    return [hit["id"] for hit in said.json["hits"]]


def one_line(text):
    return " ".join(text.split())


def test_a_table_of_the_nearest_and_what_was_searched(cli, index):
    said = cli("search", index, "How long until I get my money back?", "-k", 2)
    assert (said.code, said.err) == (0, "")
    whole = one_line(said.out)
    assert "4 rows, cosine; embedded by all-MiniLM-L6-v2 (local), instrument " in whole
    assert "exact: every row is looked at" in whole
    head, first, second = said.out.splitlines()[-3:]
    assert head.split() == ["rank", "score", "id", "text"]
    assert first.split()[0::2][:2] == ["1", "d1"]
    assert first.endswith("Refunds take five working days.")
    assert second.split()[0] == "2"
    assert float(first.split()[1]) > float(second.split()[1])


def test_an_index_and_its_corpus_find_the_same(cli, index, corpus):
    asked = "When do you open?"
    one, other = (cli("search", place, asked, "--json") for place in (index, corpus))
    assert ids(one)[0] == "d3"
    assert one.json == other.json
    assert one.json["embedder"]["model"] == "all-MiniLM-L6-v2"
    assert one.json["query"] == {"id": "1", "text": asked}
    assert "nothing_relevant" not in one.json


def test_the_vectors_of_a_small_corpus_are_kept(cli, corpus, monkeypatch):
    first = cli("search", corpus, "boats", "--json")
    calls = []

    embed = Checked.embed

    def counted(self, texts, role, **options):
        if type(self._embedder).__name__ != "FromCache":
            calls.append(list(texts))
        return embed(self, texts, role, **options)

    monkeypatch.setattr(Checked, "embed", counted)
    assert cli("search", corpus, "boats", "--json").json == first.json
    assert calls == []


def test_a_large_corpus_asks_for_an_index(cli, corpus, monkeypatch):
    monkeypatch.setattr(command, "MOST_ROWS", 3)
    said = cli("search", corpus, "it's late")
    assert said.code == 2
    assert "4 rows; without an index at most 3 are searched" in said.err
    assert f"closecall index build {corpus} -o " in said.err
    assert "corpus.index 'it'\"'\"'s late'" in said.err


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (("lang=en",), {"d1", "d2"}),
        (("lang=en", "year>=2020"), {"d1"}),
        (("lang=fr", "lang=xx"), {"d3", "d4"}),
        (("lang!=en",), {"d3", "d4"}),
        (("lang!=en", "lang!=fr"), {"d4"}),
        (("year!=2021",), {"d2"}),
        (("code!=007",), set()),
        (('{"lang": {"not_in": ["en", "xx"]}}',), {"d3"}),
        (("year=2019",), {"d2"}),
        (("year<2021",), {"d2"}),
        (("code=007",), {"d3"}),
        (("open=true",), {"d4"}),
        (('{"year": {"exists": false}}',), {"d3", "d4"}),
        (('{"lang": ["en", "xx"], "year": {"lte": 2021}}',), {"d1", "d2"}),
    ],
)
def test_filters(where, found, cli, index):
    options = [word for one in where for word in ("--where", one)]
    assert set(ids(cli("search", index, "anything", "--json", *options))) == found


@pytest.mark.parametrize(
    "where",
    [
        "lang", "=en", "lang=", "{", "[1]", '{"a": {"near": 1}}', '{"a": {"in": 1}}',
        '{"a": {"not_in": 1}}', "lang==en", "year=>2020", "year>>2020", '{"lang": {}}',
    ],
)  # fmt: skip
def test_filters_that_cannot_be_read(where, cli, index):
    assert cli("search", index, "anything", "--where", where).code == 2


def test_a_filter_that_nothing_passes_says_so(cli, index):
    said = cli("search", index, "anything", "--where", "lang=ja")
    assert (said.code, said.out.splitlines()[-1]) == (0, "no row passes the filter")
    said = cli("search", index, "anything", "--where", "language=en")
    assert said.out.splitlines()[-1] == (
        "no row passes the filter, and none has the field 'language'"
    )


def test_more_are_asked_for_than_there_are(cli, index):
    everything = ids(cli("search", index, "boats", "--json", "-k", 4))
    assert ids(cli("search", index, "boats", "--json", "-k", 10**20)) == everything


def test_what_is_no_target_is_refused_by_name(cli, tmp_path):
    said = cli("search", tmp_path / "corpos.jsonl", "boats")
    assert (said.code, "corpos.jsonl: there is no such file" in said.err) == (4, True)
    said = cli("search", tmp_path, "boats")
    assert (said.code, "holds no index and no corpus.jsonl" in said.err) == (4, True)


def test_questions_of_a_file_and_of_standard_input(cli, index, write, tmp_path, stdin):
    asked = write(
        {"_id": "q1", "text": "money back"}, {"_id": "q2", "text": "boat"}, name="questions.jsonl"
    )
    said = cli("search", index, "--queries", asked, "--json", "-k", 1)
    found = [json.loads(line) for line in said.out.splitlines()]
    assert [(one["query"]["id"], one["hits"][0]["id"]) for one in found] == [
        ("q1", "d1"), ("q2", "d2"),
    ]  # fmt: skip
    said = cli("search", index, "--queries", asked)
    assert "q1: money back" in said.out
    assert "q2: boat" in said.out
    assert " ".join(said.out.split()).count("embedded by") == 1  # lines are wrapped
    stdin("money back\n\nboat\n")
    said = cli("search", index, "--queries", "-", "--json", "-k", 1)
    found = [json.loads(line) for line in said.out.splitlines()]
    assert [(one["query"]["id"], one["hits"][0]["id"]) for one in found] == [
        ("1", "d1"), ("3", "d2"),
    ]  # fmt: skip
    stdin('{"id": "a", "text": "boat"}\n')
    assert cli("search", index, "--queries", "-", "--json").json["query"]["id"] == "a"
    stdin("boat\n")
    assert ids(cli("search", index, "-", "--json", "-k", 1)) == ["d2"]


def test_questions_that_cannot_be_asked(cli, index, write, stdin):
    assert "the query is empty" in cli("search", index, " ").err
    assert cli("search", index, "").code == 2
    assert cli("search", index).code == 2
    assert cli("search", index, "a", "--queries", "b").code == 2
    assert cli("search", index, "a", "-k", 0).code == 2
    twice = write({"id": "q", "text": "a"}, {"id": "q", "text": "b"}, {"id": "r", "text": ""})
    said = cli("search", index, "--queries", twice)
    assert said.code == 4
    assert "cases.jsonl:2: id: 'q' is on line 1 too" in said.err
    assert "cases.jsonl:3: text: is blank" in said.err
    stdin(b"\xff\xfe\xfd")
    assert cli("search", index, "-").code == 4
    stdin("")
    assert cli("search", index, "--queries", "-").code == 4


def test_a_question_without_a_vector_is_told_and_the_others_are_asked(cli, index, write):
    unknown = "ᚠᚢᚦ ᚨᚱᚲ"
    assert cli("search", index, unknown).code == 3
    asked = write({"id": "q1", "text": unknown}, {"id": "q2", "text": "boat"})
    said = cli("search", index, "--queries", asked, "--json", "-k", 1)
    assert said.code == 11
    first, second = (json.loads(line) for line in said.out.splitlines())
    assert "hits" not in first
    assert first["not_measured"]
    assert second["hits"][0]["id"] == "d2"


def test_a_run_can_be_evaluated(cli, index, write, corpus, tmp_path):
    asked = write(
        {"_id": "q1", "text": "money back"}, {"_id": "q2", "text": "boat"}, name="questions.jsonl"
    )
    said = cli("search", index, "--queries", asked, "-k", 3, "--save-run", "found.run")
    assert (said.code, said.out) == (0, "")
    assert "2 rankings are in found.run" in said.err
    lines = [line.split() for line in (tmp_path / "found.run").read_text().splitlines()]
    assert [(line[0], line[3]) for line in lines] == [
        (query, str(rank)) for query in ("q1", "q2") for rank in (1, 2, 3)
    ]
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n", encoding="utf-8")
    said = cli(
        "retrieval", corpus, asked, qrels, "--embedder", "none", "--run", "found.run",
        "--format", "json", "-q", "--resamples", 100, "--no-baselines",
    )  # fmt: skip
    assert said.json["systems"][0]["measures"]["mrr@10"]["value"] == 1.0
    before = corpus.read_bytes()
    assert cli("search", corpus, "boat", "--save-run", corpus).code == 2
    assert corpus.read_bytes() == before


def test_another_embedder_is_refused_by_name(cli, index):
    said = cli("search", index, "boats", "--window", "truncate")
    assert said.code == 6
    assert "these queries come from another embedder than the rows of the index" in said.err
    assert "window chunk then, truncate now" in said.err


def test_the_embedder_of_the_index_is_found_without_being_named(cli, corpus, tmp_path):
    folder = tmp_path / "t.index"
    assert cli("index", "build", corpus, "-o", folder, "--window", "truncate").code == 0
    assert cli("search", folder, "boats").code == 0


def test_not_a_number_leaves_out_the_text_that_spells_it(cli, write, tmp_path):
    rows = [{"id": f"d{at}", "text": "boats", "code": code} for at, code in enumerate((5, "5", 6))]
    folder = tmp_path / "codes.index"
    assert cli("index", "build", write(*rows, name="codes.jsonl"), "-o", folder).code == 0
    assert set(ids(cli("search", folder, "boats", "--json", "--where", "code=5"))) == {"d0", "d1"}
    assert ids(cli("search", folder, "boats", "--json", "--where", "code!=5")) == ["d2"]


def test_a_static_model_of_the_store_is_found_by_the_name_in_the_index(
    cli, corpus, tmp_path, monkeypatch
):
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(tmp_path / "store"))
    write_static(tmp_path / "store" / "quick")
    folder = tmp_path / "static.index"
    assert cli("index", "build", corpus, "-o", folder, "--embedder", "quick").code == 0
    assert read_manifest(folder).embedder == "quick"
    named = cli("search", folder, "boats", "--json", "--embedder", "quick")
    assert cli("search", folder, "boats", "--json").json == named.json
    assert cli("index", "remove", folder, "d4").code == 0
    assert cli("index", "rebuild", folder, "--kind", "flat").code == 0
    assert read_manifest(folder).embedder == "quick"
    assert cli("search", folder, "boats").code == 0


def test_a_path_in_an_index_is_said_and_not_opened(cli, corpus, tmp_path, monkeypatch):
    model = write_static(tmp_path / "my model")
    folder = tmp_path / "path.index"
    assert cli("index", "build", corpus, "-o", folder, "--embedder", f"static:{model}").code == 0
    opened = []
    monkeypatch.setattr(registry, "_static", lambda *given, **_: opened.append(given))
    monkeypatch.setitem(registry._KINDS, "static", lambda *given, **_: opened.append(given))
    said = cli("search", folder, "boats")
    assert (said.code, opened) == (2, [])
    assert f"--embedder 'static:{model}'" in said.err
    monkeypatch.undo()
    assert cli("search", folder, "boats", "--embedder", f"static:{model}").code == 0


def test_a_provider_that_the_user_selected_is_taken(cli, index, monkeypatch):
    made = read_manifest(index).instrument
    remote = msgspec.structs.replace(
        made, kind="azure", provider="a.example", model="small", dims=2,
        options={"deployment": "ours"},
    )  # fmt: skip
    build_index([("a", "b")], "r.index", vectors=np.ones((1, 2)), instrument=remote)
    said = cli("search", "r.index", "boats")
    assert (said.code, "--embedder azure:ours" in said.err) == (2, True)
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", "openai")
    said = cli("search", "r.index", "boats")
    assert (said.code, "--embedder azure:ours" in said.err) == (2, True)
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", "azure")
    said = cli("search", "r.index", "boats")
    assert (said.code, "AZURE_OPENAI" in said.err) == (3, True)


def test_a_provider_is_never_asked_because_an_index_names_it(cli, corpus, index):
    made = read_manifest(index).instrument
    remote = msgspec.structs.replace(made, kind="openai", provider="openai", model="small", dims=2)
    build_index([("a", "b")], "r.index", vectors=np.ones((1, 2)), instrument=remote)
    said = cli("search", "r.index", "boats")
    assert said.code == 2
    assert "--embedder openai:small" in said.err
    build_index([("a", "b")], "n.index", vectors=np.ones((1, 2)))
    said = cli("search", "n.index", "boats")
    assert said.code == 2
    assert "does not say what embedded its rows" in said.err


def test_a_score_of_your_own_marks_what_is_not_close_enough(cli, index):
    said = cli("search", index, "When do you open in the morning?", "--min-score", 0.4)
    assert said.code == 0
    assert "close enough: a score of at least 0.4 (yours, not calibrated)" in said.out
    assert said.out.count("not close enough") == 3
    assert "nothing relevant" not in said.out
    said = cli("search", index, "Who wrote the opera Tosca?", "--min-score", 0.4)
    assert said.code == 0
    assert "nothing relevant: none of the 4 nearest is close enough" in said.out
    found = cli("search", index, "Who wrote Tosca?", "--min-score", 0.4, "--json").json
    assert found["nothing_relevant"] is True
    assert {hit["decision"] for hit in found["hits"]} == {"reject"}
    assert found["cutoff"] == {"min_score": 0.4}
    assert cli("search", index, "a", "--min-score", "nan").code == 2


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """Questions with the passage that answers each, and with one that does not."""
    things = ("kettle", "ladder", "violin", "compass", "blanket", "lantern", "hammer", "teapot",
              "bicycle", "umbrella", "telescope", "piano", "anchor", "basket", "candle", "mirror")  # fmt: skip
    rows = []
    for at, thing in enumerate(things):
        for verb in ("rent", "borrow", "repair"):
            good = f"You can {verb} the {thing} in room {at}."
            bad = f"You can {verb} the {things[at - 5]} in room {at}."
            for label, passage in (("accept", good), ("reject", bad)):
                rows.append(
                    {
                        "id": f"{thing}-{verb}-{label}",
                        "input": f"Where can I {verb} a {thing}?",
                        "context": [passage],
                        "label": label,
                        "group": f"{thing}-{verb}",
                    }
                )
    path = tmp_path_factory.mktemp("labelled") / "found.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path


def test_a_calibration_says_where_nothing_is_relevant(cli, write, labelled, tmp_path):
    made = cli(
        "calibrate", labelled, "-m", "embed_query_context", "-o", "cutoff.json",
        "--max-far", 0.2, "--format", "json",
    )  # fmt: skip
    assert made.code == 0, made.out + made.err
    assert "use it with: closecall search CORPUS QUESTION --calibration cutoff.json" in made.err
    accept = load_calibration("cutoff.json").accept_cutoff.value
    rooms = write(
        {"id": "k", "text": "You can rent the kettle in room 3."},
        {"id": "p", "text": "You can rent the piano in room 4."},
        name="rooms.jsonl",
    )
    assert cli("index", "build", rooms, "-o", "rooms.index").code == 0
    asked = ("Where can I rent a kettle?", "--calibration", "cutoff.json", "--json")
    found = cli("search", "rooms.index", *asked).json
    assert found["nothing_relevant"] is False
    assert found["cutoff"]["accept"] == accept
    for hit in found["hits"]:
        score = 100 * max(hit["score"], 0)
        if abs(score - accept) > 0.01:
            assert (hit["decision"] == "accept") is (score >= accept)
    said = cli(
        "search", "rooms.index", "Who wrote the opera Tosca?", "--calibration", "cutoff.json"
    )
    assert said.code == 0
    assert "nothing relevant" in said.out
    assert "calibrated " in one_line(said.out)
    assert "on 96 labels" in one_line(said.out)
    assert cli("search", rooms, *asked).json["hits"] == found["hits"]


def test_calibrations_that_do_not_fit(cli, index, corpus, labelled, tmp_path):
    other = cli(
        "calibrate", labelled, "-m", "embed_query_context", "-o", "cutoff.json",
        "--max-far", 0.2, "--window", "truncate", "-q",
    )  # fmt: skip
    assert other.code == 0
    said = cli("search", index, "boats", "--calibration", "cutoff.json")
    assert said.code == 6
    assert "belongs to another embedder" in said.err
    said = cli("search", index, "boats", "--calibration", "cutoff.json", "--min-score", 0.3)
    assert said.code == 2
    assert cli("search", index, "boats", "--calibration", corpus).code == 4
    assert cli("index", "build", corpus, "-o", "e", "--similarity", "euclidean").code == 0
    said = cli("search", "e", "boats", "--calibration", "cutoff.json", "--window", "chunk")
    assert (said.code, "--min-score" in said.err) == (2, True)


def test_options_that_are_for_the_other_kind_of_target(cli, index, corpus):
    assert cli("search", index, "boats", "--map", "text=a").code == 2
    assert cli("search", corpus, "boats", "--device", "cuda").code == 2
    assert cli("search", "nowhere", "boats").code == 4
    said = cli("search", index, "boats", "--device", "cuda")
    assert said.code in {2, 3}


def test_a_reader_that_leaves_early_is_no_error(index, process):
    code = "import sys; from closecall.cli import main; main(sys.argv[1:])"
    reader, writer = os.pipe()
    os.close(reader)
    done = process("search", index, "boats", code=code, stdout=writer, stderr=-1)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")

"""``closecall index``: a corpus in, an index out that is whole or not there."""

import hashlib
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from closecall.index import writer
from closecall.instrument import canonical_json

ROWS = (
    {"_id": "d1", "title": "Refunds", "text": "Refunds take five working days.", "lang": "en"},
    {"_id": "d2", "title": "Boats", "text": "We rent boats on the lake.", "lang": "en"},
    {"_id": "d3", "text": "Our shop opens at nine in the morning.", "lang": "en", "year": 2021},
    {"_id": "d4", "text": "Bring an umbrella when it rains.", "metadata": {"lang": "xx"}},
)


@pytest.fixture
def corpus(write):
    return write(*ROWS, name="corpus.jsonl")


@pytest.fixture
def index(cli, corpus, tmp_path):
    folder = tmp_path / "corpus.index"
    assert cli("index", "build", corpus, "-o", folder, "-q").code == 0
    return folder


def files(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_build_says_what_it_made_and_how_to_search_it(cli, corpus, tmp_path):
    folder = tmp_path / "my index"
    said = cli("index", "build", corpus, "-o", folder)
    assert (said.code, said.err) == (0, "")
    whole = " ".join(said.out.split())
    assert "4 rows of 384 numbers, cosine" in whole
    assert "embedded by: all-MiniLM-L6-v2 (local), instrument " in whole
    assert "kind: exact" in whole
    assert "why: 4 rows of 384 numbers: at most 50,000 are searched exactly" in whole
    assert "recall: every row is looked at" in whole
    assert f"search it: closecall search '{folder}' \"your question\" -k 5" in said.out


def test_an_approximate_kind_says_its_recall_with_its_n(cli, write, tmp_path):
    rows = [{"id": f"r{at}", "text": f"The number of this room is {at}."} for at in range(40)]
    asked = write(*rows[:7], name="questions.jsonl")
    said = cli(
        "index", "build", write(*rows, name="rooms.jsonl"), "-o", tmp_path / "rooms.index",
        "--kind", "hnsw:m=8", "--queries", asked, "--json", "--seed", 3,
    )  # fmt: skip
    assert said.code == 0
    recall = said.json["recall"]
    assert (recall["queries"], recall["wanted"], recall["k"]) == (7, 70, 10)
    assert recall["source"] == "queries given"
    assert recall["rate"] == recall["found"] / recall["wanted"]
    assert said.json["kind"] == "hnsw:m=8"
    assert said.json["seed"] == 3
    assert "as asked" in said.json["why"]
    shown = cli("index", "show", tmp_path / "rooms.index")
    assert "70 neighbours, 7 queries: queries given" in " ".join(shown.out.split())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "corpus.csv",
            "nr,answer,year\nd1,Refunds take five days.,2020\nd2,Boats for rent.,2021\n",
        ),
        ("corpus.tsv", "nr\tanswer\tyear\nd1\tRefunds take five days.\t2020\nd2\tBoats.\t2021\n"),
    ],
)
def test_tables_with_other_names_and_numbers(name, text, cli, tmp_path):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    folder = tmp_path / "t.index"
    mapped = ("--map", "id=nr", "--map", "text=answer")
    assert cli("index", "build", path, "-o", folder, *mapped).code == 0
    said = cli("search", folder, "refunds", "--where", "year>=2021", "--json")
    assert [(hit["id"], hit["metadata"]) for hit in said.json["hits"]] == [("d2", {"year": 2021})]
    without = cli("index", "build", path, "-o", folder)
    assert without.code == 4
    assert "'nr', 'answer', 'year'" in without.err
    assert "--map text=COLUMN" in without.err
    wrong = cli("index", "build", path, "-o", folder, "--map", "text=antwort")
    assert (wrong.code, "has no such column; it has nr, answer, year" in wrong.err) == (2, True)


def test_a_text_has_a_passage_a_line_and_a_folder_is_beir(cli, tmp_path):
    (tmp_path / "lines.txt").write_text("Refunds take five days.\n\nBoats.\n", encoding="utf-8")
    assert cli("index", "build", "lines.txt", "-o", "l.index").code == 0
    said = cli("search", "l.index", "money back", "--json")
    assert [hit["id"] for hit in said.json["hits"]] == ["1", "3"]
    (tmp_path / "beir").mkdir()
    (tmp_path / "beir" / "corpus.jsonl").write_text(json.dumps(ROWS[0]) + "\n", encoding="utf-8")
    assert cli("index", "build", "beir", "-o", "b.index").code == 0
    assert cli("search", "b.index", "money", "--json").json["hits"][0]["text"] == (
        "Refunds Refunds take five working days."
    )
    assert cli("index", "build", "beir", "-o", "n.index", "--no-title").code == 0
    assert cli("search", "n.index", "money", "--json").json["hits"][0]["text"] == ROWS[0]["text"]


def test_bad_rows_are_told_with_their_places_or_left_out(cli, write, tmp_path):
    path = write(
        *ROWS, {"_id": "d1", "text": "Once more."}, {"_id": "b", "text": " "}, {"text": "No id."}
    )
    said = cli("index", "build", path, "-o", "x.index")
    assert said.code == 4
    assert "cases.jsonl:5: _id: 'd1' is on line 1 too" in said.err
    assert "cases.jsonl:6: text: is blank" in said.err
    assert "cases.jsonl:7: _id: expected an id" in said.err
    assert "--on-bad-row skip" in said.err
    assert not (tmp_path / "x.index").exists()
    skipped = cli("index", "build", path, "-o", "x.index", "--on-bad-row", "skip", "--json")
    assert (skipped.code, skipped.json["rows"]) == (0, 4)
    assert "3 rows left out" in skipped.err
    assert cli("search", "x.index", "refunds", "--json", "-k", 1).json["hits"][0]["id"] == "d1"


def test_a_text_without_a_vector_stops_the_build_or_is_counted(cli, write):
    path = write(*ROWS, {"_id": "zz", "text": "ᚠᚢᚦ ᚨᚱᚲ"})
    said = cli("index", "build", path, "-o", "x.index")
    assert said.code == 3
    assert "row zz:" in said.err
    assert "--on-bad-row skip" in said.err
    skipped = cli("index", "build", path, "-o", "x.index", "--on-bad-row", "skip")
    assert skipped.code == 0
    assert "left out, for want of a vector: 1 row" in skipped.out


def test_wrong_options_are_refused_before_anything_is_embedded(cli, corpus, index, monkeypatch):
    monkeypatch.setattr("closecall.cli.index_embedder.from_cache", None)
    for option in (
        ("--kind", "hnws"), ("--recall", "0"), ("--memory", "much"), ("--map", "texts=a"),
        ("--no-cache", "--cache-dir", "x"),
    ):  # fmt: skip
        assert cli("index", "build", corpus, "-o", index, *option).code == 2
    assert cli("index", "build", "corpus.pdf", "-o", index).code == 4
    assert cli("index", "build", "no.jsonl", "-o", index).code == 4


def test_a_folder_that_holds_other_things_or_may_not_be_written(cli, corpus, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear", encoding="utf-8")
    said = cli("index", "build", corpus, "-o", "mine")
    assert said.code == 2
    assert "holds other things" in said.err
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert cli("index", "build", corpus, "-o", "file/x").code == 2


READ_ONLY = """
import os, sys
from closecall.cli import run
folder = sys.argv[1]
assert run(["search", folder, "refunds", "--no-cache", "-q"]) == 0  # everything is loaded by now
for name, _, files in os.walk(folder):
    os.chmod(name, 0o555)
    for file in files:
        os.chmod(os.path.join(name, file), 0o444)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
assert run(["search", folder, "refunds", "--no-cache", "-q"]) == 0
assert run(["index", "verify", folder]) == 0
print("now", flush=True)
sys.exit(run(["index", "remove", folder, "d1"]))
"""


@pytest.mark.skipif(os.name != "posix", reason="takes away rights as POSIX does")
def test_a_read_only_index_is_searched_and_not_changed(cli, corpus, process):
    with tempfile.TemporaryDirectory() as place:  # other users may look into it
        Path(place).chmod(0o755)
        folder = Path(place) / "i"
        assert cli("index", "build", corpus, "-o", folder).code == 0
        before = files(folder)
        said = process(folder, code=READ_ONLY)
        assert said.returncode == 2, said.stderr
        assert b"cannot write" in said.stderr.split(b"now")[-1]
        assert files(folder) == before
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)


def test_verify_names_the_damaged_file(cli, index):
    assert (
        cli("index", "verify", index).out.strip() == f"{index}: sound: 4 files as written, 4 rows"
    )
    assert cli("index", "verify", index, "--json").json["sound"] is True
    for name in ("vectors.npy", "rows.jsonl", "offsets.npy", "ranks.npy"):
        path = index / "v1" / name
        whole = path.read_bytes()
        for damaged in (whole[:-1], bytes([whole[0] ^ 1]) + whole[1:]):
            path.write_bytes(damaged)
            for command in (("index", "verify", index), ("search", index, "refunds")):
                said = cli(*command)
                assert said.code == 4
                assert name in said.err
        path.write_bytes(whole)
    manifest = index / "index.json"
    manifest.write_text(manifest.read_text().replace('"rows": 4', '"rows": 5'))
    assert cli("index", "show", index).code == 4
    manifest.write_text('{"schema": "something-else/1"}')
    said = cli("index", "show", index)
    assert (said.code, "not an index of closecall" in said.err) == (4, True)


def test_places_without_an_index(cli, tmp_path):
    said = cli("index", "show", tmp_path / "nowhere")
    assert said.code == 4
    assert "closecall index build" in said.err
    for command in (("verify",), ("remove",), ("rebuild",), ("add",)):
        more = {"remove": ("d1",), "add": ("corpus.jsonl",)}.get(command[0], ())
        assert cli("index", *command, tmp_path, *more).code == 4


def test_rows_are_added_replaced_and_removed(cli, index, write):
    more = write(
        {"id": "d5", "text": "We sell kites."}, {"id": "d1", "text": "Refunds take a month."},
        name="more.jsonl",
    )  # fmt: skip
    before = files(index)
    said = cli("index", "add", index, more)
    assert said.code == 4
    assert "'d1'" in said.err
    assert "--replace" in said.err
    assert files(index) == before
    said = cli("index", "add", index, more, "--replace", "--json")
    assert (said.code, said.json["rows"]) == (0, 5)
    found = cli("search", index, "When do refunds come?", "-k", 1, "--json").json["hits"]
    assert found[0]["text"] == "Refunds take a month."
    assert cli("index", "remove", index, "d5", "nobody").code == 2
    (gone := write(name="gone.txt")).write_text("d5\nd4\n", encoding="utf-8")
    absent = cli("index", "remove", index, "nobody").err
    assert absent == "closecall: no rows with the ids 'nobody'\n"
    said = cli("index", "remove", index, "d2", "--ids", gone, "--json")
    assert (said.code, said.json["rows"]) == (0, 2)
    assert cli("index", "remove", index).code == 2
    everything = cli("search", index, "anything", "--json").json["hits"]
    assert sorted(hit["id"] for hit in everything) == ["d1", "d3"]
    emptied = cli("index", "remove", index, "d1", "d3", "--json")
    assert (emptied.code, emptied.json["why"].startswith("as it was: ")) == (0, True)
    assert "holds no rows" in cli("search", index, "anything").out


def test_what_another_command_adds_meanwhile_is_kept(cli, index, write, monkeypatch):
    from closecall.cli import index_add

    theirs = write({"id": "theirs", "text": "We sell kites."}, name="theirs.jsonl")
    mine = write({"id": "mine", "text": "We mend kites."}, name="mine.jsonl")
    real, adding = index_add._with_vectors, []

    def late(*args, **options):
        if not adding:
            adding.append(1)
            assert cli("index", "add", index, theirs, "-q").code == 0
        return real(*args, **options)

    monkeypatch.setattr(index_add, "_with_vectors", late)
    said = cli("index", "add", index, mine)
    assert said.code == 4
    assert "another process changed this index since it was read" in said.err
    assert "the same command" in said.err
    said = cli("index", "add", index, mine, "--json")
    assert (said.code, said.json["rows"]) == (0, 6)


def test_an_id_may_hold_what_other_texts_end_a_line_with(cli, write, tmp_path):
    ids = ("a\u2028b", "a", "b")
    place = tmp_path / "some.index"
    rows = write(*({"id": one, "text": "We sell kites."} for one in ids), name="some.jsonl")
    assert cli("index", "build", rows, "-o", place, "-q").code == 0
    (gone := write(name="gone.txt")).write_text("a\u2028b\r\n\n", encoding="utf-8")
    said = cli("index", "remove", place, "--ids", gone, "--json")
    assert (said.code, said.json["rows"]) == (0, 2)


@pytest.mark.parametrize(
    ("name", "told"),
    [("rows.jsonl", "rows.jsonl:4: not a row"), ("vectors.npy", "vectors.npy[3, 383] is nan")],
)
def test_verify_reads_what_a_fitting_checksum_says_nothing_of(cli, index, name, told):
    path = index / "v1" / name
    data = path.read_bytes()
    if name == "vectors.npy":
        path.write_bytes(data[:-4] + b"\x00\x00\xc0\x7f")
    else:
        *lines, last = data.splitlines(keepends=True)
        path.write_bytes(b"".join(lines) + b'{"id": "d4"'.ljust(len(last) - 2) + b"}\n")
    manifest = index / "index.json"
    document = json.loads(manifest.read_text())
    document["files"][name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    del document["digest"]
    document["digest"] = hashlib.sha256(canonical_json(document)).hexdigest()
    manifest.write_text(json.dumps(document))
    said = cli("index", "verify", index)
    assert (said.code, told in said.err) == (4, True)


def test_rows_of_another_embedder_are_not_added(cli, index, write):
    more = write({"id": "d9", "text": "We sell kites."}, name="more.jsonl")
    before = files(index)
    said = cli("index", "add", index, more, "--window", "truncate")
    assert said.code == 6
    assert "window" in said.err
    assert files(index) == before


def test_rebuilt_it_is_of_another_kind_and_finds_the_same(cli, index):
    def found():
        return cli("search", index, "money back", "--json").json["hits"]

    before = found()
    said = cli("index", "rebuild", index, "--kind", "hnsw:m=16", "--json")
    assert (said.code, said.json["kind"]) == (0, "hnsw:m=16")
    assert found() == before
    # faiss's own file is never read in a rebuild.
    (generation,) = index.glob("v*")
    (generation / "index.faiss").write_bytes(b"evil")
    assert cli("search", index, "money back").code == 4
    again = cli("index", "rebuild", index, "--json")
    assert (again.code, again.json["why"].startswith("as it was: a graph")) == (0, True)
    assert found() == before
    assert cli("index", "rebuild", index, "--kind", "auto", "--json").json["kind"] == "exact"
    assert cli("index", "rebuild", index, "--kind", "hnws").code == 2
    (generation,) = index.glob("v*")
    (generation / "vectors.npy").write_bytes(b"x")
    assert cli("index", "rebuild", index).code == 4


def test_ctrl_c_says_what_is_kept(cli, corpus, index, monkeypatch):
    before = files(index)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(writer.Writer, "append", interrupted)
    said = cli("index", "build", corpus, "-o", index)
    assert said.code == 130
    assert f"the index in {index} is as it was" in said.err
    assert "4 vectors are in the cache: the same command goes on from there" in said.err
    assert files(index) == before
    said = cli("index", "build", corpus, "-o", "new.index", "--no-cache")
    assert "no index was written; the vectors made so far are lost" in said.err
    monkeypatch.undo()


KILLED = """
import os, signal, sys
from closecall.index import folder, writer
from closecall.cli import main
where, step = sys.argv[1].split(":")
holder = {"writer": writer.Writer, "folder": folder}[where]
def dies(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(holder, step, dies)
main(sys.argv[2:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
@pytest.mark.parametrize(
    "step", ["writer:append", "writer:finish", "folder:_next", "folder:whole_file"]
)
def test_killed_in_a_build_the_old_index_stays_usable(step, cli, process, index, write):
    other = write({"id": "new", "text": "Something else altogether."}, name="other.jsonl")
    before = cli("search", index, "refunds", "--json").json["hits"]
    done = process(step, "index", "build", other, "-o", index, code=KILLED)
    assert done.returncode == -signal.SIGKILL
    assert cli("index", "verify", index).code == 0
    assert cli("search", index, "refunds", "--json").json["hits"] == before
    assert cli("index", "build", other, "-o", index).code == 0
    assert [p.name for p in sorted(index.iterdir())] == [".lock", "index.json", "v2"]


def test_the_same_corpus_gives_the_same_index(cli, corpus, tmp_path):
    for name in ("a", "b"):
        assert cli("index", "build", corpus, "-o", name, "--kind", "hnsw", "--seed", 7).code == 0
    a, b = files(tmp_path / "a"), files(tmp_path / "b")
    assert a == b


def test_what_an_index_holds_is_shown_and_never_obeyed(cli, write):
    path = write({"id": "\x1b[31mred", "text": "\x1b]0;title\x07 Refunds take a week."})
    assert cli("index", "build", path, "-o", "x.index").code == 0
    said = cli("search", "x.index", "refunds")
    assert "\x1b" not in said.out
    assert "\\x1b[31mred" in said.out
    assert "\x1b" not in cli("search", "x.index", "refunds", "--json").out

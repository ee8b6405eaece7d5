"""A run in parts: the same run as in a folder, killed or not, and nothing in it is believed."""

import io
import json
import random
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from bulk_cases import StoppedError, parts, rows, run, same_run, stop_at, write
from forked import Forks

from closecall import load_run
from closecall.errors import ClosecallError, RunFolderError, UsageError
from closecall.runs import resuming
from closecall.runs.kept import remove, runs_in, why_not
from closecall.runs.parts.folder import PartsFolder, is_parts_folder
from closecall.runs.parts.ranges import Part, parts_in, spans
from closecall.runs.reader import open_run
from closecall.storage import open_store
from closecall.testing import HashEmbedder

CASES = 300


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return write(tmp_path_factory.mktemp("cases") / "cases.jsonl", CASES)


@pytest.fixture(scope="module")
def made(cases, tmp_path_factory):
    return run(cases, parts(tmp_path_factory.mktemp("runs") / "parts")).folder


@pytest.fixture
def copy(made, tmp_path):
    import shutil

    return Path(shutil.copytree(made, tmp_path / "copy"))


def part_files(folder):
    return sorted((folder / "parts").iterdir())


def test_it_is_the_run_that_a_folder_holds(cases, made, tmp_path):
    whole = run(cases, tmp_path / "folder")
    found = load_run(made)
    assert same_run(found, whole)
    assert rows(found) == rows(whole)
    assert [row.case for row in found] == [row.case for row in load_run(tmp_path / "folder")]
    assert open_run(made).verify() == []
    assert [file.name for file in part_files(made)][:2] == [
        "part-000000000000-000000000032.parquet",
        "part-000000000032-000000000064.parquet",
    ]


def test_its_columns_are_for_people(made):
    table = pq.read_table(part_files(made)[0]).to_pylist()
    first = table[1]
    assert (first["position"], first["case_id"], first["tags"]) == (1, "case-1", ["odd"])
    assert first["state"] == first["semantic_similarity.state"] == "passed"
    assert first["semantic_similarity.value"] == pytest.approx(1.0)
    assert first["response"] == first["references"][0]
    facts = pq.read_metadata(part_files(made)[0])
    assert facts.metadata is None  # nothing in it that a reader would unpickle
    assert facts.row_group(0).column(0).compression == "ZSTD"


def test_without_content_no_text_is_in_it(cases, tmp_path):
    run(cases, parts(tmp_path / "run"), content=False)
    for file in part_files(tmp_path / "run"):
        data = json.dumps(pq.read_table(file).to_pylist(), default=str)
        assert "shelf" not in data
        assert "harbour" not in data
    assert open_run(tmp_path / "run").verify() == []
    assert len(list(load_run(tmp_path / "run"))) == CASES


@pytest.mark.parametrize("kind", ["folder", "parts"])
def test_without_content_no_value_of_a_row_that_was_left_out_is_in_it(tmp_path, kind):
    file = write(tmp_path / "cases.jsonl", 3)
    values = ("a note to myself", "it's \"quoted\" and ' private")
    with file.open("a", encoding="utf-8") as out:
        for at, value in enumerate(values):
            row = {"id": f"bad-{at}", "response": "r", "reference": "r", "label": value}
            out.write(json.dumps(row) + "\n")
    to = tmp_path / "run"
    found = run(file, parts(to) if kind == "parts" else to, content=False, on_bad_row="skip")
    said = "\n".join(found.header.dataset.problems)
    assert said.count("cases.jsonl:") == said.count("label: expected accept or reject") == 2
    assert [word for word in ("note", "quoted", "private") if word in said] == []
    assert (to / "run.json").read_text(encoding="utf-8").count('got \\"...\\"') == 2


@pytest.fixture
def writers():
    with Forks(Path(__file__).parent / "parts_writer.py") as forks:
        yield forks


def test_killed_again_and_again_it_ends_as_if_it_never_was(cases, made, writers, tmp_path):
    place, draw, killed = tmp_path / "run", random.Random(1), 0
    for round_number in range(80):
        before = len(list((place / "parts").glob("part-*"))) if place.exists() else 0
        with writers.start(cases, place) as process:
            wanted = before + draw.randint(1, 3) if killed < 8 else 1_000
            while process.poll() is None:
                if len(list((place / "parts").glob("part-*"))) >= wanted:
                    process.kill()
                    break
                time.sleep(0.001)
            errors = process.stderr.read().decode()
        # Killed between its header and its seal it is done; going on with it seals it and says so.
        done = "nothing to resume" in errors
        killed += process.returncode != 0 and not done
        assert (place / "seal.json").exists() if done else "Error" not in errors, errors
        if (place / "seal.json").exists():
            if killed >= 2:
                break
            place = tmp_path / f"run-{round_number}"  # done before it could be killed
            continue
        assert len(list((place / "parts").glob("part-*"))) >= before
    assert killed >= 2
    assert (place / "seal.json").exists()
    assert same_run(load_run(place), load_run(made))
    assert rows(load_run(place)) == rows(load_run(made))
    assert open_run(place).verify() == []


def test_what_was_measured_before_it_stopped_is_kept(cases, tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 20)
    with pytest.raises(StoppedError):
        run(cases, parts(tmp_path / "run"), progress=stop_at(100))
    store = open_store(tmp_path / "run")
    assert parts_in(store)[-1] == Part(96, 100)
    assert len(list(load_run(tmp_path / "run"))) == 100
    asked = []
    embedder = HashEmbedder()
    fetch = embedder.embed

    def counting(texts, role):
        asked.extend(texts)
        return fetch(texts, role)

    monkeypatch.setattr(embedder, "embed", counting)
    done = run(cases, tmp_path / "run", resume=True, embedder=embedder)
    assert same_run(done, run(cases))
    # The parts after the rest of the one it stopped in end where they always do.
    assert [part.stop for part in parts_in(store)][2:6] == [96, 100, 128, 160]


def test_gaps_are_filled_at_their_places(cases, copy):
    whole = load_run(copy)
    expected = rows(whole)
    for name in ("seal.json", "summary.json"):
        (copy / name).unlink()
    header = json.loads((copy / "run.json").read_bytes())
    header.pop("endedAt")
    (copy / "run.json").write_text(json.dumps(header | {"status": "running"}))
    for gone in (part_files(copy)[4], part_files(copy)[-1], part_files(copy)[0]):
        gone.unlink()
    assert len(list(load_run(copy))) < CASES
    found = run(cases, copy, resume=True)
    assert same_run(found, whole)
    assert rows(found) == expected
    assert open_run(copy).verify() == []


def test_what_two_processes_wrote_is_one_run(cases, copy):
    file = part_files(copy)[0]
    table = pq.read_table(file).slice(0, 5)
    buffer = io.BytesIO()
    pq.write_table(table, buffer, store_schema=False)
    file.with_name(Part(0, 5).name.rpartition("/")[2]).write_bytes(buffer.getvalue())
    found = spans(parts_in(open_store(copy)), 0, CASES)
    assert found[0][:2] == (0, 32)
    assert all(span.kept for span in found)


def test_it_can_lie_where_no_folder_is(cases):
    place = "memory://bucket/run"
    done = run(cases, parts(place))
    assert (done.folder, done.url) == (None, place)
    assert is_parts_folder(place)
    assert same_run(PartsFolder(place).load(), run(cases))
    with pytest.raises(RunFolderError, match="already holds a run"):
        run(cases, parts(place))
    assert PartsFolder(place).problems() == []


def test_a_place_that_holds_something_is_refused(cases, tmp_path):
    (tmp_path / "note.txt").write_text("x")
    with pytest.raises(RunFolderError, match="is not empty"):
        run(cases, parts(tmp_path))


def test_other_cases_do_not_go_on_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 20)
    cases = write(tmp_path / "a.jsonl", 100)
    with pytest.raises(StoppedError):
        run(cases, parts(tmp_path / "run"), progress=stop_at(50))
    write(cases, 99)
    with pytest.raises(RunFolderError, match="100 then, 99 now"):
        run(cases, tmp_path / "run", resume=True)


def test_a_run_that_ended_is_returned(cases, tmp_path):
    from closecall import evaluate

    said = []
    evaluate(cases, ["token_f1"], aef=parts(tmp_path / "run"))
    found = resuming.resume(tmp_path / "run", on_notice=said.append)
    assert found.cases.total == CASES
    assert "had ended" in said[0]
    (tmp_path / "run" / "seal.json").unlink()  # killed before its last move
    resuming.resume(tmp_path / "run")
    assert open_run(tmp_path / "run").sealed


def test_whoever_goes_on_with_a_run_that_another_ends_returns_it(cases, tmp_path, monkeypatch):
    from closecall import evaluate

    def stopped(_done, _total):
        raise StoppedError

    with pytest.raises(StoppedError):
        evaluate(cases, ["token_f1"], aef=parts(tmp_path / "run"), progress=stopped)
    resume, others = PartsFolder.resume, []

    def second(self, header):
        if not others:  # between this one's look at the run and its first part
            others.append(None)
            resuming.resume(tmp_path / "run")
        return resume(self, header)

    monkeypatch.setattr(PartsFolder, "resume", second)
    said = []
    found = resuming.resume(tmp_path / "run", on_notice=said.append)
    assert others
    assert found.cases.total == CASES
    assert "had ended" in said[-1]


def test_kept_runs_know_it(copy):
    (found,) = runs_in(copy.parent)
    assert (found.status, found.counts.total) == ("complete", CASES)
    assert why_not(copy) is None
    (copy / "mine.txt").write_text("x")
    assert "mine.txt" in why_not(copy)
    (copy / "mine.txt").unlink()
    remove(copy)
    assert not copy.exists()


def test_a_part_has_so_many_cases(tmp_path):
    for count in (0, 1_000_001, True):
        with pytest.raises(UsageError, match="a part holds"):
            PartsFolder(tmp_path, cases=count)


def rewritten(file, change):
    table = change(pq.read_table(file))
    pq.write_table(table, file, store_schema=False, compression="zstd")


def of_column(name, change):
    import pyarrow as pa

    def changed(table):
        at = table.schema.get_field_index(name)
        values = [change(value) for value in table.column(name).to_pylist()]
        return table.set_column(
            at, table.schema.field(name), pa.array(values, table.schema.types[at])
        )

    return changed


CHANGES = {
    "a column of people's": (of_column("semantic_similarity.value", lambda _: 0.5), "verify"),
    "a text": (of_column("response", lambda _: "x"), "verify"),
    "positions": (of_column("position", lambda at: at + 1), "read"),
    "a record that is none": (of_column("record", lambda _: b"{}\n"), "read"),
    "a record without an end": (of_column("record", lambda data: data[:-1]), "read"),
    "another run's record": (
        of_column("record", lambda data: data.replace(b'"resultId":"r_', b'"resultId":"r_0')),
        "read",
    ),
    "another case's results": (
        of_column("record", lambda data: data.replace(b'"caseId":"case-', b'"caseId":"case-9')),
        "read",
    ),
    "fewer rows": (lambda table: table.slice(0, 3), "read"),
    "a column less": (lambda table: table.drop_columns(["score"]), "read"),
    "a column more": (lambda table: table.append_column("more", table.column("score")), "read"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_part_that_was_changed_is_refused_by_name(what, copy):
    change, found_by = CHANGES[what]
    rewritten(part_files(copy)[2], change)
    problems = open_run(copy).verify()
    assert any("part-000000000064-000000000096" in one for one in problems)
    if found_by == "verify":
        assert any("says otherwise than the record beside it" in one for one in problems)
    else:
        with pytest.raises(RunFolderError, match="part-000000000064-000000000096"):
            list(load_run(copy, counts=False))


def test_what_the_seal_says_is_held_against_every_file(copy):
    part_files(copy)[3].unlink()
    assert "lack cases: 96 to 127" in " ".join(open_run(copy).verify())
    with pytest.raises(RunFolderError, match="96 to 127"):
        load_run(copy)


def test_the_file_that_was_changed_is_said_before_what_follows_from_it(copy):
    header = copy / "run.json"
    header.write_bytes(header.read_bytes().replace(b'"run-2', b'"run-3', 1))
    problems = open_run(copy).verify()
    assert problems[0].endswith("run.json: was changed after sealing")
    assert len(problems) > 1


def test_a_seal_of_a_run_that_is_open_shows(copy):
    facts = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    (copy / "run.json").write_text(json.dumps(facts | {"status": "running"}), encoding="utf-8")
    said = open_run(copy).verify()
    assert any(
        "seal.json: seals a run that run.json says is still being written" in s for s in said
    )


def test_a_damaged_part_of_an_open_run_is_measured_again_once_it_is_gone(cases, tmp_path):
    with pytest.raises(StoppedError):
        run(cases, parts(tmp_path / "run"), progress=stop_at(100))
    damaged = part_files(tmp_path / "run")[1]
    damaged.write_bytes(damaged.read_bytes()[:-30])
    with pytest.raises(RunFolderError, match=rf"{damaged.name}.*Delete that file"):
        run(cases, tmp_path / "run", resume=True)
    damaged.unlink()
    assert same_run(run(cases, tmp_path / "run", resume=True), run(cases))


def test_a_stranger_shows(copy):
    (copy / "parts" / "part-1.parquet").write_bytes(b"")
    assert "does not belong" in open_run(copy).verify()[0]


@pytest.mark.parametrize("document", ["run.json", "summary.json", "seal.json"])
def test_a_document_that_was_changed_shows(document, copy):
    path = copy / document
    path.write_bytes(
        path.read_bytes().replace(b'"schemaVersion": "1.0"', b'"schemaVersion": "1.1"')
    )
    assert open_run(copy).verify()


def test_damaged_bytes_are_a_data_error(copy):
    draw, file = random.Random(5), part_files(copy)[1]
    whole = file.read_bytes()
    for _ in range(60):
        changed = bytearray(whole)
        for _ in range(draw.randint(1, 8)):
            changed[draw.randrange(len(whole))] = draw.randrange(256)
        file.write_bytes(bytes(changed))
        try:
            list(load_run(copy, counts=False))
        except ClosecallError:
            continue
    file.write_bytes(whole[:-9])
    with pytest.raises(RunFolderError, match="cannot be read as Parquet"):
        load_run(copy)


@pytest.mark.parametrize("status", [[], {}, None, "done"])
def test_a_status_that_is_none_is_refused(tmp_path, status):
    run(write(tmp_path / "cases.jsonl", 6), parts(tmp_path / "run"))
    place = tmp_path / "run" / "run.json"
    document = json.loads(place.read_bytes()) | {"status": status}
    place.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(RunFolderError, match=r"run\.json"):
        load_run(tmp_path / "run")

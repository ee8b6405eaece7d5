"""Reading folders that others made, broke, or made to break us."""

import json
import os
import shutil

import pytest
from folder_helpers import close, fill, finished, header, metrics
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from closecall.errors import RunFolderError
from closecall.runs import files, reader, verify, wire
from closecall.runs.folder import RunFolder
from closecall.runs.reader import open_run

DOCUMENTS = {
    "run.json",
    "metrics.json",
    "summary.json",
    "seal.json",
    "results.ndjson",
    "ext/closecall/cases.ndjson",
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("sound") / "run")


@pytest.fixture
def place(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "run")


def edit(path, change):
    value = json.loads(path.read_bytes())
    change(value)
    path.write_bytes(wire.dump_document(value))


def edit_line(path, number, change):
    lines = path.read_bytes().split(b"\n")
    value = json.loads(lines[number - 1])
    change(value)
    lines[number - 1] = wire.dump_line(value)[:-1]
    path.write_bytes(b"\n".join(lines))


def test_a_sound_run_has_no_problems(place):
    assert open_run(str(place)).verify() == []


@pytest.mark.parametrize(
    ("file", "number", "change", "problem"),
    [
        ("results.ndjson", 3, lambda v: v.update(resultId="r_" + "0" * 32), ":3: resultId should"),
        ("results.ndjson", 3, lambda v: v.update(caseId="case-0"), ":3: this case and path"),
        ("results.ndjson", 1, lambda v: v["scores"][0].update(value=5.0), "sum should be"),
        ("results.ndjson", 1, lambda v: v["scores"][0].update(metric="x"), "not declared"),
        ("results.ndjson", 1, lambda v: v.update(state="failed"), "pass-rate"),
        ("results.ndjson", 1, lambda v: v.update(state="green"), ":1: no such state"),
        ("results.ndjson", 1, lambda v: v.update(state="error"), ":1: a result that is error"),
        ("results.ndjson", 1, lambda v: v.update(schemaVersion="2.0"), ":1: schemaVersion"),
        ("results.ndjson", 1, lambda v: v["scores"][0].update(value=True), ":1: the score"),
        ("results.ndjson", 1, lambda v: v.update(scores=v["scores"] * 2), "at most once"),
        ("results.ndjson", 1, lambda v: v.pop("evaluator"), "evaluator must"),
        ("ext/closecall/cases.ndjson", 2, lambda v: v.update(response=3), ":2: response"),
        ("ext/closecall/cases.ndjson", 2, lambda v: v.update(label="maybe"), ":2: id is missing"),
        ("ext/closecall/cases.ndjson", 2, lambda v: v.update(response="new"), "was changed"),
    ],
)
def test_a_changed_line_is_found(place, file, number, change, problem):
    edit_line(place / file, number, change)
    assert any(problem in found for found in open_run(place).verify())


@pytest.mark.parametrize(
    ("file", "change", "problem"),
    [
        ("summary.json", lambda v: v["lanes"][0]["metrics"][0].update(n=1), "n should be"),
        ("summary.json", lambda v: v["lanes"][0]["metrics"][0].pop("value"), "lacks value"),
        ("summary.json", lambda v: v["lanes"][0]["metrics"][0].update(sumSq=1.0), "sumSq should"),
        ("summary.json", lambda v: v["lanes"].append(v["lanes"][0]), "stands there twice"),
        ("summary.json", lambda v: v["lanes"][0].pop("metrics"), "not laid out"),
        ("summary.json", lambda v: v["lanes"][0]["metrics"][0].update(path=7), "not laid out"),
        ("summary.json", lambda v: v.update(runId="other"), "runId"),
        ("metrics.json", lambda v: v["metrics"].append(v["metrics"][0]), "declared twice"),
        ("metrics.json", lambda v: v["metrics"][0].update(kind="mood"), "no kind"),
        ("run.json", lambda v: v.update(endedAt="2026-03-01T09:00:00Z"), "ends before"),
        ("run.json", lambda v: v.pop("endedAt"), "a time must"),
        ("run.json", lambda v: v["producer"].update(version="9"), "producer should be"),
        ("seal.json", lambda v: v["predicate"].update(runHash="0" * 64), "runHash should be"),
        ("seal.json", lambda v: v["subject"].pop(), "was added after sealing"),
        ("seal.json", lambda v: v["subject"].append(v["subject"][0]), "names a file twice"),
        ("seal.json", lambda v: v.pop("subject"), "not laid out as a seal"),
        ("seal.json", lambda v: v.update(predicateType="x"), "predicateType"),
        (
            "seal.json",
            lambda v: v["predicate"].update(sealedAt="2020-01-01T00:00:00Z"),
            "sealedAt",
        ),
    ],
)
def test_a_changed_document_is_found(place, file, change, problem):
    edit(place / file, change)
    assert any(problem in found for found in open_run(place).verify())


def test_files_that_come_and_go_are_found(place):
    (place / "ext/closecall/cases.ndjson").unlink()
    (place / "ext/more.json").write_bytes(b"{}")
    (place / "notes.txt").write_bytes(b"")
    found = "\n".join(open_run(place).verify())
    for problem in ("cases.ndjson: is missing", "more.json: was added", "notes.txt: does not bel"):
        assert problem in found


def test_many_problems_are_counted_not_listed(place):
    lines = (place / "results.ndjson").read_bytes().splitlines(keepends=True)
    (place / "results.ndjson").write_bytes(b"".join(lines * 6))
    found = open_run(place).verify()
    assert len(found) == verify.MOST + 1
    assert found[-1].startswith("... and ")


@pytest.mark.parametrize(
    ("file", "data", "problem"),
    [
        ("run.json", b"[]", r"run\.json: not a JSON object"),
        ("run.json", b'{"status":"sealed"}', r"run\.json: the status 'sealed'"),
        ("run.json", b'{"status":"completed","schemaVersion":"2.0"}', "schemaVersion '2.0'"),
        ("run.json", b'{"status":"completed","schemaVersion":"1.0"}', "runId must be a text"),
        ("run.json", b'{"status":["completed"]}', "the status"),
        ("metrics.json", b'{"schemaVersion":"1.3","metrics":{}}', r"metrics\.json: metrics must"),
        ("summary.json", b"", r"summary\.json: not JSON"),
        ("run.json", b'{"a":' * 70 + b"1" + b"}" * 70, "64 levels"),
    ],
)
def test_a_document_that_is_not_understood_is_refused_by_name(place, file, data, problem):
    (place / file).write_bytes(data)
    with pytest.raises(RunFolderError, match=problem):
        open_run(place)


def test_folders_that_are_no_run_are_refused(tmp_path):
    with pytest.raises(RunFolderError, match="no such folder"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(RunFolderError, match=r"has no run\.json"):
        open_run(tmp_path)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{}", "ends without a line feed"),
        (b"\n", "not JSON"),
        (b"{}\r\n", "carriage return"),
        (b"x" * (wire.MAX_LINE + 5) + b"\n", "longer than"),
        (b'{"a":"\\udfff"}\n', "surrogate"),
    ],
)
def test_a_bad_line_is_refused_by_file_and_line(place, data, problem):
    whole = (place / "results.ndjson").read_bytes()
    (place / "results.ndjson").write_bytes(whole + data)
    with pytest.raises(RunFolderError, match=rf"results\.ndjson:25: .*{problem}"):
        list(open_run(place).results())


def test_sizes_are_bounded(place, monkeypatch):
    monkeypatch.setattr(files, "MAX_LINES", 10)
    with pytest.raises(RunFolderError, match=r"results\.ndjson:11: more than"):
        list(open_run(place).results())
    monkeypatch.setattr(files, "MAX_FILE", 10)
    with pytest.raises(RunFolderError, match="larger than 10 bytes"):
        list(open_run(place).results())
    monkeypatch.undo()
    (place / "run.json").write_bytes(b" " * (wire.MAX_LINE + 1))
    with pytest.raises(RunFolderError, match="larger than"):
        open_run(place)


@pytest.mark.skipif(os.name == "nt", reason="making links needs a privilege there")
@pytest.mark.parametrize(
    "name", ["run.json", "results.ndjson", "ext/closecall/cases.ndjson", "ext/closecall", "ext"]
)
def test_links_are_refused(place, tmp_path, name):
    (place / name).rename(tmp_path / "moved")
    (place / name).symlink_to(tmp_path / "moved")

    def read():
        run = open_run(place)
        return [*run.results(), *run.cases()]

    with pytest.raises(RunFolderError, match="is a link"):
        read()
    if name != "run.json":
        assert any("is a link" in found for found in open_run(place).verify())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_does_not_hang_the_reader(place):
    (place / "results.ndjson").unlink()
    os.mkfifo(place / "results.ndjson")
    with pytest.raises(RunFolderError, match="not a regular file"):
        list(open_run(place).results())


@pytest.mark.skipif(os.name == "nt", reason="making links needs a privilege there")
def test_a_linked_results_file_is_not_written_through(tmp_path):
    place, target = tmp_path / "run", tmp_path / "precious"
    RunFolder.create(place, header(), metrics()).release()
    target.write_bytes(b"precious")
    (place / "results.ndjson").unlink()
    (place / "results.ndjson").symlink_to(target)
    with pytest.raises(RunFolderError):
        RunFolder.resume(place)
    assert target.read_bytes() == b"precious"


@pytest.mark.parametrize("name", ["a b", ".hidden", "x.", "con.txt", "ümlaut", "COM1"])
def test_names_the_format_forbids_are_found(place, name):
    (place / "ext" / name).write_bytes(b"")
    assert any("may have that name" in found for found in open_run(place).verify())


def test_a_run_of_another_producer_can_be_read_but_not_resumed(tmp_path):
    place = tmp_path / "run"
    with RunFolder.create(place, header(), metrics()) as run:
        fill(run, 1)
    edit(place / "run.json", lambda v: v.pop("ext"))
    assert len(list(open_run(place).results())) == 2
    with pytest.raises(RunFolderError, match="not written by closecall"):
        RunFolder.resume(place)


def test_members_of_later_versions_do_not_hurt(place):
    edit_line(place / "results.ndjson", 1, lambda v: v.update(schemaVersion="1.7", mood="fine"))
    assert len(list(open_run(place).results())) == 24
    assert reader.result_problem(next(open_run(place).results())) is None


def test_results_stream(tmp_path):
    with RunFolder.create(tmp_path / "run", header(), metrics()) as run:
        fill(run, 30, batch=10)
        close(run)
    stream = open_run(tmp_path / "run").results()
    assert next(stream)["caseId"] == "case-0"
    stream.close()


def spots(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from spots(child, (*path, key))


ODD = st.sampled_from(
    [None, True, -1, 0.5, 2**60, 1e308, "", "x", "\U0001f600", [], {}, [[]], [{}]]
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), file=st.sampled_from(sorted(DOCUMENTS)))
def test_no_oddity_in_a_file_gets_out_as_another_error(sound, tmp_path_factory, data, file):
    path = sound / file
    whole = path.read_bytes()
    lines = whole.split(b"\n")[:-1] if file.endswith("ndjson") else [whole]
    number = data.draw(st.integers(0, len(lines) - 1))
    value = json.loads(lines[number])
    spot = data.draw(st.sampled_from(list(spots(value))[1:]))
    parent = value
    for key in spot[:-1]:
        parent = parent[key]
    if data.draw(st.booleans()):
        parent[spot[-1]] = data.draw(ODD)
    else:
        del parent[spot[-1]]
    lines[number] = json.dumps(value).encode()
    try:
        path.write_bytes(b"\n".join(lines) + b"\n")
        run = open_run(sound)
        assert run.verify() or file == "seal.json" or path.read_bytes() == whole
    except RunFolderError as error:
        assert str(sound) in str(error)  # noqa: PT017 - any message will do that names the file
    finally:
        path.write_bytes(whole)

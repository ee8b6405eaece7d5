"""The calibration file: the same bytes each time, and no number that was not measured."""

import json
import os
import stat
from pathlib import Path

import msgspec
import pytest
from made_cases import CREATED, answers, made, usual

from closecall import calibrate
from closecall.calibration import Costs, load_calibration, save_calibration
from closecall.calibration.artefact import SCHEMA, Calibration
from closecall.calibration.goals import Goal
from closecall.calibration.store import sealed
from closecall.errors import CalibrationFileError, UsageError
from closecall.testing import HashEmbedder

GOALS = {
    "promise": Goal(max_far=0.1),
    "two": Goal(max_far=0.1, max_frr=0.1),
    "costs": Goal(costs=Costs(false_accept=5, false_reject=1)),  # whole numbers on purpose
    "objective": Goal(objective="youden", seed=2**70),
    "average": Goal(max_frr=0.1, guarantee="average", decimals=None),
}


def calibration(goal="promise", **options):
    return made(usual(group=[f"q{at // 2}" for at in range(300)]), GOALS[goal], **options)


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "cutoff.json"
    save_calibration(calibration(), path)
    return path


def edited(path, change):
    """The file with a value changed and everything else, layout included, as it was."""
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def resealed(path, change):
    """The same, with the digest made to fit: as another program might write it."""
    from closecall.calibration.store import _digest

    def both(document):
        change(document)
        document["digest"] = _digest(document)

    return edited(path, both)


def refused(path, *words):
    with pytest.raises(CalibrationFileError) as caught:
        load_calibration(path)
    message = str(caught.value)
    assert str(path) in message
    for word in words:
        assert word in message
    assert caught.value.exit_code == 4
    return message


# --- there and back ------------------------------------------------------------------------------


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("texts", [True, False], ids=["texts", "no texts"])
def test_what_is_written_is_read_and_written_the_same(tmp_path, goal, texts):
    before = calibration(goal, keep_texts=texts)
    assert isinstance(before, Calibration)
    save_calibration(before, tmp_path / "one.json")
    after = load_calibration(tmp_path / "one.json")
    assert after == before
    assert after.digest == before.digest == sealed(after).digest
    save_calibration(after, tmp_path / "two.json")
    first, second = ((tmp_path / name).read_bytes() for name in ("one.json", "two.json"))
    assert first == second
    assert b"\r" not in first
    assert first.endswith(b"}\n")


def test_it_is_plain_json_that_people_can_look_through(written):
    text = written.read_text(encoding="utf-8")
    document = json.loads(text)
    assert document["schema"] == SCHEMA
    assert document["rule"]["evidence"]["limit"] == 0.1
    # A column a line, and the part that people read spread out.
    assert '\n    "scores": [' in text
    assert '\n    "max_far": 0.1' in text
    assert max(map(len, text.splitlines())) < 40_000


def test_the_same_labels_give_the_same_bytes_under_a_fixed_clock(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1740830400")
    contents = []
    for name in ("one.json", "two.json"):
        found = calibrate(
            answers(60, 60), "embed_answer_similarity", HashEmbedder(), Goal(max_far=0.1)
        )
        assert found.created == CREATED
        save_calibration(found, tmp_path / name)
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "no number")
    found = calibrate(
        answers(60, 60), "embed_answer_similarity", HashEmbedder(), Goal(max_far=0.1)
    )
    assert found.created > CREATED


def test_a_name_with_half_a_character_is_spelt_out(tmp_path):
    name = os.fsdecode(b"bad\xff.csv")
    found = made(usual(place=[f"{name}:{at}" for at in range(300)]), name=name)
    save_calibration(found, tmp_path / "cutoff.json")
    back = load_calibration(tmp_path / "cutoff.json")
    assert back == found
    assert back.data.name == r"bad\udcff.csv"


def test_texts_of_any_script_stay_as_they_are(tmp_path):
    words = ["naïve \N{SMILING FACE WITH SMILING EYES}", "日本", '"{\\', "\u2028\x00\x1b[31m"]
    found = made(usual(response=[f"{words[at % 4]} {at}" for at in range(300)]))
    save_calibration(found, tmp_path / "cutoff.json")
    back = load_calibration(tmp_path / "cutoff.json")
    assert [text.response for text in back.sample.texts[:4]] == [
        f"{word} {at}" for at, word in enumerate(words)
    ]


# --- files that are refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["rule"].update(value=d["rule"]["value"] - 0.001),
        lambda d: d["rule"]["counts"].update(false_accepts=0),
        lambda d: d["goal"].update(confidence=0.99),
        lambda d: d["instrument"].update(model="another"),
        lambda d: d.update(created="2031-01-01T00:00:00Z"),
        lambda d: d["sample"]["ids"].reverse(),
        lambda d: d.update(comment="mine"),
        lambda d: d.update(digest="0" * 64),
    ],
    ids=["cutoff", "counts", "confidence", "model", "date", "ids", "added", "digest"],
)
def test_a_file_that_was_edited_is_refused(written, change):
    edited(written, change)
    refused(written, "edited after it was written", "closecall calibrate")


def test_layout_is_no_edit(written):
    before = load_calibration(written)
    edited(written, lambda document: None)
    assert load_calibration(written) == before


@pytest.mark.parametrize("schema", ["closecall-calibration/2", None, 1, "x" * 500])
def test_another_version_of_the_format_is_named(written, schema):
    message = refused(
        resealed(written, lambda d: d.update(schema=schema)),
        "schema",
        SCHEMA,
        "closecall calibrate",
    )
    assert len(message) < 400


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "JSON"),
        (b"\xff\xfe{}", "UTF-8"),
        (b"cutoff = 0.5", "JSON"),
        (b"[1, 2]", "expected an object"),
        (b'"text"', "expected an object"),
        (b"{}", "schema"),
        (b'{"schema": "closecall-calibration/1"}', "Object missing required field"),
        (b'{"schema": "closecall-calibration/1", "schema": "x"}', "schema: the key stands twice"),
        (b'{"schema": "closecall-calibration/1", "tried": NaN}', "tried: NaN is not JSON"),
        (b'{"schema": ' + b"[" * 100_000, "nested deeper than 64"),
        (b'{"a":' * 100_000, "nested deeper than 64"),
        (b'{"schema": "\\ud83d"}', "half a character"),
    ],
    ids=["empty", "bytes", "not JSON", "list", "text", "no schema", "nothing else", "twice", "NaN",
         "deep list", "deep object", "half"],
)  # fmt: skip
def test_what_is_no_calibration_is_refused_in_a_line(tmp_path, content, words):
    path = tmp_path / "cutoff.json"
    path.write_bytes(content)
    assert "\n" not in refused(path, words)


@pytest.mark.parametrize("content", [b"[1, 2]", b"id,label\n", b'{"id": 1}\n{"id": 2}\n'])
def test_a_file_of_cases_is_told_what_a_calibration_is(tmp_path, content):
    path = tmp_path / "answers.jsonl"
    path.write_bytes(content)
    said = refused(path, "closecall calibrate LABELLED -o cutoff.json")
    assert '{"input"' not in said
    assert "each line" not in said


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_a_truncated_file_is_refused(written, share):
    content = written.read_bytes()
    written.write_bytes(content[: int(len(content) * share)])
    refused(written, "JSON")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda d: d["sample"]["scores"].__setitem__(3, "high"), "$.sample.scores[3]"),
        (lambda d: d["rule"].update(value=None), "$.rule.value"),
        (lambda d: d["rule"]["counts"].update(false_accepts=1.5), "$.rule.counts.false_accepts"),
        (lambda d: d["data"].update(rejects="many"), "$.data.rejects"),
        (lambda d: d["goal"].update(guarantee="certain"), "$.goal.guarantee"),
        (lambda d: d["rule"].update(value=9.0), "is no cutoff in"),
        (lambda d: d["rule"]["false_accept_rate"].update(count=-1), "is not a rate"),
        (lambda d: d["goal"].update(max_far=None), "a goal is one of"),
        (lambda d: d["sample"].update(accept="ar"), "sample: the columns are not all of"),
        (lambda d: d["sample"].update(accept="x" * 300), "allowed are the characters a and r"),
        (lambda d: d["canaries"].update(vectors="AAAA"), "canaries"),
        (lambda d: d["canaries"].update(vectors="*"), "canaries"),
        (lambda d: d.pop("data"), "`data`"),
    ],
    ids=["score", "value", "count", "rejects", "guarantee", "gap", "rate", "goal", "columns",
         "labels", "short vectors", "no base64", "missing"],
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_named(written, change, field):
    resealed(written, change)
    refused(written, "not a calibration", field)


def test_no_file_and_a_folder(tmp_path):
    refused(tmp_path / "none.json", "No such file")
    refused(tmp_path, "directory")


def test_a_file_too_large_to_be_one_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.calibration.store.MAX_BYTES", 100)
    path = tmp_path / "cutoff.json"
    path.write_bytes(b" " * 101)
    refused(path, "more than 100 bytes")


# --- writing -------------------------------------------------------------------------------------


def test_what_cannot_be_written_says_so_and_leaves_nothing(tmp_path):
    folder = tmp_path / "there.json"
    folder.mkdir()
    with pytest.raises(UsageError, match=r"cannot write .*there\.json"):
        save_calibration(calibration(), folder)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot write"):
        save_calibration(calibration(), tmp_path / "file" / "cutoff.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there.json"]
    assert list(folder.iterdir()) == []


def test_a_failed_write_keeps_what_was_there(written, monkeypatch):
    before = written.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    other = calibration("costs")
    with pytest.raises(UsageError, match="No space left on device"):
        save_calibration(other, written)
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


def test_something_that_json_cannot_hold_never_replaces_a_file(written):
    before = written.read_bytes()
    broken = msgspec.structs.replace(load_calibration(written), created=float("nan"))
    with pytest.raises((ValueError, msgspec.ValidationError)):
        save_calibration(broken, written)
    assert written.read_bytes() == before


def test_a_folder_is_made_and_a_private_file_stays_private(tmp_path):
    path = tmp_path / "new" / "folder" / "cutoff.json"
    save_calibration(calibration(), path)
    assert load_calibration(path)
    if os.name == "posix":
        path.chmod(0o600)
        save_calibration(calibration(), path)
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600

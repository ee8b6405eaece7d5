"""What a run folder keeps of the metadata of its cases."""

import json

import pytest
from two_runs import run

from closecall import Case
from closecall.errors import RunFolderError
from closecall.runs.caselines import case_line, dump_case, read_case, without_texts
from closecall.runs.files import CASES
from closecall.runs.kept_metadata import MOST_CASE, MOST_VALUE, keep_metadata, scalars
from closecall.runs.reader import open_run
from closecall.runs.stored import load_run

SHORT = {
    "slice": {"model": "a1", "deep": {"lang": "de"}},
    "n": 3,
    "share": 0.5,
    "hard": True,
    "none": None,
    "facts": ["blue", 7],
    "": "no name",
}


def test_what_is_short_is_kept_as_it_is_and_in_its_order():
    found = keep_metadata(SHORT)
    assert (found.kept, found.left_out) == (SHORT, ())
    assert list(found.kept) == list(SHORT)


@pytest.mark.parametrize(
    "value",
    [
        "x" * (MOST_VALUE + 1),
        ["x" * 100] * 3,
        {"a": {"b": {"c": 1}}},
        [{"role": "user"}],
        2**53,
        float("nan"),
        float("inf"),
        object(),
        [object()],
        [None] * 500,
    ],
)
def test_what_is_long_or_no_json_is_named_and_left_out_whole(value):
    found = keep_metadata({"a": 1, "slice": {"x": value, "y": 2}, "z": 3})
    assert found.kept == {"a": 1, "slice": {"y": 2}, "z": 3}
    assert all(path.startswith("slice.x") for path in found.left_out)
    assert len(found.left_out) == 1


def test_a_value_as_long_as_allowed_is_kept():
    assert keep_metadata({"a": "x" * MOST_VALUE}).kept == {"a": "x" * MOST_VALUE}


def test_a_case_has_room_for_so_much_and_what_still_fits_is_kept():
    many = {f"field {at:02}": "x" * 190 for at in range(20)} | {"last": 1}
    found = keep_metadata(many)
    assert list(found.kept) == [*list(many)[: MOST_CASE // 198], "last"]
    assert len(found.kept) + len(found.left_out) == 21
    assert keep_metadata(found.kept) == (found.kept, ())


def test_scalars_are_spelt_as_they_are_typed_in_a_filter():
    assert list(scalars({**SHORT, "blank": " "})) == [
        ("slice.model", "a1"),
        ("slice.deep.lang", "de"),
        ("n", "3"),
        ("share", "0.5"),
        ("hard", "true"),
        ("", "no name"),
    ]


def test_a_line_names_what_it_leaves_out():
    long = {f"long {at:02}": "x" * 999 for at in range(25)}
    line = case_line(Case(id="1", metadata={"model": "a1", **long}))
    assert line["metadata"] == {"model": "a1"}
    assert line["metadataLeftOut"] == {"fields": 25, "first": list(long)[:20]}
    assert "metadata" not in case_line(Case(id="1"))
    assert set(without_texts(line)) == {"id"}


def test_metadata_is_never_cut_like_a_text():
    context = ("z" * 200,) * 40
    line = case_line(
        Case(id="1", input="x" * 5000, context=context, metadata={"model": "y" * 150})
    )
    found = json.loads(dump_case(line, 1500))
    assert found["metadata"] == {"model": "y" * 150}
    assert found["truncated"]["characters"] < 150
    assert found["truncated"]["members"] == ["input", "context"]
    bare = json.loads(dump_case(line, 100))
    assert "metadata" not in bare
    assert bare["truncated"]["members"] == ["input", "context", "metadata"]


@pytest.mark.parametrize("value", [None, [], "model", 3])
def test_metadata_that_is_no_object_is_refused(value):
    with pytest.raises(RunFolderError, match="metadata: expected an object"):
        read_case({"id": "1", "metadata": value})


def test_it_comes_back_with_the_run(tmp_path):
    rows = [
        {"id": "a", "response": "x", "references": ["x"], **SHORT, "talk": "y" * 999},
        {"id": "b", "response": "x", "references": ["x"]},
    ]
    folder = run(tmp_path / "run", rows)
    first, second = (row.case.metadata for row in load_run(folder))
    assert first == SHORT
    assert second == {}
    assert open_run(folder).verify() == []
    assert '"metadataLeftOut":{"fields":1,"first":["talk"]}' in (folder / CASES).read_text("utf-8")


def test_nothing_of_it_stands_in_a_folder_without_texts(tmp_path):
    folder = run(
        tmp_path / "run",
        [{"id": "a", "response": "x", "references": ["x"], "model": "secret-7"}],
        content=False,
    )
    every = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"secret-7" not in every
    (row,) = load_run(folder)
    assert row.case.metadata == {}

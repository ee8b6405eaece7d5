"""Arrow files that are small and hold much: refused before it is unpacked."""

import contextlib
import random
import struct

import pytest

from closecall.datasets._parquet_batches import text_bytes
from closecall.errors import DatasetError
from closecall.importing import arrow_messages, open_import

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: closecall[parquet]")

MOST = 1 << 20
FORMS = pytest.mark.parametrize("form", ["file", "stream"])


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    """Limits a thousandth of those there are, so that a test takes no memory either."""
    monkeypatch.setattr(arrow_messages, "MAX_UNPACKED", MOST)
    monkeypatch.setattr(arrow_messages, "MAX_VALUES", 100_000)


@pytest.fixture
def put(tmp_path):
    """Write batches, packed, as an Arrow file or as an Arrow stream."""

    def written(form, *batches, packed="zstd", **options):
        make = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
        how = pa.ipc.IpcWriteOptions(compression=packed, **options)
        path = tmp_path / "rows.arrow"
        with make(path, batches[0].schema, options=how) as writer:
            for batch in batches:
                writer.write_batch(batch)
        return path

    return written


def batch(**columns):
    return pa.record_batch(columns)


def coded(*texts):
    return pa.array(texts).dictionary_encode()


def questions(path):
    return [case.input for case in open_import(path, "huggingface")]


def refusal(path):
    with pytest.raises(DatasetError, match=r"rows\.arrow: cannot be read: ") as caught:
        questions(path)
    return str(caught.value)


@FORMS
@pytest.mark.parametrize("packed", ["zstd", "lz4"])
def test_a_batch_that_unpacks_to_more_than_may_be_is_refused(put, form, packed):
    large = batch(question=["a" * (MOST + 1)])
    path = put(form, batch(question=["q"]), large, packed=packed)
    assert path.stat().st_size < 10_000
    assert f"batch 1 unpacks to {MOST + 1 + 8:,} bytes" in refusal(path)
    assert questions(put(form, large, packed=None)) == ["a" * (MOST + 1)]


@FORMS
def test_what_columns_unpack_to_is_added_up(put, form):
    one = "a" * (MOST // 3)
    assert questions(put(form, batch(question=[one], context=[one]))) == [one]
    said = refusal(
        put(form, batch(question=[one], context=[one], response=[one], reference=[one]))
    )
    assert "batch 0 unpacks to" in said


@FORMS
def test_a_dictionary_counts_with_the_batch_that_points_to_it(put, form):
    half = "a" * (MOST // 2)
    assert "batch 0 unpacks to" in refusal(put(form, batch(question=coded(half), note=[half])))
    assert questions(put(form, batch(question=coded(half), note=["x"]))) == [half]


def test_dictionaries_that_follow_one_another_are_not_added_up(put):
    half = "a" * (MOST // 2)
    made = [batch(question=coded(f"{at}{half}")) for at in range(5)]
    assert len(questions(put("stream", *made))) == 5


def test_parts_of_one_dictionary_are_added_up(put):
    third = "a" * (MOST // 3)
    texts = [f"{at}{third}" for at in range(4)]
    made = [
        batch(question=pa.DictionaryArray.from_arrays([at], texts[: at + 1])) for at in range(4)
    ]
    path = put("stream", *made, emit_dictionary_deltas=True)
    assert "batch 2 unpacks to" in refusal(path)


@FORMS
@pytest.mark.parametrize("packed", [None, "zstd"])
def test_a_list_of_more_values_than_may_be_is_refused(put, form, packed):
    nulls = pa.ListArray.from_arrays([0, 200_000], pa.nulls(200_000))
    path = put(form, batch(question=["q"], context=nulls), packed=packed)
    assert path.stat().st_size < 2_000
    assert "a column holds 200,000 values in batch 0" in refusal(path)


@FORMS
def test_files_that_pack_are_read_as_those_that_do_not(put, form):
    made = [batch(question=[f"q{at}", None], n=[at, 1], kind=coded("a", "b")) for at in range(3)]
    packed, plain = (
        [(case.input, case.metadata) for case in open_import(put(form, *made, packed=how), "huggingface")]
        for how in ("lz4", None)
    )  # fmt: skip
    assert packed == plain
    assert len(packed) == 6


def test_messages_of_older_files_are_weighed_too(put):
    large = batch(question=["a" * (MOST + 1)])
    for more in (batch(question=["q"]), large):
        path = put("file", batch(question=["q"]), more, use_legacy_format=True)
        assert path.read_bytes()[8:12] != b"\xff\xff\xff\xff"
        if more is large:
            assert "batch 1 unpacks to" in refusal(path)
        else:
            assert questions(path) == ["q", "q"]


def test_a_file_s_messages_are_those_that_its_footer_names(put):
    """Some writers leave more room before the first one than others do."""
    path = put("file", batch(question=["a" * (MOST + 1)]))
    data = path.read_bytes()
    (size,) = struct.unpack("<i", data[-10:-6])
    messages, footer = data[8 : -10 - size], data[-10 - size : -10]
    place = 8 + messages.index(b"\xff\xff\xff\xff", 8)
    assert footer.count(struct.pack("<q", place)) == 1
    footer = footer.replace(struct.pack("<q", place), struct.pack("<q", place + 56))
    path.write_bytes(data[:8] + bytes(56) + messages + footer + data[-10:])
    assert "batch 0 unpacks to" in refusal(path)


def test_a_message_that_ends_where_it_begins_is_refused(put):
    """The next one would be this one again, for ever."""
    path = put("stream", batch(question=coded("a", "b")), packed=None)
    data = bytearray(path.read_bytes())
    at = data.index(b"\xff\xff\xff\xff", 8)  # after the schema: the dictionary
    (size,) = struct.unpack_from("<I", data, at + 4)
    messages = pa.ipc.MessageReader.open_stream(bytes(data))
    messages.read_next_message()
    body = len(messages.read_next_message().body)
    place = data.index(struct.pack("<q", body), at + 8)
    assert place < at + 8 + size
    struct.pack_into("<q", data, place, -(8 + size))
    path.write_bytes(data)
    assert "length below 0" in refusal(path)


ONE = "a" * 1_000
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([8], pa.int32()), pa.array([ONE]))
ZEROS = pa.array([0] * 8, pa.int32())
VIEWS = pa.ListViewArray.from_arrays(ZEROS, pa.array([1] * 8, pa.int32()), pa.array([ONE]))
UNION = pa.UnionArray.from_dense(pa.array([0] * 8, pa.int8()), ZEROS, [pa.array([ONE])])
LISTS = pa.DictionaryArray.from_arrays(ZEROS, pa.array([[ONE]]))


@FORMS
@pytest.mark.parametrize(
    ("column", "named"),
    [
        (RUNS, "run_end_encoded"), (VIEWS, "list_view"), (UNION, "union"), (LISTS, "dictionary"),
        (pa.StructArray.from_arrays([LISTS], ["inner"]), "dictionary"),
    ],
    ids=["runs", "views", "union", "lists", "inside"],
)  # fmt: skip
def test_types_whose_texts_cannot_be_counted_are_refused_by_name(put, form, column, named):
    path = put(form, batch(question=["q"] * 8, note=column), packed=None)
    with pytest.raises(DatasetError, match=f"column `note` holds .*{named}.*cast the column"):
        questions(path)


def test_texts_that_stand_for_many_are_counted_before_they_are_made(put, monkeypatch):
    monkeypatch.setattr("closecall.importing.arrow.MAX_TEXTS", 10_000)
    views = pa.array(["x", *[ONE] * 8, None, "short"], pa.string_view())
    fixed = pa.DictionaryArray.from_arrays(ZEROS, pa.array([ONE.encode()], pa.binary(1_000)))
    for column, size in (
        (views, 8_006), (views[1:3], 2_000), (views[9:], 5), (fixed, 8_000),
        (pa.array([ONE.encode()] * 8, pa.binary(1_000)), 8_000),
        (pa.DictionaryArray.from_arrays(ZEROS, views[1:2]), 8_000),
    ):  # fmt: skip
        assert text_bytes(batch(question=column)) == size
    assert questions(put("file", batch(question=views[:9]), packed=None)) == ["x", *[ONE] * 8]
    long = pa.array(["q", ONE * 11], pa.string_view())
    with pytest.raises(DatasetError, match=r"rows\.arrow\[1\]: holds more than 10,000 bytes"):
        questions(put("file", batch(question=long), packed=None))


def test_names_of_classes_that_are_nested_beyond_measure_are_none(put):
    made = batch(question=["q"]).replace_schema_metadata({"huggingface": "[" * 200_000})
    assert questions(put("file", made, packed=None)) == ["q"]


@FORMS
@pytest.mark.parametrize("seed", range(60))
def test_heads_that_are_damaged_end_in_a_refusal_or_are_read(put, form, seed):
    path = put(form, batch(question=coded("a", "b"), context=["c" * 500, "d"]))
    data = bytearray(path.read_bytes())
    draw = random.Random(seed)
    for _ in range(draw.choice((1, 3, 20))):
        data[draw.randrange(8, len(data))] = draw.randrange(256)
    path.write_bytes(data[: draw.choice((len(data), draw.randrange(len(data))))])
    with contextlib.suppress(DatasetError):
        questions(path)

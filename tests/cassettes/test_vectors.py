"""Vectors as text: exact in float32, rounded in float16, and what counts as the same."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from recorded_things import SPEC, Remote, never, record

from closecall.cassettes import open_cassette
from closecall.cassettes.entries import Entry, read_line, write_line
from closecall.cassettes.vectors import read_vector, same_vector, write_vector
from closecall.errors import ConfigurationError

floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(arrays.arrays(np.float32, st.integers(1, 20), elements=floats))
def test_float32_comes_back_to_the_bit(vector):
    assert read_vector(write_vector(vector, "f32")).tobytes() == vector.tobytes()


@given(arrays.arrays(np.float32, st.integers(1, 20), elements=st.floats(-1, 1, width=32)))
def test_float16_comes_back_as_numpy_rounds_it(vector):
    found = read_vector(write_vector(vector, "f16"))
    np.testing.assert_array_equal(found, vector.astype(np.float16).astype(np.float32))
    assert found.dtype == np.float32


def test_the_bytes_are_little_endian():
    assert write_vector(np.array([1.0], np.float32), "f32") == "f32:AACAPw=="
    assert write_vector(np.array([1.0], np.float32), "f16") == "f16:ADw="


@pytest.mark.parametrize("dims", [384, 1536])
def test_float16_moves_no_cosine_by_a_thousandth(dims):
    draw = np.random.default_rng(3)
    one, other = draw.standard_normal((2, 2_000, dims))
    other[:1_000] = one[:1_000] + 0.5 * other[:1_000]
    moved = np.abs(cosines(one, other) - cosines(rounded(one), rounded(other)))
    assert moved.max() < 1e-4


def rounded(rows):
    unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return np.array([read_vector(write_vector(row, "f16")) for row in unit], dtype=np.float64)


def cosines(one, other):
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return (one * other).sum(axis=1) / lengths


def test_a_number_too_large_for_float16_is_refused():
    with pytest.raises(ConfigurationError, match="65504"):
        write_vector(np.array([1e5], np.float32), "f16")


@pytest.mark.parametrize(
    "text", ["", "f32", "f32:", "f64:AACAPw==", "f32:AACA", "f32:AAC\nAPw==", "f32:AADAfw==", "x"]
)
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="vector"):
        read_vector(text)


def test_noise_is_the_same_and_a_change_is_not():
    vector = np.random.default_rng(1).standard_normal(64).astype(np.float32)
    written = write_vector(vector, "f32")
    assert same_vector(written, write_vector(vector * np.float32(1 + 1e-5), "f32"))
    assert not same_vector(written, write_vector(vector * np.float32(1.01), "f32"))
    assert not same_vector(written, write_vector(vector[:-1], "f32"))
    assert not same_vector(written, write_vector(vector, "f16"))


def test_a_run_that_records_float16_uses_what_its_replay_will(folder):
    with open_cassette(folder, "record", floats="f16") as cassette:
        embedder = cassette.embedder(Remote, SPEC)
        used = embedder.embed(["one", "two"])
        assert embedder.instrument == Remote().instrument
    with open_cassette(folder, "replay") as cassette:
        replayed = cassette.embedder(never, SPEC)
        assert replayed.instrument == Remote().instrument
        assert replayed.embed(["one", "two"]).tobytes() == used.tobytes()
    live = Remote().embed(["one", "two"])
    assert used.tobytes() != live.tobytes()
    np.testing.assert_allclose(used, live, atol=5e-4)


def test_float16_takes_half_the_bytes(tmp_path):
    class Wide(Remote):
        def __init__(self):
            super().__init__(dims=1_024)

    sizes = []
    for floats in ("f32", "f16"):
        with open_cassette(tmp_path / floats, "record", floats=floats) as cassette:
            cassette.embedder(Wide, SPEC).embed(["one"])
        sizes.append((tmp_path / floats / "default.jsonl").stat().st_size)
    assert sizes[0] - sizes[1] > 2_700
    record(tmp_path / "f32", ["two"])


def test_a_vector_of_another_width_is_refused_with_its_place(tmp_path):
    record(tmp_path, ["one"])
    path = tmp_path / "default.jsonl"
    header, *rows = path.read_bytes().splitlines()
    spoilt = []
    for line in map(read_line, rows):
        reply = isinstance(line, Entry) and {
            **line.reply, "vector": write_vector(np.ones(3, np.float32), "f32"),
        }  # fmt: skip
        changed = msgspec.structs.replace(line, reply=reply) if reply else line
        spoilt.append(write_line(changed).encode())
    path.write_bytes(b"\n".join([header, *spoilt, b""]))
    with open_cassette(tmp_path, "replay") as cassette:
        embedder = cassette.embedder(never, SPEC)
        with pytest.raises(
            ConfigurationError, match=r"default\.jsonl:2: the vector has 3 numbers"
        ):
            embedder.embed(["one"])

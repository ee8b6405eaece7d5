"""The file of a transform: the same after reading, the same bytes, and nothing else believed."""

import base64
import hashlib
import json

import msgspec
import numpy as np
import pytest
from spread import DIMS, METHODS, Crowded, fitted, known

from closecall.embedders.isotropy.file import MAX_BYTES, load_isotropy, save_isotropy
from closecall.embedders.registry import load_embedder
from closecall.errors import InstrumentMismatchError, ModelError, UsageError
from closecall.instrument import canonical_json

WHEN = "2026-01-31T12:00:00Z"
BASE = Crowded().instrument


def save(path, method="whiten:10", *, embedder="minilm", instrument=BASE):
    return save_isotropy(
        path,
        known(method),
        instrument,
        embedder=embedder,
        created=WHEN,
        producer="1",
        fields=("response",),
    )


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "mine.isotropy.json"
    save(found)
    return found


@pytest.mark.parametrize("method", METHODS[:3])
def test_it_comes_back_as_it_was(tmp_path, method):
    path = tmp_path / "mine.json"
    written = save(path, method)
    read, transform = load_isotropy(path)
    now = known(method)
    assert read == written
    assert transform.digest == now.transform.digest
    np.testing.assert_array_equal(transform.mean, now.transform.mean)
    np.testing.assert_array_equal(transform.matrix, now.transform.matrix)
    assert (read.texts.count, read.texts.digest) == (now.texts, now.texts_digest)
    assert (read.instrument, read.window, read.created) == (BASE, "chunk", WHEN)


def test_the_same_fit_gives_the_same_bytes_and_holds_no_text(tmp_path, path):
    save(tmp_path / "again.json")
    content = path.read_bytes()
    assert (tmp_path / "again.json").read_bytes() == content
    assert b"willow" not in content


def test_numbers_are_little_endian_float32(path):
    held = json.loads(path.read_text(encoding="utf-8"))
    mean = np.frombuffer(base64.b64decode(held["mean"]), dtype="<f4")
    np.testing.assert_array_equal(mean, known("whiten:10").transform.mean)
    matrix = np.frombuffer(base64.b64decode(held["matrix"]), dtype="<f4")
    np.testing.assert_array_equal(matrix.reshape(DIMS, 10), known("whiten:10").transform.matrix)


def edit(path, *, forge, **changes):
    """Change members of the file; ``forge`` makes its digest fit."""
    held = json.loads(path.read_text(encoding="utf-8"))
    for name, value in changes.items():
        if value is None:
            del held[name]
        else:
            held[name] = value(held[name]) if callable(value) else value
    if forge:
        rest = {key: value for key, value in held.items() if key != "digest"}
        held["digest"] = hashlib.sha256(canonical_json(rest)).hexdigest()
    path.write_text(json.dumps(held), encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [{"embedder": "other"}, {"created": "2026"}, {"method": "whiten:9"}, {"digest": "0" * 64},
     {"digest": None}, {"digest": 5}, {"extra": 1}],
)  # fmt: skip
def test_an_edited_file_is_refused(path, change):
    edit(path, forge=False, **change)
    with pytest.raises(ModelError, match=r"mine\.isotropy\.json: edited after it was written"):
        load_isotropy(path)


def numbers(change):
    def changed(text):
        array = np.frombuffer(base64.b64decode(text), dtype="<f4").copy()
        return base64.b64encode(np.asarray(change(array), dtype="<f4").tobytes()).decode()

    return changed


def put(value):
    def changed(array):
        array[3] = value
        return array

    return changed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mean": "!!!"}, "mean: "),
        ({"mean": numbers(lambda a: a[1:])}, "mean: 92 bytes"),
        ({"mean": numbers(put(np.nan))}, "finite"),
        ({"mean": numbers(put(5.0))}, "no longer than 1"),
        ({"matrix": numbers(put(np.inf))}, "finite"),
        ({"matrix": numbers(lambda a: a * 0)}, "longer than 0"),
        ({"matrix": numbers(put(90.0))}, "right angles"),
        ({"matrix": ""}, "matrix: 0 bytes"),
        ({"matrix": 7}, r"matrix"),
        ({"method": "whiten:9"}, "matrix: 960 bytes"),
        ({"method": "components:10"}, "length 1"),
        ({"method": "whiten:25"}, "method: whiten:25"),
        ({"method": "zca"}, "method must be"),
        ({"dims": 25}, "dims, window"),
        ({"dims": 0}, "dims: expected 1"),
        ({"dims": 10**9}, "dims: expected 1"),
        ({"window": "truncate"}, "dims, window"),
        ({"instrument_digest": "0" * 64}, "instrument_digest"),
        ({"instrument": {"kind": "onnx"}}, "instrument"),
        ({"embedder": "isotropic:other.json"}, "spread already"),
        ({"embedder": " isotropic:other.json"}, "spread already"),
        ({"texts": lambda t: t | {"digest": "x"}}, "texts.digest"),
        ({"texts": lambda t: t | {"count": "many"}}, "count"),
        ({"created": None}, "created"),
    ],
)
def test_a_file_whose_digest_was_made_to_fit_is_refused_too(path, change, said):
    edit(path, forge=True, **change)
    with pytest.raises(ModelError, match=f"not a fitted transform: .*{said}"):
        load_isotropy(path)


def test_unknown_members_are_refused(path):
    held = json.loads(path.read_text(encoding="utf-8"))
    held["extra"] = 1
    path.write_text(json.dumps(held), encoding="utf-8")
    edit(path, forge=True)
    with pytest.raises(ModelError, match="extra"):
        load_isotropy(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not valid JSON"),
        (b"[]", "expected an object"),
        (b'{"schema": "closecall-isotropy/1", "schema": 1}', "schema: the key stands twice"),
        (b'{"schema": "closecall-isotropy/2"}', "schema: expected 'closecall-isotropy/1', got"),
        (b"{}", "got None"),
        (b'{"schema": NaN}', "NaN"),
        (b"\x80\x04K\x01.", "UTF-8"),
        (b"[" * 100_000, "nested"),
    ],
)
def test_what_is_no_such_file_is_refused(path, content, said):
    path.write_bytes(content)
    with pytest.raises(ModelError, match=said) as caught:
        load_isotropy(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_or_too_large(tmp_path):
    with pytest.raises(ModelError, match="No such file"):
        load_isotropy(tmp_path / "none.json")
    with pytest.raises(ModelError):
        load_isotropy("nul\0.json")
    with pytest.raises(ModelError):
        load_isotropy(tmp_path)
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ModelError, match="too large"):
        load_isotropy(huge)


def test_a_name_that_no_file_can_hold_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be written as UTF-8"):
        save(tmp_path / "x.json", embedder="onnx:/\udcff")
    assert not (tmp_path / "x.json").exists()


# --- as a name of an embedder --------------------------------------------------------------------


def test_a_transform_of_another_embedder_is_refused_by_the_name_of_its_file(path):
    with pytest.raises(InstrumentMismatchError) as caught:
        load_embedder(f"isotropic:{path}")
    said = str(caught.value)
    assert said.startswith(f"{path} was fitted on vectors of another embedder")
    assert "kind test then, onnx now" in said


def test_the_window_goes_to_the_embedder_behind(tmp_path):
    path = tmp_path / "x.json"
    minilm = load_embedder("minilm", window="truncate").instrument
    narrow = msgspec.structs.replace(minilm, dims=384)
    transform = fitted("centre", Crowded(384))
    save_isotropy(path, transform, narrow, embedder="minilm", created=WHEN, producer="1")
    found = load_embedder(f"isotropic:{path}", window="truncate")
    assert (found.instrument.window, found.instrument.dims) == ("truncate", 384)
    with pytest.raises(InstrumentMismatchError, match="window truncate then, chunk now"):
        load_embedder(f"isotropic:{path}")


@pytest.mark.parametrize("spec", ["isotropic:", " isotropic: "])
def test_a_name_without_a_file_is_refused(spec):
    with pytest.raises(UsageError, match="isotropic: needs a file"):
        load_embedder(spec)

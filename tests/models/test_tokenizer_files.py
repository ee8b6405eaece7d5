"""Tokenizers out of files from anywhere: whatever the library does with one is a typed error."""

import base64
import json
import struct

import pytest
import tiny_bert

from closecall.errors import EmbeddingError, ModelError
from closecall.models.tokenizer_files import MOST_GROWTH, read_tokenizer, tokenizing


class PanicException(BaseException):
    """As Rust's panics come to Python."""


def file(tmp_path, **changes):
    path = tmp_path / "tokenizer.json"
    document = json.loads(tiny_bert.tokenizer().to_str()) | changes
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def refused(path):
    with pytest.raises(ModelError) as caught:
        read_tokenizer(path, path.read_bytes())
    assert str(path) in str(caught.value)
    return str(caught.value)


def replacing(content, pattern):
    return {"type": "Replace", "pattern": pattern, "content": content}


def sequence(*normalizers):
    return {"type": "Sequence", "normalizers": list(normalizers)}


def test_one_as_published_is_read_and_neither_cuts_nor_pads(tmp_path):
    padding = {
        "strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]",
    }  # fmt: skip
    path = file(tmp_path, padding=padding)
    found = read_tokenizer(path, path.read_bytes())
    assert len(found.encode("red cat").ids) == 4
    assert found.padding is None


def test_a_panic_is_a_typed_error():
    words = "model: the tokenizers library gave up: no entry"
    with pytest.raises(EmbeddingError, match=words), tokenizing("model", EmbeddingError):
        raise PanicException("no entry found for key")


@pytest.mark.parametrize("other", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_process_still_does(other):
    with pytest.raises(other), tokenizing("model", EmbeddingError):
        raise other


def test_a_special_token_of_which_nothing_is_known_is_no_panic(tmp_path):
    document = json.loads(tiny_bert.tokenizer().to_str())
    document["post_processor"]["single"][0]["SpecialToken"]["id"] = "other"
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        encoded(path)


def encoded(path):
    found = read_tokenizer(path, path.read_bytes())
    with tokenizing(str(path), ModelError):
        return found.encode("a").ids


def charsmap(text):
    """A table that makes this text of the letter a, as sentencepiece writes it (Darts-clone)."""
    units = [0] * 256
    units[0] = 1 << 10
    letter = 1 ^ ord("a")
    units[letter] = ord("a") | 1 << 8 | 2 << 10
    units[letter ^ 2] = 1 << 31
    index = struct.pack("<256I", *units)
    return base64.b64encode(struct.pack("<I", len(index)) + index + text.encode() + b"\0").decode()


def test_a_table_of_replacements_is_what_the_library_takes_it_for(tmp_path):
    step = {"type": "Precompiled", "precompiled_charsmap": charsmap("aaa")}
    path = file(tmp_path, normalizer=sequence(step, step))
    found = read_tokenizer(path, path.read_bytes())
    assert found.normalizer.normalize_str("a b") == "a" * 9 + " b"


@pytest.mark.parametrize(
    "normalizer",
    [
        sequence(*[replacing("a" * 10, {"Regex": "."})] * 7),
        sequence(*[replacing("aa", {"String": "a"})] * 9),
        sequence(
            sequence(replacing("a" * 200, {"String": "a"})), replacing("bb", {"String": "a"})
        ),
        replacing("a" * (MOST_GROWTH + 1), {"String": ""}),
        replacing("a" * (MOST_GROWTH + 1), {}),
        {"type": "Prepend", "prepend": "a" * 1_000_000},
        sequence(*[{"type": "Precompiled", "precompiled_charsmap": charsmap("a" * 10)}] * 8),
    ],
)
def test_replacements_that_multiply_are_refused_before_they_do(tmp_path, normalizer):
    said = refused(file(tmp_path, normalizer=normalizer))
    assert "normalizer, pre_tokenizer: make " in said
    assert f"more than {MOST_GROWTH}" in said


def test_bytes_that_are_spelled_again_and_again_are_refused(tmp_path):
    """Each time round, a letter of two bytes becomes two letters of two bytes."""
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    rounds = {"type": "Sequence", "pretokenizers": [step] * 30}
    assert "make " in refused(file(tmp_path, pre_tokenizer=rounds))
    assert "make " in refused(file(tmp_path, normalizer=sequence(*[{"type": "ByteLevel"}] * 30)))
    path = file(tmp_path, normalizer=sequence({"type": "NFC"}), pre_tokenizer=step)
    assert read_tokenizer(path, path.read_bytes()).encode("red cat").ids


def test_nesting_hides_no_replacements(tmp_path):
    inner = replacing("a" * 300, {"String": "a"})
    for _ in range(40):
        inner = sequence(inner)
    assert "make " in refused(file(tmp_path, normalizer=inner))


def test_replacements_as_published_are_read(tmp_path):
    normalizer = sequence(
        *[replacing(text, {"String": "x"}) for text in ("'", '"', "▁", " ", "''")],
        replacing(" ", {"Regex": " {2,}"}), {"type": "NFKC"},
    )  # fmt: skip
    path = file(tmp_path, normalizer=normalizer)
    assert read_tokenizer(path, path.read_bytes()).encode("red cat").ids


@pytest.mark.parametrize("data", [b"", b"[" * 200_000, b"\xff\xfe", b"{}", b'{"normalizer": 1'])
def test_what_is_no_tokenizer(tmp_path, data):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(data)
    assert "not a tokenizer" in refused(path)

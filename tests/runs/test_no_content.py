"""A run without content holds no text of a case, no word of one, and no digest of one.

Every kind of run is made twice: with its texts, to know them, and without.
"""

import base64
import hashlib
import re
import shutil
import zlib

import pytest
from every_run import KINDS, cases, gated, run
from labelled_rows import WORDS

from closecall import load_run, save_report, verify_run
from closecall.calibration.labels.items import group_of
from closecall.runs.parts.folder import PartsFolder

FORMATS = ("json", "jsonl", "csv", "md", "xml", "html")
ALGORITHMS = (
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha3_256",
    "blake2b",
    "blake2s",
)
OTHERS = ("drawer", "socks", "crooked", "teapot", "lamp", "cancelled", "bananas")
"""Words of texts and groups that no metric, state or sentence of closecall has."""
SECRET = frozenset(word for word in [*WORDS, *OTHERS] if word != "anchor")  # one of HTML
LONG = 8
FEWEST = 12
"""Hex digits of a digest that are looked for."""


def texts_of(case, trials=()):
    yield from filter(None, (case.input, case.response, case.group, *case.references))
    yield from case.context
    yield from (trial.case.response for trial in trials if trial.case.response)


def texts_in(folder):
    found = set()
    for row in load_run(folder):
        found.update(texts_of(row.case, row.trials))
        name, _ = group_of(row.case)
        found.update({name, name[2:]})
    return {text for text in found if text.strip()}


def digests_of(text):
    for data in {text.encode(), text.casefold().encode(), text.strip().encode()}:
        for algorithm in ALGORITHMS:
            made = hashlib.new(algorithm, data).digest()
            yield made.hex()[:FEWEST]
            yield base64.b64encode(made).decode()[:FEWEST]
        yield hashlib.blake2b(data, digest_size=16).hexdigest()[:FEWEST]
        yield hashlib.blake2b(data, digest_size=8).hexdigest()[:FEWEST]


def unpacked(path):
    """What a file says: a part of a run in parts is unpacked, and so is what a page holds packed."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path).to_pydict()
        return repr({name: [_text(one) for one in column] for name, column in table.items()})
    said = path.read_bytes().decode("utf-8")
    for packed in re.findall(r"[A-Za-z0-9+/]{200,}={0,2}", said):
        try:
            said += zlib.decompress(base64.b64decode(packed), 47).decode("utf-8", "replace")
        except (zlib.error, ValueError):
            continue
    return said


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def said_by(folder, scratch):
    """Everything in a run folder and in each of its reports, by the name of the file."""
    said = {
        path.relative_to(folder).as_posix(): unpacked(path)
        for path in folder.rglob("*")
        if path.is_file()
    }
    for form in FORMATS:
        place = scratch / f"report.{form}"
        save_report(load_run(folder), place)
        said[place.name] = unpacked(place)
    return said


def leaks(said, texts):
    digests = {digest for text in texts for digest in digests_of(text)}
    for name, whole in said.items():
        folded = whole.casefold()
        for text in texts:
            if len(text) > LONG and text.casefold() in folded:
                yield name, text
        for word in re.findall(r"[^\W\d_]+", folded):
            if word in SECRET:
                at = folded.index(word)
                yield name, whole[max(0, at - 60) : at + 30]
                break
        for made in digests_in(whole) & digests:
            at = whole.index(made)
            yield name, f"digest {made}: {whole[max(0, at - 40) : at + 40]}"


def digests_in(whole):
    """Every run of hex digits, from each place on, and what else base64 may begin with."""
    found = set()
    for token in re.findall(rf"[0-9a-f]{{{FEWEST},}}", whole):
        found.update(token[at : at + FEWEST] for at in range(len(token) - FEWEST + 1))
    for token in re.findall(rf"[A-Za-z0-9+/]{{{FEWEST},}}", whole):
        found.add(token[:FEWEST])
    return found


def known_texts(kind, folder):
    scratch = folder / "with"
    scratch.mkdir()
    KINDS[kind](scratch / "run", scratch)
    return texts_in(scratch / "run")


@pytest.mark.parametrize("kind", KINDS)
def test_no_file_and_no_report_holds_a_word(kind, tmp_path):
    texts = known_texts(kind, tmp_path)
    assert any(word in " ".join(texts).casefold() for word in SECRET)
    scratch = tmp_path / "without"
    scratch.mkdir()
    KINDS[kind](scratch / "run", scratch, content=False)
    assert verify_run(scratch / "run").problems == ()
    assert list(leaks(said_by(scratch / "run", tmp_path), texts)) == []


def test_a_run_in_parts_neither(tmp_path):
    pytest.importorskip("pyarrow")
    run(tmp_path / "with", cases())
    texts = texts_in(tmp_path / "with")
    place = tmp_path / "parts"
    gated(PartsFolder(place, cases=5), tmp_path, content=False)
    assert verify_run(place).problems == ()
    assert list(leaks(said_by(place, tmp_path), texts)) == []


def test_what_is_looked_for_is_found_where_it_is(tmp_path):
    """The tests above mean something only if these files would be told apart."""
    gated(tmp_path / "run", tmp_path)
    texts = texts_in(tmp_path / "run")
    said = said_by(tmp_path / "run", tmp_path)
    found = {name for name, _ in leaks(said, texts)}
    assert {"ext/closecall/cases.ndjson", "report.json", "report.html", "report.csv"} <= found
    one = max(texts, key=len)
    for made in (
        hashlib.sha256(one.encode()).hexdigest()[:16],
        hashlib.blake2b(f"q:{one}".encode(), digest_size=16).hexdigest(),
    ):
        assert list(leaks({"f": f'{{"x": "{made}"}}'}, {*texts, f"q:{one}"}))
    shutil.rmtree(tmp_path / "run")

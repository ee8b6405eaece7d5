"""Files that closecall keeps and reads again: they may be damaged, or a stranger's.

Where a file carries a digest of itself it is tried twice: as damaged, which the digest finds, and
with the digest made to fit, as somebody would who means harm.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import numpy as np

from closecall.errors import ClosecallError
from closecall.testing import HashEmbedder
from trials.helpers import require, use
from trials.inputs import Target
from trials.worker import apart

GOODS = ("harbour lantern", "copper violin", "granite saddle", "ivory kettle")


def _cases(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"case-{at}",
            "input": f"What stands on shelf {at}?",
            "response": f"One {GOODS[at % 4]}" if at % 3 else f"No {GOODS[(at + 1) % 4]} at all",
            "reference": f"There is one {GOODS[at % 4]}",
            "tags": ["even"] if at % 2 == 0 else ["odd"],
            "label": "accept" if at % 3 else "reject",
        }
        for at in range(count)
    ]


def _refit(path: Path) -> None:
    """Make the digest of a JSON file fit what it holds."""
    from closecall.instrument import canonical_json

    with suppress(OSError, ValueError, AttributeError, TypeError, RecursionError):
        if not path.is_file() or path.is_symlink():
            return
        document = json.loads(path.read_bytes())
        rest = {key: value for key, value in document.items() if key != "digest"}
        document["digest"] = hashlib.sha256(canonical_json(rest)).hexdigest()
        path.write_text(json.dumps(document), encoding="utf-8")


# --- calibrations --------------------------------------------------------------------------------


def _make_calibration(folder: Path) -> None:
    from closecall.calibration import save_calibration

    use("calibration")
    from made_cases import made, usual

    from closecall.calibration.goals import Goal

    groups = [f"q{at // 2}" for at in range(300)]
    save_calibration(made(usual(group=groups), Goal(max_far=0.1)), folder / "cutoff.json")


def _make_judge(folder: Path) -> None:
    """A calibration with a fitted judge in it."""
    use("runs")
    from judged_rows import made

    from closecall.calibration import save_calibration
    from closecall.calibration.artefact import Calibration
    from closecall.calibration.head import judge

    # Which judge it is does not matter: the error of its gain, from a tenth of the draws.
    with patch.object(judge, "gain", partial(judge.gain, resamples=50)):
        found = made()
    require(isinstance(found, Calibration))
    save_calibration(cast(Calibration, found), folder / "cutoff.json")


def _read_calibration(folder: Path) -> None:
    """Read it, describe it, and decide cases by it."""
    from closecall import evaluate, load_calibration
    from closecall.report.calibration import lines
    from closecall.report.formats import write

    path = folder / "cutoff.json"
    found = load_calibration(path)
    lines(found)
    run = evaluate(_cases(4), None, HashEmbedder(), calibration=path, cache=False)
    write(run, "html", io.StringIO())


def _read_calibration_refit(folder: Path) -> None:
    _refit(folder / "cutoff.json")
    _read_calibration(folder)


# --- cassettes -----------------------------------------------------------------------------------


def _make_cassette(folder: Path) -> None:
    use("cassettes")
    from recorded_things import record, request

    record(folder, ["one", "two"], [request("a"), request("b")])


def _read_cassette(folder: Path) -> None:
    """Check it, count it, and replay from it."""
    use("cassettes")
    from recorded_things import CHAT, SPEC, never, request

    from closecall.cassettes import open_cassette
    from closecall.cassettes.maintenance import diff, stats
    from closecall.cassettes.verifying import verify

    verify(folder)
    stats(folder)
    list(diff(folder, folder))
    with open_cassette(folder, "replay") as cassette:
        cassette.embedder(never, SPEC).embed(["one", "two"])
        cassette.chat(never, CHAT).complete([request("a"), request("b")])


# --- the vector cache ----------------------------------------------------------------------------


def _make_cache(folder: Path) -> None:
    use("cache")
    from cache_data import TEXTS, instrument, rows

    from closecall.cache import VectorCache

    with VectorCache(folder / "vectors.sqlite3") as cache:
        cache.put_many(instrument(), rows(instrument(), TEXTS[:20]))
        cache.attempt(lambda one: one.execute("PRAGMA journal_mode=DELETE").fetchall())
    for left in ("-wal", "-shm", ".lock"):
        (folder / f"vectors.sqlite3{left}").unlink(missing_ok=True)


def _read_cache(folder: Path) -> None:
    """Get from it, put into it, look after it: wrong vectors never come back."""
    use("cache")
    from cache_data import TEXTS, check, instrument, rows

    from closecall.cache import VectorCache
    from closecall.cache.explain import explain
    from closecall.cache.maintenance import clear, info, prune
    from closecall.records import Role

    path = folder / "vectors.sqlite3"
    with VectorCache(path, timeout=0.2) as cache:
        check(cache, instrument(), TEXTS[:30])
        cache.put_many(instrument(), rows(instrument(), TEXTS[20:24]))
        check(cache, instrument(), TEXTS[:30])
    with VectorCache(path, timeout=0.2) as cache:
        info(cache)
        explain(cache, instrument(), Role.TEXT, TEXTS[0])
        prune(cache, older_than_days=1)
        prune(cache, max_bytes=70_000)
        clear(cache)


def _read_carried(folder: Path) -> None:
    """The same file as one that came with a model: what it holds is taken over, or none of it."""
    use("cache")
    from cache_data import instrument

    from closecall.cache import VectorCache
    from closecall.cache.carry import Files, export_vectors, import_vectors

    files = Files(instrument().weights, instrument().tokenizer)
    with (
        tempfile.TemporaryDirectory() as place,
        VectorCache(Path(place) / "own.sqlite3", timeout=0.2) as cache,
    ):
        import_vectors(folder / "vectors.sqlite3", files, cache)
        export_vectors(cache, files, Path(place) / "out.sqlite3")


# --- indexes -------------------------------------------------------------------------------------


def _make_index(folder: Path, kind: str = "exact", rows: int = 40) -> None:
    use("index")
    from made_rows import made

    place = folder / "index"
    made(kind, rows, path=place)
    (place / ".lock").unlink(missing_ok=True)


def _read_index(folder: Path) -> None:
    """Open it with and without a full check, search and change it, and build it again."""
    from closecall.index.building import open_index
    from closecall.index.rebuilding import rebuild_index

    place = folder / "index"
    refused = None
    for check in (True, False):
        try:
            index = open_index(place, check=check)
            _search(index)
            index.remove([index.ids([0])[0]])
            index.add([("new", "new")], vectors=np.ones((1, index.dims), dtype=np.float32))
            _search(index)
        except ClosecallError as error:
            refused = error
    with tempfile.TemporaryDirectory() as copy, suppress(ClosecallError, shutil.Error):
        shutil.copytree(place, Path(copy) / "index", symlinks=True)
        _search(rebuild_index(Path(copy) / "index"))
    if refused is not None:
        raise refused


def _search(index: Any) -> None:
    queries = np.ones((2, index.dims), dtype=np.float32)
    for k in (1, 5):
        for hits in index.search(queries, k):
            for hit in hits:
                require(np.isfinite(hit.score))
    index.search(queries, 3, where={"lang": "de"})


def _read_index_refit(folder: Path) -> None:
    """The same with every size and digest in ``index.json`` made to fit the files."""
    from closecall.instrument import canonical_json

    place = folder / "index"
    with suppress(OSError, ValueError, AttributeError, TypeError, LookupError, RecursionError):
        path = place / "index.json"
        document = json.loads(path.read_bytes() if path.is_file() else b"")
        for name, facts in document["files"].items():
            file = place / "v1" / name
            if file.is_file() and not file.is_symlink():
                data = file.read_bytes()
                facts |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        rest = {key: value for key, value in document.items() if key != "digest"}
        document["digest"] = hashlib.sha256(canonical_json(rest)).hexdigest()
        path.write_text(json.dumps(document), encoding="utf-8")
    _read_index(folder)


# --- runs ----------------------------------------------------------------------------------------


def _make_run(folder: Path, metrics: Sequence[str] = ("semantic_similarity", "token_f1")) -> None:
    from closecall import evaluate

    evaluate(_cases(6), list(metrics), embedder=HashEmbedder(), aef=folder / "run", cache=False)


def _use_run(place: Path) -> None:
    """Verify a run, list it, compare it with itself, and report on it in every form."""
    from closecall.report.formats import write
    from closecall.runs.kept import find_run, runs_in, why_not
    from closecall.runs.reader import open_run
    from closecall.runs.stored import load_run

    for one in runs_in(place.parent):
        why_not(one.path)
    with suppress(ClosecallError):
        find_run("run", place.parent)
    open_run(place).verify()
    run = load_run(place)
    for form in ("table", "json", "jsonl", "csv", "markdown", "junit", "html"):
        write(run, form, io.StringIO())


def _read_run(folder: Path) -> None:
    _use_run(folder / "run")


def _take_away(place: Path, *names: str) -> None:
    for name in names:
        with suppress(OSError):
            (place / name).unlink()


def _read_run_unsealed(folder: Path) -> None:
    """The same without the seal, which any change breaks."""
    _take_away(folder / "run", "seal.json")
    _use_run(folder / "run")


def _read_run_resumed(folder: Path) -> None:
    """A run that was cut off, gone on with."""
    from closecall import evaluate

    place = folder / "run"
    _take_away(place, "summary.json", "seal.json", "gates.ndjson")
    with suppress(OSError, ValueError, AttributeError, TypeError, RecursionError):
        path = place / "run.json"
        document = json.loads(path.read_bytes() if path.is_file() else b"")
        document["status"] = "running"
        document.pop("endedAt", None)
        path.write_text(json.dumps(document), encoding="utf-8")
    evaluate(
        _cases(6), ["semantic_similarity", "token_f1"], embedder=HashEmbedder(), aef=place,
        cache=False, resume=True,
    )  # fmt: skip


def _make_parts(folder: Path) -> None:
    from closecall import evaluate
    from closecall.runs.parts.folder import PartsFolder

    evaluate(
        _cases(6), ["semantic_similarity"], embedder=HashEmbedder(),
        aef=PartsFolder(folder / "run", cases=4), cache=False,
    )  # fmt: skip


def _read_parts(folder: Path) -> None:
    from closecall import evaluate
    from closecall.runs.parts.folder import PartsFolder

    place = folder / "run"
    with suppress(ClosecallError):
        evaluate(
            _cases(6), ["semantic_similarity"], embedder=HashEmbedder(),
            aef=PartsFolder(place, cases=4), cache=False, resume=True,
        )  # fmt: skip
    _use_run(place)


# --- labels --------------------------------------------------------------------------------------


def _make_journal(folder: Path) -> None:
    use("labelling")
    from label_helpers import Table, ids, row

    table = Table(folder, [row(at) for at in range(5)])
    ids(table.sit())
    table.close()


def _read_journal(folder: Path) -> None:
    from closecall.datasets import open_dataset
    from closecall.labelling.deck import deck_of
    from closecall.labelling.journal import Journal, journal_of, read_journal
    from closecall.labelling.order import Order
    from closecall.labelling.session import Session

    file = folder / "cases.jsonl"
    path = journal_of(file)
    read_journal(path)
    with Journal(path, file.name) as journal:
        session = Session(deck_of(open_dataset(file)), journal, annotator="a", order=Order("file"))
        require(session.current is None or session.current.case.id)


TARGETS: tuple[Target, ...] = (
    Target("a calibration", _make_calibration, apart(_read_calibration)),
    Target(
        "a calibration, its digest made to fit", _make_calibration, apart(_read_calibration_refit)
    ),
    Target("a judge, its digest made to fit", _make_judge, apart(_read_calibration_refit)),
    Target("a cassette", _make_cassette, apart(_read_cassette)),
    Target("a vector cache", _make_cache, apart(_read_cache)),
    Target("vectors that came with a model", _make_cache, apart(_read_carried)),
    Target("an index", _make_index, apart(_read_index)),
    Target("an index, its digests made to fit", _make_index, apart(_read_index_refit)),
    *(
        Target(
            f"an index of {kind}, its digests made to fit",
            partial(_make_index, kind=kind, rows=rows),
            apart(_read_index_refit),
        )
        for kind, rows in (("hnsw", 60), ("ivf", 300), ("ivfpq", 300), ("sq8", 60))
    ),
    Target("a run folder", _make_run, apart(_read_run)),
    Target("a run folder without its seal", _make_run, apart(_read_run_unsealed)),
    Target("a run folder to resume", _make_run, apart(_read_run_resumed)),
    Target("a run in parts", _make_parts, apart(_read_parts)),
    Target("a journal of labels", _make_journal, apart(_read_journal)),
)  # fmt: skip

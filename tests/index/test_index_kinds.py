"""Kinds by name, and the one that is chosen."""

import numpy as np
import pytest
from made_rows import KINDS, made, rows, vectors

from closecall.errors import ConfigurationError, UsageError
from closecall.index import choosing, faiss_making, faiss_part
from closecall.index.building import build_index, open_index
from closecall.index.choosing import choose
from closecall.index.kinds import KINDS as KNOWN
from closecall.index.kinds import bytes_of, kind_named
from closecall.index.rebuilding import rebuild_index

MANY = {"similarity": "cosine", "recall_goal": 0.95, "memory": None}


def test_the_kinds_are_these():
    assert tuple(KNOWN) == KINDS


@pytest.mark.parametrize(
    ("spec", "spelled"),
    [
        ("exact", "exact"),
        ("hnsw:m=16:ef=300", "hnsw:m=16:ef=300"),
        ("hnsw:m=32", "hnsw"),
        ("ivf:nlist=8:nprobe=0", "ivf:nlist=8"),
        ("ivfpq:m=4:refine=2", "ivfpq:m=4:refine=2"),
    ],
)
def test_options_stand_after_the_name(spec, spelled):
    assert kind_named(spec).spelled == spelled


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("annoy", "choose one of auto, exact, flat, hnsw, ivf, ivfpq, sq8, sqfp16"),
        ("", "choose one of auto"),
        ("hnsw:links=3", "no option 'links=3'; hnsw has m, ef_construction, ef"),
        ("exact:m=3", "exact has none"),
        ("hnsw:m", "no option 'm'"),
        ("hnsw:m=0", "m must be a whole number from 2 to 512, got '0'"),
        ("hnsw:m=513", "from 2 to 512"),
        ("hnsw:m=-1", "from 2"),
        ("hnsw:m=1e2", "got '1e2'"),
        ("hnsw:ef=²", "got '²'"),
        ("ivf:nlist=99999999999999999999", "nlist must be"),
        ("auto:m=3", "choose one of"),
    ],
)
def test_what_is_no_kind_is_refused_with_what_there_is(spec, message):
    with pytest.raises(UsageError, match=message):
        build_index([], vectors=[], kind=spec)


def test_options_are_used(tmp_path):
    index = made("hnsw:m=8:ef=40:ef_construction=50", path=tmp_path / "ix")
    inner = index._stored.part._index
    assert (inner.hnsw.nb_neighbors(1), inner.hnsw.efConstruction) == (8, 50)
    assert index.kind.options == {"m": 8, "ef": 40, "ef_construction": 50}
    assert open_index(tmp_path / "ix").kind == index.kind
    lists = made("ivf:nlist=5:nprobe=5")
    assert lists._stored.part._index.nlist == 5
    assert lists.recall.found == lists.recall.wanted
    coded = made("ivfpq:m=2:nprobe=1:nlist=6:refine=1")
    assert coded._stored.part._index.pq.M == 2
    assert coded.recall.rate < lists.recall.rate
    with pytest.raises(
        UsageError, match="m must divide the width 16 without a rest, got 3; choose m=2"
    ):
        made("ivfpq:m=3")


def test_zeros_are_chosen_from_the_rows():
    assert kind_named("ivf").resolved(1_000_000, 384).options == {"nlist": 2000, "nprobe": 125}
    assert kind_named("ivf").resolved(100, 384).options == {"nlist": 3, "nprobe": 3}
    assert kind_named("ivfpq").resolved(10_000, 390).options["m"] == 39
    assert kind_named("ivfpq").resolved(10_000, 7).options["m"] == 1


def test_memory_is_told_from_the_kind():
    assert bytes_of(kind_named("exact"), 1000, 384) == 0
    assert bytes_of(kind_named("flat"), 1000, 384) == 1000 * 384 * 4
    assert bytes_of(kind_named("sq8"), 1000, 384) == 1000 * 384
    size = faiss_part.faiss_module().serialize_index(made("hnsw")._stored.part._cpu).nbytes
    assert 0.8 < size / bytes_of(kind_named("hnsw"), 400, 16) < 1.2


@pytest.mark.parametrize(
    ("rows_", "options", "kind", "why"),
    [
        (50_000, {}, "exact", "50,000 rows of 384 numbers: at most 50,000 are searched exactly"),
        (50_001, {}, "hnsw", "a graph is the fastest at high recall, about 91 MB in memory; the goal is a recall of 0.95"),
        (50_001, {"recall_goal": 1.0}, "flat", "a recall of 1 is asked for, so each is looked at, in memory"),
        (50_001, {"recall_goal": 1.0, "memory": 1000}, "exact", "more than the memory allowed, so each is read from the file"),
        (50_001, {"similarity": "dot"}, "ivf", "a graph by dot product loses rows"),
        (3_000_000, {}, "ivf", "takes long to link"),
        (3_000_000, {"memory": 10**9}, "ivfpq", "codes, as whole vectors are more than the memory allowed"),
        (3_000_000, {"memory": 10**6}, "exact", "no kind fits in 1,000,000 bytes"),
    ],
)  # fmt: skip
def test_the_choice_is_explained(rows_, options, kind, why):
    choice = choose(rows_, 384, **{**MANY, **options})
    assert choice.kind.name == kind
    assert why in choice.why


def test_auto_searches_longer_until_the_goal_is_reached(monkeypatch, tmp_path):
    monkeypatch.setattr(choosing, "EXACT_UP_TO", 100)
    monkeypatch.setattr(
        choosing,
        "kind_named",
        lambda name: kind_named({"hnsw": "hnsw:m=4:ef_construction=20:ef=20"}.get(name, name)),
    )
    chance = np.random.default_rng(0).normal(size=(1500, 16)).astype(np.float32)
    index = build_index(rows(1500), tmp_path / "ix", vectors=chance, recall_goal=0.97)
    assert index.kind.options["ef"] >= 40
    assert index.recall.rate >= 0.97
    assert index.why.endswith("the goal is a recall of 0.97, reached")
    again = open_index(tmp_path / "ix")
    assert again.kind == index.kind
    assert again.measure_recall() == index.recall
    poor = build_index(rows(1500), vectors=chance, recall_goal=0.9999)
    assert poor.recall.rate < 0.9999
    assert poor.why.endswith("not reached")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"similarity": "manhattan"}, "choose one of cosine, dot, euclidean"),
        ({"recall_goal": 0}, "recall_goal must be above 0"),
        ({"recall_goal": 1.01}, "recall_goal"),
        ({"recall_goal": float("nan")}, "recall_goal"),
        ({"memory": 0}, "memory must be"),
        ({"seed": -1}, "seed must be"),
        ({"seed": True}, "seed must be"),
        ({"seed": 1 << 63}, "seed must be"),
        ({"threads": 0}, "threads must be"),
        ({"device": "tpu", "kind": "flat"}, "choose one of cpu, cuda"),
        (
            {"device": "cuda", "kind": "hnsw"},
            "the kind hnsw runs on the CPU only; on a GPU there are flat, ivf, ivfpq",
        ),
    ],
)
def test_bad_options_are_found_before_any_row_is_read(options, message, tmp_path):
    def never():
        pytest.fail("a row was read")
        yield

    with pytest.raises(UsageError, match=message):
        build_index(never(), tmp_path / "ix", vectors=vectors(), **options)
    assert not (tmp_path / "ix").exists()


class GpuFaiss:
    """The GPU half of faiss, on a machine without one; ``moves`` is whether it really moves."""

    def __init__(self, gpus, *, moves=True):
        import faiss

        self._gpus, self._moves, self._faiss = gpus, moves, faiss

        class GpuIndex:
            def __init__(self, index):
                self._inner = index

            def getDevice(self):  # noqa: N802 - faiss's name
                return 0

            def __getattr__(self, name):
                return getattr(self._inner, name)

        self.GpuIndex = GpuIndex
        self.StandardGpuResources = object
        self.GpuClonerOptions = type("Options", (), {})

    def get_num_gpus(self):
        return self._gpus

    def index_cpu_to_gpu(self, _resources, device, index, _options):
        assert device == 0
        return self.GpuIndex(index) if self._moves else index

    def __getattr__(self, name):
        return getattr(self._faiss, name)


def test_cuda_is_used_or_refused_and_never_replaced(monkeypatch, tmp_path):
    made("flat", path=tmp_path / "ix")
    for _ in ("no GPU code",):
        with pytest.raises(
            ConfigurationError, match="this faiss is built for the CPU; install faiss-gpu"
        ):
            open_index(tmp_path / "ix", device="cuda")
        with pytest.raises(ConfigurationError, match="built for the CPU"):
            made("auto", device="cuda")
    monkeypatch.setattr(faiss_part, "faiss_module", lambda: GpuFaiss(0))
    with pytest.raises(ConfigurationError, match="faiss sees no GPU"):
        open_index(tmp_path / "ix", device="cuda")
    monkeypatch.setattr(faiss_part, "faiss_module", lambda: GpuFaiss(1, moves=False))
    with pytest.raises(ConfigurationError, match="faiss left the flat index on the CPU"):
        open_index(tmp_path / "ix", device="cuda")
    monkeypatch.setattr(faiss_part, "faiss_module", lambda: GpuFaiss(1))
    moved = open_index(tmp_path / "ix", device="cuda")
    assert type(moved._stored.part._index).__name__ == "GpuIndex"
    known = open_index(tmp_path / "ix")
    queries = vectors(5, seed=3)
    assert moved.search(queries, 5) == known.search(queries, 5)
    assert moved.search(queries, 5, where={"lang": "de"}) == known.search(
        queries, 5, where={"lang": "de"}
    )
    with pytest.raises(UsageError, match="say which kind, flat, ivf or ivfpq"):
        made("auto", device="cuda")
    made("hnsw", path=tmp_path / "graph")
    with pytest.raises(UsageError, match="the kind hnsw runs on the CPU only"):
        open_index(tmp_path / "graph", device="cuda")


def test_what_a_gpu_cannot_select_or_do_is_searched_exactly_or_told(monkeypatch, tmp_path):
    made("flat", n=2100, path=tmp_path / "ix")
    known = open_index(tmp_path / "ix")
    monkeypatch.setattr(faiss_part, "faiss_module", lambda: GpuFaiss(1))
    moved = open_index(tmp_path / "ix", device="cuda")
    told = "Error in virtual void search: Error: 'ok' failed: GPU index only supports 2048"

    def search(_asked, count, *_more):
        raise RuntimeError(f"{told} (requested {count})")

    moved._stored.part._index.search = search
    one = vectors(1, seed=3)
    assert moved.search(one, 2050) == known.search(one, 2050)
    with pytest.raises(ConfigurationError, match=r"device cuda: .*only supports 2048 \(reque"):
        moved.search(one, 5)
    broken = GpuFaiss(1)
    broken.index_cpu_to_gpu = search
    monkeypatch.setattr(faiss_part, "faiss_module", lambda: broken)
    with pytest.raises(ConfigurationError, match="cannot put the flat index there: GPU index"):
        open_index(tmp_path / "ix", device="cuda")


def test_without_faiss_the_exact_kind_works(monkeypatch):
    import importlib

    real = importlib.import_module

    def absent(name, *args):
        if name == "faiss":
            raise ImportError("No module named 'faiss'")
        return real(name, *args)

    monkeypatch.setattr(faiss_making.importlib, "import_module", absent)
    assert len(made("exact").search(vectors(1)[0], 3)[0]) == 3
    with pytest.raises(ConfigurationError, match="pip install faiss-cpu, or use the kind exact"):
        made("flat")


def test_lists_are_searched_until_the_goal_is_reached(tmp_path):
    """Few rows in many clumps: a sixteenth of the lists, or eight, hold too few of the nearest."""
    chance = np.random.default_rng(0).normal(size=(1500, 16)).astype(np.float32)
    index = build_index(rows(1500), tmp_path / "ix", vectors=chance, kind="ivf")
    options, recall = index.kind.options, index.recall
    assert options["nlist"] == 46
    assert recall.rate >= 0.95
    fewer = options["nprobe"] // 2
    assert fewer >= 8
    short = build_index(rows(1500), vectors=chance, kind=f"ivf:nprobe={fewer}")
    assert short.recall.rate < 0.95
    assert index.why == (
        "as asked: lists of rows around centres found by k-means; "
        f"nprobe {options['nprobe']} of 46 lists, raised from 8 for it; "
        "the goal is a recall of 0.95, reached"
    )
    # What other questions find is what the rows foretold.
    others = np.random.default_rng(1).normal(size=(300, 16)).astype(np.float32)
    assert index.measure_recall(others).rate == pytest.approx(recall.rate, abs=0.03)
    again = open_index(tmp_path / "ix")
    assert (again.kind, again.recall, again.why) == (index.kind, recall, index.why)
    less = build_index(rows(1500), vectors=chance, kind="ivf", recall_goal=0.5)
    assert less.kind.options["nprobe"] == 8
    assert "nprobe 8 of 46 lists; the goal is a recall of 0.5, reached" in less.why


def test_lists_that_were_asked_for_are_kept(tmp_path):
    chance = np.random.default_rng(0).normal(size=(1500, 16)).astype(np.float32)
    index = build_index(rows(1500), tmp_path / "ix", vectors=chance, kind="ivf:nprobe=2")
    assert index.kind.options["nprobe"] == 2
    assert index.recall.rate < 0.95
    assert index.why == "as asked: lists of rows around centres found by k-means"
    rebuilt = rebuild_index(tmp_path / "ix", kind="ivf", recall_goal=0.9)
    assert rebuilt.recall.rate >= 0.9
    assert rebuilt.why.endswith("the goal is a recall of 0.9, reached")


def test_a_search_is_not_made_longer_for_nothing():
    """What product codes lose, further lists do not find again."""
    coded = made("ivfpq:m=1:refine=1:nlist=12", recall_goal=0.999)
    assert coded.recall.rate < 0.999
    assert coded.why.endswith("not reached")
    every = made("ivfpq:m=1:refine=1:nlist=12:nprobe=12")
    assert coded.recall.found >= every.recall.found
    if coded.kind.options["nprobe"] == 12:
        half = made("ivfpq:m=1:refine=1:nlist=12:nprobe=8")
        assert half.recall.found < every.recall.found

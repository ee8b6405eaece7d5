"""Runs to report on: an ordinary one, one of hostile texts, one without any measurement."""

import io

import pytest

from closecall import Case, evaluate
from closecall.errors import EmbeddingError
from closecall.metrics.base import MetricSpec
from closecall.records import Measured, State, Unmeasured
from closecall.report.formats import write
from closecall.testing import HashEmbedder

CASES = [
    Case(
        id="same", group="refunds", label="accept", input="when?",
        references=("refunds take five days",), response="refunds take five days",
    ),
    Case(
        id="near", group="refunds", label="reject",
        references=("not this", "refunds take five days"),
        response="refunds take nine days",
    ),
    Case(id="far", label="reject", references=("open at noon",), response="no idea at all"),
    Case(id="right-but-far", label="accept", references=("yes",), response="certainly it does"),
    Case(id="blank", references=("something",), response="  "),
    Case(id="nothing", label="accept", response="an answer"),
    Case(id="broken", references=("fine",), response="boom"),
]  # fmt: skip

HOSTILE = (
    "\x1b[31mred\x07\u202e| <script>alert(1)</script> @everyone [click](https://evil.example) `code` "
    "![x](y) &amp; **bold** #1 www.evil.example me@evil.example\n\n# heading]]>"
)


def fails_on_boom(texts):
    bad = [index for index, text in enumerate(texts) if "boom" in text]
    if bad:
        raise EmbeddingError("the model refused", bad)


class Breaks:
    """A metric with a bug."""

    cutoff = 1.0
    spec = MetricSpec(
        id="breaks", name="breaks", version="1", needs=("response",), default_cutoff=1.0,
        low=0.0, high=1.0, description="Always raises.",
    )  # fmt: skip

    def texts(self, case):
        return ()

    def measure(self, case, vectors):
        raise RuntimeError(f"no luck with {case.id}")


class Sometimes:
    """A metric that does not apply to every case."""

    cutoff = None
    spec = MetricSpec(
        id="sometimes", name="sometimes", version="1", needs=("response",), default_cutoff=None,
        low=0.0, high=1.0, description="Applies to cases with a reference.",
    )  # fmt: skip

    def texts(self, case):
        return () if case.references else Unmeasured("nothing to judge", State.NOT_APPLICABLE)

    def measure(self, case, vectors):
        return Measured(similarity=1.0, value=1.0, score=100.0)


def run_of(cases, metrics=("embed_answer_similarity", "embedding_similarity"), **more):
    embedder = HashEmbedder(model="words", on_embed=fails_on_boom)
    return evaluate(cases, list(metrics), embedder, cache=False, name="suite", **more)


@pytest.fixture(scope="module")
def run():
    return run_of(CASES)


@pytest.fixture(scope="module")
def hostile():
    texts = {"references": (HOSTILE,), "response": HOSTILE + " end", "group": "=1+1|<b>"}
    return run_of([Case(id='=HYPERLINK("x")|<b>', **texts), Case(id="@it", references=("a",))])


@pytest.fixture(scope="module")
def absent():
    return run_of([Case(id="a", response="x"), Case(id="b", references=("y",))])


@pytest.fixture(scope="session")
def render():
    def rendered(run, name):
        out = io.StringIO()
        write(run, name, out)
        return out.getvalue()

    return rendered


@pytest.fixture(scope="session")
def make_run():
    return run_of


@pytest.fixture(scope="session")
def buggy_metric():
    return Breaks()


@pytest.fixture(scope="module")
def partly():
    """One case the metric applies to and two it does not."""
    found = [Case(id="a", references=("x",), response="x")]
    return run_of([*found, *(Case(id=i, response="x") for i in "bc")], [Sometimes()])


@pytest.fixture(scope="session")
def cases():
    return CASES


@pytest.fixture(scope="session")
def hostile_text():
    return HOSTILE

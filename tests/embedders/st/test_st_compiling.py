"""``compile=true``: few shapes, the same vectors, and a refusal where either cannot be had."""

import numpy as np
import pytest
import tiny_models

from closecall.embedders.registry import load_embedder
from closecall.embedders.st import runtime
from closecall.embedders.st.compiling import compiled
from closecall.embedders.st.embedder import StEmbedder
from closecall.embedders.st.options import StOptions
from closecall.errors import ConfigurationError, ModelError

# The compiler warns of parts of torch that it uses itself.
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

COMPILED = StOptions(device="cpu", compile=True, batch_tokens=256)


@pytest.fixture
def compiler(monkeypatch):
    """In place of the compiler that needs minutes, one that runs the graph as it was traced."""

    class Compiler:
        shapes = ()
        wrong = None

        def __call__(self, graph, inputs):
            sizes = [tuple(one.shape) for one in inputs if getattr(one, "ndim", 0) == 2]
            self.shapes += (sizes[-1],)
            return self.wrong(graph) if self.wrong else graph.forward

    made = Compiler()
    monkeypatch.setattr(runtime, "compiled", lambda *given: compiled(*given, backend=made))
    return made


@pytest.mark.parametrize(
    "make", [tiny_models.bert, tiny_models.mpnet, tiny_models.xlm_roberta, tiny_models.decoder]
)
def test_vectors_and_identity_are_those_without_and_shapes_are_few(tmp_path, compiler, make):
    folder = make(tmp_path / "m")
    texts = tiny_models.texts(90, seed=2, most=40)
    plain = StEmbedder(folder, StOptions(device="cpu"))
    fast = StEmbedder(folder, COMPILED)
    assert np.abs(fast.embed(texts) - plain.embed(texts)).max() < 5e-6
    compiles = len(compiler.shapes)
    assert 2 <= compiles <= 12
    other = tiny_models.texts(90, seed=12, most=40)
    assert np.abs(fast.embed(other) - plain.embed(other)).max() < 5e-6
    assert len(compiler.shapes) <= 12
    assert fast.instrument == plain.instrument


def test_a_model_that_is_another_one_compiled_is_refused(tiny, compiler):
    def wrong(graph):
        return lambda *given: tuple(one.roll(1, -1) for one in graph.forward(*given))

    compiler.wrong = wrong
    with pytest.raises(ModelError, match=r"makes another vector of the same text.*compile=true"):
        StEmbedder(tiny, COMPILED).load()


def test_what_cannot_be_compiled_is_refused_and_not_run_otherwise(tiny, compiler):
    def wrong(graph):
        raise OSError("no compiler here")

    compiler.wrong = wrong
    with pytest.raises(ConfigurationError, match=r"cannot compile it for cpu.*compile=true out"):
        StEmbedder(tiny, COMPILED).load()


def test_it_is_asked_for_in_the_name(tiny):
    assert load_embedder(f"st:{tiny}?compile=true")._options.compile is True
    assert load_embedder(f"st:{tiny}?compile=false")._options.compile is False

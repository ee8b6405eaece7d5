"""``check_embedder``: our embedders keep the contract, and each way to break it is found."""

import inspect
import re

import numpy as np
import pytest

from closecall import load_embedder
from closecall.cli import run as command_line
from closecall.embedders.base import Counted, Pieced, Pieces
from closecall.errors import EmbeddingError
from closecall.instrument import Instrument
from closecall.records import Role, Tokens
from closecall.testing import HashEmbedder, check_embedder


def test_the_stand_in_keeps_it():
    check_embedder(
        HashEmbedder(), variants={"dims": HashEmbedder(dims=32), "model": HashEmbedder(model="m")}
    )


def test_every_embedder_can_be_awaited():
    from closecall.embedders.isotropy.embedder import IsotropicEmbedder
    from closecall.embedders.onnx import OnnxEmbedder
    from closecall.embedders.onnx_export import ExportedEmbedder
    from closecall.embedders.remote.embedder import RemoteEmbedder
    from closecall.embedders.st.embedder import StEmbedder
    from closecall.embedders.static.embedder import StaticEmbedder

    for made in (
        HashEmbedder, OnnxEmbedder, ExportedEmbedder, StEmbedder, StaticEmbedder,
        IsotropicEmbedder, RemoteEmbedder,
    ):  # fmt: skip
        assert inspect.iscoroutinefunction(made.aembed), made


def test_the_bundled_model_keeps_it():
    check_embedder(
        load_embedder(),
        variants={
            "window=truncate": load_embedder(window="truncate"),
            "window=error": load_embedder(window="error"),
        },
    )


class Sound:
    """Vectors that follow from the letters of a text; each test breaks one thing."""

    def __init__(self, **identity):
        self.instrument = Instrument(
            kind="mine", model="letters", provider="local", **{"dims": 26, **identity}
        )

    def embed(self, texts, role=Role.TEXT):
        rows = [
            [1.0 + text.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts
        ]
        found = np.array(rows, dtype=np.float64).reshape(len(texts), 26)
        return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def test_a_sound_one_of_your_own_keeps_it():
    check_embedder(Sound(), variants={"revision": Sound(revision="2")})


def _sound(self, texts, role=Role.TEXT):
    return Sound.embed(self, texts, role)


def _with(embed, **identity):
    made = type("Broken", (Sound,), {"embed": embed})
    return made(**identity)


calls = []


def _by_batch(self, texts, role=Role.TEXT):
    return _sound(self, texts) * np.float32(1 + 1e-3 * (len(texts) > 1))


def _drifting(self, texts, role=Role.TEXT):
    calls.append(1)
    found = _sound(self, texts)
    found[:, 0] += np.float32(len(calls) % 7) * np.float32(1e-3)
    return found


def _sorting(self, texts, role=Role.TEXT):
    return _sound(self, sorted(texts))


def _clearing(self, texts, role=Role.TEXT):
    found = _sound(self, texts)
    texts.clear()
    return found


def _nan(self, texts, role=Role.TEXT):
    found = _sound(self, texts)
    found[:1] = np.nan
    return found


def _zero(self, texts, role=Role.TEXT):
    return _sound(self, texts) * np.float32(0)


def _prefixed(self, texts, role=Role.TEXT):
    return _sound(self, [f"{role.value} zzzz {text}" for text in texts])


def _raising(self, texts, role=Role.TEXT):
    raise EmbeddingError("out of order", indices=[0])


def _flat(self, texts, role=Role.TEXT):
    return _sound(self, texts) if texts else np.empty(0, np.float32)


@pytest.mark.parametrize(
    ("embedder", "said"),
    [
        (_with(lambda self, texts, role=Role.TEXT: _sound(self, texts).tolist()), "numpy array"),
        (
            _with(lambda self, texts, role=Role.TEXT: _sound(self, texts).astype(np.float64)),
            "expected float32, got float64",
        ),
        (_with(_sound, dims=25), r"expected shape \(8, 25\), got \(8, 26\)"),
        (_with(lambda self, texts, role=Role.TEXT: _sound(self, texts)[:-1]), "expected shape"),
        (_with(_flat), r"embed of no text: expected shape \(0, 26\), got \(0,\)"),
        (_with(_nan), "not finite"),
        (_with(_zero, normalize=False), "a vector is zero"),
        (
            _with(lambda self, texts, role=Role.TEXT: _sound(self, texts) * np.float32(2)),
            "says normalize, and a vector has length 2",
        ),
        (_with(_by_batch), "each text alone, a component differs"),
        (_with(_drifting), "called twice, a component differs"),
        (_with(_sorting), "each text alone, a component differs"),
        (_with(_clearing), "changes the list it is given"),
        (_with(_prefixed), "share cached vectors, and they embed differently"),
        (_with(_raising), "failed on texts that it was said to embed: out of order"),
        (_with(lambda self, texts: 1 / 0), "raised ZeroDivisionError"),
    ],
)
def test_each_way_to_break_it_is_found(embedder, said):
    with pytest.raises(AssertionError, match=said):
        check_embedder(embedder)


def test_a_changed_option_with_the_same_identity_is_found():
    with pytest.raises(AssertionError, match="with pooling changed the identity is the same"):
        check_embedder(Sound(), variants={"pooling": Sound()})
    same = Sound(revision="2")
    with pytest.raises(AssertionError, match="as with dims=1"):
        check_embedder(Sound(), variants={"dims=1": same, "dims=2": same})


def test_an_identity_that_is_none_or_moves_is_found():
    broken = Sound()
    broken.instrument = "letters"
    with pytest.raises(AssertionError, match=r"expected a closecall\.Instrument, got str"):
        check_embedder(broken)

    class Moving(Sound):
        def load(self):
            self.instrument = Instrument(kind="mine", model="other", provider="local", dims=26)

    with pytest.raises(AssertionError, match="changes when the embedder loads"):
        check_embedder(Moving())


class Counting(Sound):
    tokens = Tokens(3, 2)

    def embed_counted(self, texts, role=Role.TEXT):
        return Counted(self.embed(texts), [self.tokens] * len(texts))


def test_counts_that_cannot_be_are_found():
    with pytest.raises(AssertionError, match="cannot be"):
        check_embedder(Counting())
    sound = Counting()
    sound.tokens = None
    check_embedder(sound)


class InPieces(Sound):
    span = (0, 1)
    scale = 1.0

    def embed_pieces(self, texts, role=Role.TEXT):
        one = np.zeros((1, 26), np.float32)
        one[0, 0] = self.scale
        return [Pieced(v, None, Pieces(one, (self.span,))) for v in self.embed(texts)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"span": (0, 99)}, "a span lies outside"),
        ({"span": (1, 1)}, "a span lies outside"),
        ({"scale": 2.0}, "is not of length 1"),
    ],
)
def test_pieces_that_do_not_fit_their_text_are_found(change, said):
    check_embedder(InPieces())
    broken = type("Broken", (InPieces,), change)()
    with pytest.raises(AssertionError, match=said):
        check_embedder(broken)


def test_every_broken_rule_is_named_at_once():
    broken = _with(
        lambda self, texts, role=Role.TEXT: _sound(self, texts) * np.float32(2 + len(texts))
    )
    with pytest.raises(AssertionError) as caught:
        check_embedder(broken, variants={"x": Sound()})
    assert len(re.findall(r"^(embed|instrument)", str(caught.value), re.MULTILINE)) >= 3


def test_it_needs_two_texts():
    with pytest.raises(ValueError, match="two different texts"):
        check_embedder(Sound(), texts=["a", "a"])


@pytest.fixture(scope="module")
def spread():
    """Texts enough to fit a transform to."""
    things = ["boat", "ticket", "harbour", "timetable", "captain", "anchor", "sail", "rope", "net"]
    places = ["island", "city", "river", "coast", "lake", "bridge", "market", "station", "school"]
    return [
        f"The {thing} near the {place} costs {n} euros."
        for thing in things
        for place in places
        for n in range(13)
    ]


def test_a_transform_behind_the_bundled_model_keeps_it(tmp_path, spread):
    (tmp_path / "texts.txt").write_text("\n".join(spread), encoding="utf-8")
    made = {}
    for method in ("centre", "components:4", "whiten:32"):
        place = tmp_path / f"{method.replace(':', '-')}.isotropy.json"
        code = command_line(
            [
                "models",
                "isotropy",
                str(tmp_path / "texts.txt"),
                "-o",
                str(place),
                "--method",
                method,
            ]
        )
        assert code == 0
        made[method] = load_embedder(f"isotropic:{place}")
    first = made.pop("whiten:32")
    check_embedder(first, variants={**made, "none": load_embedder()})

"""The bundled model behind both metrics: it is the default, and no text makes a pair too long."""

import random

import numpy as np
import pytest

from closecall import Case, load_metric
from closecall.metrics.support.answer import AnswerSupport
from closecall.metrics.support.context import ContextSupport
from closecall.metrics.support.model import bundled_pair_model
from closecall.records import Measured

TEXTS = (
    "pump", "The tank is new.", "don't", "e.g.", "3.5", "—", "…", "насос", "漢字", "e\u0301",
    "\u0301", "🎉", "[SEP]", "x" * 300, "!" * 90, "\u200b", "\u00ad", "\n\n", "。", "พบกัน",
    "ﬁ", "½", "\x07", '"Yes." he', "(ok).", "http://a.example/c?d=e", "한국어", "ß",
)  # fmt: skip


class Dry:
    """The bundled model's way of reading, without running it; ``longest`` is the longest pair."""

    def __init__(self):
        self._model = bundled_pair_model()
        self.name, self.identity = self._model.name, self._model.identity
        self.window = self._model.window
        self.count, self.unreadable = self._model.count, self._model.unreadable
        self.longest = 0

    def score(self, pairs):
        for first, second in pairs:  # raises for a pair too long or unreadable
            self.longest = max(self.longest, len(self._model.row(first, second)[0]))
        return np.full(len(pairs), 0.3)


def drawn(draw, most):
    between = draw.choice([" ", " ", "", "\n"])
    return between.join(draw.choice(TEXTS) for _ in range(draw.randrange(most)))


def test_no_text_makes_a_pair_too_long():
    model = Dry()
    metrics = [
        AnswerSupport(model=model, language="any"),
        ContextSupport(model=model, language="any", question=True),
        ContextSupport(model=model),
    ]
    measured = 0
    for seed in range(30):
        draw = random.Random(seed)
        case = Case(
            id=str(seed),
            input=draw.choice([None, drawn(draw, 60)]),
            response=drawn(draw, draw.choice([5, 300])),
            references=tuple(drawn(draw, draw.choice([5, 200])) for _ in range(3)),
            context=tuple(drawn(draw, draw.choice([5, 300])) for _ in range(3)),
        )
        for metric in metrics:
            found = metric.measure(case, {})
            if isinstance(found, Measured):
                measured += 1
                metric.explain([case], [found])
    assert measured > 30
    assert model.window - 20 < model.longest <= model.window


@pytest.mark.parametrize("name", ["answer_support", "context_support"])
def test_it_is_the_default_and_stands_in_the_version(name):
    metric = load_metric(name)
    assert metric.model is bundled_pair_model()
    assert metric.spec.version.endswith(f"+{bundled_pair_model().identity.digest}")


def test_what_agrees_is_supported_more_than_what_is_about_something_else():
    cases = [
        Case(id=response, response=response, references=(text,), context=(text,))
        for text in ("The pump is drained in autumn.",)
        for response in (text, "My aunt keeps bees behind her house.")
    ]
    for name in ("answer_support", "context_support"):
        good, bad = (one.value for one in load_metric(name).measure_batch(cases, {}))
        assert 0 <= bad < good <= 1


def test_a_value_does_not_depend_on_the_batch():
    cases = [
        Case(id=str(at), response=f"The pump {at} is drained in autumn." * (at + 1),
             references=("It is drained in autumn.", "in autumn"))
        for at in range(6)
    ]  # fmt: skip
    metric = load_metric("answer_support")
    assert list(metric.measure_batch(cases, {})) == [metric.measure(one, {}) for one in cases]

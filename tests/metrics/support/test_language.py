"""Which texts are clearly not English."""

import pytest

from closecall.metrics.support.language import foreign

READ = [
    "",
    "42",
    "El Niño",
    "Rio de Janeiro",
    "Charles de Gaulle, the general",
    "He said: c'est la vie, and left.",
    "The word Angst is German for fear, and der, die, das are its articles.",
    "Where E = mc² and the angle is π/2 or α.",
    "Google.com, YouTube.com, Facebook.com and Yahoo.com",
    "β",
    "It is written 東京 in Japanese and means the capital in the east.",
    "naïve façade",
]
NOT_READ = {
    "in German": ["Die Pumpe wird im Herbst nicht mit dem Wasser entleert."],
    "in French": ["La pompe est vide et ne sert pas en hiver."],
    "in Spanish": ["La bomba no se usa en el invierno, pero sí en el verano."],
    "in another language": ["La pompa è vuota e non serve nella stagione del gelo."],
    "not in Latin letters": ["насос", "ポンプは秋に空になります", "المضخة فارغة", "η αντλία"],
}


@pytest.mark.parametrize("text", READ)
def test_what_may_be_english_is_read(text):
    assert foreign(text) is None


@pytest.mark.parametrize(
    ("said", "text"), [(said, text) for said, texts in NOT_READ.items() for text in texts]
)
def test_what_is_clearly_not_is_named(said, text):
    assert foreign(text) == said


def test_a_long_text_is_judged_by_its_beginning():
    assert foreign("The pump is drained. " * 300 + NOT_READ["in German"][0] * 300) is None

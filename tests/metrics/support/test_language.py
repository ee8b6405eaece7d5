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
NAMES_ALONE = [
    "Las Vegas, Los Angeles and El Paso",
    "LAS VEGAS, LOS ANGELES AND EL PASO",
    "las vegas, los angeles, el paso",
    "La Paz, El Salvador, Los Angeles, Las Vegas",
    "La Paz\nLos Angeles\nEl Alto\nLas Palmas",
    "Charles de Gaulle, Simone de Beauvoir, Honoré de Balzac",
    "Oscar de la Renta, Benicio del Toro, Penelope de la Cruz",
    "Van der Waals, van den Berg, de Vries and van de Graaff",
    "Ursula von der Leyen, Otto von Bismarck, Alexander von Humboldt",
    "Leonardo da Vinci, Piero della Francesca, Andrea del Sarto",
    "Vasco da Gama, Rio de Janeiro, São Paulo, São Tomé",
    "Des Moines; Des Plaines; Eau Claire; La Crosse; Le Mars",
    "Les Misérables, Le Rouge et le Noir, La Peste",
    "Der Spiegel, Die Zeit und Die Welt",
    "Das Lied von der Erde, Die Walküre, Das Rheingold",
    "Boulogne-sur-Mer, Aix-en-Provence, Saint-Germain-des-Prés",
    "Castilla y León, Ortega y Gasset, Tierra del Fuego",
    "Malmö, Göteborg, Köln, Düsseldorf",
    "crème brûlée, crêpe, pâté, soupçon",
    "AL: Alabama; DE: Delaware; LA: Louisiana; ES; EN",
]
NO_PROSE = [
    "https://example.com/a/d/b?d=e&la=les&de=1",
    "See (https://example.com/la/les/est/des) and /usr/les/des/est",
    "rm -rf /; ls -la; cd /de/es/la",
    "src/es/que/como/para",
    "ls -ne -pas -les -est",
    "h(n) = C(2n, n)/(n + 1), n/2, n(n - 1)/2",
]
NOT_READ = {
    "in German": [
        "Die Pumpe wird im Herbst nicht mit dem Wasser entleert.",
        "DIE PUMPE WIRD IM HERBST NICHT ENTLEERT.",
        "Die Hauptstadt von Frankreich ist Paris.",
        "Das Wasser aus dem Tank im Keller.",
        "Ludwig van Beethoven und Max von der Au sind die Komponisten.",
        "Der Zug von Berlin nach Hamburg hat keine Verspätung.",
        "der motor ist kalt und die pumpe ist leer",
    ],
    "in French": [
        "La pompe est vide et ne sert pas en hiver.",
        "LA POMPE EST VIDE ET NE SERT PAS EN HIVER.",
        "La capitale de la France est Paris.",
        "Il est né à Lyon en 1920.",
        "La France et l'Italie sont des pays voisins.",
        "Les chats dorment sur le canapé du salon.",
        "Le mode d'emploi est sur https://example.com/pompe et dans la boîte.",
    ],
    "in Spanish": [
        "La bomba no se usa en el invierno, pero sí en el verano.",
        "LA BOMBA NO SE USA EN EL INVIERNO.",
        "La capital de España es Madrid.",
        "El Presidente de la República vive en el Palacio Nacional.",
        "¿Qué pintores recibieron un Premio de la Academia?",
        "No, Ana Ruiz nació en 1986.",
        "Nació en Lima y murió en París en 1938.",
        "Los Ángeles es una ciudad de California y tiene muchas playas.",
    ],
    "in another language": [
        "La pompa è vuota e non serve nella stagione del gelo.",
        "Luís de Camões é o autor dos Lusíadas.",
        "A água do tanque é fria e não serve para nada.",
        "Het museum is op maandag niet open.",
        "Det är inte en bra dag för att segla.",
        "Maria Skłodowska urodziła się w Warszawie.",
        "Toget til Aarhus er ikke på plads.",
    ],
    "not in Latin letters": ["насос", "ポンプは秋に空になります", "المضخة فارغة", "η αντλία"],
}


@pytest.mark.parametrize("text", READ)
def test_what_may_be_english_is_read(text):
    assert foreign(text) is None


@pytest.mark.parametrize("text", NAMES_ALONE)
def test_names_alone_are_no_other_language(text):
    assert foreign(text) is None


@pytest.mark.parametrize("text", NO_PROSE)
def test_addresses_paths_flags_and_formulas_are_no_other_language(text):
    assert foreign(text) is None


@pytest.mark.parametrize(
    ("said", "text"), [(said, text) for said, texts in NOT_READ.items() for text in texts]
)
def test_what_is_clearly_not_is_named(said, text):
    assert foreign(text) == said


def test_a_long_text_is_judged_by_its_beginning():
    assert foreign("The pump is drained. " * 300 + NOT_READ["in German"][0] * 300) is None

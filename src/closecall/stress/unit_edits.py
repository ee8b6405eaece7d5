"""``unit``: the same number with another unit or scale (*5 km* to *5 miles*)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from closecall.metrics.guards.number_words import scale_of
from closecall.metrics.guards.quantities import Token
from closecall.metrics.guards.quantities import tokens as tokens_of
from closecall.metrics.guards.same import same
from closecall.metrics.guards.units import units_of
from closecall.metrics.guards.words import Language, fold
from closecall.stress.choice import Chooser
from closecall.stress.edits import Edit, Piece, cased_like, edited
from closecall.stress.number_edits import only_up
from closecall.stress.soundness import read_quantities

FAMILY = "unit"

_SYMBOLS: dict[str, str] = {
    "km": "m", "m": "km", "cm": "mm", "mm": "cm", "ft": "m", "kg": "g", "g": "mg", "mg": "g",
    "lb": "kg", "lbs": "kg", "oz": "kg", "ml": "l", "mL": "L", "cl": "l", "mph": "km/h",
    "km/h": "mph", "ms": "s", "MB": "GB", "GB": "MB", "TB": "GB", "KB": "MB", "kB": "MB",
    "Mbit": "Gbit", "ha": "km²", "km²": "ha", "m²": "km²", "kWh": "MWh",
    "$": "€", "€": "$", "£": "€", "%": " per thousand",
}  # fmt: skip
"""Signs and symbols: any language, case counts."""

_PAIRS: dict[str, str] = {
    "en": "kilometers-miles kilometres-miles kilometer-mile kilometre-mile miles-kilometers "
    "mile-kilometer meters-feet metres-feet meter-foot metre-foot feet-meters foot-meter "
    "centimeters-meters centimetres-metres inches-feet inch-foot yards-miles "
    "millimeters-centimeters millimetres-centimetres "
    "kilograms-pounds kilogram-pound kilos-pounds milligrams-grams milligram-gram "
    "grams-milligrams gram-milligram micrograms-milligrams ounces-kilograms tonnes-kilograms "
    "tons-pounds milliliters-liters millilitres-litres liters-gallons litres-gallons "
    "gallons-milliliters pints-gallons cups-gallons teaspoons-cups tablespoons-cups "
    "milliseconds-seconds seconds-minutes minutes-hours minute-hour hours-minutes hour-minute "
    "days-weeks day-week weeks-days week-day months-years month-year years-months year-month "
    "decades-years centuries-decades acres-square_miles hectares-square_kilometers "
    "dollars-cents euros-dollars cents-dollars percent-per_thousand celsius-fahrenheit "
    "fahrenheit-celsius megabytes-gigabytes gigabytes-megabytes kilobytes-megabytes knots-mph "
    "million-billion billion-million thousand-million trillion-million hundred-thousand",
    "de": "kilometer-Meter meter-Kilometer zentimeter-Meter millimeter-Zentimeter meilen-Meter "
    "kilogramm-Gramm gramm-Kilogramm milligramm-Gramm tonnen-Kilogramm liter-Milliliter "
    "milliliter-Liter sekunden-Minuten minuten-Stunden minute-Stunde stunden-Minuten "
    "stunde-Minute tage-Wochen tagen-Wochen tag-Woche wochen-Tage woche-Tag monate-Jahre "
    "monaten-Jahren monat-Jahr jahre-Monate jahren-Monaten jahr-Monat prozent-Promille "
    "millionen-Milliarden milliarden-Millionen tausend-Millionen euro-Cent dollar-Cent",
    "fr": "kilomètres-mètres mètres-kilomètres centimètres-mètres kilogrammes-grammes "
    "grammes-kilogrammes milligrammes-grammes litres-millilitres secondes-minutes "
    "minutes-heures heures-minutes heure-minute jours-semaines jour-semaine semaines-jours "
    "mois-ans ans-mois années-mois millions-milliards milliards-millions euros-centimes "
    "dollars-centimes tonnes-kilogrammes",
    "es": "kilómetros-metros metros-kilómetros centímetros-metros kilogramos-gramos "
    "gramos-kilogramos miligramos-gramos litros-mililitros segundos-minutos minutos-horas "
    "horas-minutos hora-minuto días-semanas día-semana semanas-días meses-años años-meses "
    "millones-miles euros-céntimos dólares-centavos toneladas-kilogramos",
}


@cache
def _table(language: str) -> dict[str, str]:
    rows = (pair.split("-") for pair in _PAIRS.get(language, "").split())
    return {old: new.replace("_", " ") for old, new in rows}


def unit_edits(text: str, language: Language | None, chooser: Chooser) -> Iterator[Edit]:
    """Yield the text with one unit changed, in a drawn order of its amounts.

    An amount that the text also says in another unit is left alone: half of it would stay right.
    """
    found = read_quantities(text, language)
    written = tokens_of(text) if any(q.kind == "amount" for q in found) else []
    pieces: list[Piece] = []
    for quantity in found:
        if quantity.kind != "amount" or quantity.soft or quantity.period:
            continue
        if any(same(quantity, o) or same(o, quantity) for o in found if o is not quantity):
            continue
        inside = [t for t in written if quantity.start <= t.start < quantity.end]
        changed = _changed(inside, text, language)
        if only_up(text[: quantity.start]):  # more than 90% is more than 90 per thousand
            changed = (one for one in changed if not _shrinks(text, one, language))
        pieces += changed
    for piece in chooser.mixed(pieces):
        yield edited(text, FAMILY, piece)


def _shrinks(text: str, piece: Piece, language: Language | None) -> bool:
    """Return whether an amount becomes smaller by its new unit."""
    old, new = text[piece.start : piece.end].strip(), piece.after.strip()
    scales = [scale_of(fold(word), language) for word in (old, new)]
    if scales[0] and scales[1]:
        return scales[1] < scales[0]
    before, after = (units_of(word, glued=True) for word in (old, new))
    if not before or not after:
        return True
    return before[0].dimension == after[0].dimension and after[0].factor < before[0].factor


def _coded(first: Token, text: str) -> bool:
    """Return whether an amount hangs on a word, as in *technetium-99m* and *US$5*."""
    before = text[max(0, first.start - 1) : first.start]
    return before.isalnum() or before == "-"


def _changed(inside: list[Token], text: str, language: Language | None) -> Iterator[Piece]:
    """Yield another unit for the first word or sign of an amount that is a unit we can change."""
    if sum(token.kind == "n" for token in inside) > 1 or _coded(inside[0], text):
        return
    number = False
    for at, token in enumerate(inside):
        number = number or token.kind in "nf"
        joined = text[token.start : token.end]
        if at + 2 < len(inside) and inside[at + 1].text == "/":
            joined = text[token.start : inside[at + 2].end]
        sign = token.kind == "s"
        if joined in ("km/h", "m/s"):
            if joined in _SYMBOLS:
                yield Piece(token.start, token.start + len(joined), _SYMBOLS[joined])
            return
        new = _SYMBOLS.get(token.text) if sign or number else None
        if new is not None:
            end = token.end
            # "5 % of" and "5% of" both become "5 per thousand of".
            start = token.start if new[0] != " " or token.glued else token.start - 1
            yield Piece(start, end, new)
            return
        word = _table(language or "en").get(token.text.lower())
        if word is not None and token.kind == "w" and at:
            # German writes its units as nouns, with a capital that is no style.
            yield Piece(
                token.start, token.end, word if language == "de" else cased_like(word, token.text)
            )
            return

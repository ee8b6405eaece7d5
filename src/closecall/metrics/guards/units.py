"""Units: their names in four languages, their symbols, and what one of each is in the base unit.

A symbol may have several readings (*pounds* are money or mass, *GB* are 10**9 or 2**30 bytes, a
*gallon* is American or British): two quantities are the same where any reading agrees. The base
units are metre, kilogram, litre, second, byte, square metre, metre a second, kelvin; money has its
own unit each. Months and years are counted in months, apart from seconds, since neither is a
fixed number of days.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from closecall.metrics.guards.words import fold


class Unit(NamedTuple):
    """One reading of a unit: ``base = written * factor + offset``."""

    dimension: str
    factor: float
    offset: float = 0.0


DAY = 86400.0
MONTH_DAYS = (28.0, 31.0)
"""A month has this many days at least and at most."""

# Names are in lower case and match in any case; plurals in -s are found without being listed.
_NAMES: dict[str, list[tuple[str, float]]] = {
    "length": [
        ("millimeter millimetre millimetern millimètre milímetro mm", 1e-3),
        ("centimeter centimetre zentimeter zentimetern centimètre centímetro cm", 1e-2),
        ("meter metre metern mètre metro", 1.0),
        ("kilometer kilometre kilometern kilomètre kilómetro km kms", 1e3),
        ("micrometer micrometre mikrometer micron μm um", 1e-6),
        ("nanometer nanometre nm", 1e-9),
        ("inch inches zoll pouce pulgada", 0.0254),
        ("foot feet ft fuß pied pie", 0.3048),
        ("yard yd yds", 0.9144),
        ("mile mi meile meilen milla", 1609.344),
        ("light-year lightyear lichtjahr lichtjahre lichtjahren", 9.4607e15),
    ],
    "mass": [
        ("microgram microgramme mikrogramm mcg μg", 1e-9),
        ("milligram milligramme milligramm miligramo mg", 1e-6),
        ("gram gramme gramm gramo gr", 1e-3),
        ("kilogram kilogramme kilogramm kilogramo kilo kg kgs", 1.0),
        ("tonne tonnes tonnen tonelada", 1e3),
        ("pound lb lbs pfund livre libra", 0.45359237),
        ("ounce oz unze unzen once onza", 0.028349523),
        ("stone", 6.35029318),
    ],
    "volume": [
        ("milliliter millilitre mililitro ml", 1e-3),
        ("centiliter centilitre zentiliter cl", 1e-2),
        ("deciliter decilitre deziliter dl", 0.1),
        ("liter litre litern litro", 1.0),
        ("pint", 0.473176), ("quart", 0.946353),
        ("cup", 0.236588), ("tablespoon tbsp", 0.0147868), ("teaspoon tsp", 0.00492892),
        ("fluid-ounce", 0.0295735),
        ("barrel", 158.987),
    ],
    "time": [
        ("millisecond millisekunde millisekunden milliseconde milisegundo ms msec", 1e-3),
        ("second sec secs sekunde sekunden seconde segundo sek", 1.0),
        ("minute min mins minuten minuto", 60.0),
        ("hour hr hrs stunde stunden std heure hora", 3600.0),
        ("day tag tage tagen jour journée día", DAY),
        ("week wk wks woche wochen semaine semana", 7 * DAY),
        ("fortnight quinzaine quincena", 14 * DAY),
    ],
    "months": [
        ("month monat monate monaten mois mes meses", 1.0),
        ("quarter-year", 3.0),
        ("year yr yrs jahr jahre jahren année ans an año", 12.0),
        ("decade jahrzehnt jahrzehnte jahrzehnten décennie década", 120.0),
        ("century centuries jahrhundert jahrhunderte siècle siglo", 1200.0),
    ],
    "data": [
        ("bit", 0.125), ("byte octet", 1.0),
        ("kilobyte kilooctet ko", 1e3), ("megabyte megaoctet mo", 1e6),
        ("gigabyte gigaoctet gigas gig", 1e9), ("terabyte", 1e12), ("petabyte", 1e15),
        ("kib kibibyte", 1024.0), ("mib mebibyte", 1024.0**2), ("gib gibibyte", 1024.0**3),
        ("tib tebibyte", 1024.0**4),
        ("kilobit kbit", 125.0), ("megabit mbit", 125e3), ("gigabit gbit", 125e6),
    ],
    "area": [
        ("acre", 4046.8564), ("hectare hektar hectárea ha", 1e4),
        ("km² km2 sqkm", 1e6), ("m² m2 qm", 1.0), ("cm² cm2", 1e-4), ("sqft ft² ft2", 0.09290304),
        ("sqmi mi²", 2589988.1),
    ],
    "speed": [
        ("km/h kmh kph", 1 / 3.6), ("mph", 0.44704), ("m/s", 1.0),
        ("knot kt knoten nœud nudo", 0.514444),
    ],
    "percent": [("% percent pct prozent percentage ٪", 1.0)],
}  # fmt: skip

# The case of these matters.
_SYMBOLS: dict[str, tuple[Unit, ...]] = {
    "m": (Unit("length", 1.0),),
    "g": (Unit("mass", 1e-3),),
    "t": (Unit("mass", 1e3),),
    "l": (Unit("volume", 1.0),),
    "L": (Unit("volume", 1.0),),
    "h": (Unit("time", 3600.0),),
    "s": (Unit("time", 1.0),),
    "C": (Unit("temperature", 1.0, 273.15),),
    "°C": (Unit("temperature", 1.0, 273.15),),
    "F": (Unit("temperature", 5 / 9, 459.67 * 5 / 9),),
    "°F": (Unit("temperature", 5 / 9, 459.67 * 5 / 9),),
    "K": (Unit("temperature", 1.0),),
    "B": (Unit("data", 1.0),),
    "b": (Unit("data", 0.125),),
    "in": (Unit("length", 0.0254),),
    "m³": (Unit("volume", 1e3),),
    "m3": (Unit("volume", 1e3),),
}
for _prefix, _power in (("k", 1), ("K", 1), ("M", 2), ("G", 3), ("T", 4), ("P", 5)):
    _SYMBOLS[_prefix + "B"] = (
        Unit("data", 1000.0**_power),
        Unit("data", 1024.0**_power),
    )
    _SYMBOLS[_prefix + "b"] = (Unit("data", 1000.0**_power / 8), Unit("data", 1000.0**_power))

GLUED_ONLY = frozenset(("in", "K", "B", "b", "C", "F", "t"))
"""Symbols that count only where they touch the number: *5in*, not *5 in*."""

_NO_UNIT = frozenset({"stones"})
"""Plurals of a unit that are things: twelve stone are a mass, two stones are not."""

_CELSIUS, _FAHRENHEIT = _SYMBOLS["C"][0], _SYMBOLS["F"][0]

# Words with more than one reading.
_SEVERAL: dict[str, tuple[Unit, ...]] = {
    "gb": (Unit("data", 1e9), Unit("data", 1024.0**3)),
    "mb": (Unit("data", 1e6), Unit("data", 1024.0**2)),
    "kb": (Unit("data", 1e3), Unit("data", 1024.0)),
    "tb": (Unit("data", 1e12), Unit("data", 1024.0**4)),
    "gallon": (Unit("volume", 3.785412), Unit("volume", 4.546092)),
    "ton": (Unit("mass", 907.18474), Unit("mass", 1e3), Unit("mass", 1016.047)),
    "pound": (Unit("mass", 0.45359237), Unit("GBP", 1.0)),
    "degree": (_CELSIUS, _FAHRENHEIT, Unit("angle", 1.0)),
    "grad": (_CELSIUS, Unit("angle", 1.0)),
    "degré": (_CELSIUS, Unit("angle", 1.0)),
    "grado": (_CELSIUS, Unit("angle", 1.0)),
    "°": (_CELSIUS, _FAHRENHEIT, Unit("angle", 1.0)),
    "celsius": (_CELSIUS,),
    "fahrenheit": (_FAHRENHEIT,),
    "kelvin": (Unit("temperature", 1.0),),
    "livre": (Unit("mass", 0.5), Unit("mass", 0.45359237), Unit("GBP", 1.0)),
    "pfund": (Unit("mass", 0.5), Unit("mass", 0.45359237), Unit("GBP", 1.0)),
    "quarter": (Unit("USD", 0.25), Unit("months", 3.0)),
}

_MONEY: dict[str, tuple[str, float]] = {
    "$": ("USD", 1.0), "us$": ("USD", 1.0), "usd": ("USD", 1.0), "dollar": ("USD", 1.0),
    "buck": ("USD", 1.0), "dólar": ("USD", 1.0), "dólares": ("USD", 1.0),
    "€": ("EUR", 1.0), "eur": ("EUR", 1.0), "euro": ("EUR", 1.0),
    "£": ("GBP", 1.0), "gbp": ("GBP", 1.0), "quid": ("GBP", 1.0),
    "¥": ("JPY", 1.0), "jpy": ("JPY", 1.0), "yen": ("JPY", 1.0),
    "₹": ("INR", 1.0), "inr": ("INR", 1.0), "rupee": ("INR", 1.0), "rs": ("INR", 1.0),
    "chf": ("CHF", 1.0), "franken": ("CHF", 1.0), "cny": ("CNY", 1.0), "rmb": ("CNY", 1.0),
    "yuan": ("CNY", 1.0), "₽": ("RUB", 1.0), "rub": ("RUB", 1.0), "rouble": ("RUB", 1.0),
    "ruble": ("RUB", 1.0), "₩": ("KRW", 1.0), "krw": ("KRW", 1.0), "won": ("KRW", 1.0),
    "cad": ("CAD", 1.0), "aud": ("AUD", 1.0), "penny": ("GBP", 0.01), "pence": ("GBP", 0.01),
    "peso": ("MXN", 1.0), "mxn": ("MXN", 1.0), "real": ("BRL", 1.0), "brl": ("BRL", 1.0),
    "reais": ("BRL", 1.0), "krona": ("SEK", 1.0), "sek": ("SEK", 1.0), "zł": ("PLN", 1.0),
    "pln": ("PLN", 1.0),
}  # fmt: skip
CURRENCY_SIGNS = "$€£¥₹₽₩"

_CENT = (Unit("USD", 0.01), Unit("EUR", 0.01))
_SQUARED = frozenset({"square", "sq", "quadrat", "carré", "carrés", "cuadrados", "cuadrado"})
_CUBED = frozenset({"cubic", "cu", "kubik"})


@cache
def _by_name() -> dict[str, tuple[Unit, ...]]:
    table: dict[str, tuple[Unit, ...]] = {}
    for dimension, rows in _NAMES.items():
        for names, factor in rows:
            for name in names.split():
                table[fold(name)] = (Unit(dimension, factor),)
    for name, (code, factor) in _MONEY.items():
        table[fold(name)] = (Unit(code, factor),)
    table["cent"] = table["centime"] = table["centimo"] = table["centavo"] = _CENT
    table |= {fold(name): units for name, units in _SEVERAL.items()}
    return table


def units_of(word: str, *, glued: bool = False) -> tuple[Unit, ...]:
    """Return the readings of a word or sign after a number; none where it is no unit.

    ``glued`` says that it touches the number, as in ``5km``.

    >>> units_of("Kilometres")[0].factor, units_of("GB")[0].dimension, units_of("apples")
    (1000.0, 'data', ())
    """
    symbol = _SYMBOLS.get(word)
    if symbol is not None and (glued or word not in GLUED_ONLY):
        return symbol
    name = fold(word)
    table = _by_name()
    if (name in GLUED_ONLY and not glued) or name in _NO_UNIT:
        return ()
    return table.get(name) or table.get(name.removesuffix("s")) or ()


def powered(word: str, units: tuple[Unit, ...]) -> tuple[Unit, ...]:
    """Return lengths as areas or volumes where the word before says *square* or *cubic*."""
    name = fold(word)
    if name in _SQUARED:
        return tuple(Unit("area", u.factor**2) for u in units if u.dimension == "length")
    if name in _CUBED:
        # Litres: a cubic metre holds a thousand.
        return tuple(Unit("volume", u.factor**3 * 1e3) for u in units if u.dimension == "length")
    return units


def is_money(unit: Unit) -> bool:
    """Return whether a unit is a currency."""
    return unit.dimension.isupper()

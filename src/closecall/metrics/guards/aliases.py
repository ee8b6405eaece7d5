"""Names of one thing: countries with their adjectives and short forms, and first names."""

from __future__ import annotations

from functools import cache

# Each line is one place; every form of it means the same to a reader. Two words are joined by _.
_PLACES = """
usa us america american americans united_states u.s
uk britain british united_kingdom great_britain briton brits
england english englishman
scotland scottish scots scot
wales welsh
ireland irish
france french frenchman
germany german germans deutschland deutsch
spain spanish spaniard spaniards espana
italy italian italians italia
portugal portuguese
netherlands dutch holland
belgium belgian
switzerland swiss schweiz suisse
austria austrian
sweden swedish swede
norway norwegian
denmark danish dane
finland finnish finn
iceland icelandic
poland polish pole
czech czechia czechoslovakia bohemia
slovakia slovak
hungary hungarian
romania romanian
bulgaria bulgarian
greece greek greeks
turkey turkish turk turks turkiye
russia russian russians
soviet ussr soviet_union
ukraine ukrainian
serbia serbian serb
croatia croatian croat
china chinese prc
japan japanese nippon
korea korean koreans
india indian indians
pakistan pakistani
bangladesh bangladeshi
thailand thai siam
vietnam vietnamese
indonesia indonesian
malaysia malaysian
philippines philippine filipino
australia australian
zealand zealander kiwi
canada canadian canadians
mexico mexican mexicans
brazil brazilian
argentina argentine argentinian
chile chilean
peru peruvian
colombia colombian
cuba cuban
egypt egyptian egyptians
israel israeli
iran iranian persia persian
iraq iraqi
syria syrian
saudi arabia arabian
nigeria nigerian
kenya kenyan
ethiopia ethiopian
morocco moroccan
algeria algerian
europe european europeans eu
asia asian
africa african
nyc new_york
la los_angeles
dc washington
"""

_FIRST_NAMES = """
william bill will billy
robert bob rob bobby
richard dick rick rich
james jim jimmy jamie
john jack johnny jon
edward ed ted eddie ned
thomas tom tommy
michael mike mick
charles charlie chuck
joseph joe
daniel dan danny
david dave
samuel sam
benjamin ben
anthony tony
christopher chris
nicholas nick
alexander alex sandy
andrew andy drew
matthew matt
steven stephen steve
elizabeth liz beth betty eliza
katherine catherine kathryn kate kathy cathy katie
margaret maggie meg peggy
patricia pat patty
theodore ted teddy
frederick fred freddie
lawrence larry
gregory greg
kenneth ken
ronald ron
donald don
timothy tim
philip phil phillip
mohammed muhammad mohamed mohammad
"""


@cache
def _table() -> dict[str, str]:
    table: dict[str, str] = {}
    for lines in (_PLACES, _FIRST_NAMES):
        for line in lines.split("\n"):
            for form in line.split():
                table.setdefault(form.replace("_", " "), line.split()[0])
    return table


def canonical(name: str) -> str:
    """Return one name for all forms of a place or first name; any other as it is.

    ``name`` is folded, one word or two.

    >>> canonical("french"), canonical("united kingdom"), canonical("lyon")
    ('france', 'uk', 'lyon')
    """
    return _table().get(name, name)

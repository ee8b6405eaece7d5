"""Texts of every shape a person may meet: fixed, so that their vectors can be kept."""

import random

HAND = [
    "",
    " ",
    "\n\t ",
    ".",
    "a",
    "A",
    "I",
    "7",
    "hello",
    "HELLO",
    "Hello, world!",
    "The parcel left our depot on Monday.",
    "THE PARCEL LEFT OUR DEPOT ON MONDAY.",
    "the parcel left our depot on monday",
    "Your refund of 24.90 EUR was sent today; banks take 3-5 working days.",
    "No, the warranty does not cover water damage.",
    "Yes, the warranty covers water damage.",
    "Unfortunately I can't help with that.",
    "What's the difference between a debit and a credit note?",
    "e-mail us at help@example.org or call +49 30 1234567",
    "https://example.org/docs/v2/install?os=linux&arch=x86_64#step-3",
    "C:\\Users\\ada\\AppData\\Local\\Temp\\log.txt",
    "/usr/local/bin/python3.11 -m pip install --no-deps package==1.2.3",
    "def area(r: float) -> float:\n    return 3.14159 * r ** 2\n",
    "SELECT name, count(*) FROM orders WHERE total >= 10 GROUP BY name;",
    '{"id": 17, "tags": ["new", "paid"], "price": null}',
    "<p class='note'>Closed on <b>Sunday</b> &amp; holidays</p>",
    "x = (a + b) / (c - d) ^ 2 != 0",
    "E = mc²; H₂O; 10⁻³; ½ cup; 25 °C; § 5; € 30",
    "😀",
    "😀😃😄",
    "Great service 👍👍 would buy again ❤️",
    "family: 👨‍👩‍👧‍👦, flag: 🇩🇪, skin tone: 👋🏽",
    "你好",
    "今天天气很好，我们去公园散步吧。",
    "東京は日本の首都です。",
    "カタカナとひらがな、漢字。",
    "서울은 대한민국의 수도입니다.",
    "Größe, Straße, Übermut, façade, naïve, coöperate",
    "El niño comió piñas en España.",
    "Dvořák, Łódź, Čapek, Ångström, Þór, Øresund",
    "cafe\u0301 re\u0301sume\u0301 nai\u0308ve",
    "A\u030angstro\u0308m",
    "Z\u0351\u036b\u0343a\u0321\u0321l\u0348g\u0489o\u031b",
    "Привет, как дела?",
    "Столица Франции — Париж.",
    "Καλημέρα κόσμε",
    "مرحبا بالعالم",
    "عاصمة مصر هي القاهرة.",
    "שלום עולם",
    "\u202bright to left\u202c mixed \u200fwith\u200e marks",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "İstanbul'da hava nasıl? IĞDIR",
    "ﬁne ﬂow oﬃce",
    "ＦＵＬＬ　ｗｉｄｔｈ　１２３",
    "zero\u200bwidth\u200cspaces\ufeffhere",
    "soft\u00adhyphen non\u00a0breaking thin\u2009space",
    "bell\x07 null\x00 escape\x1b[31m delete\x7f",
    "replacement \ufffd character",
    "line one\nline two\n\nline four",
    "tab\tseparated\tvalues",
    "“Curly quotes” — and dashes… ‘single’",
    "!!!???...;;;:::",
    "----------------------------------------",
    "[CLS] [SEP] [MASK] [PAD] [UNK]",
    "un ##believ ##able",
    "supercalifragilisticexpialidocious",
    "a" * 99,
    "a" * 101,
    "ab" * 300,
    "1234567890" * 8,
    "3.14159265358979323846264338327950288",
    "2024-02-29T23:59:60Z",
    "not not not not good",
    "buffalo buffalo buffalo buffalo buffalo",
    "the " * 300,
    "token " * 254,
    "token " * 255,
    "你" * 400,
    "😀 " * 260,
]

LIST = """
account address agree answer apple arrive autumn bank battery before bicycle bill bottle bridge
bring cable cancel candle castle change charge city clear client cloud coffee cold collect colour
contract copper corner cost country credit customer damage date deliver deposit desk discount
doctor door double early east engine evening exchange expire fast fee field file fish follow
forest free garden glass green guest harbour heavy holiday hotel hour invoice island journey june
kitchen ladder lamp late letter library light limit local lost machine market member message
metre minute mirror money monday mountain museum never night north notice number offer office
open orange order owner package paper parcel partner pay people phone picture plan plastic policy
post price printer problem product quick quiet rain receive red refund remove repair reply report
request return river road safe school screen season second seller send service ship shop silver
slow small snow south spring station stock stop storm street summer support surface table tax
ticket time tomorrow tool tower track train travel tree tuesday under unit update valid value
village wait wall warranty water wave week weight west white window winter wood work yellow
zürich déjà jalapeño 17 2024 3.5 1,000 50% #42 v2.1 co-operate o'clock re-send
"""


def reference_texts() -> list[str]:
    """Return 220 texts, always the same."""
    rng = random.Random(20240229)
    lengths = [*range(1, 40), *range(40, 250, 5), *range(250, 420, 20)]
    while len(HAND) + len(lengths) < 220:
        lengths.append(rng.randint(3, 60))
    made = []
    for length in lengths:
        words = rng.choices(LIST.split(), k=length)
        words[0] = rng.choice((str.title, str.upper, str.lower))(words[0])
        made.append(" ".join(words) + rng.choice((".", "?", "!", "")))
    return [*HAND, *made]

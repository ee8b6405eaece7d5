"""Made-up texts of a support desk, the same ones on every machine for the same seed."""

from __future__ import annotations

from random import Random

_OPENINGS = (
    "", "", "", "Hello,", "Good morning,", "Sorry to bother you again:", "Just checking:",
    "Following up on my last message,", "Quick question:", "As far as we can tell,",
)  # fmt: skip
_SUBJECTS = (
    "the refund for my second order", "the invoice of last month", "your card payment",
    "the replacement charger", "our shared workspace", "the two-factor code", "a damaged parcel",
    "the annual subscription", "my delivery to the pickup point", "the export of all contacts",
    "the gift voucher", "the warranty on the headphones", "your trial period", "the webhook",
    "the seat we booked for Wednesday", "the duplicate charge of 12.40 euros",
)  # fmt: skip
_VERBS = (
    "has been approved", "was sent to the wrong address", "will arrive within three days",
    "still shows as pending", "cannot be changed after the order ships", "expired on 14 March",
    "is free for orders above 50 euros", "needs to be confirmed by the account owner",
    "failed with error 4102", "was cancelled before it was charged", "takes 5-7 business days",
    "has to be requested in writing", "may be returned unopened", "was never authorised",
)  # fmt: skip
_CLAUSES = (
    "because the bank declined it twice", "once the warehouse has scanned the label",
    "unless you ask for express shipping", "so please do not place the order again",
    "and a confirmation goes to the address on file", "although the status page says otherwise",
    "if the serial number matches the receipt", "which is longer than we promised",
    "while the older plan stays active until the end of the month",
    "after the identity check in the settings menu", "even when the app is closed",
    "as described in section 6 of the terms", "without any extra fee",
)  # fmt: skip
_ENDINGS = (".", ".", ".", "?", "!", ", thanks.", ", is that right?", " (ticket #{}).")


def short(count: int, seed: int = 1) -> list[str]:
    """Return single sentences of 5 to 30 words."""
    random = Random(seed)
    return [_sentence(random, random.randint(5, 30)) for _ in range(count)]


def long(count: int, seed: int = 2) -> list[str]:
    """Return passages of several sentences, about 100 to 250 tokens each."""
    random = Random(seed)
    return [_passage(random, random.randint(80, 165)) for _ in range(count)]


def mixed(count: int, seed: int = 3) -> list[str]:
    """Return what a file of cases holds: a question, a reference and a longer answer, in turn."""
    random = Random(seed)
    texts = []
    for number in range(count):
        kind = number % 3
        if kind == 0:
            texts.append(_sentence(random, random.randint(6, 18)))
        elif kind == 1:
            texts.append(_passage(random, random.randint(15, 45)))
        else:
            texts.append(_passage(random, random.randint(30, 110)))
    return texts


def _sentence(random: Random, words: int) -> str:
    """Return one sentence of ``words`` words."""
    parts: list[str] = random.choice(_OPENINGS).split()
    parts += random.choice(_SUBJECTS).split() + random.choice(_VERBS).split()
    while len(parts) < words:
        parts += random.choice(_CLAUSES).split()
    text = " ".join(parts[:words]).rstrip(",:")
    ending = random.choice(_ENDINGS).format(random.randint(10_000, 99_999))
    return text[0].upper() + text[1:] + ending


def _passage(random: Random, words: int) -> str:
    """Return sentences of ``words`` words together."""
    sentences = []
    left = words
    while left > 0:
        size = left if left < 12 else min(left, random.randint(7, 26))
        sentences.append(_sentence(random, size))
        left -= size
    return " ".join(sentences)

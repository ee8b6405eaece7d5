"""The canaries: what they are, and that the set sees every kind of change it is there for."""

import re
import unicodedata

import pytest
from changed_embedders import REAL, bundled, record, seen

from closecall.calibration.drift.canaries import ANSWERS, BETWEEN, CANARIES, DIGEST, PAIRS, VERSION
from closecall.calibration.drift.canary_record import CHANGE_OF_PRECISION
from closecall.instrument import canonical_text
from closecall.records import Role

TEXT = {canary.name: canary.text for canary in CANARIES}
GROUP = {canary.name: canary.group for canary in CANARIES}
GROUPS = set(GROUP.values())


def test_recorded_vectors_stay_comparable():
    """Whoever changes a text, a role, a name or a pair raises the version, and this digest."""
    assert VERSION == 1
    assert DIGEST == "1575677679f81fb28b7958bd91707897b6fd61909632b0c99e83e33819d0375f"


def test_names_texts_and_pairs_are_unique_and_known():
    assert len(TEXT) == len(set(TEXT.values())) == len(CANARIES) == 34
    assert len({pair.name for pair in PAIRS}) == len(BETWEEN) == len(PAIRS)
    assert {name for pair in PAIRS for name in (pair.first, pair.second)} == set(TEXT)
    assert {name for answers in ANSWERS for name in answers[1:]} <= set(TEXT)
    assert len(ANSWERS) == 4


def test_texts_are_embedded_as_they_stand():
    assert all(canonical_text(text) == text and text.strip() for text in TEXT.values())


def test_every_role_has_a_short_text():
    """In a long one a prefix is hardly felt."""
    assert {canary.role for canary in CANARIES if len(canary.text) < 100} == set(Role)


def without_accents(text):
    parts = unicodedata.normalize("NFD", text)
    return "".join(part for part in parts if not unicodedata.combining(part))


NEAR = {
    "case": lambda one, other: one.upper() == other,
    "accents": lambda one, other: without_accents(one) == other,
    "whitespace": lambda one, other: one == other.strip(),
    "punctuation": lambda one, other: one == f"{other}.",
    "minutes": lambda one, other: numbers_changed(one, other) == 1,
    "degrees": lambda one, other: numbers_changed(one, other) == 1,
    "negation": lambda one, other: one == other.replace(" not ", " "),
    "length": lambda one, other: other.startswith(one),
}


def numbers_changed(one, other):
    assert re.sub(r"\d+", "#", one) == re.sub(r"\d+", "#", other)
    return sum(
        a != b for a, b in zip(*(re.findall(r"\d+", text) for text in (one, other)), strict=True)
    )


@pytest.mark.parametrize("name", NEAR)
def test_near_duplicates_differ_in_one_thing(name):
    pair = next(pair for pair in PAIRS if pair.name == name)
    assert TEXT[pair.first] != TEXT[pair.second]
    assert NEAR[name](TEXT[pair.first], TEXT[pair.second])


def test_lengths_in_tokens():
    tokens = bundled().embed_counted([TEXT["word"], TEXT["long"], TEXT["longer"]]).tokens
    assert tokens[0].own == 1
    assert 350 <= tokens[1].total <= 450
    assert 512 < tokens[2].total <= 600


def test_the_bundled_model_can_read_them_all():
    assert record().unmeasured == {}
    assert set(record().norms) == set(TEXT)


# --- every change is seen, and every group is needed ---------------------------------------------

ONLY = {
    "prefix of queries": {"answers"},
    "prefix of documents": {"code", "long", "plain"},
    "upper case unknown": {"case"},
    "letters with accents lost": {"accents"},
    "Chinese characters not apart": {"cjk"},
    "emoji lost": {"emoji"},
    "white space around marked": {"whitespace"},
    "digits masked": {"numbers"},
    "'not' lost": {"long", "negation"},
    "single words padded": {"word"},
    "addresses lost": {"code"},
    "cut at 256 tokens": {"long"},
    "windows of 512": {"long"},
}
"""Changes that leave most texts alone, and the groups that see them."""


def groups_that_see(change):
    check, moved = seen(change)
    lost = set(record().norms) - set(moved)
    far = {name for name, size in moved.items() if size > CHANGE_OF_PRECISION.text}
    assert check.worst in far | lost
    return {GROUP[name] for name in far | lost}


@pytest.mark.parametrize("change", REAL)
def test_every_real_change_is_seen_by_a_canary(change):
    assert groups_that_see(change)


@pytest.mark.parametrize("change", ONLY)
def test_narrow_changes_are_seen_by_the_texts_made_for_them(change):
    assert groups_that_see(change) == ONLY[change]


def test_every_group_is_needed():
    """Without any one of them a change would go unseen, or its cause unnamed."""
    alone = {next(iter(groups)) for groups in ONLY.values() if len(groups) == 1}
    assert alone == GROUPS - {"plain", "negation", "punctuation"}
    assert "plain" in groups_that_see("prefix of documents")  # no other sentence is one
    assert seen("'not' lost")[0].equalities == {"negation": True}
    assert seen("full stops dropped")[0].equalities["punctuation"] is True

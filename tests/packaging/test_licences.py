"""Every licence that comes with closecall is known and fit for it."""

import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))

import licences

ROOT = licences.ROOT


def test_everything_installed_with_the_core_is_listed_and_every_licence_is_fit():
    packages, absent = licences.installed()
    assert licences.CORE not in absent
    assert {"numpy", "onnxruntime", "tokenizers", "faiss-cpu"} <= set(packages)
    assert licences.problems() == []


def test_the_page_holds_no_licence_that_would_be_refused():
    listed = licences.listed()
    assert len(listed) > 100
    assert [name for name, licence in listed.items() if not licences.allowed(licence)] == []
    for group, requirements in licences.groups().items():
        for text in requirements:
            name = licences.canonicalize_name(licences.Requirement(text).name)
            assert name in listed, f"{name} of {group}"


@pytest.mark.parametrize(
    ("licence", "fit"),
    [
        ("MIT", True),
        ("MPL-2.0 AND MIT", True),
        ("(MIT OR GPL-3.0-only)", True),
        ("Apache-2.0 AND Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only", False),
        ("MIT AND AGPL-3.0-or-later", False),
        ("LGPL-2.1-or-later", False),
        ("Proprietary", False),
        ("", False),
    ],
)
def test_one_licence_of_a_choice_is_enough_and_all_of_a_sum_are_needed(licence, fit):
    assert licences.allowed(licence) == fit


def test_every_model_is_listed_with_the_licence_of_its_card():
    page = licences.LISTED.read_text(encoding="utf-8")
    for row in licences.models():
        assert f"| {' | '.join(row)} |" in page
    cards = list((ROOT / "models" / "known").glob("*.toml"))
    assert len(licences.models()) == len(cards) + 2
    for path in cards:
        assert tomllib.loads(path.read_text(encoding="utf-8"))["licence"]

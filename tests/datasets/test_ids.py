"""Ids of a pass: the first keeps its own, later ones are numbered, whatever is remembered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.datasets import _rows
from closecall.datasets._layout import GivenIds, Layout
from closecall.datasets._rows import Ids, shortened
from closecall.datasets._values import RENAMED, REPEATED, Notes

WANTED = st.lists(
    st.sampled_from(["a", "b", "a#2", "b#2", "a#3", "c", "x" * 256, "x" * 300, "a\n"]), max_size=60
)


def plain(wanted):
    """The rule, written down with a set of all ids."""
    taken, found = set(), []
    for one in wanted:
        name = one.replace("\n", "%0A")
        name = base = shortened(name)
        count = 1
        while name in taken:
            count += 1
            name = shortened(base, f"#{count}")
        taken.add(name)
        found.append(name)
    return found


@pytest.mark.parametrize("remembered", [0, 1, 100_000])
@given(wanted=WANTED)
def test_ids_are_those_of_a_plain_set(wanted, remembered):
    before, _rows.MOST_COUNTED = _rows.MOST_COUNTED, max(remembered, 1)
    try:
        notes, layout = Notes(), Layout()
        ids = Ids(notes, layout)
        got = [ids.own(one, number) for number, one in enumerate(wanted, 1)]
    finally:
        _rows.MOST_COUNTED = before
    assert got == plain(wanted)
    spelt = [shortened(one.replace("\n", "%0A")) for one in wanted]
    renamed = [new for old, new in zip(spelt, got, strict=True) if old != new]
    assert notes[RENAMED, ""] == len(renamed)
    again = {old for old, new in zip(spelt, got, strict=True) if old != new}
    assert notes[REPEATED, ""] == len(again)
    # A worker that reads only some rows gives the same ids.
    given_ids = GivenIds(layout.renamed)
    assert [given_ids.own(one, number) for number, one in enumerate(wanted, 1)] == got


def test_beyond_its_room_a_layout_knows_no_ids(monkeypatch):
    monkeypatch.setattr("closecall.datasets._layout.MOST_RENAMED", 3)
    layout = Layout()
    ids = Ids(Notes(), layout)
    for number in range(1, 6):
        ids.own("same", number)
    assert layout.renamed is None

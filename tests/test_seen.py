"""The compact set of marks holds what a set holds."""

from hypothesis import given
from hypothesis import strategies as st

from closecall.seen import Seen, mark_of

MARKS = st.integers(min_value=1, max_value=2**64 - 1)
# Few tables, and neighbours in them: every way a mark can be displaced.
CROWDED = st.builds(lambda table, at: table + 64 * at, st.integers(1, 3), st.integers(0, 90))


@given(st.lists(st.one_of(MARKS, CROWDED), max_size=400), st.lists(CROWDED, max_size=50))
def test_it_holds_what_a_set_holds(marks, others):
    seen, known = Seen(), set()
    for mark in marks:
        assert seen.add(mark) == (mark not in known)
        known.add(mark)
        assert len(seen) == len(known)
    for mark in (*marks, *others):
        assert (mark in seen) == (mark in known)


def test_it_takes_a_few_bytes_a_text_and_loses_none():
    seen = Seen()
    texts = [f"case-{number}" for number in range(100_000)]
    assert all(seen.add(mark_of(text)) for text in texts)
    assert not any(seen.add(mark_of(text)) for text in texts)
    assert all(mark_of(text) in seen for text in texts)
    assert mark_of("case-100000") not in seen
    assert 10 * len(texts) < seen.nbytes < 17 * len(texts)


def test_a_text_has_the_same_mark_everywhere():
    assert mark_of("a") == 0x2F42665B399EF840
    assert mark_of("\udc80") != mark_of("\ufffd")
    assert "a" not in Seen()

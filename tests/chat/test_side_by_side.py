"""Work side by side: in order, bounded, and never waited for once it is to end."""

import threading

import pytest

from closecall.chat.side_by_side import side_by_side


@pytest.mark.parametrize("in_flight", [1, 2, 7, 50])
@pytest.mark.parametrize("count", [0, 1, 20])
def test_results_come_in_order(count, in_flight):
    found = side_by_side(lambda at: at * at, count, in_flight, threading.Event())
    assert found == [at * at for at in range(count)]


def test_it_does_run_side_by_side():
    meet = threading.Barrier(3)
    side_by_side(lambda at: meet.wait(20), 3, 3, threading.Event())


@pytest.mark.parametrize("in_flight", [1, 2])
def test_an_error_ends_it_and_nothing_new_begins(in_flight):
    begun, stopped, hold = [], threading.Event(), threading.Event()
    first = threading.Event()

    def work(at):
        begun.append(at)
        if at == 0:
            first.set()
        if at == 1:
            first.wait(60)  # which was given out before, to a thread that may be slower
            raise ValueError("no")
        if in_flight > 1:
            hold.wait(60)

    with pytest.raises(ValueError, match="no"):
        side_by_side(work, 9, in_flight, stopped)
    assert stopped.is_set()
    assert sorted(begun) == [0, 1] or sorted(begun) == [0, 1, 2]
    hold.set()


def test_a_keyboard_interrupt_of_the_work_is_passed_on():
    def work(at):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, 4, 2, threading.Event())

"""Shapes of batches, batches on their way, and the thread that makes the next item."""

import threading
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.embedders.st.ahead import ahead
from closecall.embedders.st.flow import CARD, PLAIN, Flight, Flow, flow_for

FEW = Flow(few=True)


@given(st.integers(1, 512), st.integers(1, 64))
def test_a_width_holds_the_window_and_no_more_than_the_model_does(length, multiple):
    for flow in (Flow(multiple=multiple), FEW, PLAIN):
        width = flow.width(length, 512)
        assert length <= width <= 512
    width = Flow(multiple=multiple).width(length, 512)
    assert width - length < multiple
    assert width % multiple == 0 or width == 512
    assert PLAIN.width(length, 512) == length


def test_a_window_that_is_no_multiple_is_padded_to_itself():
    assert Flow(multiple=8).width(18, 20) == 20
    assert FEW.width(18, 20) == 20


@given(st.integers(1, 8192), st.data())
def test_a_height_holds_the_rows_within_the_budget(tokens, data):
    width = data.draw(st.sampled_from([16, 32, 64, 128, 256, 512]))
    most = max(1, tokens // width)
    rows = data.draw(st.integers(1, most))
    assert rows <= FEW.height(rows, width, tokens) <= most
    assert CARD.height(rows, width, tokens) == rows


def test_few_shapes_are_few():
    shapes = set()
    for length in range(1, 257):
        width = FEW.width(length, 256)
        most = 32_768 // width
        shapes |= {(width, FEW.height(rows, width, 32_768)) for rows in range(1, most + 1)}
    assert len(shapes) <= 30


def test_only_cards_are_fed_ahead_of_time():
    assert flow_for("cuda") == flow_for("cuda:1") == CARD
    assert flow_for("cpu") == flow_for("mps") == PLAIN


def test_batches_land_in_order_and_no_more_than_so_many_are_on_their_way():
    landed = []
    flight = Flight(2)
    for number in range(5):
        flight.add(lambda number=number: landed.append(number))
        assert len(flight) <= 2
    assert landed == [0, 1, 2]
    flight.land(4)
    assert landed == [0, 1, 2, 3]
    flight.land(4)
    flight.drop()
    flight.land(flight.begun)
    assert landed == [0, 1, 2, 3]


def threads():
    return [one for one in threading.enumerate() if one.name == "closecall-ahead"]


def test_items_made_ahead_come_in_order_from_another_thread():
    makers = set()

    def items():
        for number in range(50):
            makers.add(threading.current_thread().name)
            yield number

    assert list(ahead(items())) == list(range(50))
    assert makers == {"closecall-ahead"}
    assert not threads()


def test_no_more_is_made_than_may_wait():
    made = []
    room = threading.Semaphore(0)

    def items():
        for number in range(9):
            made.append(number)
            room.release()
            yield number

    found = ahead(items(), 1)
    assert next(found) == 0
    for _ in range(3):  # one used, one waiting, one in hand
        room.acquire()
    assert made == [0, 1, 2]
    assert list(found) == list(range(1, 9))


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        raise KeyError("red")

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(KeyError, match="red"):
        next(found)
    assert not threads()


@pytest.mark.parametrize("used", [0, 1, 3])
def test_the_thread_ends_when_no_more_is_wanted(used):
    def endless():
        number = 0
        while True:
            yield number
            number += 1

    found = ahead(endless())
    assert list(islice(found, used)) == list(range(used))
    found.close()
    assert not threads()

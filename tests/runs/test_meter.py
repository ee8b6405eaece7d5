"""The meter counts by role and model, and closes once a budget is spent, also side by side."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from closecall.embedders.metering import Size, Used
from closecall.errors import BudgetError, ConfigurationError, MissingPriceError
from closecall.runs.budget import read_budget
from closecall.runs.meter import Meter
from closecall.runs.prices import read_prices
from closecall.runs.spending import Spent

PRICES = read_prices({"m": {"input": 1, "output": 10, "currency": "USD"}})
OPEN = threading.Event()


def test_roles_and_models_are_told_apart():
    meter = Meter()
    meter.gate("subject", "openai", "m").spend(Used(10, 5), Size())
    meter.gate("judge", "openai", "m").spend(Used(100, 20), Size())
    meter.gate("judge", "openai", "m").spend(Used(None, 7), Size(40, 9))
    meter.gate("judge", "azure", "m").replayed(Used(8, 8))
    subject, azure, judge = meter.spending.spent
    assert (subject.prompt_tokens, subject.completion_tokens, subject.requests) == (10, 5, 1)
    assert (judge.prompt_tokens, judge.completion_tokens, judge.requests) == (100, 27, 2)
    assert judge.unreported == 1
    assert (azure.requests, azure.prompt_tokens, azure.replayed) == (0, 0, 1)
    assert azure.replayed_prompt_tokens == 8


def test_the_gate_closes_once_the_budget_is_spent():
    meter = Meter(read_budget(100))
    gate = meter.gate("judge", "openai", "m")
    for _ in range(2):
        assert gate.enter(Size(1, 1), OPEN)
        gate.spend(Used(40, 10), Size(1, 1))
        gate.leave(Size(1, 1))
    assert not gate.enter(Size(1, 1), OPEN)
    assert meter.refused == 1
    with pytest.raises(BudgetError):
        meter.require_left()


def test_what_is_not_reported_counts_against_the_budget_as_it_was_guessed():
    meter = Meter(read_budget(100))
    gate = meter.gate("judge", "openai", "m")
    assert gate.enter(Size(60, 40), OPEN)
    gate.spend(Used(), Size(60, 40))
    gate.leave(Size(60, 40))
    assert not gate.enter(Size(1, 1), OPEN)
    assert meter.spending.tokens == 0, "and is no token reported"


def test_requests_side_by_side_exceed_the_budget_by_one_at_most():
    meter = Meter(read_budget(1000))
    gate = meter.gate("judge", "openai", "m")
    size = Size(50, 50)

    def ask(_):
        if not gate.enter(size, OPEN):
            return False
        gate.spend(Used(50, 50), size)
        gate.leave(size)
        return True

    with ThreadPoolExecutor(8) as pool:
        sent = sum(pool.map(ask, range(64)))
    assert sent == 10
    assert meter.spending.tokens == 1000
    assert meter.refused == 54


def test_a_request_waits_for_what_is_under_way_instead_of_being_refused():
    meter = Meter(read_budget(100))
    gate = meter.gate("judge", "openai", "m")
    assert gate.enter(Size(10, 80), OPEN)
    let = []
    waiting = threading.Thread(target=lambda: let.append(gate.enter(Size(10, 80), OPEN)))
    waiting.start()
    gate.spend(Used(10, 2), Size(10, 80))  # far less than it might have taken
    gate.leave(Size(10, 80))
    waiting.join(60)
    assert let == [True]


def test_a_wait_ends_when_the_work_is_stopped():
    meter = Meter(read_budget(100))
    gate = meter.gate("judge", "openai", "m")
    assert gate.enter(Size(10, 80), OPEN)
    stopped = threading.Event()
    stopped.set()
    assert not gate.enter(Size(10, 80), stopped)
    assert meter.refused == 0


def test_money_is_counted_by_the_prices():
    meter = Meter(read_budget("0.0021 USD"), PRICES)
    gate = meter.gate("judge", "openai", "m")
    for _ in range(2):  # each costs 0.0011 USD
        assert gate.enter(Size(100, 100), OPEN)
        gate.spend(Used(100, 100), Size(100, 100))
        gate.leave(Size(100, 100))
    assert not gate.enter(Size(100, 100), OPEN)
    assert str(meter.spending.total.amount) == "0.0022"


def test_money_needs_every_price_and_one_currency():
    meter = Meter(read_budget("1 USD"), PRICES)
    with pytest.raises(MissingPriceError, match=r'no price for n; add \[prices."n"\]'):
        meter.require_price("judge", "openai", "n")
    input_only = read_prices({"m": {"input": 1, "currency": "USD"}})
    with pytest.raises(MissingPriceError, match="writes; add output"):
        Meter(read_budget("1 USD"), input_only).require_price("judge", "openai", "m")
    Meter(read_budget("1 USD"), input_only).require_price("embedder", "openai", "m")
    with pytest.raises(ConfigurationError, match="in EUR and the prices are in USD"):
        Meter(read_budget("1 EUR"), PRICES)


def test_what_was_spent_before_counts():
    before = Spent(role="judge", provider="openai", model="m", requests=3, prompt_tokens=90,
                   completion_tokens=20)  # fmt: skip
    with pytest.raises(BudgetError, match="110 tokens"):
        Meter(read_budget(110), before=[before]).require_left()
    meter = Meter(read_budget(111), before=[before])
    meter.require_left()
    meter.gate("judge", "openai", "m").spend(Used(1, 0), Size())
    assert meter.spending.spent[0].prompt_tokens == 91
    assert meter.spending.spent[0].requests == 4

"""Prices and budgets: exact, from a project's own table, and refused with the key that is wrong."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.errors import ConfigurationError, UsageError
from closecall.runs.budget import Budget, read_budget
from closecall.runs.price_file import find_prices
from closecall.runs.prices import Price, Prices, cost, read_prices, shown, total
from closecall.runs.spending import Spending, Spent

TABLE = """\
[prices."gpt-4o-mini"]
input = 0.15
output = 0.60
currency = "USD"

[prices."azure:gpt-4o-mini"]
input = 0.165
output = 0.66
currency = "USD"
"""


@pytest.fixture
def write(tmp_path):
    (tmp_path / ".git").mkdir()

    def written(text, name="closecall.toml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return written


def test_nothing_is_built_in(write):
    assert find_prices(write("[other]\na = 1\n")) == Prices()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("closecall.toml", TABLE),
        ("pyproject.toml", TABLE.replace("[prices.", "[tool.closecall.prices.")),
    ],
)
def test_the_table_of_either_file_is_read_as_it_is_spelt(write, name, text):
    found = find_prices(write(text, name))
    assert found.currency == "USD"
    assert found.of("openai", "gpt-4o-mini").output == Decimal("0.60")
    assert found.of("openai", "gpt-4o-mini").input == Decimal("0.15"), "no binary fraction of it"
    assert found.of("azure", "gpt-4o-mini").input == Decimal("0.165"), "the provider's own first"
    assert found.of("openai", "gpt-4o") is None


def test_the_nearest_file_counts_and_two_of_one_folder_are_one_too_many(write, tmp_path):
    write(TABLE)
    below = tmp_path / "suite"
    below.mkdir()
    assert find_prices(below).currency == "USD"
    (below / "closecall.toml").write_text('[prices.m]\ninput = 1\ncurrency = "EUR"\n')
    assert find_prices(below).currency == "EUR"
    (below / "pyproject.toml").write_text(
        '[tool.closecall.prices.m]\ninput = 1\ncurrency = "EUR"\n'
    )
    with pytest.raises(ConfigurationError, match="both have prices"):
        find_prices(below)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prices = 3", "expected tables such as"),
        ("[prices]\nm = 0.15", 'prices."m": expected a table'),
        ('[prices.m]\noutput = 1\ncurrency = "USD"', 'prices."m".input is missing'),
        ("[prices.m]\ninput = 1", 'prices."m".currency is missing'),
        ('[prices.m]\ninput = 1\ncurrency = "dollar"', "three capital letters"),
        ('[prices.m]\ninput = "x"\ncurrency = "USD"', 'prices."m".input must be a number from 0'),
        ('[prices.m]\ninput = true\ncurrency = "USD"', 'prices."m".input must be a number from 0'),
        ('[prices.m]\ninput = -1\ncurrency = "USD"', 'prices."m".input must be a number from 0'),
        ('[prices.m]\ninput = nan\ncurrency = "USD"', 'prices."m".input must be a number from 0'),
        ('[prices.m]\ninput = nan\ncurrency = "USD"', "a million tokens; got NaN"),
        ('[prices.m]\ninput = inf\ncurrency = "USD"', 'prices."m".input must be a number from 0'),
        ('[prices.m]\ninput = 1\noutput = 2e9\ncurrency = "USD"', 'prices."m".output must be'),
        ('[prices.m]\ninput = 1e-12\ncurrency = "USD"', "9 decimals at most"),
        ('[prices.m]\ninput = 1\nper = 2\ncurrency = "USD"', "it has input, output, currency"),
        (
            '[prices.m]\ninput = 1\ncurrency = "USD"\n[prices.n]\ninput = 1\ncurrency = "EUR"',
            'prices."n".currency: all prices must be in one currency',
        ),
        ("[prices.m\ninput = 1", "is no TOML"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(write, text, said):
    place = write(text)
    with pytest.raises(ConfigurationError) as error:
        find_prices(place)
    assert str(error.value).startswith(str(place / "closecall.toml"))
    assert said in str(error.value)


def test_prices_of_python_are_as_they_are_spelt():
    found = read_prices({"m": {"input": 0.1, "output": "0.3", "currency": "USD"}})
    assert found.of("p", "m") == Price(model="m", input=Decimal("0.1"), output=Decimal("0.3"))


@given(
    st.decimals(0, 1000, places=9), st.decimals(0, 1000, places=9),
    st.integers(0, 10**12), st.integers(0, 10**12),
)  # fmt: skip
def test_a_cost_is_exact(read, written, prompt, completion):
    found = cost(Price(model="m", input=read, output=written), prompt, completion)
    exact = (Fraction(read) * prompt + Fraction(written) * completion) / 10**6
    assert Fraction(found) == exact
    assert Fraction(total([found, found, found])) == 3 * exact


def test_amounts_are_shown_half_up_and_never_as_nothing():
    assert shown(Decimal("0.00005"), "USD") == "< 0.0001 USD"
    assert shown(Decimal("0.00025"), "USD") == "0.0003 USD"
    assert shown(Decimal("1234.5"), "USD") == "1,234.5000 USD"
    assert shown(Decimal(0), "USD") == "0.0000 USD"


@pytest.mark.parametrize(
    ("given_", "found"),
    [
        ("200000", Budget(tokens=200_000)),
        ("200_000", Budget(tokens=200_000)),
        (200_000, Budget(tokens=200_000)),
        ("1.50USD", Budget(money=Decimal("1.50"), currency="USD")),
        ("1.50 usd", Budget(money=Decimal("1.50"), currency="USD")),
        ("2 EUR", Budget(money=Decimal(2), currency="EUR")),
    ],
)
def test_budgets_are_tokens_or_money(given_, found):
    assert read_budget(given_) == found
    assert read_budget(found.spelt) == found


@pytest.mark.parametrize(
    "given_", ["", "0", "-5", "200k", "1.5", "USD", "1.50USDT", "0.00 USD", 1.5, True, "1__0", "٣"]
)
def test_other_budgets_are_refused_with_what_is_allowed(given_):
    with pytest.raises(UsageError, match=r"--budget"):
        read_budget(given_)


def line(**more):
    return Spent(role="judge", provider="openai", **more)


def test_a_model_without_a_price_leaves_the_total_unknown():
    prices = read_prices({"m": {"input": 1, "output": 2, "currency": "USD"}})
    known = line(model="m", requests=1, prompt_tokens=1_000_000, completion_tokens=500_000)
    spending = Spending(spent=(known,), prices=prices)
    assert spending.total.amount == 2
    both = Spending(spent=(known, line(model="n", requests=1, prompt_tokens=1)), prices=prices)
    assert both.total.amount is None
    assert both.total.why == 'no price for n; add [prices."n"] to closecall.toml'
    assert both.cost(known).amount == 2


def test_what_was_only_replayed_costs_nothing_and_needs_no_price():
    replayed = line(model="n", replayed=3, replayed_prompt_tokens=300)
    spending = Spending(spent=(replayed,))
    assert spending.tokens == 0
    assert spending.total.amount == 0


def test_a_cost_with_unreported_requests_is_a_lower_bound():
    prices = read_prices({"m": {"input": 1, "output": 2, "currency": "USD"}})
    spending = Spending(spent=(line(model="m", requests=2, unreported=1, prompt_tokens=5),),
                        prices=prices)  # fmt: skip
    assert spending.total.at_least
    assert "1 requests that did not report theirs" in spending.words

"""What a run spent: tokens by role and model, what came from a recording apart from it."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

import msgspec

from closecall.embedders.metering import MOST_USED
from closecall.runs.prices import EXACT, Prices, cost, shown, total

SpendingRole: TypeAlias = Literal["subject", "judge", "embedder"]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MOST_USED)]
"""Of requests, replies or tokens: a run folder may say anything, and sums have to stay exact."""

ROLES: tuple[SpendingRole, ...] = ("subject", "judge", "embedder")


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What the requests to one model in one role took, as its provider reports.

    ``requests`` were sent and answered, or got lost; those a server turned down are not among
    them. ``unreported`` of them did not say their tokens, at least in part: ``prompt_tokens`` and
    ``completion_tokens`` are without those, which are no zeros, and ``assumed_...`` is what
    a budget takes them for.

    Nothing of the following was spent. ``replayed`` replies or texts came from a recording;
    ``replayed_prompt_tokens`` and ``replayed_completion_tokens`` are what they took when they were
    recorded, without the ``replayed_unreported`` of which no recording says. ``cached`` texts had
    their vectors in the cache.
    """

    role: SpendingRole
    provider: str
    model: str
    requests: Count = 0
    unreported: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    assumed_prompt_tokens: Count = 0
    assumed_completion_tokens: Count = 0
    replayed: Count = 0
    replayed_unreported: Count = 0
    replayed_prompt_tokens: Count = 0
    replayed_completion_tokens: Count = 0
    cached: Count = 0

    @property
    def name(self) -> str:
        """What to call the model: ``model@provider``."""
        return f"{self.model}@{self.provider}"

    @property
    def anything(self) -> bool:
        """Whether there is anything to say of it."""
        return bool(self.requests or self.replayed or self.cached)

    def plus(self, **more: int) -> Spent:
        """Return it with counts added."""
        now = {name: getattr(self, name) + count for name, count in more.items()}
        return msgspec.structs.replace(self, **now)


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What something cost, or why that is not known.

    ``amount`` is exact. Where ``at_least``, requests that reported no tokens come on top of it.
    """

    amount: Decimal | None
    why: str = ""
    at_least: bool = False


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """What a whole run spent, with the prices of its models and the budget, as it was told."""

    spent: tuple[Spent, ...]
    prices: Prices = Prices()
    budget: str = ""

    @property
    def tokens(self) -> int:
        """All tokens reported of requests that were sent."""
        return sum(one.prompt_tokens + one.completion_tokens for one in self.spent)

    def cost(self, one: Spent) -> Cost:
        """Return what one line cost."""
        if not one.requests:
            return Cost(amount=Decimal(0))
        price = self.prices.of(one.provider, one.model)
        if price is None:
            return Cost(amount=None, why=no_price(one.model))
        amount = cost(price, one.prompt_tokens, one.completion_tokens)
        if amount is None:
            return Cost(amount=None, why=no_output_price(price.model))
        return Cost(amount=amount, at_least=one.unreported > 0)

    @property
    def total(self) -> Cost:
        """Return what all of it cost; None where any line is not known, as no total is guessed."""
        every = [self.cost(one) for one in self.spent]
        unknown = next((one.why for one in every if one.amount is None), "")
        if unknown:
            return Cost(amount=None, why=unknown)
        return Cost(
            amount=total([one.amount for one in every if one.amount is not None]),
            at_least=any(one.at_least for one in every),
        )

    @property
    def words(self) -> str:
        """What was spent, in a few words."""
        told = f"{self.tokens:,} tokens"
        unreported = sum(one.unreported for one in self.spent)
        if unreported:
            told += f" and {unreported:,} requests that did not report theirs"
        found = self.total
        if found.amount is not None and self.prices.currency:
            told += f", {'at least ' * found.at_least}{shown(found.amount, self.prices.currency)}"
        return told


def no_price(model: str) -> str:
    """Return what is said of a model without a price."""
    return f'no price for {model}; add [prices."{model}"] to closecall.toml'


def no_output_price(model: str) -> str:
    """Return what is said of a model with a price for what it reads alone."""
    return f'no price for what {model} writes; add output to [prices."{model}"]'


def budget_use(spending: Spending, one: Spent, *, money: bool) -> Decimal:
    """Return how much of a budget one line has used, what was not reported as it is assumed."""
    prompt = one.prompt_tokens + one.assumed_prompt_tokens
    completion = one.completion_tokens + one.assumed_completion_tokens
    if not money:
        return Decimal(prompt + completion)
    price = spending.prices.of(one.provider, one.model)
    found = None if price is None else cost(price, prompt, completion)
    return Decimal(0) if found is None else EXACT.plus(found)

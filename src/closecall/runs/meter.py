"""Counts what a run spends while it goes on, and closes the door once its budget is spent.

A request is let through while less than the budget is spent. Others may be under way at that
moment, so what those take at most, roughly, is held back: near the end requests go out one after
another, and what is spent in the end exceeds the budget by about one request at most.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from closecall.embedders.metering import Size, Used
from closecall.errors import BudgetError, ConfigurationError, MissingPriceError
from closecall.runs.budget import Budget
from closecall.runs.prices import Prices, cost, shown
from closecall.runs.spending import (
    ROLES,
    Spending,
    SpendingRole,
    Spent,
    budget_use,
    no_output_price,
    no_price,
)

if TYPE_CHECKING:
    from closecall.embedders.base import Usage

# A wait without an end cannot be interrupted on every system.
_LOOK_S = 0.2


class Meter:
    """What one run spends; safe to use from several threads.

    Parameters
    ----------
    budget
        What may be spent in all; None: anything.
    prices
        What models cost.
    before
        What was spent before, of a run that goes on.

    Raises
    ------
    ConfigurationError
        The budget is money of another currency than the prices.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        prices: Prices | None = None,
        before: Iterable[Spent] = (),
    ) -> None:
        self.budget = budget
        self.prices = prices or Prices()
        self._free = threading.Condition()
        self._spent = {_key(one): one for one in before}
        self._reserved = Decimal(0)
        self._refused = 0
        self._embedder: Spent | None = None
        self._gated = False
        self._releases: list[Callable[[], None]] = []
        self._noted = (0, 0, 0, 0)
        self._money = budget is not None and budget.money is not None
        other = budget is not None and budget.currency != self.prices.currency
        if budget is not None and self._money and self.prices.prices and other:
            raise ConfigurationError(
                f"the budget is in {budget.currency} and the prices are in "
                f"{self.prices.currency}; name both in one currency"
            )

    @property
    def refused(self) -> int:
        """Requests that were not let through."""
        return self._refused

    @property
    def spending(self) -> Spending:
        """What was spent so far, by role and model."""
        with self._free:
            lines = [one for one in self._spent.values() if one.anything]
        return Spending(
            spent=tuple(sorted(lines, key=lambda one: (ROLES.index(one.role), one.name))),
            prices=self._used_prices(lines),
            budget="" if self.budget is None else self.budget.spelt,
        )

    def gate(self, role: SpendingRole, provider: str, model: str) -> ModelGate:
        """Return what the requests to a model pass; see ``require_price`` for one that costs."""
        return ModelGate(self, Spent(role=role, provider=provider, model=model))

    def embedder(self, provider: str, model: str, *, gated: bool = True) -> ModelGate:
        """Return what the requests of the run's embedder pass.

        Not ``gated``: it only says afterwards what it used, see ``note``.
        """
        self._embedder = Spent(role="embedder", provider=provider, model=model)
        self._gated = gated
        return ModelGate(self, self._embedder)

    def require_price(self, role: SpendingRole, provider: str, model: str) -> None:
        """Refuse a model without a price where the budget is money.

        Raises
        ------
        MissingPriceError
            Its price, or that of what it writes, is missing.
        """
        if not self._money:
            return
        price = self.prices.of(provider, model)
        if price is None:
            raise MissingPriceError(f"a budget of money needs every price: {no_price(model)}")
        if role != "embedder" and price.output is None:
            raise MissingPriceError(
                f"a budget of money needs every price: {no_output_price(price.model)}"
            )

    def require_left(self) -> None:
        """Refuse to go on where all is spent already.

        Raises
        ------
        BudgetError
            What was spent before has reached the budget.
        """
        if self.budget is not None and self._total() >= self.budget.limit:
            raise BudgetError(
                f"the budget of {self.budget} was spent before: {self._words()}. Allow more with "
                "a higher budget"
            )

    def over(self, done: int, cases: int) -> BudgetError:
        """Return the error that ends a run whose budget is spent."""
        return BudgetError(
            f"the budget of {self.budget} is spent: {self._words()}. {done:,} of {cases:,} cases "
            "are measured"
        )

    def _words(self) -> str:
        """Return what was spent, and what a budget takes it for where some did not say."""
        found = self.spending
        if not any(one.unreported for one in found.spent):
            return found.words
        used = self._total()
        told = shown(used, self.prices.currency) if self._money else f"{used:,f} tokens"
        return f"{found.words}, taken for {told} in all"

    def at_end(self, release: Callable[[], None]) -> None:
        """Have something done when the run ends, as an embedder outlives the run it was in."""
        self._releases.append(release)

    def end(self) -> None:
        """Let go of what was counted; what it is used for afterwards is nobody's."""
        while self._releases:
            self._releases.pop()()

    def note(self, cached: int, usage: Usage | None) -> None:
        """Count what became of the embedder's texts since the last time.

        Parameters
        ----------
        cached
            Texts so far whose vectors were in the cache.
        usage
            What the provider reported so far; counted unless its requests passed a gate.
        """
        if self._embedder is None:
            return
        hits, replies, unreported, reported = self._noted
        now = (cached, 0, 0, 0) if usage is None or self._gated else (cached, *usage)
        self._noted = now
        self.count(
            self._embedder,
            cached=now[0] - hits,
            requests=now[1] - replies,
            unreported=now[2] - unreported,
            prompt_tokens=now[3] - reported,
        )

    def count(self, line: Spent, **more: int) -> None:
        """Add counts to the line of a role and model."""
        with self._free:
            before = self._spent.get(_key(line), line)
            self._spent[_key(line)] = before.plus(**more)

    def enter(self, line: Spent, size: Size, stopped: threading.Event) -> bool:
        """See ``Gate.enter``."""
        if self.budget is None:
            return True
        own, limit = self._worth(line, size), self.budget.limit
        with self._free:
            while not stopped.is_set():
                spent = self._total_locked()
                if spent >= limit:
                    self._refused += 1
                    return False
                if not self._reserved or spent + self._reserved + own <= limit:
                    self._reserved += own
                    return True
                self._free.wait(_LOOK_S)
        return False

    def leave(self, line: Spent, size: Size) -> None:
        """See ``Gate.leave``."""
        if self.budget is None:
            return
        with self._free:
            self._reserved -= self._worth(line, size)
            self._free.notify_all()

    def _worth(self, line: Spent, size: Size) -> Decimal:
        """Return a rough size in the budget's unit; never nothing, so that it counts as one."""
        if not self._money:
            return Decimal(max(size.prompt + size.completion, 1))
        price = self.prices.of(line.provider, line.model)
        completion = 0 if price is None or price.output is None else size.completion
        found = None if price is None else cost(price, max(size.prompt, 1), completion)
        return found or Decimal("1e-12")

    def _total(self) -> Decimal:
        with self._free:
            return self._total_locked()

    def _total_locked(self) -> Decimal:
        own = Spending(spent=(), prices=self.prices)
        lines = self._spent.values()
        return sum((budget_use(own, one, money=self._money) for one in lines), Decimal(0))

    def _used_prices(self, lines: Iterable[Spent]) -> Prices:
        """Return the prices of models that were asked, which is all a report needs."""
        used = {
            price.model: price
            for one in lines
            if (price := self.prices.of(one.provider, one.model)) is not None
        }
        return msgspec.structs.replace(
            self.prices, prices=tuple(used[name] for name in sorted(used))
        )


class ModelGate:
    """What the requests to one model in one role pass; see ``embedders.metering.Gate``."""

    def __init__(self, meter: Meter, line: Spent) -> None:
        self._meter = meter
        self._line = line

    @property
    def limited(self) -> bool:
        """Whether there is a budget."""
        return self._meter.budget is not None

    def enter(self, size: Size, stopped: threading.Event) -> bool:
        """Return whether a request may be sent; waits where others may still use up the rest."""
        return self._meter.enter(self._line, size, stopped)

    def spend(self, used: Used, size: Size) -> None:
        """Count a request that was sent."""
        self._meter.count(
            self._line,
            requests=1,
            unreported=int(None in used),
            prompt_tokens=used.prompt or 0,
            completion_tokens=used.completion or 0,
            assumed_prompt_tokens=size.prompt if used.prompt is None else 0,
            assumed_completion_tokens=size.completion if used.completion is None else 0,
        )

    def replayed(self, used: Used) -> None:
        """Count a reply or a text that came from a recording."""
        self._meter.count(
            self._line,
            replayed=1,
            replayed_unreported=int(None in used),
            replayed_prompt_tokens=used.prompt or 0,
            replayed_completion_tokens=used.completion or 0,
        )

    def leave(self, size: Size) -> None:
        """End what ``enter`` began."""
        self._meter.leave(self._line, size)


def _key(line: Spent) -> tuple[str, str, str]:
    return line.role, line.provider, line.model

"""What a run spent, as a table, as lines and as JSON: what was replayed stands apart from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from closecall.records import JSON
from closecall.report.words import plural
from closecall.runs.budget import read_budget
from closecall.runs.case_tokens import tokens_of
from closecall.runs.prices import shown
from closecall.runs.results import CaseResult
from closecall.runs.spending import Cost, Spending, Spent

HEADINGS = ("role", "model", "requests", "prompt tokens", "completion tokens", "cost")


class SpendingRow(NamedTuple):
    """One role and model; a dash where nothing is known of what was asked."""

    role: str
    model: str
    requests: str
    prompt: str
    completion: str
    cost: str


def spending_rows(spending: Spending | None) -> tuple[SpendingRow, ...]:
    """Return a row for each role and model."""
    if spending is None:
        return ()
    return tuple(
        SpendingRow(
            role=one.role,
            model=one.name,
            requests=f"{one.requests:,}",
            prompt=_tokens(one, one.prompt_tokens),
            completion="-" if one.role == "embedder" else _tokens(one, one.completion_tokens),
            cost=_cost(spending, spending.cost(one)),
        )
        for one in spending.spent
    )


def spending_notes(spending: Spending | None) -> tuple[str, ...]:
    """Return the total, what was not spent, and what is not known."""
    return () if spending is None else tuple(_notes(spending))


def _notes(spending: Spending) -> Iterator[str]:
    found, currency = spending.total, spending.prices.currency
    told = f"spent in all: {spending.tokens:,} tokens"
    if found.amount is not None and currency:
        told += f", {'at least ' * found.at_least}{shown(found.amount, currency)}"
    yield told
    if spending.budget:
        yield f"the budget is {read_budget(spending.budget)}"
    reasons = (spending.cost(one).why for one in spending.spent)
    yield from dict.fromkeys(why for why in reasons if why)
    for one in spending.spent:
        if one.unreported:
            yield (
                f"{one.role} {one.name}: {one.unreported:,} of "
                f"{plural(one.requests, 'request')} did not report all of their tokens, which "
                "come on top"
            )
        if one.replayed:
            what = "text" if one.role == "embedder" else "reply"
            yield f"{one.role} {one.name}: not spent: {_replayed(one, what)}"
        if one.cached:
            yield f"{one.role} {one.name}: not spent: {plural(one.cached, 'text')} from the cache"


def _replayed(one: Spent, what: str) -> str:
    word = {"text": "texts", "reply": "replies"}[what] if one.replayed != 1 else what
    told = f"{one.replayed:,} {word} from a recording"
    if one.replayed_unreported == one.replayed:
        return told
    tokens = f"{one.replayed_prompt_tokens:,}"
    if what == "reply":
        tokens += f" + {one.replayed_completion_tokens:,}"
    told += f", which took {tokens} tokens when recorded"
    if one.replayed_unreported:
        told += f" without {one.replayed_unreported:,} that do not say"
    return told


def _tokens(one: Spent, count: int) -> str:
    if one.requests and one.requests == one.unreported and not count:
        return "-"
    return f"{count:,}{'+' * bool(one.unreported)}"


def _cost(spending: Spending, found: Cost) -> str:
    if found.amount is None:
        return "no price"
    if not spending.prices.currency:
        return "-" if found.amount == 0 else str(found.amount)
    return f"{'at least ' * found.at_least}{shown(found.amount, spending.prices.currency)}"


def spending_json(spending: Spending | None) -> dict[str, Any] | None:
    """Return all of it with exact amounts as texts; None where nothing was asked.

    An unknown cost is null with the reason beside it.
    """
    if spending is None:
        return None
    whole = spending.total
    return {
        "tokens": spending.tokens,
        "cost": _amount(whole),
        "costIsLowerBound": whole.at_least,
        "costUnknown": whole.why or None,
        "currency": spending.prices.currency or None,
        "budget": spending.budget or None,
        "byModel": [_line(spending, one) for one in spending.spent],
    }


def _line(spending: Spending, one: Spent) -> dict[str, Any]:
    found = spending.cost(one)
    return {
        "role": one.role,
        "provider": one.provider,
        "model": one.model,
        "requests": one.requests,
        "unreported": one.unreported,
        "promptTokens": one.prompt_tokens,
        "completionTokens": one.completion_tokens,
        "cost": _amount(found),
        "costIsLowerBound": found.at_least,
        "costUnknown": found.why or None,
        "notSpent": {
            "replayed": one.replayed,
            "unreported": one.replayed_unreported,
            "promptTokens": one.replayed_prompt_tokens,
            "completionTokens": one.replayed_completion_tokens,
            "cachedTexts": one.cached,
        },
    }


def _amount(found: Cost) -> str | None:
    return None if found.amount is None else f"{found.amount:f}"


def case_tokens_json(row: CaseResult) -> list[dict[str, JSON]]:
    """Return the tokens of one case by role; ``replayed`` of the ``replies`` were not spent."""
    return [
        {
            "role": one.role,
            "model": one.model,
            "metric": one.metric or None,
            "promptTokens": one.prompt_tokens,
            "completionTokens": one.completion_tokens,
            "replies": one.replies,
            "replayed": one.replayed,
        }
        for one in tokens_of(row)
    ]

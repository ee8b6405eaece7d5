"""Whether two replies to one request say the same, so that the first may stand."""

from __future__ import annotations

from closecall.cassettes.entries import Kind
from closecall.cassettes.vectors import same_vector
from closecall.records import JSON

_PASSING = frozenset({"latency_ms", "tool_calls", "usage"})


def same_reply(kind: Kind, before: dict[str, JSON], now: dict[str, JSON]) -> bool:
    """Return whether two recorded replies differ in nothing but what never comes out twice.

    Of vectors that is the noise of a provider's last digits; of chat replies and answers the
    latency; of a chat reply also the ids of its calls.
    """
    if kind == "embedding":
        return _same_vectors(before, now)
    if kind == "chat":
        return _said(before) == _said(now)
    return bool(before.get("answer") == now.get("answer"))


def _same_vectors(before: dict[str, JSON], now: dict[str, JSON]) -> bool:
    one, other = before.get("vector"), now.get("vector")
    if not isinstance(one, str) or not isinstance(other, str):
        return before == now
    return before.get("tokens") == now.get("tokens") and same_vector(one, other)


def _said(reply: dict[str, JSON]) -> dict[str, JSON]:
    calls = [
        {name: item for name, item in call.items() if name != "id"}
        for call in reply.get("tool_calls", ())
    ]
    rest = {name: item for name, item in reply.items() if name not in _PASSING}
    return {**rest, "calls": calls, "usage": list(reply.get("usage", ()))}

"""Which texts go into one request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from closecall.embedders.remote.sizes import least_tokens, most_tokens

LONG = 150
"""Words from which a text has a request of its own where a server may cut it silently: what it
reports then is of this text alone. The smallest windows in use hold 256 tokens."""


def batches(
    texts: Iterable[str],
    max_texts: Callable[[], int],
    max_tokens: int,
    *,
    alone: bool = False,
) -> Iterator[list[str]]:
    """Yield the texts in requests, in the order given, each when it is asked for.

    Parameters
    ----------
    texts
        What to send.
    max_texts, max_tokens
        Most of a request, the first asked anew for each, as it may turn out smaller on the way;
        tokens are counted from above, and a text over the limit goes by itself.
    alone
        Whether long texts go by themselves.
    """
    gathered: list[str] = []
    total = 0
    for text in texts:
        if alone and least_tokens(text) > LONG:
            yield [text]
            continue
        size = most_tokens(text)
        if gathered and (len(gathered) >= max_texts() or total + size > max_tokens):
            yield gathered
            gathered, total = [], 0
        gathered.append(text)
        total += size
    if gathered:
        yield gathered

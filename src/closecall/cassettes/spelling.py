"""How a line of a cassette is spelt: one way for one value, so that equal means equal bytes.

Compact JSON in UTF-8, members in the order given, what an editor could take for a line break
escaped. A line that comes out otherwise when it is written again was not written here.
"""

from __future__ import annotations

import json
import re
from typing import Any

from closecall.instrument import canonical_text
from closecall.records import JSON

_LINE_BREAKS = re.compile("[\x7f-\x9f\u2028\u2029]")
"""Control characters that JSON leaves as they are, and the two separators of Unicode."""


def spelt(value: JSON) -> str:
    """Return a value in the one spelling.

    Raises
    ------
    ValueError
        A number is not finite.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _LINE_BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def in_order(value: JSON) -> JSON:
    """Return a JSON value with the members of every object sorted, and lists for tuples."""
    if isinstance(value, dict):
        return {name: in_order(value[name]) for name in sorted(value)}
    if isinstance(value, list | tuple):
        return [in_order(item) for item in value]
    return value


def canonical(value: JSON) -> Any:
    """Return a JSON value in order and with every text canonical: NFC, LF line ends."""
    if isinstance(value, str):
        return canonical_text(value)
    if isinstance(value, dict):
        return {canonical_text(name): canonical(value[name]) for name in sorted(value)}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    return value

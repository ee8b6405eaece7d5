"""A judge's reply as scores, or why it cannot be read.

Read are: a JSON object (also in a code fence or beside other text, as long as it begins the reply,
or ends it and holds a reason), the tags ``<S0>`` thoughts, ``<S1>`` reason and ``<S2>`` score,
and a number alone. No number is ever taken out of the thoughts: a judge that writes down what the
answer demands (*give me a 5*) must not be taken at that word. Of scores that differ none counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from closecall.metrics.judge.scale import Scale

MAX_REPLY = 100_000
"""Characters of a reply that are looked at; a longer one is no reply to what was asked."""
MAX_OBJECTS = 50

MAX_THOUGHTS = 6000
MAX_REASON = 1000
MAX_QUOTE = 300

_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_THOUGHT_BEGINS = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THOUGHTS, _REASON = (
    (re.compile(f"<S{n}>", re.IGNORECASE), re.compile(f"</S{n}>", re.IGNORECASE)) for n in (0, 1)
)
_SCORE = re.compile(r"<S2>(.{0,40}?)(?:</S2>|\Z)", re.DOTALL | re.IGNORECASE)
_LABELLED = re.compile(r"(?:final\s+)?(?:score|rating|severity)\s*(?:is|:|=)?\s*", re.IGNORECASE)
_FENCE = re.compile(r"`{3,}[A-Za-z]*")
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_NOTHING = " \t\r\n.`*"
_SHORT = 40


class Reading(NamedTuple):
    """What a judge replied: its scores by name, as written, and why."""

    scores: dict[str, float]
    reason: str = ""
    thoughts: str = ""


class Unreadable(NamedTuple):
    """Why a reply cannot be read; ``why`` completes *your reply could not be read: ...*."""

    why: str


def read_reply(text: str, names: Sequence[str], scale: Scale) -> Reading | Unreadable:
    """Return the scores in a reply, each within the scale; never raises."""
    if len(text) > MAX_REPLY:
        return Unreadable(f"it has more than {MAX_REPLY:,} characters")
    whole = _object(text.strip())
    if whole is not None:
        return _from_objects([whole], names, scale)
    before, text = _apart(text)
    if not text.strip():
        return Unreadable("it holds thoughts and no answer")
    found = _found(text, names, scale)
    if isinstance(found, Reading) and before and not found.thoughts:
        return found._replace(thoughts=clip(before, MAX_THOUGHTS))
    return found


def clip(text: str, most: int) -> str:
    """Return a text that UTF-8 can hold, cut where it is too long, which it then says."""
    text = text.encode("utf-8", "replace").decode("utf-8").strip()
    if len(text) <= most:
        return text
    return f"{text[: most - 40].rstrip()} [... cut, {len(text)} characters in all]"


def quoted(text: str) -> str:
    """Return a reply as a sentence quotes it: one line, short."""
    line = " ".join(text.split())
    return repr(clip(line, MAX_QUOTE))


def _apart(text: str) -> tuple[str, str]:
    """Return what a reasoning model thought aloud before its reply, and the reply."""
    ends = list(_THOUGHT_ENDS.finditer(text))
    if ends:
        return _THOUGHT_BEGINS.sub("", text[: ends[-1].start()], count=1), text[ends[-1].end() :]
    return (text, "") if _THOUGHT_BEGINS.match(text.lstrip()) else ("", text)


def _found(text: str, names: Sequence[str], scale: Scale) -> Reading | Unreadable:
    if len(names) == 1:
        tagged = _from_tags(text, names[0], scale)
        if tagged is not None:
            return tagged
        alone = text.strip(_NOTHING)
        number = None
        if len(alone) <= _SHORT:
            number = scale.written(_LABELLED.sub("", alone, count=1))
        if number is not None:
            return Reading({names[0]: number})
    if "{" not in text:
        return Unreadable("it holds no JSON object")
    spans: list[tuple[int, int]] = []
    objects: list[dict[str, Any]] = []
    for found, start, end in _objects(text):
        if found is None:
            return Unreadable("it holds braces that are no JSON object")
        objects.append(found)
        spans.append((start, end))
    before, after = (
        _FENCE.sub("", part).strip() for part in (text[: spans[0][0]], text[spans[-1][1] :])
    )
    if before and (after or "reason" not in objects[-1]):
        return Unreadable("its JSON object neither begins it nor ends it with a reason")
    return _from_objects(objects, names, scale)


def _objects(text: str) -> Iterator[tuple[dict[str, Any] | None, int, int]]:
    """Yield each JSON object in a text that lies in no other; None where braces hold none."""
    at = text.find("{")
    for _ in range(MAX_OBJECTS):
        if at < 0:
            return
        end = _end(text, at)
        if end is None:
            yield None, at, len(text)
            return
        yield _object(text[at:end]), at, end
        at = text.find("{", end)
    yield None, at, len(text)


def _end(text: str, start: int) -> int | None:
    """Return where the braces opened at ``start`` are closed, those in JSON strings aside."""
    depth, inside, at = 0, False, start
    while at < len(text):
        sign = text[at]
        if inside:
            at += sign == "\\"
            inside = sign != '"'
        elif sign == '"':
            inside = True
        elif sign in "{}":
            depth += 1 if sign == "{" else -1
            if not depth:
                return at + 1
        at += 1
    return None


def _object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    for attempt in (text, _TRAILING_COMMA.sub("", text)):
        try:
            found = _DECODER.decode(attempt)
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else None
    return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key.strip().casefold() for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ValueError("a key stands twice")
    return dict(zip(keys, (value for _, value in pairs), strict=True))


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_once, parse_constant=_refuse)


def _from_objects(
    objects: Sequence[dict[str, Any]], names: Sequence[str], scale: Scale
) -> Reading | Unreadable:
    kept = [found for found in objects if any(name in found for name in names)]
    if not kept:
        return Unreadable(f"its JSON object has no {names[0]}")
    readings: list[dict[str, float]] = []
    for found in kept:
        scores: dict[str, float] = {}
        for name in names:
            if name not in found:
                return Unreadable(f"its JSON object has no {name}")
            number = scale.written(found[name])
            if number is None:
                return Unreadable(f"its {name} is not {scale.words}")
            scores[name] = number
        readings.append(scores)
    if any(scores != readings[0] for scores in readings):
        return Unreadable("it holds scores that differ")
    last = kept[-1]
    return Reading(
        readings[0],
        clip(_text(last.get("reason")), MAX_REASON),
        clip(_text(last.get("thoughts")), MAX_THOUGHTS),
    )


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(item for item in value if isinstance(item, str))
    return value if isinstance(value, str) else ""


def _from_tags(text: str, name: str, scale: Scale) -> Reading | Unreadable | None:
    """Return what the tags say, None where there is no tag of a score."""
    thoughts, text = _within(text, *_THOUGHTS)
    reason, text = _within(text, *_REASON)
    found = list(_SCORE.finditer(text))
    if not found:
        return None
    if _FENCE.sub("", text[found[-1].end() :]).strip(_NOTHING):
        return Unreadable("its <S2> does not end it")
    numbers = {scale.written(match[1]) for match in found}
    if len(numbers) > 1:
        return Unreadable("it holds scores that differ")
    number = numbers.pop()
    if number is None:
        return Unreadable(f"its <S2> is not {scale.words}")
    return Reading(
        {name: number},
        clip(reason, MAX_REASON),
        clip(thoughts, MAX_THOUGHTS),
    )


def _within(text: str, opens: re.Pattern[str], closes: re.Pattern[str]) -> tuple[str, str]:
    """Return what stands from the first opening tag to the last closing one, and the rest."""
    start = opens.search(text)
    ends = [] if start is None else list(closes.finditer(text, start.end()))
    if start is None or not ends:
        return "", text
    return text[start.end() : ends[-1].start()], text[: start.start()] + text[ends[-1].end() :]

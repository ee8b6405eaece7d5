"""From the text of a rule to a ``Gate``, by hand: nothing in it is ever executed.

::

    gate       = ["surely"] aggregate "(" metric [test] [where] ")" [op limit]
    aggregate  = mean | median | min | max | p05 ... p95 | share | count | pass_rate | fail_rate
               | false_accept_rate | false_reject_rate | false_accept_upper | false_reject_upper
               | all | none | measured
    test       = op number                       one comparison for each case
    where      = "where" filter {"and" filter}
    filter     = ("tag" | "label" | "group" | "slice." NAME) ("=" | "!=") text
    limit      = number | "asked"                "asked" only after measured(...) ==
    op         = "<=" | ">=" | "<" | ">" | "=="  "==" only for counts
"""

from __future__ import annotations

import math
from typing import cast

from closecall.errors import UsageError
from closecall.gates.tokens import RuleError, Token, tokens
from closecall.metrics.cutoffs import PERCENT, UNIT
from closecall.records import Label
from closecall.runs.gate_rule import (
    AGGREGATES,
    COMPARING,
    FIELDS,
    PERCENTILE,
    SLICE,
    Filter,
    Gate,
    Kind,
    Op,
    Test,
    always,
    kind_of,
)

ORDERS = ("<=", ">=", "<", ">")
MAX_FILTERS = 10
_COUNTS = frozenset({"count", "measured"})
_SHARES = frozenset({"rate", "upper"})
_NO_INTERVAL = {
    "count": "count is about these very cases; ask for a share: surely share(...)",
    "measured": "measured is about these very cases",
    "every": "all and none are about these very cases",
    "extreme": "min and max have no interval; ask for a share: surely share(...)",
    "upper": "this is an end of an interval already",
}


def parse_gate(rule: str, *, surely: bool = False, name: str = "", place: str = "") -> Gate:
    """Return the gate that a rule stands for.

    Parameters
    ----------
    rule
        For example ``pass_rate(embed_answer_similarity) >= 0.9``.
    surely
        As if the rule began with ``surely``.
    name, place
        Kept in the gate.

    Raises
    ------
    RuleError
        A ``UsageError`` that shows the rule, with a caret under what is wrong with it.
    """
    if not isinstance(rule, str):
        raise UsageError(f"a gate is a text such as 'mean(token_f1) >= 0.6', got {rule!r:.80}")
    return _Parser(rule).gate(surely=surely, name=name, place=place)


class _Parser:
    def __init__(self, rule: str) -> None:
        self.rule = rule
        self.words = tokens(rule)
        self.next = 0

    @property
    def word(self) -> Token:
        return self.words[self.next]

    def take(self) -> Token:
        word = self.words[self.next]
        if word.kind != "end":
            self.next += 1
        return word

    def error(self, word: Token, message: str) -> RuleError:
        return RuleError(self.rule, word.at, message)

    def expect(self, text: str, after: str) -> Token:
        word = self.word
        if word.text != text or word.kind == "text":
            raise self.error(word, f"expected {text!r} {after}{_got(word)}")
        return self.take()

    def is_name(self, text: str) -> bool:
        return self.word.kind == "name" and self.word.text == text

    def gate(self, *, surely: bool, name: str, place: str) -> Gate:
        first = self.word
        if self.is_name("surely"):
            self.take()
            surely = True
        at = self.word
        aggregate = self.aggregate()
        kind = kind_of(aggregate)
        if surely and kind in _NO_INTERVAL:
            raise self.error(first, f"surely has no place here: {_NO_INTERVAL[kind]}")
        self.expect("(", f"after {aggregate}")
        metric = self.metric(aggregate)
        test = self.test(aggregate) if self.word.kind == "op" else None
        if aggregate in COMPARING and test is None:
            raise self.error(
                self.word,
                f"{aggregate} needs a comparison for each case, such as {aggregate}(m < 3)",
            )
        where = self.filters() if self.is_name("where") else ()
        self.expect(")", "after the metric" + (", or where" if not where else ""))
        op: Op | None = None
        limit: float | None = None
        if kind != "every":
            op, limit = self.comparison(aggregate, kind, at)
        if self.word.kind != "end":
            message = f"the rule ends before this{_got(self.word)}"
            if kind == "every":
                message += f"; {aggregate}(...) is compared with nothing"
            raise self.error(self.word, message)
        return Gate(
            aggregate=aggregate,
            metric=metric,
            op=op,
            limit=limit,
            test=test,
            where=where,
            surely=surely,
            name=name,
            place=place,
        )

    def aggregate(self) -> str:
        word = self.take()
        if word.kind == "name" and (word.text in AGGREGATES or PERCENTILE.fullmatch(word.text)):
            if word.text == "p00":
                raise self.error(word, "percentiles are p01 to p99; the lowest value is min(...)")
            return word.text
        known = ", ".join([*AGGREGATES, "p05, p95, ..."])
        near = ""
        if word.kind == "name":
            import difflib

            close = difflib.get_close_matches(word.text, AGGREGATES, n=1)
            near = f"; did you mean {close[0]}?" if close else ""
        raise self.error(word, f"expected one of {known}{_got(word)}{near}")

    def metric(self, aggregate: str) -> str:
        word = self.take()
        name = word.text[1:-1] if word.kind == "text" else word.text
        if word.kind not in {"name", "text"} or not name.strip() or self._where(word):
            raise self.error(
                word, f"expected a metric, as in {aggregate}(answer_alignment){_got(word)}"
            )
        return name

    @staticmethod
    def _where(word: Token) -> bool:
        return word.kind == "name" and word.text == "where"

    def test(self, aggregate: str) -> Test:
        word = self.take()
        if aggregate not in COMPARING and kind_of(aggregate) != "every":
            raise self.error(
                word,
                f"{aggregate} takes a metric alone; a comparison for each case is for share, "
                "count, all and none",
            )
        if word.text not in ORDERS:
            raise self.error(word, _never_equal())
        return Test(cast("Op", word.text), self.number())

    def number(self) -> float:
        word = self.take()
        if word.kind != "number":
            raise self.error(word, f"expected a number{_got(word)}")
        percent = word.text.endswith("%")
        value = float(word.text.removesuffix("%"))
        if not math.isfinite(value):
            raise self.error(word, "the number is too large")
        # As typed: 7% is 0.07 here, not 0.07000000000000001.
        return float(f"{value / PERCENT:.15g}") if percent else value

    def filters(self) -> tuple[Filter, ...]:
        found: list[Filter] = []
        while True:
            word = self.take()  # where, and
            if len(found) == MAX_FILTERS:
                raise self.error(word, f"a rule has at most {MAX_FILTERS} filters")
            found.append(self.filter())
            if not self.is_name("and"):
                return tuple(found)

    def filter(self) -> Filter:
        word = self.take()
        field = word.text
        named = field.startswith(SLICE) and len(field) > len(SLICE)
        if word.kind != "name" or not (field in FIELDS or named):
            raise self.error(
                word,
                f"expected one of {', '.join(FIELDS)} or slice.NAME, which reaches into a case's "
                f"metadata{_got(word)}",
            )
        op = self.take()
        if op.text not in {"=", "==", "!="} or op.kind != "op":
            raise self.error(op, f"expected = or != after {field}{_got(op)}")
        value = self.take()
        if value.kind not in {"text", "name", "number"}:
            raise self.error(value, f'expected a text, such as {field} = "refunds"{_got(value)}')
        text = value.text[1:-1] if value.kind == "text" else value.text
        if field == "label" and text not in [*Label]:
            raise self.error(value, f"a label is accept or reject{_got(value)}")
        return Filter(field, text, op.text != "!=")

    def comparison(self, aggregate: str, kind: Kind, at: Token) -> tuple[Op, float | None]:
        word = self.take()
        allowed = (*ORDERS, "==") if kind in _COUNTS else ORDERS
        if word.kind == "op" and word.text not in allowed:
            raise self.error(
                word,
                f"a count is compared with one of {', '.join(allowed)}{_got(word)}"
                if kind in _COUNTS
                else _never_equal(),
            )
        if word.kind != "op":
            raise self.error(
                word, f"expected one of {', '.join(allowed)} and a number{_got(word)}"
            )
        op = cast("Op", word.text)
        if kind == "measured" and self.is_name("asked"):
            if op != "==":
                raise self.error(word, "measured(...) == asked is the rule: not more, not fewer")
            self.take()
            return op, None
        place = self.word
        limit = self.number()
        self.check_limit(aggregate, kind, op, limit, place)
        if kind == "upper" and op not in {"<=", "<"}:
            raise self.error(at, f"{aggregate} is a bound from above; compare it with <= or <")
        return op, limit

    def check_limit(self, aggregate: str, kind: Kind, op: Op, limit: float, place: Token) -> None:
        if kind in _COUNTS and limit != int(limit):
            raise self.error(place, "a count is compared with a whole number")
        if kind not in _COUNTS | _SHARES:
            return
        if kind in _SHARES and not 0 <= limit <= UNIT:
            hint = f"; did you mean {limit:g}%?" if UNIT < limit <= PERCENT else ""
            raise self.error(place, f"{aggregate} lies from 0 to 1{hint}")
        said = always(kind, op, limit)
        if said is not None:
            outcome = "holds for every run" if said else "holds for no run"
            raise self.error(place, f"this rule {outcome}, so it tests nothing")


def _never_equal() -> str:
    return (
        f"expected one of {', '.join(ORDERS)}: a score is never compared for equality, because "
        "the last digits differ from machine to machine"
    )


def _got(word: Token) -> str:
    if word.kind == "end":
        return "; the rule ends here"
    return f", got {word.text!r}"

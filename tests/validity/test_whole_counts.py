"""Counts stay whole: nothing under ``calibration`` turns a count into a rate and back.

7 of 25 is the smallest case where it goes wrong: 25 * (7 / 25) is 7.000000000000001, whose ceiling is 8.
With 32-bit floats the floor loses one as often, and then a promise is granted that the labels do not back.
"""

import ast
import math
import re
from pathlib import Path

import numpy as np
import pytest

import closecall.calibration
from closecall.calibration import fit_cutoff
from closecall.calibration.binomial import best_limit

MODULES = sorted(Path(closecall.calibration.__file__).parent.rglob("*.py"))
MAKES_WHOLE = {"int", "round", "floor", "ceil", "trunc", "rint", "fix", "astype"}
HANDS_THROUGH = {*MAKES_WHOLE, "float", "float32", "float64", "abs", "min", "max"}
RATE = re.compile(r"(^|_)rates?$")
RECORDS = {"Rate", "Counts"}


def round_trips(source):
    """Lines where a product with a rate is made whole, or a record is given a count from a rate."""
    found = []
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {part for function in functions for part in ast.walk(function)}
    top = [node for node in ast.walk(tree) if node not in inside]
    for nodes in (top, *(list(ast.walk(function)) for function in functions)):
        rates = names_of_rates(nodes)
        for node in nodes:
            if isinstance(node, ast.Call):
                if name_of(node.func) in RECORDS:
                    wrong = any(
                        is_rate(keyword.value, rates)
                        for keyword in node.keywords
                        if keyword.arg not in {"interval", "n"}
                    )
                else:
                    whole = name_of(node.func) in MAKES_WHOLE and len(node.args) <= 1
                    wrong = whole and multiplies_a_rate(whole_part(node), rates)
            else:
                floored = isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)
                wrong = floored and multiplies_a_rate(node, rates)
            if wrong:
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return sorted(set(found))


def name_of(function):
    return getattr(function, "attr", None) or getattr(function, "id", None)


def whole_part(call):
    """What a call makes whole: its argument, or for a method what it is called on."""
    if name_of(call.func) == "astype":
        return call.func.value if call.args and "int" in ast.unparse(call.args[0]) else None
    return call.args[0] if call.args else None


def names_of_rates(nodes):
    """Names that hold a quotient, or what was made from one."""
    rates = set()
    while True:
        before = len(rates)
        for node in nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                divided = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div)
                if divided or (node.value is not None and is_rate(node.value, rates)):
                    rates |= {
                        n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)
                    }
        if len(rates) == before:
            return rates


def is_rate(node, rates):
    """Whether an expression is a quotient, or is computed from one."""
    if isinstance(node, ast.Attribute):
        return node.attr == "value" or bool(RATE.search(node.attr))
    if isinstance(node, ast.Name):
        return node.id in rates or bool(RATE.search(node.id))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        # Fractions lose nothing, and a path and a text are not divided.
        return not (is_text(node.right) or is_exact(node.left) or is_exact(node.right))
    return any(is_rate(part, rates) for part in parts_of(node))


def is_text(node):
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, ast.JoinedStr)


def is_exact(node):
    return isinstance(node, ast.Call) and name_of(node.func) in {"Fraction", "typed"}


def parts_of(node):
    """What an expression computes with; of calls, only those that hand a number through."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Call) and name_of(node.func) in HANDS_THROUGH:
        return [part for part in [*node.args, whole_part(node)] if part is not None]
    return []


def multiplies_a_rate(node, rates):
    return node is not None and any(
        isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.Mult)
        and (is_rate(part.left, rates) or is_rate(part.right, rates))
        for part in ast.walk(node)
    )


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_no_count_is_made_from_a_rate(module):
    assert round_trips(module.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "math.ceil(n * (k / n))",
        "math.floor(rate.value * rate.n)",
        "int(cutoff.false_accept_rate * rejects + 0.5)",
        "round(wrong_rate * n)",
        "np.rint(n * np.float32(k / n))",
        "(observed / n * m).astype(np.int64)",
        "(n * rate.value) // 1",
        "Rate(count=k / n, n=n, interval=None)",
        "Rate(count=round(rate.value * n), n=n, interval=None)",
        "Counts(true_accepts=int(n * (k / n)))",
    ],
)
def test_the_search_finds_what_it_should(line):
    assert round_trips(f"def f():\n    found = {line}\n")


def test_the_search_follows_names():
    assert round_trips(
        "def f(k, n):\n    risk = k / n\n    other = 1 - risk\n    return int(n * other)\n"
    )
    assert round_trips("def f(k, n):\n    k /= n\n    return math.ceil(k * n)\n")
    # A name in one function says nothing of the same name in another.
    assert not round_trips(
        "def f(k, n):\n    x = k / n\n    return x\ndef g(x, n):\n    return int(x * n)\n"
    )
    assert round_trips("TOTAL = 7\nSHARE = TOTAL / 25\nBACK = math.ceil(25 * SHARE)\n")


@pytest.mark.parametrize(
    "line",
    [
        "math.ceil(n / share)",
        "math.floor(typed(limit) * (n + 1))",
        "math.floor(typed(level) / 2 * (n + 1))",
        "int(wrong.sum())",
        "Rate(count=int(wrong.sum()), n=n, interval=None)",
        "round(100 * share, 1)",
    ],
)
def test_the_search_leaves_alone_what_is_fine(line):
    assert not round_trips(f"def f():\n    found = {line}\n")


def lossy_pairs(most):
    """Counts that do not survive becoming a rate."""
    for n in range(10, most + 1):
        for k in range(n):
            wide, narrow = n * (k / n), float(np.float32(n) * (np.float32(k) / np.float32(n)))
            if {math.ceil(wide), math.floor(wide), math.ceil(narrow), math.floor(narrow)} != {k}:
                yield k, n


def test_pairs_that_would_be_lost_are_kept():
    pairs = list(lossy_pairs(60))
    assert (7, 25) in pairs
    assert math.ceil(25 * (7 / 25)) == 8
    for k, n in pairs:
        scores = np.concatenate((np.arange(n), n + np.arange(15))) / 1000
        labels = np.repeat([False, True], [n, 15])
        found = fit_cutoff(scores, labels, max_far=best_limit(n, 0.05, k))
        assert (found.evidence.n, found.evidence.allowed, found.evidence.observed) == (n, k, k)
        assert (found.counts.false_accepts, found.counts.rejects) == (k, n)
        assert (found.false_accept_rate.count, found.false_accept_rate.n) == (k, n)
        assert found.evidence.upper_bound == pytest.approx(best_limit(n, 0.05, k))

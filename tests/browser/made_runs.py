"""Runs to report on: of a shop's answers, and of texts that mean no good."""

import itertools

from closecall import evaluate
from closecall.report.html.page import write_runs
from closecall.runs.stored import load_run
from closecall.testing import HashEmbedder

METRICS = "embed_answer_similarity,token_f1"

QUESTIONS = (
    ("How long does a repair of a {} take?", "A {} is repaired within {} working days."),
    ("What does a new {} cost?", "A new {} costs {} euros with the fitting."),
    ("May I bring a {} back?", "A {} may be brought back unused within {} days."),
    ("Is a {} in stock?", "A {} is in stock in the shop, {} of them today."),
)
PARTS = ("saddle", "brake cable", "front wheel", "chain", "bell", "pedal", "tyre", "lamp")


def cases(wrong, count=230):
    """Answers to a shop's questions; every one of the first ``wrong`` and every fifth is wrong."""
    made = []
    for at, ((question, answer), part) in enumerate(
        itertools.islice(itertools.cycle(itertools.product(QUESTIONS, PARTS)), count)
    ):
        reference = answer.format(part, 3 + at // 32)
        right = at >= wrong and at % 5
        changed = reference.replace(" is ", " is not ").replace(" may ", " may not ")
        made.append(
            {
                "id": f"shop-{at:03}",
                "input": question.format(part),
                "response": f"Yes. {reference}"
                if right
                else f"{changed.split(' within ')[0]} nowhere near here, ask again in {9 + at} weeks.",
                "references": [reference],
                "context": [f"Price list, page {at}: {reference}"],
                "label": "accept" if right else "reject",
                "tags": ["parts" if at % 2 else "repairs", f"page-{at // 50}"],
            }
        )
    return made


def run(folder, rows, **options):
    evaluate(rows, METRICS, HashEmbedder(), aef=folder, cache=False, **options)
    return folder


def report(path, *folders):
    with path.open("w", encoding="ascii", newline="\n") as out:
        write_runs([load_run(folder) for folder in folders], out)
    return path


PAYLOADS = (
    "<script>window.__pwned = 1</script>",
    "</script><script>window.__pwned = 2</script>",
    "</SCRIPT ><img src=x onerror='window.__pwned = 3'>",
    "<svg onload='window.__pwned = 4'><style>body{display:none}</style></svg>",
    "<!--<script>window.__pwned = 5//",
    "]]><iframe srcdoc='<script>parent.__pwned = 6</script>'></iframe>",
    "javascript:window.__pwned=7",
    "'\"><a href='javascript:window.__pwned=8'>click</a>",
    "{{ 7 * 7 }} {% raw %} ${window.__pwned=9} `${window.__pwned=10}`",
    "<base href='https://example.invalid/'><link rel=stylesheet href='https://example.invalid/a.css'>",
    "<meta http-equiv=refresh content='0;url=https://example.invalid/'>",
    "\u202egnihton \u2066hidden\u2069 \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\x1b[31m red \x07 \x00 \x08 \x7f \x9b line\u2028separator\u2029paragraph",
    "a" * 20_000,
    "W" * 3_000 + " " + "\u0300" * 3_000,
)

LONG_LINE = "<b>&" + "x" * 1_000_000 + " 12"
"""A line of a megabyte without a space to break it at."""


def hostile_cases():
    made = [
        {
            "id": f"{at} {payload[:1500]}",
            "input": payload,
            "response": f"{payload} and 12",
            "references": [f"{payload} and 13", payload[::-1]],
            "context": [payload],
            "label": ("accept", "reject")[at % 2],
            "group": payload[:300],
            "tags": [payload[:2_000], "t" * 10_000],
        }
        for at, payload in enumerate(PAYLOADS)
    ]
    made.append(
        {
            "id": "__proto__",
            "input": "constructor",
            "response": LONG_LINE,
            "references": [LONG_LINE.replace("12", "13")],
            "label": "reject",
            "tags": ["__proto__", "hasOwnProperty"],
        }
    )
    return made

"""What people type or keep in a project: rules, files, options, patterns, variables, names.

A file of these targets stands for what a shell would hand over: bytes that are no UTF-8 come as
half characters, as in ``sys.argv`` and ``os.environ``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import click

from closecall import Case, Label, evaluate, load_embedder, load_metric
from closecall.errors import ClosecallError, UsageError
from closecall.records import Measured
from closecall.runs.record import Run
from closecall.testing import HashEmbedder

from ..inputs import Target

KEY = "sk-a-key-of-the-trials-0123456789"
"""Stands in for a key wherever one is set; no message may hold it."""


def put(name: str, content: str) -> Callable[[Path], None]:
    """Return what writes a text."""
    return lambda folder: (folder / name).write_text(content, encoding="utf-8") and None


def typed(path: Path) -> str:
    """Return the text of a file as a shell hands it over; a refusal where there is none."""
    if not path.is_file():
        raise UsageError(f"{path}: nothing was typed")
    return path.read_bytes()[:200_000].decode("utf-8", "surrogateescape").rstrip("\n")


@contextmanager
def as_typed() -> Iterator[None]:
    """Turn what click raises into what the command line says then."""
    try:
        yield
    except click.ClickException as error:
        raise UsageError(error.format_message()) from error


@cache
def small_run() -> Run:
    """Return a run that gates are held against."""
    cases = [
        Case(
            id=f"c{at}", input="Open?", response="At nine." if at % 3 else "Never.",
            references=("At nine.",), label=Label.ACCEPT if at % 3 else Label.REJECT,
            group=f"g{at % 4}", tags=("hours",) if at % 2 else (),
            metadata={"shelf": at, "shop": {"town": "Lima"}},
        )
        for at in range(12)
    ]  # fmt: skip
    cutoffs = {"token_f1": 0.5, "embed_answer_similarity": 60.0}
    return evaluate(cases, list(cutoffs), HashEmbedder(), cutoffs=cutoffs, cache=False)


def held(gates: list[Any]) -> None:
    """Hold gates against the run, and render what came of them."""
    import dataclasses

    from closecall.gates.evaluate import evaluate_gates, gates_exit
    from closecall.report.formats import write

    run = small_run()
    results = evaluate_gates(run, gates)
    run = dataclasses.replace(run, gates=results, gates_code=gates_exit(results, run))
    for form in ("json", "markdown", "table"):
        out = io.StringIO()
        write(run, form, out)
        out.getvalue().encode("utf-8")


def rule(folder: Path) -> None:
    """Read a rule; one that reads is spelt again as itself, and holds or fails."""
    from closecall.gates.parsing import parse_gate

    gate = parse_gate(typed(folder / "rule.txt"))
    if str(parse_gate(str(gate))) != str(gate):
        raise AssertionError(f"{gate} reads back as another rule")
    held([gate])


def project(name: str, content: str) -> Callable[[Path], None]:
    """Return what writes a file of a project, at the top of a repository."""

    def make(folder: Path) -> None:
        (folder / ".git").mkdir()
        put(name, content)(folder)

    return make


def project_gates(folder: Path) -> None:
    """Read the gates of a project and hold them."""
    from closecall.gates.config import find_gates

    held(find_gates(folder))


def project_prices(folder: Path) -> None:
    """Read the prices of a project and work out what something costs."""
    from closecall.runs.price_file import find_prices
    from closecall.runs.prices import cost, shown, total

    found = find_prices(folder)
    amounts = [cost(price, 10**12, 0) for price in found.prices]
    shown(total([amount for amount in amounts if amount is not None]), found.currency)
    found.of("openai", "gpt-4o-mini")


def _options(kind: str, text: str) -> None:
    """Read one option of a kind, as its command does."""
    from closecall.audit.limits import parse_limits
    from closecall.cli.options import cutoffs, pairs
    from closecall.cli.where import parse_where
    from closecall.embedders.isotropy.methods import parse_method
    from closecall.embedders.onnx_options import parse_export, parse_running
    from closecall.embedders.st.options import parse_spec
    from closecall.embedders.static.distil import parse_weighting
    from closecall.index.filters import compiled
    from closecall.metrics.guards.policy import guard_policy
    from closecall.metrics.registry import load_metrics
    from closecall.retrieval.demands import parse_demand
    from closecall.runs.budget import read_budget
    from closecall.runs.shards import read_shard, shard_of

    if kind == "where":
        where = parse_where([text])
        if where is not None:
            compiled(where)({"lang": "de", "year": 2020, "many": ["a", 1, None]})
    elif kind == "shard":
        shard_of(read_shard(text), 100)
    elif kind == "cutoff":
        load_metrics(["token_f1"], cutoffs((text,), ("token_f1",)))
    else:
        readers: dict[str, Callable[[str], Any]] = {
            "budget": lambda given: str(read_budget(given)),
            "limits": lambda given: parse_limits([given]),
            "guards": guard_policy,
            "demand": parse_demand,
            "method": lambda given: parse_method(given).flaw(64),
            "weighting": parse_weighting,
            "onnx": parse_export,
            "running": parse_running,
            "st": parse_spec,
            "metric": load_metrics,
            "map": lambda given: pairs((given,), "--map", "FIELD=COLUMN"),
        }
        readers[kind](text)


OPTIONS = (
    "where lang=de", "where year>=2020", 'where {"year": {"gte": 2020}, "lang": ["de", "fr"]}',
    "budget 1.50USD", "budget 200_000", "shard 2/8", "limits duplicates <= 0, leaks <= 3",
    "guards numbers=reject,names=off", "demand recall@10=0.9", "method whiten:32",
    "weighting sif:0.001", "onnx models/mine?file=model.onnx&dims=64&normalize=true",
    "running minilm?device=cpu&batch_tokens=512", "st all?dims=64&device=cuda:0",
    "metric token_f1:average=macro,expected_fact:patterns=thirty,chrf:word_order=2",
    "metric bleu:max_order=4,rouge_l:beta=1.2,embed_answer_similarity", "cutoff token_f1=0.5",
    "map response=messages.-1.content",
)  # fmt: skip
KINDS = frozenset(line.partition(" ")[0] for line in OPTIONS)


def options(folder: Path) -> None:
    """Read one option after another; each is taken or refused by itself."""
    for line in typed(folder / "options.txt").split("\n"):
        kind, _, text = line.partition(" ")
        if kind in KINDS:
            try:
                with as_typed():
                    _options(kind, text)
            except ClosecallError:
                continue


ENVIRONMENT = f"""\
AI_INFERENCE_PROVIDER=openai-compatible
OPENAI_COMPATIBLE_ENDPOINT=https://models.example.com/v1
OPENAI_COMPATIBLE_API_KEY={KEY}
OPENAI_COMPATIBLE_MODEL=small-one
OPENAI_COMPATIBLE_EMBEDDING_MODEL=small-one
OPENAI_API_KEY={KEY}
OPENAI_MODEL=gpt-4o-mini
AZURE_OPENAI_ENDPOINT=https://mine.openai.azure.com
AZURE_OPENAI_API_KEY={KEY}
AZURE_OPENAI_DEPLOYMENT=small
AZURE_OPENAI_API_VERSION=2024-10-21
OLLAMA_HOST=127.0.0.1:11434
AI_EMBEDDING_DIMENSIONS=64
AI_EMBEDDING_MAX_TOKENS=512
CLOSECALL_OFFLINE=0
CLOSECALL_CACHE=on
CLOSECALL_CACHE_DIR=~/cache
"""


def environment(folder: Path) -> None:
    """Read the variables as every provider would; no message holds a key."""
    from closecall.cache.location import cache_enabled, cache_path
    from closecall.chat.settings import chat_settings, endpoint_settings
    from closecall.embedders.remote.providers import PROVIDERS
    from closecall.embedders.remote.settings import read_settings, selected_provider
    from closecall.offline import offline

    lines = typed(folder / "variables.txt").replace("\0", "").split("\n")
    given = {name: value for name, _, value in (line.partition("=") for line in lines) if name}
    url = given.get("OPENAI_COMPATIBLE_ENDPOINT", "")
    readers: list[Callable[[], Any]] = [
        lambda: selected_provider(given),
        lambda: chat_settings(environ=given),
        lambda: chat_settings(judge=True, environ=given),
        lambda: endpoint_settings(url, given.get("OPENAI_MODEL", ""), environ=given),
        lambda: cache_enabled(given),
        lambda: cache_path(environ=given),
        lambda: offline(given),
        *(lambda provider=one: read_settings(provider, "", given).path for one in PROVIDERS),
    ]
    for reader in readers:
        try:
            found = reader()
        except ClosecallError as error:
            found = error
        if KEY in f"{found} {found!r}":
            raise AssertionError(f"a key is in what {type(found).__name__} says")


PATTERNS = json.dumps(
    [
        {"patterns": [r"\b30\b|thirty", r"(?-i:EUR)\s?\d+(?:[.,]\d\d)?"], "match": "any"},
        {"patterns": ["[a-z]+(?:ed|ing)", "^(?P<day>mon|tues)day"], "syntax": "regex"},
        {"patterns": ["a.b", "five days"], "syntax": "text"},
    ]
)
TEXTS = (
    "It takes thirty days, says EUR 12.50 on Monday.",
    "a" * 200 + "!",
    "",
    "\ud83d half \x00",
)


def patterns(folder: Path) -> None:
    """Look for patterns of a person's in texts, given as options and by a case."""
    try:
        given = json.loads(typed(folder / "patterns.json"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"patterns.json: {error}") from error
    for one in given if isinstance(given, list) else [given]:
        wanted = one.get("patterns") if isinstance(one, dict) else one
        found = dict(one) if isinstance(one, dict) else {}
        own = {key: found[key] for key in ("match", "syntax") if key in found}
        syntax = {key: own[key] for key in ("syntax",) if key in own}
        for name, options in (
            ("expected_fact", {"patterns": wanted, **own}),
            ("forbidden_text", {"texts": wanted, **syntax}),
            ("refusal", {"patterns": wanted}),
        ):
            try:
                _measured(name, wanted, options)
            except UsageError:
                continue


def _measured(name: str, wanted: Any, options: dict[str, Any]) -> None:
    from closecall.metrics.registry import metric_class

    metric = metric_class(name)(**options)
    for text in TEXTS:
        asked = {"expected_facts": wanted, "forbidden_text": wanted}
        case = Case(id="c", input="Open?", response=text, metadata=asked)
        said = metric.texts(case)
        if said == ():
            result = metric.measure(case, [])
            if isinstance(result, Measured):
                float(result.value)


WHERE = {
    "lang": "de", "year": {"gte": 2020, "lt": 2030, "ne": 2024}, "kind": ["faq", 1, True],
    "draft": {"exists": False}, "tags": {"not_in": ["old"], "in": ["new", 2.5]},
}  # fmt: skip


def filters(folder: Path) -> None:
    """Read conditions of a search, and ask them of metadata of every kind."""
    from closecall.index.filters import compiled

    try:
        where = json.loads(typed(folder / "where.json"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"where.json: {error}") from error
    passes = compiled(where)
    for value in (None, True, 1, 10**400, 1.5, "de", "", ["new", 1, None, {}], {"a": 1}):
        passes(dict.fromkeys(("lang", "year", "kind", "draft", "tags"), value))


NAMES = (
    "embedder openai:text-embedding-3-small", "embedder onnx:missing?dims=4", "embedder nobody",
    "embedder static:missing", "embedder isotropic:missing.json", "embedder nobody:x?y=1",
    "metric token_f1", "metric nobody:a=1", "metric chrf:char_order=6",
    "metric bleu:smoothing=exp", "metric expected_fact:patterns=[0-9]+:ignore_case=false",
)  # fmt: skip


def names(folder: Path) -> None:
    """Load embedders and metrics by name, plug-ins among them; none is there of most names."""
    for line in typed(folder / "names.txt").split("\n"):
        kind, _, name = line.partition(" ")
        if kind not in {"embedder", "metric"} or name.lstrip().startswith(("st:", "minilm")):
            continue
        try:
            load_embedder(name) if kind == "embedder" else load_metric(name)
        except ClosecallError:
            continue


def prompt(folder: Path) -> None:
    """Read the system prompt of a subject."""
    from closecall.subjects.chat import read_system_prompt

    read_system_prompt(folder / "prompt.txt").encode("utf-8")


SHARE = "surely share(token_f1 >= 0.5 where tag = 'hours' and slice.shelf != 4) >= 80%"
COUNT = "count(embed_answer_similarity < 30 where group=g1) == 0"
GATES = """\
gates = [
    "mean(token_f1) >= 0.6",
    { name = "few fail", rule = "fail_rate(token_f1) <= 5%", mode = "surely" },
    { rule = "count(token_f1 < 0.2 where tag = 'hours' and slice.shop.town != \\"Quito\\") <= 2" },
]
"""
SHARED = """\
[project]
name = "shop"
[tool.closecall.gates]
relevance = "p10(embed_answer_similarity) >= 30"
asked = { rule = "measured(token_f1) == asked" }
"""
PRICES = """\
[prices]
currency = "USD"
[prices."gpt-4o-mini"]
input = 0.15
output = 0.60
[prices."openai:small"]
input = 2e-2
currency = "USD"
"""

TARGETS = (
    Target("gate rule", put("rule.txt", SHARE), rule, places=False),
    Target("gate rule, counting", put("rule.txt", COUNT), rule, places=False),
    Target("gates of closecall.toml", project("closecall.toml", GATES), project_gates),
    Target("gates of pyproject.toml", project("pyproject.toml", SHARED), project_gates),
    Target("prices", project("closecall.toml", PRICES), project_prices),
    Target("options", put("options.txt", "\n".join(OPTIONS)), options, places=False),
    Target("variables", put("variables.txt", ENVIRONMENT), environment, places=False),
    Target("patterns of a person", put("patterns.json", PATTERNS), patterns, places=False),
    Target("filters of a search", put("where.json", json.dumps(WHERE)), filters, places=False),
    Target("names", put("names.txt", "\n".join(NAMES)), names, places=False),
    Target("system prompt", put("prompt.txt", "You answer for a shop.\nBe brief.\n"), prompt),
)  # fmt: skip

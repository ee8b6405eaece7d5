"""promptfoo: test cases of a configuration or a table, and the results of an evaluation.

Test cases hold variables and assertions, no answers unless ``providerOutput`` has one. Results
hold an answer for each test, prompt and provider; those of one test are one group.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, cast

from closecall.datasets._fields import CONTEXT, INPUT, REFERENCE, field_of
from closecall.datasets._strict import flaws_of
from closecall.datasets._values import Problems, kind, texts
from closecall.errors import DatasetError, RowProblem
from closecall.importing.budget import CASE, Budget, weight
from closecall.importing.drafts import Draft
from closecall.importing.opened import Document, Opened, Row
from closecall.importing.promptfoo_asserts import asked_by
from closecall.importing.promptfoo_tables import is_table_row, test_of_row
from closecall.importing.tally import Tally

MOST_COMBINATIONS = 10_000
"""Cases that one test may become by its lists of variables."""

CONFIGURED = ("tests", "scenarios", "defaultTest")
READ = frozenset({"vars", "assert", "description", "providerOutput", "metadata"})

_ELSEWHERE = (
    "1 file of tests is named and was not read: import it itself",
    "{} files of tests are named and were not read: import them themselves",
)


def is_result(row: Mapping[str, Any]) -> bool:
    """Whether a row is one result: an answer to one test."""
    return "vars" in row and "success" in row and ("response" in row or "testCase" in row)


def results_of(document: Any) -> list[Any] | None:
    """Return the list of results in what promptfoo writes, None where there is none."""
    results = document.get("results") if isinstance(document, Mapping) else None
    inner = results.get("results") if isinstance(results, Mapping) else results
    if not isinstance(inner, list) or "tests" in document:
        return None
    return inner if not inner or (isinstance(inner[0], Mapping) and is_result(inner[0])) else None


def drafts(opened: Opened, tally: Tally) -> Iterator[Draft]:
    """Yield the drafts of a configuration, a table of tests, or results.

    Raises
    ------
    DatasetError
        The file is none of these, or makes more of what it holds than it may (``Budget``).
    """
    document = opened.document
    budget = Budget(opened.path)
    results = results_of(document)
    if results is not None:
        found = list(cast("Document", opened).places(results, "results.results."))
        several = len({_asked_of(row.value or {}) for row in found}) > 1
        for row in found:
            yield _result(row, tally, budget, several=several)
        return
    if isinstance(document, Mapping) and {*CONFIGURED} & document.keys():
        for row, test in _configured(cast("Document", opened), document, tally, budget):
            yield from _tests(row, test, tally, budget)
        return
    ways = {_asked_of(row.value) for row in opened.rows() if row.value and is_result(row.value)}
    for row in opened.rows():
        if row.value is not None and is_result(row.value):
            yield _result(row, tally, budget, several=len(ways) > 1)
        elif row.value is not None and is_table_row(row.value, cells=opened.cells):
            yield from _tests(row, test_of_row(row.value), tally, budget)
        else:
            yield from _tests(row, row.value or {}, tally, budget)


def _configured(
    opened: Document, document: Mapping[str, Any], tally: Tally, budget: Budget
) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Yield the tests of a configuration, each with what its defaults and its scenario add."""
    default = document.get("defaultTest")
    if isinstance(default, str):
        tally.count(*_ELSEWHERE)
    default = default if isinstance(default, Mapping) else {}
    if flaws := flaws_of(default):
        problems = [RowProblem(f"{opened.path.name}[defaultTest]", *flaw) for flaw in flaws]
        raise DatasetError(f"{opened.path}: defaultTest cannot be taken over", problems)
    defaults = weight(default) if default else 0
    tests = document.get("tests") or []
    for row in _rows(opened, tests, "tests.", tally):
        budget.spend(defaults, row.place, "tests that share a defaultTest")
        yield row, _merged(default, {}, row.value or {})
    scenarios = document.get("scenarios") or []
    for scenario in _rows(opened, scenarios, "scenarios.", tally):
        if scenario.flaws:
            yield scenario, {}
            continue
        values = scenario.value or {}
        configs = _rows(opened, values.get("config") or [{}], "scenarios.config.", tally)
        for number, data in enumerate(configs):
            if data.flaws:
                yield data, {}
                continue
            shared = defaults + weight(data.value)
            inner = values.get("tests") or [{}]
            for row in _rows(opened, inner, "scenarios.tests.", tally):
                again = CASE + weight(row.value) if number else 0
                budget.spend(shared + again, scenario.place, "the configs and tests of a scenario")
                yield row, _merged(default, data.value or {}, row.value or {})


def _rows(opened: Document, values: Any, under: str, tally: Tally) -> Iterator[Row]:
    """Yield the objects of a list; files that it names instead are counted."""
    if isinstance(values, str) or (isinstance(values, Mapping) and "path" in values):
        values = [values]
    if not isinstance(values, list):
        what = under.removesuffix(".")
        raise DatasetError(f"{opened.path}: {what}: expected a list of tests, got {kind(values)}")
    here = []
    for value in values:
        if isinstance(value, str) or (isinstance(value, Mapping) and "path" in value):
            tally.count(*_ELSEWHERE)
        else:
            here.append(value)
    return opened.places(here, under)


def _merged(
    default: Mapping[str, Any], data: Mapping[str, Any], test: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a test as promptfoo runs it: its own values, its scenario's, then the default's."""
    merged = {**default, **data, **test}
    parts = (default, data, test)
    for name in ("vars", "metadata", "options"):
        found = [part[name] for part in parts if isinstance(part.get(name), Mapping)]
        if found:
            merged[name] = {key: value for one in found for key, value in one.items()}
    options = merged.get("options")
    plain = isinstance(options, Mapping) and _true(options.get("disableDefaultAsserts"))
    asserting = parts[1:] if plain else parts
    merged["assert"] = [
        one for part in asserting if isinstance(part.get("assert"), list) for one in part["assert"]
    ]
    return merged


def _tests(row: Row, test: Mapping[str, Any], tally: Tally, budget: Budget) -> Iterator[Draft]:
    """Yield a draft for each combination of a test's variables."""
    if row.flaws:
        yield Draft(place=row.place, row={}, problems=list(row.flaws))
        return
    variables = test.get("vars") or {}
    problems: Problems = []
    if not isinstance(variables, Mapping):
        problems.append(("vars", "stand in another file; put them into the test"))
        variables = {}
    output = test.get("providerOutput")
    shared = 0
    for number, values in enumerate(_combinations(variables, test, problems)):
        if number:
            shared = shared or CASE + weight({**test, "vars": None})
            budget.spend(shared + weight(values), row.place, "lists of variables")
        asked = asked_by(test.get("assert"), values, tally, budget, row.place)
        kept: dict[str, Any] = {k: v for k, v in test.items() if k not in READ and v}
        kept["vars"] = dict(values)
        if test.get("assert"):
            kept["assert"] = test["assert"]
        if isinstance(test.get("metadata"), Mapping):
            kept["test"] = dict(test["metadata"])
        own = list(problems)
        draft = Draft(
            place=row.place,
            row={**test, "vars": values},
            id=_described(test, kept),
            response=_output(output, "providerOutput", own),
            references=asked.references,
            facts=asked.facts,
            metadata=kept,
            problems=own,
        )
        _sides(draft, values, tally)
        yield draft


def _described(test: Mapping[str, Any], kept: dict[str, Any]) -> str:
    description = test.get("description")
    if isinstance(description, str) and description.strip():
        kept["description"] = description
        return description
    return ""


def _combinations(
    variables: Mapping[str, Any], test: Mapping[str, Any], problems: Problems
) -> Iterator[dict[str, Any]]:
    """Yield the variables of each case: a list of values is one case a value."""
    options = test.get("options")
    if isinstance(options, Mapping) and _true(options.get("disableVarExpansion")):
        yield dict(variables)
        return
    choices = [
        value if isinstance(value, list) and value else [value] for value in variables.values()
    ]
    count = 1
    for values in choices:
        count *= len(values)
        if count > MOST_COMBINATIONS:  # how many more may be a number of thousands of digits
            said = (
                f"make more than {MOST_COMBINATIONS:,} cases of this one test; write fewer values"
            )
            problems.append(("vars", f"{said}, or several tests"))
            yield dict(variables)
            return
    for chosen in itertools.product(*choices):
        yield dict(zip(variables, chosen, strict=True))


def _sides(draft: Draft, variables: Mapping[str, Any], tally: Tally, prompt: Any = None) -> None:
    """Set the question and the passages: variables with a usual name, or the only one.

    Such a variable is the reference as well, where no assertion compares with another text.
    """
    notes = tally.notes
    expected = [name for name in variables if field_of(str(name)) == REFERENCE]
    if len(expected) == 1 and not draft.references:
        draft.references = texts(
            variables[expected[0]], expected[0], draft.problems, notes, passages=False, cells=False
        )
    questions = [name for name in variables if field_of(str(name)) == INPUT]
    passages = [name for name in variables if field_of(str(name)) == CONTEXT]
    if not questions and len(variables) - len(passages) == 1:
        questions = [name for name in variables if name not in passages]
    if len(questions) == 1 and isinstance(variables[questions[0]], str | int | float):
        draft.input = str(variables[questions[0]])
    elif isinstance(prompt, str) and prompt.strip():
        draft.input = prompt
        tally.say("the input is the whole prompt where no single variable is the question")
    elif variables:
        tally.count(
            "1 case has no input, since no single variable is the question: --map "
            "input=vars.NAME names it",
            "{} cases have no input, since no single variable is the question: --map "
            "input=vars.NAME names it",
        )
    if len(passages) == 1:
        draft.context = texts(
            variables[passages[0]], passages[0], draft.problems, notes, passages=True, cells=False
        )
    files = [v for v in variables.values() if isinstance(v, str) and v.startswith("file://")]
    for _ in files:
        tally.count(
            "1 variable names a file, and was kept as it stands",
            "{} variables name files, and were kept as they stand",
        )


def _asked_of(result: Mapping[str, Any]) -> tuple[str, str]:
    """Return the provider and the prompt that a result is of."""
    provider = result.get("provider")
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    return str(provider or ""), str(result.get("promptIdx", 0))


def _result(row: Row, tally: Tally, budget: Budget, *, several: bool) -> Draft:
    """Return the draft of one answer to one test.

    ``several`` says that each test was answered in several ways, of which its id then speaks:
    promptfoo's own ids are new with every evaluation.
    """
    value = row.value or {}
    problems: Problems = list(row.flaws)
    test = value.get("testCase")
    test = test if isinstance(test, Mapping) else {}
    variables = value.get("vars")
    variables = variables if isinstance(variables, Mapping) else {}
    reply = value.get("response")
    output = reply.get("output") if isinstance(reply, Mapping) else reply
    prompt = value.get("prompt")
    raw = prompt.get("raw") if isinstance(prompt, Mapping) else prompt
    way = _asked_of(value)
    asked = asked_by(test.get("assert"), variables, tally, budget, row.place)
    read = {"testCase", "vars", "response", "prompt"}
    kept = {
        key: one for key, one in value.items() if key not in read and one not in (None, {}, [])
    }
    kept["vars"] = dict(variables)
    kept["prompt"] = raw
    for name in ("assert", "description", "metadata"):
        if test.get(name):
            kept[name if name != "metadata" else "test"] = test[name]
    if isinstance(reply, Mapping):
        kept["response"] = {key: one for key, one in reply.items() if key != "output"}
    index = value.get("testIdx")
    name = str(test.get("description") or ("" if index is None else f"test {index}"))
    draft = Draft(
        place=row.place,
        row=value,
        id="/".join((name, *way)) if name and several else name,
        response=_output(output, "response.output", problems),
        references=asked.references,
        facts=asked.facts,
        group=None if index is None else f"test {index}",
        tags=way[:1] if way[0] else (),
        label=_said_by_a_person(value.get("gradingResult"), tally),
        metadata=kept,
        problems=problems,
    )
    _sides(draft, variables, tally, raw)
    if draft.response is None and not problems:
        tally.count(
            "1 result has an error and no answer", "{} results have an error and no answer"
        )
    tally.say(
        "whether promptfoo's assertions held is kept in metadata (success, score, gradingResult); "
        "it is no label, which only a person gives"
    )
    return draft


def _said_by_a_person(grading: Any, tally: Tally) -> str | None:
    """Return the label that a person gave in promptfoo's viewer, None without one."""
    parts = grading.get("componentResults") if isinstance(grading, Mapping) else None
    for part in parts if isinstance(parts, list) else ():
        assertion = part.get("assertion") if isinstance(part, Mapping) else None
        if isinstance(assertion, Mapping) and assertion.get("type") == "human":
            tally.count(
                "1 label is what a person said in promptfoo's viewer",
                "{} labels are what a person said in promptfoo's viewer",
            )
            return "accept" if part.get("pass") else "reject"
    return None


def _output(output: Any, column: str, problems: Problems) -> str | None:
    """Return an answer as a text; what is none is a problem."""
    if output is None or isinstance(output, str):
        return output
    if isinstance(output, int | float):
        return str(output)
    problems.append((column, f"expected a text, got {kind(output)}"))
    return None


def _true(value: Any) -> bool:
    """Whether an option is on: true, or that word as YAML has it here."""
    return value is True or (isinstance(value, str) and value.lower() in {"true", "yes", "on"})

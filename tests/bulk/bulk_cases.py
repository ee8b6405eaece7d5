"""A small run that is done whole, in parts, in shards and by workers; and what must be the same."""

import json
import re

from closecall import evaluate
from closecall.runs.parts.folder import PartsFolder
from closecall.testing import HashEmbedder

GOODS = ("harbour lantern", "copper violin", "granite saddle", "ivory kettle")


def case(number):
    good = GOODS[number % len(GOODS)]
    return {
        "id": f"case-{number}",
        "input": f"What is on shelf {number % 40}?",
        "response": f"There is one {good} on it" if number % 3 else f"{good} {GOODS[number % 2]}",
        "reference": f"There is one {good} on it",
        "tags": ["even"] if number % 2 == 0 else ["odd"],
        "kind": f"kind {number % 5}",
    }


def write(path, count):
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(case(number)) + "\n" for number in range(count))
    return path


def run(cases, aef=None, **options):
    options.setdefault("embedder", HashEmbedder())
    return evaluate(cases, ["semantic_similarity"], aef=aef, cache=False, **options)


def parts(place, cases=32):
    return PartsFolder(place, cases=cases)


def rows(found):
    """What a run came to, case by case, but for the times."""
    return [(row.case.id, row.state, row.score, row.results) for row in found]


def same_run(found, whole):
    """Whether two runs came to the same, to the last count and bit."""
    assert found.cases == whole.cases
    assert found.metrics == whole.metrics
    assert found.cascade == whole.cascade
    assert found.repeats == whole.repeats
    assert found.watched == whole.watched
    assert found.gates == whole.gates
    assert found.exit_code == whole.exit_code
    return True


def lines(folder):
    """The lines of a run folder, but for ids of results and times; texts as they are."""
    results = (folder / "results.ndjson").read_text(encoding="utf-8")
    results = re.sub(r'"resultId":"[^"]*"', "", results)
    results = re.sub(r'"durationMs":[0-9.e+-]+', "", results)
    return results, (folder / "ext" / "closecall" / "cases.ndjson").read_bytes()


def summary(folder):
    """The figures of a run folder, but for its id and times."""
    found = json.loads((folder / "summary.json").read_bytes())
    found.pop("runId")
    return json.dumps(found)


class StoppedError(Exception):
    """Raised by ``stop_at``."""


def stop_at(count):
    """Return a progress that stops a run after so many cases."""

    def progress(done, _):
        if done >= count:
            raise StoppedError

    return progress

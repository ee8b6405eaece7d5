"""Files that are small and multiply what they hold: refused before it is made."""

import pytest

from closecall.errors import DatasetError
from closecall.importing import budget, open_import

MANY = [str(at) for at in range(40)]
LONG = "y" * 4_000


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    """A limit a thousandth of that there is, so that a test takes no time either."""
    monkeypatch.setattr(budget, "MOST_REPEATED", 1 << 16)
    monkeypatch.setattr(budget, "_TIMES", 2)


def scenario(configs, tests):
    made = {"config": [{"vars": {"q": one}} for one in configs], "tests": tests}
    return {"prompts": ["p"], "scenarios": [made]}


def log(answers, kept):
    event = {"sampled": answers, "expected": "b", "note": kept}
    return [
        {"spec": {"run_id": "r", "eval_name": "e"}},
        {"run_id": "r", "event_id": 1, "sample_id": "s", "type": "match", "data": event},
    ]


MULTIPLY = {
    "scenario": (
        "a.json", scenario(MANY, [{"description": one} for one in MANY]),
        "configs and tests of a scenario",
    ),
    "configs": (
        "a.json", scenario([LONG], [{"description": one} for one in MANY]),
        "configs and tests of a scenario",
    ),
    "default": (
        "a.json",
        {
            "prompts": ["p"], "defaultTest": {"metadata": {"note": LONG}},
            "tests": [{"vars": {"q": one}} for one in MANY],
        },
        "tests that share a defaultTest",
    ),
    "lists": (
        "a.json", {"prompts": ["p"], "tests": [{"vars": {"question": MANY, "tone": MANY}}]},
        "lists of variables",
    ),
    "metadata": (
        "a.json",
        {"prompts": ["p"], "tests": [{"vars": {"q": MANY}, "metadata": {"note": LONG}}]},
        "lists of variables",
    ),
    "table": (
        "a.jsonl", [{"vars": {"question": MANY, "tone": MANY}}, {"vars": {"q": "one"}}],
        "lists of variables",
    ),
    "templates": (
        "a.json",
        {"prompts": ["p"], "tests": [
            {"vars": {"q": LONG}, "assert": [{"type": "equals", "value": "{{q}}" * 40}]}
        ]},
        "variables in assertions",
    ),
    "answers": ("a.jsonl", log(MANY, LONG), "answers of a sample"),
}  # fmt: skip


def cases(path):
    return list(open_import(path, "openai-evals" if "run_id" in path.read_text() else "promptfoo"))


@pytest.mark.parametrize("what", MULTIPLY)
def test_what_multiplies_beyond_measure_is_refused_by_name(write, what):
    name, content, said = MULTIPLY[what]
    path = write(name, content)
    assert path.stat().st_size < 20_000
    with pytest.raises(
        DatasetError, match=f"{name}: {name}.*{said} multiply to more than"
    ) as caught:
        cases(path)
    assert "at most 65,536 and 2 for each byte" in str(caught.value)


@pytest.mark.parametrize("what", MULTIPLY)
def test_as_much_as_may_be_is_read(write, what, monkeypatch):
    monkeypatch.setattr(budget, "MOST_REPEATED", 1 << 26)
    name, content, _ = MULTIPLY[what]
    assert cases(write(name, content))


def test_what_stands_in_the_file_once_is_free(write):
    tests = [{"vars": {"q": f"{at} {LONG}"}, "assert": []} for at in range(100)]
    assert len(cases(write("a.json", {"prompts": ["p"], "tests": tests}))) == 100
    assert len(cases(write("b.jsonl", log(["a"], LONG * 100)))) == 1
    many = [{"vars": {"q": "a"}}] * 2_000
    assert len(cases(write("c.json", many))) == 2_000
    assert len(cases(write("d.json", scenario(["a"], many)))) == 2_000


def test_a_number_of_cases_of_thousands_of_digits_is_not_written_out(write):
    test = {"vars": {f"v{at}": list(range(10)) for at in range(4_400)}}
    with pytest.raises(DatasetError, match="make more than 10,000 cases of this one test"):
        cases(write("a.json", {"prompts": ["p"], "tests": [test]}))

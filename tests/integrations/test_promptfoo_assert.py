"""The assertion of promptfoo: as a function, as promptfoo calls it, and under promptfoo itself."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from closecall.asserting import NotMeasuredError
from closecall.errors import UsageError
from closecall.integrations.promptfoo import get_assert

TEXT = "Refunds take five days."


def context(config=None, **variables):
    return {"vars": variables, "config": config, "prompt": "p", "test": {}}


def test_the_grading_result_is_closecalls_decision():
    good = get_assert(TEXT, context(expected=TEXT))
    assert (good["pass"], good["score"]) == (True, 1.0)
    assert "100.00 >= 70.00" in good["reason"]
    assert good["metadata"]["closecall"]["cutoffSource"] == "default"
    bad = get_assert("Bring an umbrella.", context(expected=TEXT))
    assert bad["pass"] is False
    assert 0 <= bad["score"] < 0.7
    json.dumps(good, allow_nan=False)


def test_a_calibration_decides_and_what_it_leaves_unsure_raises(cutoffs, by_state):
    config = {"calibration": str(cutoffs)}
    for state, passes in (("passed", True), ("failed", False)):
        response, reference = by_state[state]
        assert get_assert(response, context(config, expected=reference))["pass"] is passes
    response, reference = by_state["unsure"]
    with pytest.raises(NotMeasuredError, match="undecided: unsure"):
        get_assert(response, context(config, expected=reference))


def test_what_is_not_measured_raises_so_that_not_python_cannot_pass_it():
    with pytest.raises(NotMeasuredError, match=r"^not measured: "):
        get_assert(TEXT, context())
    with pytest.raises(NotMeasuredError, match="no cutoff: give `cutoff` or `calibration`"):
        get_assert(TEXT, context({"metric": "context_alignment"}, context=TEXT))


def test_where_the_texts_stand():
    config = {"metric": "exact_match"}
    for found in (
        context({**config, "reference": TEXT}, expected="other"),
        context({**config, "reference": ["other", TEXT]}),
        context({**config, "reference_var": "truth"}, expected="other", truth=TEXT),
        context(config, ground_truth=TEXT),
    ):
        assert get_assert(TEXT, found)["pass"], found
    grounded = {"metric": "embed_response_context", "context_var": "docs"}
    assert get_assert(TEXT, context(grounded, docs=[TEXT, "x"]))["pass"]


@pytest.mark.parametrize(
    ("output", "found", "words"),
    [
        (TEXT, context({"treshold": 1}), "there is no 'treshold'; it takes metric"),
        (TEXT, context({"reference_var": "truth"}, expected="x"), "no variable 'truth'"),
        (TEXT, context(expected="x", reference="y"), "could both be the reference"),
        ({"a": 1}, context(expected="x"), "the output is no text but dict"),
        (TEXT, context(expected=5), "the reference must be a text"),
        (TEXT, context({"cutoff": 80, "calibration": "c.json"}), "exclude each other"),
    ],
)
def test_wrong_settings_are_named(output, found, words):
    with pytest.raises(UsageError, match=words):
        get_assert(output, found)


CALL = """
import importlib.util, json, sys
path, data, out = sys.argv[1:]
spec = importlib.util.spec_from_file_location("closecall_assert", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
arguments = json.load(open(data, encoding="utf-8"))
result = module.get_assert(*arguments)
json.dump({"type": "final_result", "data": result}, open(out, "w", encoding="utf-8"))
"""


def test_in_a_file_that_promptfoos_wrapper_loads_by_path(tmp_path):
    script = tmp_path / "closecall_assert.py"
    script.write_text(
        "from closecall.integrations.promptfoo import get_assert\n", encoding="utf-8"
    )
    (tmp_path / "in.json").write_text(json.dumps([TEXT, context(expected=TEXT)]), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-c", CALL, str(script), "in.json", "out.json"], check=True, timeout=120
    )
    said = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert said["data"]["pass"] is True


CONFIG = f"""\
prompts: ["{{{{answer}}}}"]
providers: [echo]
tests:
  - description: near
    vars: {{answer: "{TEXT}", expected: "{TEXT}"}}
    assert: [{{type: python, value: file://closecall_assert.py, config: {{cutoff: 80}}}}]
  - description: far
    vars: {{answer: Bring an umbrella., expected: "{TEXT}"}}
    assert: [{{type: python, value: file://closecall_assert.py}}]
  - description: far, negated
    vars: {{answer: Bring an umbrella., expected: "{TEXT}"}}
    assert: [{{type: not-python, value: file://closecall_assert.py}}]
  - description: blank
    vars: {{answer: "{TEXT}", expected: " "}}
    assert: [{{type: python, value: file://closecall_assert.py}}]
  - description: blank, negated
    vars: {{answer: "{TEXT}", expected: " "}}
    assert: [{{type: not-python, value: file://closecall_assert.py}}]
  - description: in the configuration
    vars: {{answer: "{TEXT}", expected: "{TEXT}"}}
    assert:
      - type: python
        value: |
          from closecall.integrations.promptfoo import get_assert
          return get_assert(output, context)
"""


def test_under_promptfoo_itself(tmp_path):
    promptfoo = os.environ.get("PROMPTFOO_BIN") or shutil.which("promptfoo")
    if promptfoo is None:
        pytest.skip("promptfoo is not installed: npm install promptfoo, PROMPTFOO_BIN=its program")
    (tmp_path / "closecall_assert.py").write_text(
        "from closecall.integrations.promptfoo import get_assert\n", encoding="utf-8"
    )
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG, encoding="utf-8")
    quiet = {
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
        "PROMPTFOO_CONFIG_DIR": str(tmp_path / "home"),
        "PROMPTFOO_PYTHON": sys.executable,
    }
    said = subprocess.run(
        [promptfoo, "eval", "-o", "results.json", "--no-cache", "--no-share", "--no-progress-bar"],
        check=False,
        cwd=tmp_path,
        env={**os.environ, **quiet},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (tmp_path / "results.json").exists(), said.stdout + said.stderr
    document = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    found = {
        one["testCase"]["description"]: one["gradingResult"]["componentResults"][0]
        for one in document["results"]["results"]
    }
    assert {name: one["pass"] for name, one in found.items()} == {
        "near": True,
        "far": False,
        "far, negated": True,
        "blank": False,
        "blank, negated": False,
        "in the configuration": True,
    }
    assert "100.00 >= 80.00" in found["near"]["reason"]
    assert "not measured: the case's reference is blank" in found["blank"]["reason"]

    from closecall.importing import open_import

    again = list(open_import(tmp_path / "results.json"))
    assert [case.id for case in again] == list(found)
    assert again[0].response == again[0].references[0] == TEXT

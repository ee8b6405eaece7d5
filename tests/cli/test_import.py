"""``closecall import``: files of other evaluators on the command line."""

import json

from closecall.cli import import_
from closecall.importing import SOURCES

SAMPLE = {"user_input": "q", "response": "The sky is blue.", "reference": "The sky is blue."}


def test_the_sources_are_those_of_the_package():
    assert tuple(SOURCES) == import_.FROM


def test_what_is_imported_can_be_evaluated(cli, write):
    said = cli("import", write(SAMPLE, name="samples.jsonl"), "-o", "cases.jsonl")
    assert said.code == 0
    assert said.out == ""
    assert said.err.startswith("1 case from ")
    assert "(ragas), written to cases.jsonl" in said.err
    assert cli("eval", "cases.jsonl").code == 0


def test_cases_go_to_standard_output_and_notes_do_not(cli, write):
    said = cli("import", write(SAMPLE, name="samples.jsonl"))
    assert json.loads(said.out) == {
        "id": "row_1",
        "input": "q",
        "response": "The sky is blue.",
        "references": ["The sky is blue."],
    }
    assert cli("import", write(SAMPLE, name="samples.jsonl"), "-q").err == ""


def test_bad_rows_write_nothing(cli, write, tmp_path):
    path = write(SAMPLE, {**SAMPLE, "response": {"a": 1}}, name="samples.jsonl")
    said = cli("import", path, "-o", "cases.jsonl")
    assert said.code == 4
    assert "samples.jsonl:2: response: expected a text" in said.err
    assert not (tmp_path / "cases.jsonl").exists()
    assert [one for one in tmp_path.iterdir() if one != path] == []
    said = cli("import", path)
    assert (said.code, said.out) == (4, "")
    said = cli("import", path, "--on-bad-row", "skip", "-o", "cases.jsonl")
    assert said.code == 0
    assert "left out: 1 row" in said.err


def test_the_file_itself_is_never_written_over(cli, write, tmp_path):
    path = write(SAMPLE, name="samples.jsonl")
    before = path.read_bytes()
    assert cli("import", path, "-o", path).code == 2
    assert path.read_bytes() == before


def test_what_a_file_holds_cannot_steer_the_terminal(cli, write):
    evil = {**SAMPLE, "response": "\x9b31m\u202ered"}
    said = cli("import", write(evil, name="samples.jsonl"))
    assert said.out.rstrip("\n").isprintable()
    assert json.loads(said.out)["response"] == evil["response"]


def test_usage(cli, write):
    path = write({"a": 1}, name="samples.jsonl")
    assert cli("import", path).code == 4
    assert cli("import", path, "--from", "nobody").code == 2
    assert cli("import", "missing.json").code == 4
    assert cli("import", path, "--from", "ragas", "--map", "response").code == 2
    assert "closecall import promptfooconfig.yaml" in cli("import", "--help").out


def test_cases_without_any_response_are_told_with_what_to_do(cli, write):
    said = cli("import", write({**SAMPLE, "response": None}, name="samples.jsonl"))
    assert "no case has a response" in said.err
    assert "--subject-command" in said.err
    assert "no case has a response" not in cli("import", write(SAMPLE, name="samples.jsonl")).err


def test_a_file_told_by_nothing_says_what_is_wrong_with_its_rows(cli, tmp_path):
    path = tmp_path / "cases.json"
    path.write_text('[{"input": "a", "input": "b", "actual_output": "c"}]', encoding="utf-8")
    said = cli("import", path)
    assert said.code == 4
    assert "input: the key stands twice" in said.err


def test_tests_that_all_stand_in_another_file_are_named(cli, tmp_path):
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text("prompts: [p]\ntests: file://tests.yaml\n", encoding="utf-8")
    said = cli("import", path)
    assert said.code == 4
    assert "1 file of tests is named and was not read" in said.err

"""``closecall audit``: a report, JSON with everything, gates and their exit codes."""

import json

import pytest

FEE = {"input": "What is the fee?", "response": "Five euros.", "reference": "5 euros"}
ROWS = [
    {"id": "a", **FEE, "label": "accept"},
    {"id": "b", **FEE, "label": "reject"},
    {"id": "c", **FEE, "label": "accept", "response": "five euros"},
    {"id": "d", "input": "Who pays?", "response": "You do.", "reference": "you"},
]


@pytest.fixture
def cases(write):
    return write(*ROWS)


def test_a_report_names_cases_and_what_to_do_next(cli, cases):
    said = cli("audit", cases)
    assert said.code == 0
    assert said.out.startswith("cases.jsonl: 4 cases, all-MiniLM-L6-v2")
    shown = " ".join(said.out.split())
    assert "duplicates 1 / 4" in shown
    assert "cases.jsonl:1 (a), cases.jsonl:2 (b)" in shown
    assert "Next: have the rows labelled again, blind to what they say now." in shown
    assert "2 accepted and 1 rejected" in shown


def test_json_has_every_finding(cli, write):
    rows = [{"id": f"{n}{copy}", "response": f"answer {n}"} for n in range(9) for copy in "ab"]
    cases = write(*rows)
    said = cli("audit", cases, "--texts-only", "--format", "json", "-q")
    assert (said.code, said.err) == (0, "")
    found = said.json
    own = [one for one in found["findings"] if one["check"] == "duplicates"]
    assert len(own) == 9
    assert own[0]["cases"] == [
        {"id": "0a", "place": "cases.jsonl:1"},
        {"id": "0b", "place": "cases.jsonl:2"},
    ]
    assert set(own[0]) >= {"severity", "words", "advice", "how", "field", "texts"}
    assert found["files"][0]["cases"] == 18
    table = cli("audit", cases, "--texts-only", "--show", "2")
    assert "and 7 more (--format json lists them all" in table.out


def test_a_file_is_written_whole_and_its_suffix_says_how(cli, cases, tmp_path):
    said = cli("audit", cases, "--texts-only", "-o", "audit.json")
    assert said.out == ""
    assert json.loads((tmp_path / "audit.json").read_text())["exit_code"] == 0
    assert "written to audit.json" in said.err
    assert cli("audit", cases, "--texts-only", "-o", cases).code == 2


def test_gates_decide_the_exit_code(cli, cases, write):
    def code(*args):
        return cli("audit", *args, "--texts-only", "-q").code

    assert code(cases, "--gate", "duplicates <= 1") == 0
    assert code(cases, "--gate", "duplicates <= 0") == 1
    assert code(cases, "--gate", "leaks <= 0") == 11
    assert code(cases, "--gate", "leaks <= 0", "--gate", "contradictions <= 0") == 1
    assert code(cases, "--gate", "long_texts <= 0") == 11
    other = write({"id": "z", "input": "who pays", "response": "We do."}, name="test.jsonl")
    assert code(cases, other, "--gate", "leaks <= 1") == 0
    assert code(cases, other, "--gate", "leaks <= 0") == 1
    said = cli("audit", cases, "--texts-only", "--gate", "duplicates <= 0")
    assert "duplicates <= 0: FAILED, 1 found, 0 allowed" in said.out
    assert said.out.rstrip().endswith("exit code 1")


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--gate", "copies <= 0"], 2, "there is no check 'copies'"),
        (["--gate", "duplicates"], 2, "write 'NAME <= N'"),
        (["--similarity", "0"], 2, "similarity"),
        (["--fields", "label"], 2, "fields takes some of input, response"),
        (["--texts-only", "--fields", "input"], 2, "embeds nothing"),
        (["--embedder", "nomodel"], 3, "nomodel"),
    ],
)
def test_what_cannot_be_is_refused(cli, cases, args, code, words):
    said = cli("audit", cases, *args)
    assert said.code == code
    assert words in said.err


def test_a_file_beside_itself_and_files_that_cannot_be_read(cli, cases, tmp_path):
    assert cli("audit", cases, cases).code == 2
    assert cli("audit", tmp_path / "none.jsonl").code in {2, 4}
    (tmp_path / "bad.jsonl").write_text('{"id": "a", "response"\n')
    assert cli("audit", tmp_path / "bad.jsonl").code == 4


def test_hostile_texts_are_shown_and_not_obeyed(cli, write):
    hostile = {"input": "q\u001b]0;owned\u0007", "response": "r\u001b[2J\u202e"}
    cases = write({"id": "a\u001b[31m", **hostile}, {"id": "b", **hostile})
    for form in ("table", "json"):
        said = cli("audit", cases, "--texts-only", "--format", form)
        assert not set("\u001b\u0007\u202e") & set(said.out)


def test_no_content_shows_no_text(cli, cases):
    for form in ("table", "json"):
        said = cli("audit", cases, "--texts-only", "--no-content", "--format", form)
        assert "euros" not in said.out
        assert "cases.jsonl:1" in said.out


def test_help_loads_nothing_heavy(process):
    code = (
        "import sys\nfrom closecall.cli import run\nrun(['audit', '--help'])\n"
        "print('HEAVY', [m for m in ('numpy', 'onnxruntime', 'msgspec') if m in sys.modules])"
    )
    said = process(code=code)
    assert b"HEAVY []" in said.stdout
    assert b"Exit codes" in said.stdout


def test_a_known_file_of_labelled_answers(cli, shared_data):
    said = cli("audit", shared_data / "small" / "nq301.jsonl", "--texts-only", "--format", "json")
    counts = {one["name"]: one["count"] for one in said.json["checks"]}
    assert counts["duplicates"] == 0
    assert counts["near_duplicates"] == 3
    assert counts["split_questions"] == 0


def test_eval_shows_labelled_answers_beside_unsure_ones(cli, write):
    cases = write({"id": "a", "response": "It takes 22 days.", "reference": "It takes 21 days."})
    labels = write(
        {"id": "yes", "response": "About 21 days.", "label": "accept"},
        {"id": "no", "response": "It takes 22 days.", "label": "reject"},
        name="labels.jsonl",
    )
    plain = cli("eval", cases, "--no-aef")
    said = cli("eval", cases, "--no-aef", "--labels", labels)
    assert said.code == plain.code == 11
    assert "beside the nearest labelled answers" not in plain.out
    shown = " ".join(said.out.split())
    assert 'rejected 1.000 no: "It takes 22 days."' in shown
    assert "accepted 0." in shown
    assert cli("eval", cases, "--no-aef", "--labels", "none.jsonl").code in {2, 4}

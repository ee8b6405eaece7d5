"""``closecall stress``: a file of references in, what gets through out."""

import json

import pytest

from closecall import Goal, calibrate, save_calibration

THINGS = ["delivery", "repair", "refund", "exchange", "upgrade", "check", "setup"]
ROWS = [
    {
        "id": f"r{n}",
        "input": f"How long does the {thing} take?",
        "reference": f"The {thing} takes {n + 20} days and is free of charge.",
        "response": f"The {thing} takes {n + 20} days.",
        "label": "accept",
    }
    for n, thing in enumerate(THINGS)
]


@pytest.fixture
def cases(write):
    return write(*ROWS)


def test_a_report_and_exit_code_0(cli, cases, tmp_path):
    said = cli("stress", cases)
    assert said.code == 0
    assert said.out.startswith("cases.jsonl: ")
    assert "embed_answer_similarity, cutoff 70 (default cutoff, not calibrated)" in said.out
    assert "number" in said.out
    assert "choose no cutoff by them" in " ".join(said.out.split())
    assert {path.name for path in tmp_path.iterdir()} == {"cases.jsonl"}


def test_json_holds_every_answer(cli, cases):
    said = cli("stress", cases, "-m", "token_f1,answer_alignment", "--format", "json", "-q")
    found = said.json
    assert said.err == ""
    assert [one["metric"] for one in found["metrics"]] == ["token_f1", "answer_alignment"]
    made = {one["family"]: one["made"] for one in found["made"]}
    assert made["number"] == made["unit"] == made["negation"] == 7
    numbers = next(f for f in found["metrics"][0]["families"] if f["family"] == "number")
    assert numbers["measured"] == 7
    assert numbers["rate"]["n"] == 7
    assert len(found["answers"]) == sum(made.values())
    one = next(a for a in found["answers"] if a["id"] == "r3~number~1")
    assert (one["source"], one["before"], one["kind"]) == ("r3", "23", "wrong")
    assert [v["metric"] for v in one["verdicts"]] == ["token_f1", "answer_alignment"]
    assert "cases" not in found


def test_the_file_it_writes_can_be_evaluated_and_calibrated(cli, cases, tmp_path):
    said = cli("stress", cases, "-o", "made.jsonl", "--families", "number,unit,case,politeness")
    assert said.code == 0
    assert "28 made-up answers written to made.jsonl; choose no cutoff by them" in said.err
    lines = [json.loads(line) for line in (tmp_path / "made.jsonl").read_text().splitlines()]
    assert {line["family"] for line in lines} == {"number", "unit", "case", "politeness"}
    assert {line["annotator"] for line in lines} == {"closecall stress"}
    said = cli("eval", "made.jsonl", "--no-aef", "--format", "json")
    assert said.json["stats"]["total"] == 28
    said = cli(
        "calibrate", "made.jsonl", "--objective", "f1", "--slice", "family", "--format", "json"
    )
    assert said.code == 0
    assert "family" in said.out


def test_no_promise_is_made_from_the_file_it_writes(cli, cases):
    cli("stress", cases, "-o", "made.jsonl", "--families", "number,unit,case,politeness", "-q")
    said = cli("calibrate", "made.jsonl", "--max-far", "0.2", "-o", "cutoff.json")
    assert said.code == 4
    assert "28 of 28 labels are of answers that closecall stress made" in said.err
    assert "whose column annotator says 'closecall stress'" in said.err
    assert "other" not in said.err.partition("Leave out")[2]
    said = cli("calibrate", "made.jsonl", "--objective", "f1", "-o", "cutoff.json")
    assert said.code == 0
    assert "28 of 28 labels are of answers that closecall stress made" in said.out
    said = cli("calibrate", "--refresh", "cutoff.json", "--format", "json")
    assert said.code == 0
    assert "28 of 28 labels are of answers that closecall stress made" in said.out


def test_a_seed_makes_the_same_file_again(cli, cases, tmp_path):
    for name, seed in (("a", 4), ("b", 4), ("c", 5)):
        assert cli("stress", cases, "-o", f"{name}.jsonl", "--seed", seed, "-q").code == 0
    a, b, c = ((tmp_path / f"{name}.jsonl").read_bytes() for name in "abc")
    assert a == b != c


def test_from_accepted_edits_the_responses(cli, cases):
    said = cli("stress", cases, "--from", "accepted", "--format", "json", "-q")
    one = next(a for a in said.json["answers"] if a["id"] == "r3~number~1")
    assert one["response"].startswith("The exchange takes ")
    assert "free of charge" not in one["response"]


def test_a_calibration_decides(cli, cases, tmp_path):
    rows = [
        {"id": f"{n}{label}", "input": f"{n}?", "reference": f"word{n} word{n + 1} word",
         "response": f"word{n} word{n + 1} word" if label == "accept" else "something else",
         "label": label}
        for n in range(60) for label in ("accept", "reject")
    ]  # fmt: skip
    made = calibrate(rows, goal=Goal(max_far=0.1), cache=False)
    save_calibration(made, tmp_path / "cutoff.json")
    said = cli("stress", cases, "--calibration", "cutoff.json", "--format", "json", "-q")
    (metric,) = said.json["metrics"]
    assert metric["cutoff_source"] == "calibrated"
    assert metric["cutoff"] == made.rule.value
    other = cli("stress", cases, "--calibration", "cutoff.json", "-m", "token_f1")
    assert other.code == 6


def test_cutoff_most_and_all(cli, cases):
    said = cli("stress", cases, "-m", "token_f1", "--cutoff", "0.99", "--most", "3",
               "--format", "json", "-q")  # fmt: skip
    found = said.json
    assert found["metrics"][0]["cutoff"] == 0.99
    assert max(one["made"] for one in found["made"]) == 3
    assert cli("stress", cases, "--all", "--format", "json", "-q").json["most"] is None


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--families", "colour"], 2, "there is no family 'colour'"),
        (["--most", "3", "--all"], 2, "--most and --all exclude each other"),
        (["--no-cache", "--cache-dir", "x"], 2, "exclude each other"),
        (["-o", "-"], 2, "standard output is for the report"),
        (["-o", "cases.jsonl"], 2, "that is the file of cases; it would be lost"),
        (["-m", "nonsense"], 3, "nonsense"),
        (["--families", "date"], 4, "no edit of date fits any of 7 texts"),
        (["--group", "topic"], 2, "no 'topic' to group by"),
    ],
)
def test_what_is_refused(cli, cases, args, code, words):
    said = cli("stress", cases, *args)
    assert said.code == code
    assert words in said.err
    assert said.out == ""


def test_a_file_without_references(cli, write):
    said = cli("stress", write({"id": "a", "input": "x", "response": "y"}))
    assert said.code == 4
    assert "reference" in said.err
    assert cli("stress", "nowhere.jsonl").code in {2, 4}


def test_nothing_is_written_where_nothing_was_made(cli, cases, tmp_path):
    assert cli("stress", cases, "--families", "date", "-o", "made.jsonl").code == 4
    assert not (tmp_path / "made.jsonl").exists()


def test_help_names_every_family(cli):
    from closecall.stress.edits import FAMILIES

    said = cli("stress", "--help")
    assert all(name in said.out for name in FAMILIES)
    assert "choose no cutoff" in " ".join(said.out.split())


def test_guards_can_be_turned_off(cli, tmp_path):
    place = tmp_path / "plans.jsonl"
    rows = [
        {"reference": f"The {name} plan costs {price} euros a month.", "response": "x"}
        for name, price in (("small", 12), ("large", 48), ("family", 75))
    ]
    place.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked = ["stress", place, "--families", "number", "--format", "json", "-q"]
    counts = []
    for more in ([], ["--guards", "off"]):
        (family,) = cli(*asked, *more).json["metrics"][0]["families"]
        counts.append((family["accepted"], family["unsure"]))
    assert counts == [(0, 3), (3, 0)]

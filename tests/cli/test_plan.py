"""``closecall plan``: how many labels, what they back, which cases next."""

import json
import os
import random
import re
import shlex

import pytest

from closecall.calibration.labels.planning import Have, plan
from closecall.datasets import open_dataset

WORDS = ("cellar", "harbour", "violin", "orchard", "lantern", "meadow", "copper", "whistle")


def row(at, label=None, question=None, **more):
    draw = random.Random(at)
    found = {
        "id": f"case-{at:03}",
        "input": question or f"What is number {at}?",
        "response": f"Number {at} is the {draw.choice(WORDS)} by the {draw.choice(WORDS)}.",
        "reference": f"It is the {draw.choice(WORDS)} by the {draw.choice(WORDS)}.",
        **more,
    }
    return found if label is None else {**found, "label": label}


def rows(total, rejects, accepts, **more):
    labels = ["reject"] * rejects + ["accept"] * accepts + [None] * (total - rejects - accepts)
    return [row(at, label, **more) for at, label in enumerate(labels)]


def flat(text):
    return " ".join(text.split())


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_without_a_file_it_says_how_many_labels(cli):
    said = cli("plan", "--max-far", "0.05")
    assert (said.code, said.err) == (0, "")
    assert "at most 5% of wrong answers are accepted, at confidence 95%" in flat(said.out)
    assert "59 wrong answers, none of them accepted " in flat(said.out)
    assert "93 wrong answers, at most 1 of them accepted " in flat(said.out)
    assert "50% from 234, 80% from 434, 90% from 554" in flat(said.out)
    assert (
        "19 wrong answers will do (--guarantee average): up to 38% of cutoffs from so few exceed it"
        in flat(said.out)
    )
    assert "--reject-rate 0.2 says a fifth" in flat(said.out)
    assert cli("plan").out == said.out
    assert max(map(len, said.out.splitlines())) <= 100


def test_the_share_of_wrong_answers_gives_labels_in_all(cli):
    said = cli("plan", "--max-far", "0.05", "--reject-rate", "0.2")
    assert (
        "59 wrong answers, none of them accepted; about 295 labels picked at random (354 to"
        in flat(said.out)
    )
    assert (
        "93 wrong answers, at most 1 of them accepted; about 465 labels picked at random"
        in flat(said.out)
    )
    assert "--reject-rate" not in flat(said.out)


def test_two_promises_share_the_confidence(cli):
    said = cli("plan", "--max-far", "0.1", "--max-frr", "0.2", "--looks", "3")
    assert (
        "10% of wrong answers are accepted and at most 20% of good answers are rejected"
        in flat(said.out)
    )
    assert "both together, at confidence 95% over 3 looks" in flat(said.out)
    needs = plan(max_far=0.1, max_frr=0.2, looks=3).promises
    assert f"{needs[0].needs[0].labels} wrong answers, none of them accepted" in flat(said.out)
    assert f"{needs[1].needs[0].labels} good answers, none of them rejected" in flat(said.out)


def test_forty_labels_with_nine_rejects(cli, write):
    said = cli("plan", write(*rows(400, 9, 31)))
    assert said.code == 0
    out = flat(said.out)
    assert "400 rows, 40 labels to count on: 9 rejects (wrong answers) and 31 accepts" in out
    assert "Nothing says how 40 labels came about (column sampling)" in out
    assert (
        "With these 40 labels no cutoff of any kind can be chosen: that takes 10 rejects and 10 "
        "accepts, and here are 9 rejects." in out
    )
    assert "can promise" not in out
    assert (
        "label 270 more answers picked at random: that is 95% sure to bring 50 more rejects, as 9 "
        "of 40 = 22% (95% interval 11-38%) of these labels are rejects; 223 would on average"
        in out
    )
    assert "of 59 rejects none may be accepted, of 93 only one." in out
    assert "certify batch: 270 of 360 cases drawn at random (seed 0):" in out
    assert "and 260 more" in out
    assert "keep this batch, ready to be labelled, with -o next.jsonl" in out


def test_forty_labels_with_fifteen_rejects(cli, write):
    out = flat(cli("plan", write(*rows(400, 15, 25))).out)
    assert "no cutoff" not in out
    assert (
        'With these 40 labels you can promise "at most 18.2% of wrong answers are accepted" '
        "(--max-far 0.182), at confidence 95%. How many good answers pass such a cutoff only the "
        "scores can tell; where rejects have the highest, there is none. You cannot promise 5%: that takes 59 rejects even "
        "if none of them is accepted; here are 15." in out
    )
    assert "to promise a limit: 0 for 20%. Too few for: 1%, 2%, 5%, 10%." in out
    assert "44 more rejects" in out
    # What is advised is granted.
    again = flat(cli("plan", "cases.jsonl", "--max-far", "0.182").out)
    assert 'you can promise "at most 18.2% of wrong answers are accepted", at' in again
    assert "The cutoff is then one by which none of the 15 rejects are accepted." in again


def test_labels_enough_for_the_promise(cli, write):
    out = flat(cli("plan", write(*rows(300, 100, 100)), "--max-far", "0.1").out)
    assert "one by which at most 4 of the 100 rejects are accepted" in out
    assert "To be able to" not in out
    assert "smallest limit that 100 rejects can back is 2.96%" in out
    assert "For a less strict cutoff, label about 206 answers more" in out
    assert "100 of 100 cases drawn at random" in out
    assert "200 were wanted; there are no more cases." in out
    assert "Or calibrate now, on the labels there are: closecall calibrate" in out


def test_one_short_of_ten(cli, write):
    out = flat(cli("plan", write(*rows(60, 20, 1)), "--max-far", "0.5").out)
    assert "and here is 1 accept." in out
    assert "sure to bring 9 more accepts" in out
    assert "strict" not in out.partition("For a less strict")[0]


def test_no_label_at_all(cli, write):
    said = cli("plan", write(*rows(30, 0, 0)))
    assert said.code == 0
    assert "Without a label nothing can be promised." in flat(said.out)
    assert "How many answers to label for that cannot be told: say with --reject-rate" in flat(
        said.out
    )
    assert "30 of 30 cases drawn" in flat(said.out)
    assert "of these labels" not in flat(said.out)
    told = cli("plan", "cases.jsonl", "--reject-rate", "0.5", "--size", "4")
    sure = plan(max_far=0.05, have=Have(accepts=0, rejects=0), reject_rate=0.5).drawn_surely
    assert (
        f"label {sure} answers picked at random: that is 95% sure to bring 59 more rejects and 10"
        in flat(told.out)
    )
    assert "Label next, certify batch: 4 of 30 cases" in flat(told.out)


def test_a_certify_batch_is_written_ready_to_be_labelled(cli, write, tmp_path):
    cases = rows(60, 12, 12, context=["About numbers."], tags=["x"], bot={"run": 3})
    out = tmp_path / "to" / "next.jsonl"
    said = cli("plan", write(*cases), "--size", "5", "-o", out, "--seed", "2")
    assert "5 rows written to" in said.err
    assert (
        f"    closecall calibrate {tmp_path}/cases.jsonl --max-far 0.05 -o cutoff.json" in said.out
    )
    written = lines(out)
    assert [name["id"] for name in written] == re.search(r"seed 2\):\n\s+(.*)\n", said.out)[
        1
    ].split(", ")
    by_id = {case["id"]: case for case in cases}
    for found in written:
        case = by_id[found["id"]]
        assert found["label"] is None
        assert (found["sampling"], found["inclusion_probability"]) == ("random", 5 / 36)
        added = {"label", "sampling", "inclusion_probability"}
        assert {key: found[key] for key in found if key not in added} == case
    # It is a case file of its own, and labelled and put together with the old one it counts.
    assert [case.id for case in open_dataset(out)] == [found["id"] for found in written]
    labelled = [{**found, "label": "reject"} for found in written]
    again = cli("plan", write(*cases, *labelled, name="both.jsonl"))
    assert "65 rows, 29 labels to count on: 17 rejects" in flat(again.out)
    assert "Not counted: 5 the same item again." in flat(again.out)
    assert "31 of 31 cases drawn" in flat(again.out)


def test_the_same_seed_draws_the_same_cases_whatever_their_order(cli, write):
    cases = rows(50, 5, 5)
    first = cli("plan", write(*cases), "--size", "6", "--format", "json").json["batch"]["picks"]
    turned = cli("plan", write(*reversed(cases)), "--size", "6", "--format", "json").json["batch"][
        "picks"
    ]
    other = cli("plan", "cases.jsonl", "--size", "6", "--seed", "1", "--format", "json").json[
        "batch"
    ]["picks"]
    assert first == turned != other


def test_groups_are_drawn_one_case_each(cli, write, tmp_path):
    cases = [row(at, "reject" if at < 20 else None, question=f"Q{at // 4}?") for at in range(80)]
    said = cli("plan", write(*cases), "--size", "10", "-o", "next.jsonl")
    assert "5 groups by question hold a reject, 0 an accept" in flat(said.out)
    assert "it takes 54 more rejects, each of another group, and 10 more accepts." in flat(
        said.out
    )
    assert "10 of 60 cases, each from another of 15 groups" in flat(said.out)
    written = lines(tmp_path / "next.jsonl")
    assert len({found["input"] for found in written}) == 10
    assert {found["inclusion_probability"] for found in written} == {10 / (15 * 4)}


def test_a_field_to_group_by(cli, write):
    cases = [row(at, "reject", session=f"s{at // 5}") for at in range(30)] + [row(99)]
    said = cli("plan", write(*cases[:-1]), "--group", "session")
    assert "6 groups by session hold a reject" in flat(said.out)
    wrong = cli("plan", write(*cases), "--group", "session")
    assert wrong.code == 2
    assert "cases.jsonl:31: no 'session' to group by" in wrong.err


def test_once_all_groups_have_a_label_a_second_one_is_drawn(cli, write):
    cases = [row(at, "accept" if at % 2 else None, question=f"Q{at // 2}?") for at in range(20)]
    said = cli("plan", write(*cases), "--size", "30")
    assert "Of groups that have a label: 10." in flat(said.out)
    assert "30 were wanted; there are no more groups, and a batch takes one case of each." in flat(
        said.out
    )


def test_labels_picked_by_score_back_nothing_and_may_be_drawn(cli, write, tmp_path):
    cases = rows(12, 0, 0)
    for case in cases[:10]:
        case |= {
            "label": "reject",
            "sampling": "active",
            "inclusion_probability": 0.5,
            "stratum": 1,
        }
    said = cli("plan", write(*cases), "--size", "12", "-o", "next.jsonl")
    assert "12 rows, 0 labels to count on" in flat(said.out)
    assert "Not counted: 10 picked by score (sampling: active)." in flat(said.out)
    assert "Labelled already, from a draw by score: 10." in flat(said.out)
    written = lines(tmp_path / "next.jsonl")
    assert sorted(found["label"] or "" for found in written) == ["", ""] + ["reject"] * 10
    assert {found["sampling"] for found in written} == {"random"}
    assert not any("stratum" in found for found in written)


def test_an_improve_batch_is_stratified_by_score(cli, write, tmp_path):
    cases = rows(60, 6, 6)
    said = cli(
        "plan", write(*cases), "--batch", "improve", "--cutoff", "50", "--size", "18", "-o", "next.jsonl", "-q",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "improve batch: 18 of 48 cases without a label, drawn by score (seed 0):" in flat(
        said.out
    )
    assert "above the cutoff: " in flat(said.out)
    assert "below the cutoff: " in flat(said.out)
    assert "These labels do not count for a promise" in flat(said.out)
    assert (
        f"closecall calibrate {tmp_path}/cases.jsonl --max-far 0.05 --leave-out-active -o cutoff.json"
        in said.out
    )
    written = lines(tmp_path / "next.jsonl")
    assert len(written) == 18
    assert {found["sampling"] for found in written} == {"active"}
    drawn = cli(
        "plan", "cases.jsonl", "--batch", "improve", "--cutoff", "50", "--size", "18", "-q", "--format", "json",
    ).json["batch"]  # fmt: skip
    assert [pick["id"] for pick in drawn["picks"]] == [found["id"] for found in written]
    for found in written:
        stratum = drawn["strata"][found["stratum"]]
        assert found["inclusion_probability"] == stratum["drawn"] / stratum["size"]
        assert stratum["drawn"] >= min(3, stratum["size"])
    assert sum(stratum["size"] for stratum in drawn["strata"]) == 48
    # Labelled, they count for no promise.
    labelled = [{**found, "label": "reject"} for found in written]
    again = cli("plan", write(*cases, *labelled, name="both.jsonl"))
    assert "12 labels to count on" in flat(again.out)
    assert "18 picked by score" in flat(again.out)
    more = cli("plan", "both.jsonl", "--batch", "improve", "--cutoff", "50", "--size", "9", "-q")
    assert "improve batch: 9 of 30 cases without a label" in flat(more.out)


def test_cases_without_a_score_cannot_be_drawn_by_score(cli, write):
    cases = [
        *rows(20, 2, 2),
        {"id": "judged", "input": "Who?", "response": "", "reference": "They.", "label": "reject"},
        {"id": "blank", "input": "What?", "response": " ", "reference": "That."},
    ]
    said = cli("plan", write(*cases), "--batch", "improve", "--cutoff", "60", "-q")
    assert "16 of 16 cases" in flat(said.out)
    assert "1 case without a score could not be drawn." in flat(said.out)


def test_json_says_it_all(cli, write):
    said = cli("plan", write(*rows(60, 15, 25)), "--size", "3", "--format", "json").json
    assert (
        said["plan"]["promises"][0]["best_limit"]
        == plan(max_far=0.05, have=Have(accepts=25, rejects=15)).promises[0].best_limit
    )
    assert said["labels"]["have"] == {
        "accepts": 25, "rejects": 15, "accept_groups": None, "reject_groups": None,
    }  # fmt: skip
    assert (said["labels"]["unlabelled"], said["labels"]["bad_rows"]) == (20, 0)
    assert [len(said["batch"]["picks"]), said["batch"]["kind"], said["batch"]["seed"]] == [
        3,
        "certify",
        0,
    ]
    numbers = cli("plan", "--format", "json").json
    assert (numbers["labels"], numbers["batch"]) == (None, None)
    assert numbers["plan"]["promises"][0]["needs"][0]["labels"] == 59


def test_a_file_with_other_columns_is_read_and_written_with_its_own(cli, tmp_path):
    table = tmp_path / "judged.csv"
    lines_ = ["question,bot,gold,verdict,response,note"]
    lines_ += [
        f"Q{at},said {at},meant {at},{'good' if at < 3 else ''},other,n{at}" for at in range(8)
    ]
    table.write_text("\n".join(lines_) + "\n", encoding="utf-8")
    mapping = [
        part
        for pair in ("response=bot", "reference=gold", "label=verdict")
        for part in ("--map", pair)
    ]
    said = cli("plan", table, *mapping, "--size", "9", "-o", "next.jsonl")
    assert said.code == 0, said.err
    assert "8 rows, 3 labels to count on: 0 rejects (wrong answers) and 3 accepts" in flat(
        said.out
    )
    assert set(lines(tmp_path / "next.jsonl")[0]) == {
        "question", "bot", "gold", "verdict", "response", "note", "sampling", "inclusion_probability",
    }  # fmt: skip
    assert "into the column verdict of every row" in flat(said.out)
    as_typed = {"response": "bot", "reference": "gold", "label": "verdict"}
    cases = list(open_dataset(tmp_path / "next.jsonl", mapping=as_typed))
    assert sorted(case.response for case in cases) == [f"said {at}" for at in range(3, 8)]
    assert all(case.references == (f"meant {case.input[1:]}",) for case in cases)
    assert all(case.metadata["note"] == f"n{case.input[1:]}" for case in cases)
    assert all(case.label is None for case in cases)


def test_nothing_left_to_label(cli, write, tmp_path):
    said = cli("plan", write(*rows(20, 10, 10)), "-o", "next.jsonl")
    assert said.code == 0
    assert "Nothing in cases.jsonl is left to label. Add about" in flat(said.out)
    wanted = plan(max_far=0.05, have=Have(accepts=10, rejects=10)).drawn_surely
    assert f"Add about {wanted} answers without a label to this file, picked at random" in flat(
        said.out
    )
    assert f"    closecall plan {tmp_path}/cases.jsonl --max-far 0.05 -o next.jsonl" in said.out
    assert "next.jsonl was not written" in said.err
    assert not (tmp_path / "next.jsonl").exists()


def test_nothing_more_is_needed(cli, write, tmp_path):
    said = cli("plan", write(*rows(90, 40, 40)), "--max-far", "0.9", "-o", "next.jsonl")
    assert "Label next" not in flat(said.out)
    assert not (tmp_path / "next.jsonl").exists()
    assert (
        cli("plan", "cases.jsonl", "--max-far", "0.9", "-o", "next.jsonl", "--size", "2").code == 0
    )
    assert len(lines(tmp_path / "next.jsonl")) == 2


def test_a_third_set_aside_is_spoken_of(cli, write):
    said = cli("plan", write(*rows(620, 200, 410)))
    assert "calibrate sets a third of so many aside" in flat(said.out)
    assert "--no-lock" in flat(said.out)
    assert "--no-lock" not in cli("plan", write(*rows(200, 90, 100))).out


def test_the_file_of_cases_is_never_written_over(cli, write, tmp_path):
    path = write(*rows(20, 2, 2))
    before = path.read_bytes()
    said = cli("plan", path, "-o", path)
    assert said.code == 2
    assert "that is the file of cases; it would be lost" in said.err
    os.link(path, tmp_path / "same.jsonl")
    assert cli("plan", path, "-o", "same.jsonl").code == 2
    (tmp_path / "link.jsonl").symlink_to(path)
    assert cli("plan", path, "-o", "link.jsonl").code == 2
    assert path.read_bytes() == before


def test_labels_of_an_earlier_batch_are_never_written_over(cli, write, tmp_path):
    path = write(*rows(20, 2, 2))
    assert cli("plan", path, "--size", "3", "-o", "next.jsonl").code == 0
    half_done = (tmp_path / "next.jsonl").read_bytes()
    said = cli("plan", path, "--size", "3", "-o", "next.jsonl")
    assert said.code == 2
    assert "may hold labels" in said.err
    assert (tmp_path / "next.jsonl").read_bytes() == half_done
    assert sorted(name.name for name in tmp_path.iterdir()) == ["cases.jsonl", "next.jsonl"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--max-far", "0"), "0<x<1"),
        (("--max-far", "5"), "0<x<1"),
        (("--reject-rate", "20"), "0<x<1"),
        (("--confidence", "95"), "0<x<1"),
        (("--looks", "0"), "x>=1"),
        (("-o", "next.jsonl"), "--output: only with a FILE"),
        (("--batch", "improve"), "--batch: only with a FILE"),
        (("--size", "3", "--group", "x"), "--group, --size: only with a FILE"),
        (("FILE", "--batch", "improve"), "give it with --cutoff VALUE"),
        (("FILE", "--cutoff", "60"), "--cutoff: only with --batch improve"),
        (
            ("FILE", "--embedder", "minilm", "--metric", "x"),
            "--metric, --embedder: only with --batch improve",
        ),
        (("FILE", "--size", "0"), "x>=1"),
        (("FILE", "-o", "-"), "-o takes the name of a file"),
        (("FILE", "-o", "next.xlsx"), "written as .jsonl, .json, .csv or .tsv; end the name"),
        (("FILE", "--seed", "-1"), "x>=0"),
        (("FILE", "--batch", "improve", "--cutoff", "0.6"), "did you mean 60?"),
        (
            ("FILE", "--batch", "improve", "--cutoff", "60", "--size", "4", "-q"),
            "at least 6 cases",
        ),
        (("FILE", "--map", "reply=response"), "reply"),
        (("FILE", "--batch", "both"), "'certify', 'improve'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_option_exits_with_2(args, said, cli, write, tmp_path):
    path = write(*rows(20, 2, 2))
    found = cli("plan", *(path if arg == "FILE" else arg for arg in args))
    assert found.code == 2, found.err
    assert said in flat(found.err)
    assert [name.name for name in tmp_path.iterdir()] == ["cases.jsonl"]


def test_an_unknown_metric_exits_with_3(cli, write):
    said = cli(
        "plan", write(*rows(20, 2, 2)), "--batch", "improve", "--cutoff", "6", "-m", "cosinus"
    )
    assert said.code == 3
    assert "no metric 'cosinus'" in said.err


def test_a_file_that_is_not_there_exits_with_4(cli):
    said = cli("plan", "nowhere.jsonl")
    assert said.code == 4
    assert "nowhere.jsonl" in said.err


def test_rows_that_cannot_be_read(cli, write):
    path = write(*rows(20, 2, 2), {"id": "bad", "response": {"no": "text"}})
    assert cli("plan", path).code == 4
    said = cli("plan", path, "--on-bad-row", "skip")
    assert said.code == 0
    assert "Left out: 1 row that could not be read." in flat(said.out)


def test_what_labels_say_of_themselves_must_make_sense(cli, write):
    said = cli("plan", write(*rows(5, 1, 1), row(9, "reject", inclusion_probability=2)))
    assert said.code == 4
    assert (
        "cases.jsonl:6: inclusion_probability: expected a number above 0 and at most 1" in said.err
    )


def test_what_is_quoted_of_a_file_is_shown_and_not_obeyed(cli, write):
    said = cli("plan", write({"id": "\x1b[31mred", "response": "a", "reference": "b"}))
    assert "\x1b" not in flat(said.out)
    assert "%1B[31mred" in flat(said.out)


TABLE = "no,frage,bot,soll,label\r\n" + "".join(
    f'{at},"Wo, {at}?","said ""{at}"" \n[here]","[""a{at}"", ""b, {at}""]",'
    f"{'good' if at < 4 else ''}\r\n"
    for at in range(30)
)
MAPPED = {"input": "frage", "response": "bot", "reference": "soll", "id": "no"}


@pytest.mark.parametrize("source", ["csv", "jsonl"])
@pytest.mark.parametrize("target", ["csv", "tsv", "jsonl", "json"])
def test_a_batch_reads_as_the_cases_it_was_drawn_from(source, target, cli, tmp_path):
    path = tmp_path / f"my pool.{source}"
    if source == "csv":
        path.write_text(TABLE, encoding="utf-8", newline="")
    else:
        path.write_text(
            "".join(
                json.dumps(
                    {
                        "no": at,
                        "frage": f"Wo, {at}?",
                        "bot": f"a\rb\t{at}",
                        "soll": ["x", f"y{at}"] if at % 2 else '["no list"]',
                        "label": "good" if at < 4 else None,
                        "more": {"deep": [at]},
                    }
                )
                + "\n"
                for at in range(30)
            ),
            encoding="utf-8",
        )
    typed = [part for field, name in MAPPED.items() for part in ("--map", f"{field}={name}")]
    out = tmp_path / f"next.{target}"
    said = cli("plan", path, *typed, "--size", "7", "-o", out)
    assert said.code == 0, said.err
    before = {case.id: case for case in open_dataset(path, mapping=MAPPED)}
    batch = list(open_dataset(out, mapping=MAPPED))
    assert len(batch) == 7
    for case in batch:
        one = before[case.id]
        assert (case.input, case.response, case.references, case.label) == (
            one.input, one.response, one.references, None,
        )  # fmt: skip
        assert case.metadata["sampling"] == "random"
        assert float(case.metadata["inclusion_probability"]) == 7 / 26
    command = next(line for line in said.out.splitlines() if "closecall calibrate" in line)
    assert shlex.split(command) == [
        "closecall", "calibrate", str(path), "--max-far", "0.05", *typed, "-o", "cutoff.json",
    ]  # fmt: skip


def test_a_batch_can_be_added_to_the_table_it_came_from(cli, tmp_path):
    path, out = tmp_path / "pool.csv", tmp_path / "b2.csv"
    head = "id;question;response;reference;label"
    body = [f"{at};Q{at}?;said {at};meant {at};{'reject' if at < 5 else ''}" for at in range(20)]
    path.write_text("\n".join([head, *body]) + "\n", encoding="utf-8")
    said = cli("plan", path, "--size", "6", "-o", out)
    assert "Its header lacks sampling, inclusion_probability" in flat(said.out)
    # With those two columns, empty so far, the rows can be put below.
    whole = [f"{head};sampling;inclusion_probability", *(f"{line};;" for line in body)]
    path.write_text("\n".join(whole) + "\n", encoding="utf-8")
    out.unlink()
    said = cli("plan", path, "--size", "6", "-o", out)
    assert "lacks" not in said.out
    added = out.read_text(encoding="utf-8").splitlines()
    assert added[0] == whole[0]
    labelled = [line.replace(";;random", ";reject;random") for line in added[1:]]
    path.write_text("\n".join([*whole, *labelled]) + "\n", encoding="utf-8")
    assert "11 labels to count on: 11 rejects" in flat(cli("plan", path).out)


def test_without_any_label_the_batch_is_calibrated_on_alone(cli, write, tmp_path):
    said = cli(
        "plan", write(*rows(200, 0, 0)), "-o", "next.jsonl", "--looks", "2", "--max-frr", "0.1"
    )
    assert "    closecall calibrate next.jsonl --max-frr 0.1 --looks 2 -o cutoff.json" in said.out
    assert "Add those rows" not in said.out


def test_a_table_holds_nothing_that_lies_inside_objects(cli, write):
    said = cli(
        "plan",
        write(*rows(20, 2, 2, bot={"text": "x"})),
        "--map",
        "response=bot.text",
        "-o",
        "n.csv",
    )
    assert said.code == 2
    assert "'bot.text' lies inside an object, which a table cannot hold; write n.jsonl" in flat(
        said.err
    )


def test_lines_follow_the_width_of_the_terminal(cli, write, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = cli("plan", write(*rows(400, 15, 25))).out
    assert 70 < max(len(line) for line in out.splitlines() if "    closecall" not in line) <= 80


def test_a_confidence_is_never_rounded_up_to_certainty(cli):
    assert "at confidence 99.999999%," in flat(cli("plan", "--confidence", "0.99999999").out)
    assert "at confidence 98.3%," in cli("plan", "--confidence", "0.98333333333").out

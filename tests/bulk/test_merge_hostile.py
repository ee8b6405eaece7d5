"""Shards that anyone may have made or changed, and copies of whole runs: the verdict stays."""

import json
import os
import re

import pytest
from bulk_cases import case, lines, parts, run, same_run, summary, write
from labelled_rows import made
from labelled_rows import rows as labelled

from closecall import Goal, evaluate, load_run, save_calibration
from closecall.bulk.counting import Totals, total_of
from closecall.bulk.merging import merge_runs
from closecall.cli.gating import GateWatch, ShardGates, keeping
from closecall.cli.gating import kept_gates as gates_in
from closecall.errors import CalibrationFileError, ClosecallError, RunFolderError, UsageError
from closecall.gates.deciding import DecidingGates, LaterGates
from closecall.gates.parsing import parse_gate
from closecall.runs import files
from closecall.runs.aef import seal_document
from closecall.runs.prices import read_prices
from closecall.runs.reader import open_run
from closecall.runs.sealing import digests_of
from closecall.runs.spending import Spending, Spent
from closecall.runs.wire import dump_document
from closecall.testing import HashEmbedder

CASES = 60
ODD = 'pass_rate(semantic_similarity where tag = "odd") >= 0.9'
KIND = 'pass_rate(semantic_similarity where slice.kind = "kind 2") >= 0.1'


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return write(tmp_path_factory.mktemp("cases") / "cases.jsonl", CASES)


def gates(*rules):
    return [parse_gate(rule) for rule in rules]


def sharded(cases, folder, count=2, **options):
    places = [folder / f"shard-{index}" for index in range(1, count + 1)]
    for index, place in enumerate(places, 1):
        run(cases, place, shard=f"{index}/{count}", **options)
    return places


def sealed(folder, change):
    """Change run.json of a run folder, and seal it anew, as whoever forges one does."""
    path = folder / files.RUN
    facts = json.loads(path.read_bytes())
    change(facts)
    path.write_bytes(dump_document(facts))
    seal = dump_document(seal_document(facts, digests_of(folder, {})))
    (folder / files.SEAL).write_bytes(seal)


def header(change):
    return lambda facts: change(facts["config"]["closecall"])


@pytest.mark.parametrize("content", [True, False])
def test_a_copy_of_a_whole_run_keeps_what_its_gates_decided(cases, tmp_path, content):
    """Which cases a gate is about follows from no folder: its metadata are short, or not there."""
    watch = GateWatch(gates(ODD, KIND))
    whole = run(cases, tmp_path / "whole", content=content, watch=watch)
    assert [one.asked for one in whole.gates] == [CASES // 2, CASES // 5]
    there = merge_runs([tmp_path / "whole"], parts(tmp_path / "there"), watch=watch)
    merge_runs([tmp_path / "there"], tmp_path / "back", watch=watch)
    assert same_run(there, whole)
    for place in ("there", "back"):
        assert open_run(tmp_path / place).verify() == []
        assert same_run(load_run(tmp_path / place), load_run(tmp_path / "whole"))
    for name in ("gates.ndjson", "results.ndjson"):
        assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_copy_of_a_whole_run_keeps_what_was_watched_and_needs_no_calibration(tmp_path):
    calibration = tmp_path / "cutoff.json"
    save_calibration(made(goal=Goal(max_far=0.1)), calibration)
    moved = [one | {"response": one["response"] * 3} for one in labelled(90, 30, seed=3)]
    given = tmp_path / "cases.jsonl"
    given.write_text("".join(json.dumps(one) + "\n" for one in moved), encoding="utf-8")
    whole = evaluate(
        given,
        embedder=HashEmbedder(),
        calibration=calibration,
        aef=tmp_path / "whole",
        cache=False,
    )
    assert whole.watched[0].shift.findings
    calibration.unlink()
    found = merge_runs([tmp_path / "whole"], parts(tmp_path / "there"))
    assert same_run(found, whole)
    merge_runs([tmp_path / "there"], tmp_path / "back")
    assert summary(tmp_path / "back") == summary(tmp_path / "whole")
    assert lines(tmp_path / "back") == lines(tmp_path / "whole")


def test_shards_measured_without_the_gates_are_not_decided_by_them(cases, tmp_path):
    shards = sharded(cases, tmp_path)
    with pytest.raises(RunFolderError, match="does not say which of the gates it is about"):
        merge_runs(shards, tmp_path / "merged", watch=lambda h: DecidingGates([ODD], h))
    assert not (tmp_path / "merged").exists()
    rule = "pass_rate(semantic_similarity) >= 0.2"
    found = merge_runs(shards, tmp_path / "all", watch=lambda h: DecidingGates([rule], h))
    assert found.gates[0].asked == CASES


def test_a_shard_goes_on_with_the_gates_it_notes_and_no_others(cases, tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 10)

    def stop(done, _total):
        if done >= 10:
            raise KeyboardInterrupt

    begun = gates(ODD)
    options = {"shard": (1, 2), "asked": {"gates": keeping(begun)}}
    with pytest.raises(KeyboardInterrupt):
        run(cases, tmp_path / "one", watch=ShardGates(begun), progress=stop, **options)
    other = ODD.replace("odd", "even")
    with pytest.raises(UsageError, match=r"begun with other gates .*odd.*Go on without --gate"):
        run(cases, tmp_path / "one", watch=ShardGates(gates(other)), resume=True, **options)
    limit = ODD.replace("0.9", "0.5")  # about the same cases
    run(cases, tmp_path / "one", watch=ShardGates(gates(limit)), resume=True, **options)
    run(cases, tmp_path / "two", watch=ShardGates(begun), **options | {"shard": (2, 2)})
    whole = run(cases, watch=GateWatch(begun))
    found = merge_runs(
        [tmp_path / "one", tmp_path / "two"], tmp_path / "merged", watch=GateWatch(begun)
    )
    assert same_run(found, whole)


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (5, r"asked\.gates must be a list, got 5"),
        ("mean(x) > 1", r"asked\.gates must be a list"),
        ([1], r"asked\.gates\[0\] must be an object"),
        ([{"rule": ODD}], r"asked\.gates\[0\]\.name must be a text, got None"),
        ([{"rule": 7, "name": ""}], r"asked\.gates\[0\]\.rule must be a text, got 7"),
        ([{"rule": "no rule", "name": ""}], r"asked\.gates\[0\]\.rule: "),
    ],
)
def test_gates_of_a_header_that_are_none_are_refused_by_name(kept, said):
    with pytest.raises(RunFolderError, match=said):
        gates_in({"gates": kept})


def test_a_merge_by_the_command_line_names_gates_that_are_none(cases, tmp_path, capsys):
    from closecall.cli import run as command

    shards = sharded(cases, tmp_path)
    for shard in shards:
        sealed(shard, header(lambda facts: facts["asked"].update(gates=[{"rule": 7}])))
    assert command(["runs", "merge", *map(str, shards), "-o", str(tmp_path / "merged")]) == 4
    assert "asked.gates[0].rule must be a text" in capsys.readouterr().err


def test_shards_of_another_number_of_cases_do_not_add_up(cases, tmp_path):
    """Of 60 cases the second half begins at 30; of 40 a half ends there that is given as one."""
    shards = sharded(cases, tmp_path)
    forged = run(cases, tmp_path / "other", shard="3/3").folder  # the cases from 40 on

    def change(facts):
        facts["shard"] = {"index": 2, "count": 2, "first": 20, "stop": 40}
        facts["dataset"]["rows"] = 40

    sealed(forged, header(change))
    with pytest.raises(
        RunFolderError, match=r"other: shard 2 of 2 has the cases from 20 up to 40, .*part of 60"
    ):
        merge_runs([shards[0], forged], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize("kind", ["folder", "parts"])
def test_a_case_that_two_shards_hold_is_counted_in_none(cases, tmp_path, kind):
    first = run(cases, tmp_path / "first", shard="1/2").folder
    again = run(cases, tmp_path / "again", shard="1/2").folder
    half = {"index": 2, "count": 2, "first": CASES // 2, "stop": CASES}
    sealed(again, header(lambda facts: facts.update(shard=half)))
    to = tmp_path / "merged"
    with pytest.raises(
        RunFolderError, match=r"again: the case 'case-\d+' stands there twice, or in an"
    ):
        merge_runs([first, again], to if kind == "folder" else parts(to))
    assert not list(tmp_path.glob("merged/*"))


@pytest.mark.parametrize("rows", [-1, -(2**50)])
def test_a_whole_run_of_less_than_no_cases_is_refused(cases, tmp_path, rows):
    run(cases, tmp_path / "whole")
    sealed(tmp_path / "whole", header(lambda facts: facts["dataset"].update(rows=rows)))
    with pytest.raises(RunFolderError, match=r"whole/run\.json: there are no -\d+ cases"):
        merge_runs([tmp_path / "whole"], parts(tmp_path / "there"))


@pytest.mark.parametrize("look", ["-1,1", f"{2**70},1", f"3,{10**300}"])
def test_lengths_that_are_none_are_refused_with_the_case(tmp_path, look):
    calibration = tmp_path / "cutoff.json"
    save_calibration(made(goal=Goal(max_far=0.1)), calibration)
    given = tmp_path / "cases.jsonl"
    given.write_text("".join(json.dumps(one) + "\n" for one in labelled(40, 40, seed=3)))
    for index in (1, 2):
        evaluate(
            given,
            embedder=HashEmbedder(),
            calibration=calibration,
            aef=tmp_path / f"{index}",
            shard=(index, 2),
            cache=False,
        )
    texts = tmp_path / "2" / files.CASES
    told = texts.read_bytes()
    texts.write_bytes(
        re.sub(rb'"looks":\[\[\d+,\d+', b'"looks":[[' + look.encode(), told, count=1)
    )
    sealed(tmp_path / "2", lambda _facts: None)
    with pytest.raises(RunFolderError, match=r"case 'row-0040': what was noted of it cannot be"):
        merge_runs([tmp_path / "1", tmp_path / "2"], tmp_path / "merged")


def spending(tokens, price, **more):
    prices = read_prices({"m": {"input": price, "output": 0, "currency": "USD"}} | more)
    one = Spent(role="judge", provider="p", model="m", requests=1, prompt_tokens=tokens)
    return Totals(spending=Spending(spent=(one,), prices=prices, budget="2 USD"))


def test_what_was_paid_at_two_prices_has_no_cost_at_one_of_them():
    same = total_of([spending(10**6, 1), spending(10**6, 1)]).spending
    assert (same.tokens, str(same.total.amount), same.budget) == (2 * 10**6, "2", "")
    for one, other in [(1, 3), (3, 1)]:
        found = total_of([spending(10**6, one), spending(10**6, other)]).spending
        assert found.tokens == 2 * 10**6
        assert found.total.amount is None
    more = {"other": {"input": 5, "currency": "USD"}}
    found = total_of([spending(10**6, 1), spending(10**6, 1, **more)]).spending
    assert str(found.total.amount) == "2"
    alone = spending(5, 1)
    assert total_of([alone]).spending == alone.spending


@pytest.mark.skipif(os.name != "posix", reason="links are not for everybody there")
def test_a_merge_into_a_link_that_fails_leaves_nothing_behind_it(cases, tmp_path, monkeypatch):
    def broken(*_args, **_options):
        raise RunFolderError("no")

    monkeypatch.setattr("closecall.bulk.counting.Recount.finish", broken)
    there = tmp_path / "there"
    there.mkdir()
    (tmp_path / "link").symlink_to(there)
    with pytest.raises(ClosecallError, match="no"):
        merge_runs(sharded(cases, tmp_path), tmp_path / "link")
    assert list(there.iterdir()) == []


def test_a_calibration_that_was_no_file_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # files lying about are no calibrations
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    used, given = made(goal=Goal(max_far=0.1)), labelled(20, 20, seed=3)
    places = [tmp_path / "one", tmp_path / "two"]
    for index, place in enumerate(places, 1):
        evaluate(
            given, embedder=HashEmbedder(), calibration=used, aef=place, shard=(index, 2),
            cache=False,
        )  # fmt: skip
    with pytest.raises(CalibrationFileError, match=r"given in Python.*--calibration FILE"):
        merge_runs(places, tmp_path / "merged")
    assert merge_runs(places, tmp_path / "merged", calibration=used).cases.total == 40


@pytest.mark.parametrize("content", [True, False])
def test_groups_are_the_same_whatever_is_kept_of_a_case(tmp_path, monkeypatch, content):
    """Of one question some answers are labelled and some not, some are kept and some cut."""
    given = tmp_path / "cases.jsonl"
    with given.open("w", encoding="utf-8") as out:
        for number in range(120):
            one = case(number)
            if number // 40 != 1:
                one["label"] = "accept" if number % 3 else "reject"
            out.write(json.dumps(one) + "\n")
    rule = "surely pass_rate(semantic_similarity) >= 0.5"
    whole = run(given, content=content, watch=lambda h: DecidingGates([rule], h))
    assert "design effect" in whole.gates[0].interval.method
    monkeypatch.setattr("closecall.runs.folder.TEXT_BUDGET", 12_000)  # as of a very large shard
    shards = sharded(given, tmp_path, content=content, watch=lambda h: LaterGates([rule], h))
    found = merge_runs(shards, tmp_path / "merged", watch=lambda h: DecidingGates([rule], h))
    assert same_run(found, whole)


@pytest.mark.parametrize("kind", ["folder", "parts"])
def test_a_place_within_a_shard_is_refused(cases, tmp_path, kind):
    shards = sharded(cases, tmp_path)
    inside = shards[1] / "deep" / "merged"
    with pytest.raises(UsageError, match=r"deep/merged: lies within .*shard-2"):
        merge_runs(shards, inside if kind == "folder" else parts(inside))
    assert [open_run(shard).verify() for shard in shards] == [[], []]

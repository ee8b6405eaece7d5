"""What a person reads of a calibration: counts first, each number with its n, nothing too much."""

import importlib.util
import re
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from closecall.calibration import Costs, Infeasible
from closecall.calibration.build import History
from closecall.calibration.goals import Goal
from closecall.calibration.words import evidence_words, goal_words
from closecall.records import Label, Unmeasured
from closecall.report.calibration import lines
from closecall.report.calibration_labels import part_words
from closecall.report.no_cutoff import refusal
from closecall.report.words import BLIND
from closecall.report.wrapped import columns, wrapped

MADE = Path(__file__).resolve().parent.parent / "calibration"
GROUPS = [f"q{at}" for at in np.random.default_rng(0).integers(0, 130, 400)]


def _load(name):
    """Load a helper of another folder by its place."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, MADE / f"{name}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


_load("made_scores")
cases = _load("made_cases")


def usual(rejects=150, accepts=250, **columns):
    return cases.usual(rejects, accepts, **columns)


def report(goal=None, measured=None, history=None, **options):
    found = cases.made(usual() if measured is None else measured, goal, history, **options)
    assert not isinstance(found, Infeasible), found
    return lines(found), found


def one(said, start):
    (line,) = [line for line in said if line.strip().startswith(start)]
    return line


def below(said, start):
    """The lines that belong to the one that starts so."""
    at = said.index(one(said, start))
    found = []
    for line in said[at + 1 :]:
        if not line.startswith("  "):
            break
        found.append(line.strip())
    return found


# --- one cutoff ----------------------------------------------------------------------------------


def test_the_head_names_cutoff_metric_embedder_and_labels():
    said, found = report()
    assert said[0] == (
        f"Cutoff {found.rule.value:.10g} on embedding_similarity(hash-words), chosen from 400 "
        "labels (150 rejects, 250 accepts)."
    )
    grouped, _ = report(measured=usual(group=GROUPS))
    assert f"250 accepts, {len(set(GROUPS))} groups by the group column)." in grouped[0]


def test_an_exact_promise_with_what_it_costs_to_be_wrong():
    said, found = report(Goal(max_far=0.1))
    evidence = found.rule.evidence
    assert one(said, "Guarantee") == "Guarantee: at most 10% of wrong answers are accepted."
    broken = one(said, "Proof")
    (backing,) = below(said, "Proof")
    share = re.fullmatch(
        r"Proof: this procedure breaks that promise in at most (.*)% of calibrations \(5% was allowed\), "
        r"if the labels are a random sample of the answers to come\.",
        broken,
    )
    assert evidence.violation_probability <= float(share[1]) / 100 <= 0.05
    assert backing == (
        f"Of 150 wrong answers {evidence.observed} are accepted ({evidence.allowed} may be)."
    )


def test_looks_divide_what_may_be_broken_and_the_report_says_so():
    said, _ = report(Goal(max_far=0.1, looks=4))
    assert "(1.3% was allowed: 5% shared among 4 looks)" in one(said, "Proof")
    two, _ = report(Goal(max_far=0.1, max_frr=0.1, looks=4))
    assert "(1.3% was allowed: 5% shared among 4 looks, half for each promise)" in one(
        two, "Proof"
    )


def test_with_groups_the_promise_is_about_groups_and_says_so():
    said, found = report(measured=usual(group=GROUPS))
    (backing,) = below(said, "Proof")
    evidence, counts = found.rule.evidence, found.rule.counts
    assert backing == (
        f"It looks at one wrong answer a group ({evidence.n} of your 150), because answers of one "
        f"group are alike; it is about groups. Of those {evidence.n}, {evidence.observed} are "
        f"accepted ({evidence.allowed} may be). Counting every answer, {counts.false_accepts} of "
        "150 got through."
    )


def test_a_question_is_called_one_only_where_it_made_the_groups():
    asked = [f"What of {name}?" for name in GROUPS]
    said, _ = report(measured=usual(input=asked))
    assert f", {len(set(GROUPS))} questions)." in said[0]
    (backing,) = below(said, "Proof")
    assert backing.startswith("It looks at one wrong answer a question (")
    assert "answers to one question are alike; it is about questions" in backing
    text = "\n".join(said)
    assert "questions with wrong answers still to label" in text
    mixed, _ = report(measured=usual(input=["", *asked[1:]]))
    assert "question (" not in "\n".join(mixed)
    assert " groups by question, else reference)." in mixed[0]


def test_with_groups_each_of_two_promises_counts_its_own_class():
    said, found = report(Goal(max_far=0.2, max_frr=0.2), usual(group=GROUPS))
    wrong, good = below(said, "Proof")
    assert "one wrong answer a group" in wrong
    assert wrong.endswith(f"{found.rule.accept.counts.false_accepts} of 150 got through.")
    assert "one good answer a group" in good
    assert good.endswith(f"{found.rule.reject.counts.false_rejects} of 250 were turned away.")


def test_an_average_promise_is_called_one():
    said, found = report(Goal(max_far=0.05, guarantee="average"))
    assert not any(line.startswith("Guarantee:") for line in said)
    assert one(said, "Guarantee") == (
        "Guarantee on average only: over many calibrations at most 5% of wrong answers are "
        "accepted."
    )
    odds = re.search(r"up to (\d+)% of those", below(said, "Guarantee")[0])
    assert "half" not in " ".join(said)
    assert found.rule.evidence.violation_probability <= int(odds[1]) / 100
    assert "promised nothing, not even on average" in " ".join(said)
    assert "--looks" not in " ".join(said)


def test_an_approximate_promise_is_called_one():
    said, _ = report(Goal(max_far=0.1, guarantee="approximate"), usual(group=GROUPS))
    assert not any(line.startswith("Guarantee") for line in said)
    assert one(said, "Approximate").startswith("Approximate guarantee: at most 10% of wrong")
    assert one(said, "Not proved").endswith("(5% was allowed).")
    (backing,) = below(said, "Not proved")
    assert re.search(r"in \d+ groups, worth \d+ independent ones", backing)


@pytest.mark.parametrize(
    ("goal", "head"),
    [
        (
            Goal(costs=Costs(false_accept=5, false_reject=1)),
            "No guarantee: least cost, a false accept at 5 and a false reject at 1.",
        ),
        (Goal(objective="f1"), "No guarantee: the best F1."),
    ],
    ids=["costs", "objective"],
)
def test_costs_and_objectives_are_called_no_guarantee(goal, head):
    said, _ = report(goal)
    assert head in said
    text = "\n".join(said)
    assert "Guarantee:" not in text
    assert "promise" not in text.replace("nothing is promised", "")
    assert one(said, "Nothing is proved").endswith("the median of the best of 40 resamples.")


def test_a_promise_on_good_answers():
    said, found = report(Goal(max_frr=0.1))
    assert one(said, "Guarantee") == "Guarantee: at most 10% of good answers are rejected."
    assert "Of 250 good answers" in below(said, "Proof")[0]
    wrong = found.rule.counts.false_accepts
    assert one(said, "Price").endswith(f"wrong answers is let through: {wrong} of 150.")
    assert one(said, "Other limits").startswith("Other limits on good answers rejected")


# --- counts --------------------------------------------------------------------------------------


def test_counts_come_before_percentages_and_name_their_class():
    said, found = report()
    counts = found.rule.counts
    wrong, good = below(said, "On the labels that chose it")
    assert wrong.startswith(f"false accepts: {counts.false_accepts} of 150 wrong answers = ")
    assert good.startswith(f"false rejects: {counts.false_rejects} of 250 good answers = ")
    for line in (wrong, good):
        assert re.search(r" = [\d.]+% \(95% interval [\d.]+-[\d.]+%\)$", line)


CHOSEN = re.compile(
    r"at most|confidence|\(5% was|[\d.]+%: |[\d.]+% \d+ \(|If [\d.]+%|if [\d.]+%|interval|was allowed|"
    r"a person accepts about|\d+% shared|out of reach"
)


@pytest.mark.parametrize(
    "goal",
    [
        Goal(max_far=0.1),
        Goal(max_frr=0.1),
        Goal(max_far=0.1, max_frr=0.1),
        Goal(objective="youden"),
    ],
    ids=["far", "frr", "two", "youden"],
)
def test_every_measured_percentage_stands_beside_its_count_and_n(goal):
    kinds = [{"kind": "ab"[at % 2]} for at in range(400)]
    said, _ = report(goal, usual(metadata=kinds, group=GROUPS), slices=["kind"])
    for line in said:
        if "%" not in line:
            continue
        assert re.search(r"\d+ of \d+|of these \d+ labels|all \d+ labels", line) or CHOSEN.search(
            line
        ), line
    # Nothing is shown with more than two digits on so few labels.
    for share in re.findall(r"= ([\d.]+)%", "\n".join(said)):
        assert len(share.replace(".", "").lstrip("0")) <= 2, share


def test_no_word_is_said_that_would_promise_too_much():
    said = "\n".join(
        line
        for goal in (Goal(max_far=0.1), Goal(max_far=0.1, max_frr=0.1), Goal(objective="accuracy"))
        for line in report(goal)[0]
    )
    assert not re.search(r"accuracy of|\d% accura|certain|never wrong|guaranteed|safe\b", said)
    assert not re.search(r"score (is|as) a probability", said)
    assert said.endswith(BLIND)


def test_how_many_of_the_accepted_are_wrong_is_told_for_a_stated_share_of_good_ones():
    said, _ = report()
    line = one(said, "If ")
    assert line.startswith("If 62% of your answers are good (as 250 of these 400 labels are): ")
    rare, often = (int(n) for n in re.findall(r"1 in (\d+)", line))
    assert often < rare
    said, _ = report(Goal(costs=Costs(false_accept=1, false_reject=1, base_rate=0.85)))
    assert one(said, "If ").startswith("If 85% of your answers are good (as you said): ")


# --- two cutoffs ---------------------------------------------------------------------------------


def test_two_cutoffs_print_first_how_much_is_left_to_a_person():
    scores, labels = _load("made_scores").normal_scores(250, 250, gap=1.5, decimals=4)
    said, found = report(Goal(max_far=0.1, max_frr=0.1), cases.scored(scores / 10, labels))
    rule = found.rule
    assert rule.abstains
    assert said[0].startswith(f"Left to a person: {rule.unsure.count} of 500 = ")
    assert said[1].startswith(
        f"Accept from {rule.accept.value:.10g} on, reject below {rule.reject.value:.10g}, "
    )
    assert one(said, "Guarantee") == (
        "Guarantee: at most 10% of wrong answers are accepted and at most 10% of good answers are "
        "rejected."
    )
    assert "(5% was allowed, half for each promise)" in one(said, "Proof")
    assert len(below(said, "Proof")) == 2
    assert not any(line.startswith("Price") for line in said)
    assert sum(line.startswith("Close calls") for line in said) == 2
    assert re.search(r"\d+ to \d+ of 500 left to a person", "\n".join(said))


def test_two_promises_that_one_cutoff_keeps():
    scores, labels = _load("made_scores").normal_scores(150, 150, gap=8.0, decimals=4)
    said, _ = report(Goal(max_far=0.1, max_frr=0.1), cases.scored(scores / 10, labels))
    assert said[0].startswith("Cutoff ")
    assert said[1].strip() == "One cutoff keeps both promises, so no answer is left unsure."
    assert sum(line.startswith("Close calls") for line in said) == 1


# --- what else there is --------------------------------------------------------------------------


def test_other_limits_with_what_they_would_do_or_lack():
    said, found = report()
    listed = below(said, "Other limits on wrong answers accepted")
    assert [line.split(":")[0] for line in listed[1:-1]] == ["2%", "3%", "5%", "20%"]
    assert listed[0] == (
        f"wrong answers still to label, at least: 1% {found.promises[0].more} (150 are there)"
    )
    counts = found.promises[-1].counts
    assert listed[4].endswith(
        f"accepts {counts.false_accepts} of 150 wrong answers and rejects {counts.false_rejects} "
        "of 250 good ones"
    )
    assert "--looks 6" in listed[5]
    # Who paid for so many looks may choose.
    assert "--looks" not in " ".join(report(Goal(max_far=0.1, looks=6))[0])
    grouped, found = report(measured=usual(group=GROUPS))
    assert "groups with wrong answers" in below(grouped, "Other limits")[0]


def test_held_out_numbers_are_called_approximate():
    said, found = report()
    head = one(said, "Held out")
    assert head == "Held out (5x5 cross-validation, the median of 5; approximate intervals):"
    wrong, good, spread = below(said, "Held out")
    assert wrong.startswith(f"false accepts: {found.held_out.false_accept_rate.count} of 150 ")
    assert good.startswith("false rejects: ")
    assert re.fullmatch(r"over the 5 repeats: \d+ to \d+ false accepts, \d+ to \d+ .*", spread)
    grouped, _ = report(measured=usual(group=GROUPS))
    assert "cross-validation by group" in one(grouped, "Held out")


def test_repeats_that_all_say_the_same_are_not_told_as_a_range():
    scores, labels = _load("made_scores").normal_scores(150, 150, gap=20.0)
    said, found = report(Goal(objective="youden"), cases.scored(scores, labels))
    assert {counts.false_accepts for counts in found.held_out.counts} == {0}
    assert not any("repeats:" in line or "0 to 0" in line for line in below(said, "Held out"))


def test_held_out_fits_without_a_cutoff_are_told():
    said, _ = report(Goal(max_far=0.05), cases.usual(60, 60))
    assert one(said, "Held out") == (
        "Held out: no fit on four fifths of the labels has enough wrong answers (5x5 "
        "cross-validation)."
    )


def test_a_locked_test_claims_no_more_than_it_is():
    measured = cases.usual(300, 400)
    said, found = report(measured=measured)
    assert one(said, "Tested on") == (
        f"Tested on {found.locked.n} labels set aside, which had no part in choosing the cutoff:"
    )
    assert said[1] == (
        f"  700 rows: {found.locked.n} set aside as a test, {found.data.used} used."
    )
    assert below(said, "Tested on")[0].startswith("false accepts: ")
    assert "Look number" not in "\n".join(said)
    groups = frozenset(found.sample.groups)
    again, _ = report(measured=measured, history=History(tried=2, chose=groups))
    assert "Look number 2 at these labels" in below(again, "Tested on")[-1]


def sliced(**columns):
    """Rows of a kind that is easy, of one that is not, and of a rare one."""
    kinds = [("easy" if at % 3 else "hard") if at % 30 else "rare" for at in range(400)]
    measured = usual(metadata=[{"kind": kind} for kind in kinds], **columns)
    lower = [0.2 * (kind == "easy" and at < 150) for at, kind in enumerate(kinds)]
    return [
        (case, msgspec.structs.replace(found, value=found.value - less))
        for (case, found), less in zip(measured, lower, strict=True)
    ]


def test_slices_say_yes_not_shown_or_unknown():
    said, found = report(measured=sliced(), slices=["kind"])
    table = found.slices
    head = one(said, "Slices")
    assert head == ("Slices: are at most 10% of wrong answers accepted in each by itself?")
    rows = below(said, "Slices")
    statuses = {report.value: report for report in table.reports}
    assert statuses["rare"].status == "unknown"
    unknown = [report for report in table.reports if report.status == "unknown"]
    (few,) = [row for row in rows if row.startswith("too few")]
    assert few == (
        f"too few labels to say anything of {len(unknown)} of {table.examined} parts looked at "
        f"(W8; most needed, in wrong answers: kind = rare, {statuses['rare'].needs})"
    )
    # And not once more among the cautions.
    assert not any(line.startswith("Caution W8") for line in said)
    sure = [report for report in table.reports if report.status == "certified"]
    assert sure
    assert [row.split(":")[0] for row in rows if row.startswith("yes for ")] == [
        f"yes for {part_words(report)}" for report in sure
    ]
    assert "Yes holds for all of these at once but for at most 5% of calibrations." in rows
    for row in rows:
        if " wrong answers accepted, " in row:
            assert re.search(r"\d+ of \d+ wrong answers accepted, \d+ of \d+ good ones", row)


@pytest.mark.parametrize("guarantee", ["average", "approximate"])
def test_slices_keep_a_promise_of_the_exact_kind_and_say_so(guarantee):
    groups = {"group": GROUPS} if guarantee == "approximate" else {}
    said, found = report(Goal(max_far=0.1, guarantee=guarantee), sliced(**groups), slices=["kind"])
    (yes,) = [row for row in below(said, "Slices") if row.startswith("Yes holds")]
    assert any(one.status == "certified" for one in found.slices.reports)
    assert "the exact kind of promise, unlike the one above" in yes
    assert ("a share of groups" in yes) == bool(groups)


def test_without_a_promise_slices_are_only_counted():
    kinds = [{"kind": "plain" if at % 3 else "odd"} for at in range(400)]
    said, _ = report(Goal(objective="f1"), usual(metadata=kinds), slices=["kind"])
    assert one(said, "Slices").endswith("errors are counted, nothing is promised:")
    assert not any("yes" in row or "unknown" in row for row in below(said, "Slices"))


def test_rows_left_out_are_listed_with_reasons():
    measured = usual()
    case, value = measured[0]
    extra = [
        (msgspec.structs.replace(case, id="twin"), value),
        (msgspec.structs.replace(case, id="bare", label=None), value),
        (msgspec.structs.replace(case, id="blank", response=" "), Unmeasured("it is blank")),
        (msgspec.structs.replace(measured[1][0], id="other", label=Label.ACCEPT), measured[1][1]),
    ]
    said, _ = report(measured=[*measured, *extra])
    assert said[1] == (
        "  404 rows: 1 without a label, 1 without a score, 1 repeat, 2 labelled both ways, 399 used."
    )
    assert "Without a score, 1: it is blank" in said
    assert one(said, "Label noise") == (
        "Label noise: 1 row repeats another with the same label (copies, or a second opinion? "
        "only the latter measures noise), 1 with the other one."
    )
    assert one(said, "Caution W9") == (
        "Caution W9: 1 item carries both labels, set aside; two labels of one item agree in 1 of 2 "
        "cases (kappa 0.00; 1 is full agreement, 0 no more than chance). Agree on what counts as "
        "good, and label the disputed answers again."
    )


def noisy(floor, attributed=4):
    """A calibration with double labels of which some disagree, and a noise floor."""
    measured = usual()
    again = [
        (
            msgspec.structs.replace(
                case,
                id=f"again-{at}",
                label=Label.ACCEPT if at == 0 else case.label,
                metadata={"annotator": "bob"},
            ),
            value,
        )
        for at, (case, value) in enumerate(measured[:4])
    ]
    found = cases.made([*measured, *again])
    data = msgspec.structs.replace(found.data, noise_floor=floor, attributed=attributed)
    return lines(msgspec.structs.replace(found, data=data))


def test_labels_too_noisy_for_the_promise_are_told_right_under_it():
    said = noisy(0.297)
    assert below(said, "Guarantee") == [
        (
            "As your labels have it; but they disagree so often that rates below about 30% cannot be "
            "measured."
        )
    ]
    assert one(said, "Biggest worry").startswith("Biggest worry: the labels contradict each other")
    assert not any("labels like these" in line for line in said)
    said = noisy(0.02)
    assert below(said, "Guarantee") == []
    assert below(said, "Label noise")[-1].startswith("False-accept rates below about 2.0% cannot")


def test_only_named_annotators_are_said_to_agree():
    agree = "Label noise: 3 of 4 double labels agree, kappa "
    assert one(noisy(0.02), "Label noise").startswith(agree)
    assert "1 of them name no annotators" in below(noisy(0.02, 3), "Label noise")[0]
    assert "3 rows repeat another" in one(noisy(0.02, 0), "Label noise")


def test_a_copy_is_no_second_opinion():
    measured = usual()
    said, _ = report(measured=[*measured, measured[0]])
    assert one(said, "Label noise") == (
        "Label noise: not measured (1 row with the same label twice by one id or person: no second "
        "opinion); label a tenth of the rows twice to know it."
    )


def test_labels_to_look_at_again_are_listed_by_place():
    said, found = report()
    counts, sample = found.rule.counts, found.sample
    head = one(said, "Check these labels again")
    assert head.endswith(
        "labelled reject, and the cutoff accepts them; the likeliest labelling mistakes "
        f"({counts.false_accepts} in all):"
    )
    listed = below(said, "Check these labels again")
    assert len(listed) == min(5, counts.false_accepts)
    first = sample.ids.index(found.audit.entries[0].id)
    assert listed[0] == f"{sample.places[first]}: {sample.texts[first].response}"
    assert sample.accept[first] != "a"
    # The other side is a list of its own, below, and nothing is claimed of it.
    other = one(said, "And as many of these")
    assert said.index(other) > said.index(head)
    assert f"the cutoff rejects them ({counts.false_rejects} in all)" in other
    bare, _ = report(keep_texts=False)
    assert below(bare, "Check these labels again")[0] == sample.places[first]


def test_as_many_of_the_other_side_are_listed_as_there_are():
    made = report()[1]
    audit = made.audit
    for high, shown in ((2, 2), (0, 5)):
        entries = tuple(
            entry
            for kind, most in (("high-scoring reject", high), ("low-scoring accept", 20))
            for entry in [one for one in audit.entries if one.kind == kind][:most]
        )
        one_sided = msgspec.structs.replace(audit, entries=entries, high_rejects=high)
        said = lines(msgspec.structs.replace(made, audit=one_sided))
        head = "And as many of these" if high else "Check these labels again"
        assert one(said, head).count("the cutoff rejects them") == 1
        assert len(below(said, head)) == shown
        # With nothing above it, it points at nothing above.
        assert any(line.startswith("And as many") for line in said) == bool(high)


def test_many_wrong_answers_above_the_cutoff_are_no_likely_mistakes():
    scores, labels = _load("made_scores").normal_scores(200, 200, gap=0.5, decimals=4)
    said, found = report(Goal(max_far=0.2), cases.scored(scores / 10, labels))
    assert found.audit.high_rejects > 20
    assert "likeliest" not in one(said, "Check these labels again")


# --- the part before the details -----------------------------------------------------------------


def summary(said):
    return said[: said.index("")]


def test_cutoff_promise_price_and_worry_come_first():
    said, found = report()
    counts = found.rule.counts
    head, promise, price, worry = summary(said)
    assert head.startswith("Cutoff ")
    assert promise.startswith("Guarantee: ")
    assert re.fullmatch(
        rf"Price: about 1 in \d+ good answers (is|are) turned away: {counts.false_rejects} of 250\.",
        price,
    )
    assert worry.startswith("Biggest worry: whether your labels are a random sample")


def test_the_worry_is_the_worst_thing_known():
    scores, labels = _load("made_scores").normal_scores(150, 150, gap=0.5, decimals=4)
    measured = cases.scored(scores / 10, labels)
    said, _ = report(Goal(max_far=0.2), measured)
    assert re.fullmatch(
        r"Biggest worry: of the accepted answers about 39% are wrong, if 50% of your answers "
        r"are good\.",
        one(said, "Biggest worry"),
    )
    said, _ = report(measured=cases.usual(60, 70), goal=Goal(max_far=0.2))
    assert one(said, "Biggest worry").endswith("may lie far off (W1).")
    said, found = report(measured=sliced(), slices=["kind"])
    hard = next(report for report in found.slices.reports if report.value == "hard")
    rate = hard.false_accept_rate
    assert rate.value > 0.1
    assert one(said, "Biggest worry") == (
        f"Biggest worry: the promise seems broken for kind = hard: {rate.count} of {rate.n} wrong "
        "answers accepted."
    )


def test_costs_are_compared_with_accepting_and_rejecting_all():
    costs = Costs(false_accept=5, false_reject=1, base_rate=0.8)
    said, found = report(Goal(costs=costs))
    price = one(said, "Price")
    everything, nothing, this = map(float, re.findall(r"([\d.]+?)(?: per|,|\.$)", price))
    assert (everything, nothing) == (1.0, 0.8)
    assert this == pytest.approx(found.rule.evidence.value, rel=0.01)
    assert this < nothing


def test_lines_are_wrapped_and_commands_are_not():
    long = ["  " + "word " * 40, "closecall " + "x" * 200, "", "short"]
    said = list(wrapped(long, 80))
    assert all(len(line) < 80 for line in said if not line.startswith("closecall"))
    assert said[0].startswith("  word")
    assert said[1].startswith("      word")
    assert long[1] in said
    assert said[-2:] == ["", "short"]
    assert list(wrapped(["a\x1bb"], 80)) == ["a\\x1bb"]


@pytest.mark.parametrize(("wanted", "width"), [("60", 60), ("3", 24), ("wide", 100), (None, 100)])
def test_a_file_is_as_wide_as_it_is_asked_to_be(wanted, width, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    if wanted is not None:
        monkeypatch.setenv("COLUMNS", wanted)
    with (tmp_path / "out").open("w", encoding="utf-8") as out:
        assert columns(out) == width


# --- no cutoff -----------------------------------------------------------------------------------


def no(goal, measured):
    found = cases.made(measured, goal)
    assert isinstance(found, Infeasible)
    return refusal(found, "labels.csv", goal), found


def test_forty_labels_say_what_they_can_back_and_what_to_do():
    said, found = no(Goal(max_far=0.05), cases.usual(20, 20))
    assert said == [
        (
            "No cutoff: --max-far 0.05 at confidence 95% needs 59 rejects even if none is decided "
            "wrongly; here are 20."
        ),
        (
            "The 20 accepts and 20 rejects of labels.csv can back at most 14% of wrong answers "
            "accepted at confidence 95% (--max-far 0.14), or 5% on average only (--guarantee average); "
            "nothing stricter."
        ),
        (
            "Label about 78 more answers picked at random (39 of them must turn out wrong). If the "
            "file also holds unlabelled answers, this picks them:"
        ),
        "  closecall plan labels.csv --max-far 0.05 -o next.jsonl",
    ]
    # What it says can be asked for can be had.
    assert found.best_limit <= 0.14
    assert not isinstance(cases.made(cases.usual(20, 20), Goal(max_far=0.14)), Infeasible)
    average = Goal(max_far=0.05, guarantee="average")
    assert not isinstance(cases.made(cases.usual(20, 20), average), Infeasible)


def test_too_few_for_anything_claims_nothing():
    said, _ = no(Goal(max_far=0.05), cases.usual(5, 20))
    text = "\n".join(said)
    assert "5 rejects" in text
    assert "Label about 270 more answers picked at random (54 of them must turn out wrong)" in text
    assert "can back" not in text


def test_one_label_of_a_kind_is_one():
    said, _ = no(Goal(max_far=0.05, max_frr=0.2), cases.usual(58, 40))
    assert "(1 of them must turn out wrong)" not in said[2]  # half of what may be broken each
    said, _ = no(Goal(max_far=0.05), cases.usual(58, 60))
    assert "Label about 3 more answers picked at random (1 of them must turn out wrong)" in said[2]
    text = "\n".join(no(Goal(objective="f1"), cases.usual(9, 30))[0])
    assert "(1 of them must turn out wrong)" in text
    assert "closecall plan" not in text


def test_the_command_has_what_was_asked_for_and_names_a_file_as_a_shell_takes_it():
    goal = Goal(max_far=0.05, confidence=0.9, looks=3)
    found = cases.made(cases.usual(20, 20), goal)
    said = refusal(found, "my labels.csv", goal, ["--group", "team"])
    assert said[-1] == (
        "  closecall plan 'my labels.csv' --max-far 0.05 --confidence 0.9 --looks 3 --group team -o "
        "next.jsonl"
    )
    assert "confidence 96.6%" in said[0]


def test_groups_are_asked_for_where_groups_are_counted():
    said, found = no(Goal(max_far=0.02), usual(40, 60, group=[f"q{at // 2}" for at in range(100)]))
    assert said[2].startswith(
        f"Label the answers of more groups, picked at random, until {found.more_rejects} more have "
        "a wrong one."
    )


def test_where_accepting_nobody_is_cheapest_no_labels_are_asked_for():
    scores, labels = _load("made_scores").normal_scores(60, 60, gap=0.5)
    scores[0] = 9.0  # a wrong answer on top
    costs = Costs(false_accept=50, false_reject=1)
    said, _ = no(Goal(costs=costs, estimator="empirical"), cases.scored(scores, labels))
    assert said[1] == (
        "Rejecting all costs 0.5 per answer, accepting all 25; no cutoff is shown to cost less "
        "than rejecting all."
    )
    assert len(said) == 3
    assert "label" not in said[2].replace("labels", "")
    assert "plan" not in "\n".join(said)


def test_wrong_answers_on_top_leave_nobody_to_accept():
    scores, labels = _load("made_scores").normal_scores(60, 60, gap=3.0)
    scores[:8] = 9.0
    said, found = no(Goal(max_far=0.1), cases.scored(scores, labels))
    assert said[0].startswith("No cutoff: --max-far 0.1 leaves nobody to accept")
    offered = float(re.search(r"--max-far ([\d.]+)\)", said[1])[1])
    assert found.best_limit <= offered < 1.05 * found.best_limit
    assert not isinstance(
        cases.made(cases.scored(scores, labels), Goal(max_far=offered)), Infeasible
    )


def test_a_limit_next_to_everything_is_not_offered():
    scores, labels = _load("made_scores").normal_scores(60, 60, gap=0.0)
    scores[:59] = scores[60:] = 3.0
    said, found = no(Goal(max_far=0.1), cases.scored(scores, labels))
    assert found.best_limit is None or found.best_limit > 0.9
    assert "worth asking" in said[1] or "on average only" in said[1]


# --- in one line ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (Goal(max_far=0.05), "at most 5% of wrong answers are accepted, at confidence 95%"),
        (
            Goal(max_frr=0.125, confidence=0.975),
            "at most 12.5% of good answers are rejected, at confidence 97.5%",
        ),
        (
            Goal(max_far=0.05, guarantee="average"),
            "at most 5% of wrong answers are accepted, on average over calibrations",
        ),
        (
            Goal(max_far=0.05, guarantee="approximate"),
            "at most 5% of wrong answers are accepted, aimed at confidence 95%, not proved",
        ),
        (Goal(objective="youden"), "the best sum of the two shares decided rightly (Youden)"),
    ],
    ids=["far", "frr", "average", "approximate", "youden"],
)
def test_a_goal_in_a_few_words(goal, words):
    assert goal_words(goal) == words


def test_evidence_in_one_line_of_either_error():
    _, found = report(Goal(max_far=0.1, max_frr=0.1))
    accept, reject = (
        evidence_words(cutoff.evidence) for cutoff in (found.rule.accept, found.rule.reject)
    )
    assert "wrong answers" in accept
    assert "accepted" in accept
    assert "good answers" in reject
    assert "rejected" in reject
    _, found = report(Goal(objective="f1"))
    assert evidence_words(found.rule.evidence).startswith("no guarantee: f1 0.")

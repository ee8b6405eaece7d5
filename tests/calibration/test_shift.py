"""What a run looks like next to the labelled cases: profiles, findings in words, what to label."""

import datetime as dt
from collections import Counter

import msgspec
import pytest

from closecall.calibration.drift.age import age_warning
from closecall.calibration.drift.profile import MOST_VALUES, Profile, ProfileBuilder
from closecall.calibration.drift.shift import (
    BLIND_SPOT,
    ONLY_THE_SCORE,
    ShiftReport,
    find_shift,
    to_label,
)
from closecall.errors import DataError, NonFiniteError, UsageError


def profile(n, *, score=None, length=None, references=None, group=None, cap=2000, **slices):
    """n cases; each column is a function of the case's number."""
    builder = ProfileBuilder(cap=cap)
    for at in range(n):
        builder.add(
            f"case-{at}",
            score(at) if score else (at % 100) / 100,
            length(at) if length else 20 + at % 50,
            references(at) if references else 1,
            {name: value(at) for name, value in slices.items() if value(at) is not None},
            group=group(at) if group else None,
        )
    return builder.profile()


def words(report):
    return [finding.words for finding in report.findings]


# Profiles


def test_a_profile_keeps_every_case_that_fits():
    seen = profile(3, score=lambda at: at / 4, group=lambda at: "one", system=lambda at: "a")
    assert seen == Profile(
        n=3,
        ids=("case-0", "case-1", "case-2"),
        scores=(0.0, 0.25, 0.5),
        lengths=(20, 21, 22),
        references=(1, 1, 1),
        groups=(0, 0, 0),
        values={"system": ("a", "a", "a")},
        slices={"system": {"a": 3}},
    )


def test_beyond_its_cap_it_keeps_a_sample_and_counts_slices_of_all():
    seen = profile(500, cap=20, system=lambda at: "a" if at < 400 else "b")
    assert (seen.n, len(set(seen.ids)), len(seen.scores)) == (500, 20, 20)
    assert seen.slices == {"system": {"a": 400, "b": 100}}
    # Column by column it is still the same cases.
    for name, score, length in zip(seen.ids, seen.scores, seen.lengths, strict=True):
        at = int(name.removeprefix("case-"))
        assert (score, length) == ((at % 100) / 100, 20 + at % 50)


def test_the_sample_is_the_same_on_every_machine():
    seen = profile(60, cap=5)
    assert seen.ids == GOLDEN_KEPT
    assert to_label(seen, 3, seed=0) == GOLDEN_TO_LABEL


def test_every_case_is_as_likely_to_be_kept():
    seeds, counts = 3000, Counter()
    for seed in range(seeds):
        builder = ProfileBuilder(cap=5, seed=seed)
        for at in range(20):
            builder.add(str(at), 0.5, 1, 1, {})
        counts.update(builder.profile().ids)
    slack = 4.5 * (0.25 * 0.75 * seeds) ** 0.5
    assert all(abs(counts[str(at)] - seeds / 4) < slack for at in range(20))


def test_more_can_be_added_after_a_profile_was_taken():
    builder = ProfileBuilder(cap=5)
    taken = []
    for at in range(60):
        builder.add(f"case-{at}", (at % 100) / 100, 20 + at % 50, 1, {})
        taken.append(builder.profile())
    assert [seen.n for seen in taken] == list(range(1, 61))
    assert taken[-1] == profile(60, cap=5)
    assert taken[3].ids == ("case-0", "case-1", "case-2", "case-3")


def test_a_case_may_lack_a_slice_and_a_group():
    seen = profile(
        4,
        group=lambda at: "twins" if at in {1, 2} else None,
        topic=lambda at: "law" if at else None,
    )
    assert seen.groups == (0, 1, 1, 2)
    assert seen.values == {"topic": (None, "law", "law", "law")}
    assert seen.slices == {"topic": {"law": 3}}


def test_groups_of_one_are_no_groups():
    assert profile(4, group=lambda at: f"q{at}").groups is None


def test_a_field_with_a_value_of_its_own_for_every_case_stays_bounded():
    seen = profile(MOST_VALUES + 50, topic=str, system=lambda at: "a")
    assert len(seen.slices["topic"]) == MOST_VALUES
    assert seen.uncounted == {"topic": 50}


def test_a_profile_is_json():
    seen = profile(30, system=lambda at: "a" if at % 2 else None, group=lambda at: str(at // 2))
    assert msgspec.json.decode(msgspec.json.encode(seen), type=Profile) == seen


@pytest.mark.parametrize("score", [float("nan"), float("inf")], ids=["nan", "inf"])
def test_a_score_must_be_finite(score):
    with pytest.raises(NonFiniteError, match="case 'x' has the score"):
        ProfileBuilder().add("x", score, 1, 1, {})


@pytest.mark.parametrize(
    "change",
    [{"lengths": (1,)}, {"groups": (0,)}, {"values": {"system": ("a",)}}, {"n": 1},
     {"scores": (0.5, float("nan"))}],
    ids=["lengths", "groups", "values", "n", "nan"],
)  # fmt: skip
def test_columns_that_do_not_fit_make_no_profile(change):
    with pytest.raises(ValueError):
        msgspec.structs.replace(profile(2), **change)


@pytest.mark.parametrize("cap", [0, -1, True, 2.5])
def test_cap_must_be_a_number_of_cases(cap):
    with pytest.raises(UsageError, match="cap"):
        ProfileBuilder(cap=cap)


# Findings


def test_cases_that_look_alike_give_no_finding():
    system = lambda at: "ab"[at % 2]  # noqa: E731
    report = find_shift(profile(400, system=system), profile(300, system=system), seed=0)
    assert report.findings == ()
    assert report.tested == ("score", "length", "references", "system")
    assert (report.n_reference, report.n_run, report.permutations) == (400, 300, 999)
    assert report.notes == (BLIND_SPOT,)


def test_longer_answers():
    report = find_shift(profile(400), profile(300, length=lambda at: 200 + at % 25), seed=0)
    (found,) = report.findings
    assert found.words == (
        "answers are longer: median 212 characters here (300 cases), 44 among the labels (400)"
    )
    assert (found.what, found.code, found.p) == ("length", "W10", 0.001)
    assert (found.n_reference, found.n_run, found.statistic) == (400, 300, 1.0)
    assert report.notes == (BLIND_SPOT,)


def test_if_only_the_score_moved_the_mix_may_have_changed():
    report = find_shift(profile(400), profile(300, score=lambda at: at % 60 / 100), seed=0)
    (found,) = report.findings
    assert found.words == (
        "scores are lower: median 0.29 here (300 cases), 0.49 among the labels (400)"
    )
    assert found.code is None
    assert report.notes == (ONLY_THE_SCORE, BLIND_SPOT)
    assert "mix" in ONLY_THE_SCORE
    assert "invalid" not in ONLY_THE_SCORE


def test_a_score_that_moved_with_the_length_is_not_only_the_score():
    run = profile(300, score=lambda at: at % 60 / 100, length=lambda at: 5)
    report = find_shift(profile(400), run, seed=0)
    assert [finding.what for finding in report.findings] == ["score", "length"]
    assert report.notes == (BLIND_SPOT,)


def test_other_numbers_of_references_with_the_same_median():
    report = find_shift(
        profile(400, references=lambda at: 1 + at % 3),
        profile(300, references=lambda at: 2),
        seed=0,
    )
    (found,) = report.findings
    assert found.words == (
        "numbers of references are spread differently: 0 of 300 are at most 1 here, "
        "134 of 400 among the labels"
    )
    assert found.code == "W14"
    assert found.statistic == 134 / 400


def test_another_mix():
    report = find_shift(
        profile(400, topic=lambda at: "law" if at % 10 else "tax"),
        profile(300, topic=lambda at: "law" if at % 2 else "tax"),
        seed=0,
    )
    (found,) = report.findings
    assert found.words == "topic: 150 of 300 cases are 'law' here, 360 of 400 among the labels"
    assert (found.kind, found.p) == ("mix", 0.001)
    assert found.statistic == pytest.approx(0.4)


@pytest.mark.parametrize(("new", "found"), [(30, False), (31, True)])
def test_a_value_no_label_has_is_a_finding_above_a_tenth_of_the_run(new, found):
    report = find_shift(
        profile(400, system=lambda at: "small"),
        profile(300, system=lambda at: "large" if at < new else "small"),
        seed=0,
    )
    kinds = [finding.kind for finding in report.findings]
    assert ("new_value" in kinds) == found
    if found:
        # And it is told once: the mix moved by that very value.
        (finding,) = report.findings
        assert (
            finding.words == "system: 'large' has 31 of 300 cases here and none among the labels"
        )
        assert (finding.code, finding.p, finding.statistic) == ("W11", None, 31 / 300)


def test_a_new_value_is_found_among_all_cases_and_not_only_those_kept():
    few = profile(5000, cap=25, system=lambda at: "large" if at % 9 == 0 else "small")
    report = find_shift(profile(400, system=lambda at: "small"), few, seed=0)
    assert words(report) == [
        "system: 'large' has 556 of 5000 cases here and none among the labels"
    ]


def test_a_new_value_does_not_hide_that_others_moved():
    report = find_shift(
        profile(400, topic=lambda at: "law" if at % 2 else "tax"),
        profile(300, topic=lambda at: "new" if at % 8 == 0 else "law"),
        seed=0,
    )
    assert [finding.kind for finding in report.findings] == ["new_value", "mix"]
    assert words(report)[1] == "topic: 0 of 300 cases are 'tax' here, 200 of 400 among the labels"


def test_no_value_is_called_new_where_the_labels_have_too_many_to_count():
    report = find_shift(
        profile(MOST_VALUES + 100, topic=str), profile(300, topic=lambda at: "x"), seed=0
    )
    assert "new_value" not in [finding.kind for finding in report.findings]


@pytest.mark.parametrize(
    ("labels", "run", "note"),
    [
        (400, 19, "19 independent cases here: no shift is looked for in fewer than 20"),
        (1, 300, "1 independent case among the labels: no shift is looked for in fewer than 20"),
        (5, 0, ("5 independent cases among the labels and 0 independent cases here: "
                "no shift is looked for in fewer than 20")),
    ],
    ids=["run", "labels", "both"],
)  # fmt: skip
def test_of_too_few_cases_nothing_is_tested(labels, run, note):
    report = find_shift(
        profile(labels, system=lambda at: "small"),
        profile(run, system=lambda at: "large", length=lambda at: 5000),
        seed=0,
    )
    assert (report.findings, report.tested, report.permutations) == ((), (), 0)
    assert report.notes == (note, BLIND_SPOT)
    assert report.untested["length"] == report.untested["system"] == note


def test_twenty_cases_are_enough():
    report = find_shift(profile(20), profile(20, length=lambda at: 5000), seed=0)
    assert [finding.what for finding in report.findings] == ["length"]


def test_slices_that_only_one_side_has_are_accounted_for():
    report = find_shift(
        profile(400, a=lambda at: "x", b=lambda at: "x" if at < 19 else None),
        profile(300, b=lambda at: "x", c=lambda at: "x"),
        seed=0,
    )
    assert report.tested == ("score", "length", "references")
    assert report.untested == {
        "a": "no case here has a value in it",
        "b": "300 cases here and 19 among the labels have a value in it: "
        "no shift is looked for in fewer than 20",
        "c": "no labelled case has a value in it",
    }
    assert report.findings == ()


def test_slices_of_what_is_compared_in_numbers_are_left_out():
    report = find_shift(
        profile(400, length=lambda at: 30, references=lambda at: 1),
        profile(300, length=lambda at: 30, references=lambda at: 1),
        seed=0,
    )
    assert report.tested == ("score", "length", "references")
    builders = ProfileBuilder(), ProfileBuilder()
    for builder, value in zip(builders, ("up to 30", "above"), strict=True):
        for at in range(50):
            builder.add(str(at), at / 50, 30, 1, {"length": value})
    report = find_shift(*(builder.profile() for builder in builders), seed=0)
    assert (report.findings, report.untested) == ((), {})


def test_many_slices_do_not_put_every_finding_out_of_reach():
    """With 999 permutations no p-value of 30 tests could pass Holm's correction at 1%."""
    names = [f"s{at}" for at in range(30)]
    mixed = {name: (lambda at, k=k: "ab"[(at >> k % 4) % 2]) for k, name in enumerate(names)}
    report = find_shift(
        profile(400, **mixed), profile(300, length=lambda at: 900 + at, **mixed), seed=0
    )
    assert [finding.what for finding in report.findings] == ["length"]
    assert report.permutations == 3199  # score, length and 30 slices, each at 1%


def test_what_never_varies_takes_no_share_of_the_level():
    same = {f"s{at}": lambda at: "x" for at in range(30)}
    report = find_shift(profile(400, **same), profile(300, **same), seed=0)
    assert report.permutations == 999
    assert len(report.tested) == 33


def test_cases_of_one_group_count_once():
    """Sixty cases of three questions are three cases, however long their answers are."""
    one = profile(400)
    run = profile(60, length=lambda at: 5000, group=lambda at: str(at % 3))
    report = find_shift(one, run, seed=0)
    assert report.findings == ()
    assert report.notes[0].startswith("3 independent cases here")
    run = profile(300, length=lambda at: 5000, group=lambda at: str(at % 60))
    (found,) = find_shift(one, run, seed=0).findings
    assert (found.n_reference, found.n_run) == (400, 60)


def test_a_score_that_differs_in_the_seventh_decimal_is_the_same_score():
    report = find_shift(
        profile(400, score=lambda at: 1.0), profile(300, score=lambda at: 0.99999996), seed=0
    )
    assert report.findings == ()


def test_the_same_seed_gives_the_same_report_and_it_is_json():
    one, two = profile(400), profile(250, score=lambda at: at % 90 / 100)
    report = find_shift(one, two, seed=3, level=0.5)
    assert find_shift(one, two, seed=3, level=0.5) == report
    assert [(f.what, f.statistic, f.p) for f in report.findings] == GOLDEN_FINDINGS
    assert msgspec.json.decode(msgspec.json.encode(report), type=ShiftReport) == report


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"level": 0.0001}, "level"),
        ({"level": 0.9}, "level"),
        ({"level": float("nan")}, "level"),
        ({"permutations": 0}, "permutations"),
        ({"permutations": True}, "permutations"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
    ],
    ids=["small", "large", "nan", "none", "bool", "negative", "fraction"],
)
def test_arguments_out_of_range(wrong, named):
    with pytest.raises(UsageError, match=named):
        find_shift(profile(30), profile(30, score=lambda at: at / 40), **{"seed": 0, **wrong})


# What to label


def test_cases_to_label_are_a_random_sample_without_repeats():
    run = profile(40)
    draws = [to_label(run, 10, seed=seed) for seed in range(1000)]
    assert all(len(set(ids)) == 10 and set(ids) <= set(run.ids) for ids in draws)
    counts = Counter(name for ids in draws for name in ids)
    slack = 4.5 * (0.25 * 0.75 * 1000) ** 0.5
    assert all(abs(counts[name] - 250) < slack for name in run.ids)
    # No place of the sample is taken more often than another either.
    first = Counter(ids[0] for ids in draws)
    assert max(first.values()) < 25 + 4.5 * 25**0.5


def test_where_there_are_fewer_all_are_to_be_labelled():
    run = profile(7)
    assert sorted(to_label(run, seed=0)) == sorted(run.ids)
    assert to_label(profile(0), seed=0) == ()


@pytest.mark.parametrize("size", [0, -1, True, 1.5])
def test_how_many_to_label(size):
    with pytest.raises(UsageError, match="size"):
        to_label(profile(7), size, seed=0)


# Age


@pytest.mark.parametrize(
    ("days", "decisions", "said"),
    [(90, 5000, False), (91, 1000, False), (91, 1001, True), (-5, 5000, False)],
)
def test_an_old_and_much_used_calibration_is_to_be_looked_at_again(days, decisions, said):
    made = dt.datetime(2025, 3, 1, 12, tzinfo=dt.UTC)
    now = made + dt.timedelta(days=days)
    for created in ("2025-03-01T12:00:00Z", "2025-03-01T14:00:00+02:00", "2025-03-01T12:00:00"):
        found = age_warning(created, now, decisions)
        assert found == age_warning(created, now.replace(tzinfo=None), decisions)
        assert (found is not None) == said
    if said:
        assert found.startswith("the calibration is 91 days old and has made 1001 decisions: ")


def test_an_age_needs_a_time():
    with pytest.raises(DataError, match="created is 'last week'"):
        age_warning("last week", dt.datetime(2025, 3, 1, tzinfo=dt.UTC), 5)


GOLDEN_KEPT = ("case-0", "case-7", "case-52", "case-32", "case-31")
GOLDEN_TO_LABEL = ("case-7", "case-32", "case-31")
GOLDEN_FINDINGS = [("score", 0.14, 0.008)]


def test_streams_of_one_seed_differ():
    """A profile and what is drawn from it with the same seed must not depend on each other."""
    from closecall.calibration.drift.streams import Use, raw_stream

    firsts = [int(raw_stream(0, use).random_raw()) for use in Use]
    assert len(set(firsts)) == len(firsts)

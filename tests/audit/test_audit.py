"""What an audit finds in files made to have it, and only there."""

import msgspec
import pytest

from closecall.audit.auditing import audit
from closecall.audit.limits import exit_code, hold, parse_limits
from closecall.errors import DataError, UsageError
from closecall.records import Case, Label
from closecall.testing import HashEmbedder

OPENING = "When does the shop on the corner open on a weekday morning"


def case(name, question, response, label=None, **more):
    marked = None if label is None else Label.ACCEPT if label == "accept" else Label.REJECT
    return Case(id=name, input=question, response=response, label=marked, **more)


def looked(*args, **options):
    return audit(*args, embedder=options.pop("embedder", HashEmbedder(256)), **options)


def check(found, name, at=0):
    return [one for one in found.checks if one.name == name][at]


def findings(found, name):
    return [one for one in found.findings if one.check == name]


def ids(finding):
    return [one.id for one in finding.cases]


# duplicates


def test_copies_are_counted_in_cases_and_clusters():
    cases = [
        case("a", "What is the fee?", "Five euros."),
        case("b", "What is the fee?", "Five euros."),
        case("c", "What is the fee?", "Five euros.", references=("5 euros",)),
        case("d", "What is the fee?", "Five euros."),
        case("e", "Where is the desk?", "Upstairs."),
    ]
    found = looked(cases)
    one = check(found, "duplicates")
    assert (one.count, one.of, one.findings) == (2, 5, 1)
    assert one.by == {"clusters": 1, "cases in clusters": 3}
    assert ids(findings(found, "duplicates")[0]) == ["a", "b", "d"]
    # Exact copies are one case among the near ones; another reference makes no other case.
    near = check(found, "near_duplicates")
    assert (near.count, near.of, near.findings) == (1, 3, 1)
    assert ids(findings(found, "near_duplicates")[0]) == ["a", "c"]


def test_spelling_alone_makes_a_near_duplicate_of_that_kind():
    cases = [
        case("a", "What is the fee?", "Five euros."),
        case("b", "what is the FEE", "five euros"),
    ]
    found = looked(cases)
    near = findings(found, "near_duplicates")[0]
    assert (near.how, near.similarity, near.severity) == ("spelling", None, "warning")
    assert check(found, "duplicates").count == 0


LONG = "the parcel leaves our house in the harbour quarter by courier on the very next working day"


def test_near_texts_are_near_duplicates_unless_a_number_or_a_negation_differs():
    cases = [
        case("a", OPENING, f"{LONG} before 18 hours"),
        case("b", OPENING, f"{LONG} ahead 18 hours"),
        case("c", OPENING, f"{LONG} before 19 hours"),
        case("d", OPENING, f"{LONG} never before 18 hours"),
    ]
    found = looked(cases, similarity=0.85)
    near = findings(found, "near_duplicates")
    assert [ids(one) for one in near] == [["a", "b"]]
    assert near[0].how == "neighbour"
    assert 0.85 <= near[0].similarity < 1


def test_near_questions_with_near_answers_are_near_duplicates():
    cases = [
        case("a", f"{OPENING} here", f"{LONG} usually"),
        case("b", f"{OPENING} there", f"{LONG} mostly"),
        case("c", f"{OPENING} there", "Never."),
        case("d", f"{OPENING} there", f"{LONG} usually"),
    ]
    near = findings(looked(cases, similarity=0.85), "near_duplicates")
    assert [ids(one) for one in near] == [["a", "b", "d"]]


def test_a_near_response_to_another_question_is_no_duplicate():
    cases = [case("a", OPENING, LONG), case("b", "Who pays for a lost key?", f"{LONG} indeed")]
    assert check(looked(cases, similarity=0.8), "near_duplicates").count == 0


def test_cases_of_other_contexts_are_no_duplicates():
    cases = [
        case("a", OPENING, "Yes.", context=("The shop opens at nine.",)),
        case("b", OPENING, "yes", context=("Keys are lost at your own cost.",)),
    ]
    assert check(looked(cases), "near_duplicates").count == 0
    near = [
        case("a", OPENING, f"{LONG} usually", context=("The shop opens at nine.",)),
        case("b", OPENING, f"{LONG} mostly", context=("Keys are lost at your own cost.",)),
        case("c", OPENING, f"{LONG} often", context=("the shop opens at nine",)),
    ]
    found = findings(looked(near, similarity=0.85), "near_duplicates")
    assert [ids(one) for one in found] == [["a", "c"]]


def test_fields_say_how_many_texts_differ():
    cases = [
        case("a", "Q", "one", references=("x", "y")),
        case("b", "Q", "two", references=("x",)),
    ]
    fields = looked(cases).files[0].fields
    assert (fields["input"].distinct, fields["input"].repeated) == (1, 1)
    references = fields["references"]
    assert (references.cases, references.texts, references.distinct) == (2, 3, 2)
    assert "context" not in fields


# questions in several groups


def test_one_question_in_several_groups():
    cases = [
        case("a", f"{OPENING} here", "At nine.", group="1"),
        case("b", f"{OPENING} there", "At ten.", group="2"),
        case("c", f"{OPENING} here", "At noon.", group="1"),
        case("d", "Who pays?", "We do.", group="3"),
    ]
    found = looked(cases, similarity=0.85)
    split = findings(found, "split_questions")
    assert [(ids(one), one.how) for one in split] == [(["a", "b"], "neighbour")]
    assert check(found, "split_questions").count == 1
    joined = [msgspec.structs.replace(one, group="1") for one in cases]
    assert check(looked(joined, similarity=0.85), "split_questions").count == 0


def test_the_very_same_question_in_two_named_groups_is_found_too():
    cases = [case("a", "Who pays?", "You.", group="1"), case("b", "Who pays?", "Us.", group="2")]
    assert [one.how for one in findings(looked(cases), "split_questions")] == ["text"]


# leaks


FIRST = [
    case("a", "What is the fee?", "Five euros.", context=("Fees are due in May.",)),
    case("b", OPENING, "At nine."),
    case("c", "Who pays?", "You do.", group="g"),
]


@pytest.mark.parametrize(
    ("row", "field", "how", "severity"),
    [
        (FIRST[1], "case", "text", "error"),
        (case("z", OPENING, "At nine.", references=("9",)), "input+response", "text", "error"),
        (case("z", f"{OPENING}?", "at NINE"), "input+response", "spelling", "error"),
        (case("z", OPENING, "At noon."), "input", "text", "error"),
        (case("z", OPENING.upper(), "At noon."), "input", "spelling", "error"),
        (case("z", f"{OPENING} now", "At noon."), "input", "neighbour", "warning"),
        (case("z", f"{OPENING} now", "At nine."), "input+response", "neighbour", "warning"),
        (case("z", "Which floor?", "Two.", group="g"), "group", "group", "error"),
    ],
)
def test_a_case_of_both_files_leaks(row, field, how, severity):
    found = looked(FIRST, [row, case("y", "Is it far?", "No.")], similarity=0.9)
    assert check(found, "leaks").count == 1
    assert check(found, "leaks").of == 2
    leak = findings(found, "leaks")[0]
    assert (leak.field, leak.how, leak.severity) == (field, how, severity)
    assert leak.cases[1].id == row.id
    assert check(found, "leaks").by == {f"{field}, {how}": 1}


def test_a_passage_of_both_files_is_a_check_of_its_own():
    other = [case("z", "When?", "In May.", context=("fees are due in may",))]
    found = looked(FIRST, other)
    assert check(found, "leaks").count == 0
    assert check(found, "shared_contexts").count == 1
    assert findings(found, "shared_contexts")[0].how == "spelling"


def test_a_near_question_with_another_number_is_no_leak():
    first = [case("a", f"{OPENING} in 2019", "At nine.")]
    found = looked(first, [case("z", f"{OPENING} in 2020", "At ten.")], similarity=0.8)
    assert check(found, "leaks").count == 0


def test_without_a_question_the_reference_and_the_response_tell():
    first = [Case(id="a", response=LONG, references=("a red kite",))]
    same = looked(first, [Case(id="z", response="Blue", references=("A red kite!",))])
    assert findings(same, "leaks")[0].field == "references"
    near = looked(first, [Case(id="z", response=f"{LONG} too", references=("?",))], similarity=0.9)
    assert (findings(near, "leaks")[0].field, findings(near, "leaks")[0].how) == (
        "response",
        "neighbour",
    )


def test_nothing_leaks_between_unlike_files():
    found = looked(FIRST, [case("z", "Is it far?", "No."), case("y", None, "Nine.")])
    assert (check(found, "leaks").count, check(found, "shared_contexts").count) == (0, None)


# contradictions


def test_one_item_with_both_labels_is_an_error():
    cases = [
        case("a", "Who pays?", "You do.", "accept"),
        case("b", "Who pays?", "You do.", "reject"),
        case("c", "Who pays?", "You do.", "reject"),
        case("d", "Who pays?", "We do.", "reject"),
    ]
    found = looked(cases)
    clash = findings(found, "contradictions")
    assert [(ids(one), one.how, one.severity) for one in clash] == [
        (["a", "b", "c"], "text", "error")
    ]
    assert check(found, "contradictions").count == 3
    by = check(found, "contradictions").by
    assert (by["pairs, text"], by["pairs, spelling"]) == (2, 0)


def test_spellings_of_one_answer_with_both_labels():
    cases = [
        case("a", "Who pays?", "You do.", "accept"),
        case("b", "who pays", "you do", "reject"),
    ]
    assert [one.how for one in findings(looked(cases), "contradictions")] == ["spelling"]


def test_near_answers_of_one_question_with_opposite_labels():
    cases = [
        case("a", OPENING, f"{LONG} usually", "accept"),
        case("b", OPENING, f"{LONG} mostly", "reject"),
        case("c", "Another matter?", f"{LONG} often", "reject"),
    ]
    found = looked(cases, similarity=0.85)
    clash = findings(found, "contradictions")
    assert [(ids(one), one.how, one.severity) for one in clash] == [
        (["a", "b"], "neighbour", "warning")
    ]


@pytest.mark.parametrize(
    ("one", "other", "guard"),
    [
        ("before 18 hours", "before 19 hours", "numbers"),
        ("and is insured", "and is not insured", "negation"),
    ],
)
def test_a_guard_that_differs_explains_opposite_labels(one, other, guard):
    cases = [
        case("a", OPENING, f"{LONG} {one}", "accept"),
        case("b", OPENING, f"{LONG} {other}", "reject"),
    ]
    found = looked(cases, similarity=0.8)
    assert findings(found, "contradictions") == []
    told = check(found, "contradictions")
    assert told.by["near pairs that a guard explains"] == 1
    assert f"{guard} 1" in told.notes[0]


def test_other_contexts_are_other_items():
    cases = [
        case("a", "Who pays?", "You do.", "accept", context=("The guest pays.",)),
        case("b", "Who pays?", "You do.", "reject", context=("The host pays.",)),
    ]
    assert check(looked(cases), "contradictions").count == 0


@pytest.mark.parametrize("said", [True, "true"])
def test_a_label_that_settles_a_disagreement_ends_it(said):
    cases = [
        case("a", "What is the fee?", "Five euros.", "accept"),
        case("b", "What is the fee?", "Five euros.", "reject"),
    ]
    assert check(looked(cases), "contradictions").count > 0
    settled = case(
        "c", *("What is the fee?", "Five euros.", "reject"), metadata={"adjudicated": said}
    )
    assert check(looked([*cases, settled]), "contradictions").count == 0


def test_labels_of_two_files_can_contradict_each_other():
    found = looked(
        [case("a", "Who pays?", "You do.", "accept")],
        [case("z", "Who pays?", "You do.", "reject")],
    )
    assert [ids(one) for one in findings(found, "contradictions")] == [["a", "z"]]


# gaps


def test_blank_and_missing_texts():
    cases = [
        case("a", "Who pays?", "You do.", references=("you",)),
        case("b", "Who pays?", "  ", references=("you", "\t")),
        case("c", "Who pays?", None, references=("you",)),
        case("d", None, "You do."),
    ]
    found = looked(cases)
    blank = {ids(one)[0]: (one.words, one.severity) for one in findings(found, "blank_texts")}
    assert blank == {
        "b": ("response blank, references[1] blank", "error"),
        "c": ("response missing", "error"),
        "d": ("input missing", "warning"),
    }
    assert check(found, "blank_texts").by == {
        "input missing": 1,
        "references blank": 1,
        "response blank": 1,
        "response missing": 1,
    }
    assert [ids(one) for one in findings(found, "no_reference")] == [["d"]]


def test_a_file_that_needs_no_response_or_reference_has_no_gaps():
    found = looked([case("a", "Who pays?", None), case("b", "Why?", None)])
    assert check(found, "blank_texts").count == 0
    assert check(found, "blank_texts").notes == ("no case has a response",)
    assert check(found, "no_reference").count is None
    found = looked([case("a", "", "This."), case("b", " ", "That.")])
    assert (check(found, "blank_texts").count, check(found, "blank_texts").notes) == (
        0,
        ("no case has a question",),
    )


def test_texts_the_model_hardly_knows_are_near_nothing():
    strange = "\u0e01\u0e02\u0e03 \u1200\u1201\u1202 \u10a0\u10a1"
    cases = [
        case("a", "Who pays?", f"{strange} \u1203 you"),
        case("b", "Who pays?", f"{strange} \u1204 you"),
    ]
    found = audit(cases, cache=False)
    assert {ids(one)[0] for one in findings(found, "unknown_tokens")} == {"a", "b"}
    assert check(found, "near_duplicates").count == 0
    assert "could not be compared" in check(found, "near_duplicates").notes[0]
    labelled = [
        msgspec.structs.replace(one, label=label) for one, label in zip(cases, Label, strict=True)
    ]
    told = check(audit(labelled, cache=False), "contradictions")
    assert told.count == 0
    assert told.notes == ("2 distinct texts have no neighbours: the model cannot read them",)


def test_what_the_model_does_not_see_is_told():
    found = audit(
        [
            case("a", "Who pays?", "word " * 700),
            case("b", "Who pays?", "You do.", references=("Фиалка",)),
            case("c", "Who pays?", "ſ\u0e01\u0e02 \u1200\u1201"),
            case("d", "Who pays?", "We do."),
        ],
        window="truncate",
        cache=False,
    )
    long = findings(found, "long_texts")
    assert [(ids(one), one.field, one.severity) for one in long] == [
        (["a"], "response", "warning")
    ]
    assert "read" in long[0].words
    assert {ids(one)[0] for one in findings(found, "unknown_tokens")} >= {"c"}
    whole = audit([case("a", "Who pays?", "word " * 700)], cache=False)
    assert "windows" in findings(whole, "long_texts")[0].words
    assert findings(whole, "long_texts")[0].severity == "info"


def test_cut_off_responses_show_how_they_end():
    text = f"{'It opens at nine. ' * 12}On Sundays it closes at noon, so come early and bring the"
    found = looked([case("a", "When?", text), case("b", "When?", "At nine.")])
    one = findings(found, "cut_off")[0]
    assert ids(one) == ["a"]
    assert one.texts[0].endswith("and bring the")


# scripts and languages


def test_scripts_are_counted_and_an_answer_in_another_is_found():
    cases = [
        case("a", "Who pays?", "You do."),
        case("b", "Кто платит?", "Вы."),
        case("c", "Who pays?", "Вы платите."),
        case("d", "Which year?", "1984"),
        case("e", "Who pays?", "We do."),
        case("f", "Кто платит?", "You do."),
    ]
    found = looked(cases)
    told = check(found, "languages")
    assert told.by["script latin"] == 4  # a number has no script: its question has
    assert told.by["script cyrillic"] == 2
    assert told.by["answered in another"] == 2
    assert told.count == 3
    words = [one.words for one in findings(found, "languages")]
    assert "question in the script latin, response in cyrillic" in words


def test_without_the_extra_languages_are_not_measured(monkeypatch):
    monkeypatch.setattr("closecall.audit.auditing.language_detector", lambda: None)
    told = check(looked(FIRST), "languages")
    assert "languages not measured" in told.notes[0]
    assert "closecall[audit]" in told.notes[0]
    assert not any(name.startswith("language ") for name in told.by)


def test_languages_are_told_by_a_detector(monkeypatch):
    def detector(text):
        return "de" if "der" in text.split() else "en" if "the" in text.split() else None

    monkeypatch.setattr("closecall.audit.auditing.language_detector", lambda: detector)
    cases = [
        case("a", "When is the shop open?", "From the morning on"),
        case("b", "When is the shop open?", "Ab der Frühe"),
        case("c", "Wann?", "Um neun"),
        case("d", "Where is the desk?", "Near the door"),
    ]
    told = check(found := looked(cases), "languages")
    assert (told.by["language en"], told.by["language de"]) == (2, 1)
    assert told.by["language unknown"] == 1
    assert told.count == 1
    assert "question in the language en, response in de (a guess)" in [
        one.words for one in findings(found, "languages")
    ]


def test_the_kept_library_tells_long_texts_and_leaves_short_ones():
    pytest.importorskip("py3langid")
    from closecall.audit.languages import language_detector

    detect = language_detector()
    assert (
        detect("The parcel leaves our house on the next working day, before the evening.") == "en"
    )
    assert detect("Das Paket verlässt unser Haus am nächsten Werktag und kommt dann an.") == "de"
    assert detect("David") is None
    assert detect("1984") is None


# labels


def many(groups, of, label):
    return [
        case(
            f"{label}{g}-{n}", f"Question number {g} of {label} kind?", f"answer {n} to {g}", label
        )
        for g in range(groups)
        for n in range(of)
    ]


def test_a_group_of_one_label_is_found_where_chance_would_hardly_make_it():
    even = many(6, 1, "accept") + many(6, 1, "reject")
    single = [case(f"s{n}", "The odd one?", f"odd {n}", "accept") for n in range(12)]
    rejects = [case(f"t{n}", f"Plain {n}?", f"plain {n}", "reject") for n in range(12)]
    found = looked([*even, *single, *rejects])
    one = [f for f in findings(found, "one_label") if f.field == "group"]
    assert [ids(f) for f in one] == [[f"s{n}" for n in range(12)]]
    assert check(found, "one_label").by["groups of one label"] == 1
    for fewer in (4, 6):
        few = looked([*even, *single[:fewer], *rejects[:fewer]])
        assert [f for f in findings(few, "one_label") if f.field == "group"] == []


def test_without_both_labels_there_is_no_telling():
    found = looked(many(3, 2, "accept"))
    assert check(found, "one_label").missing == "all labels of the file are the same"
    assert check(found, "contradictions").count is None
    assert check(looked([case("a", "Q", "R")]), "labels").missing == "no case has a label"


def test_labels_too_few_for_a_calibration_are_an_error():
    found = looked(many(12, 1, "accept") + many(3, 1, "reject"))
    one = findings(found, "labels")[0]
    assert one.severity == "error"
    assert "3 items labelled reject" in one.words
    told = check(found, "labels")
    assert (told.by["accepts"], told.by["rejects"]) == (12, 3)


def test_the_limit_that_labels_can_back_is_never_rounded_below_it():
    # 1 - 0.05 ** (1 / 30) is 9.503 %: 9.5 % would be refused.
    found = looked([*many(30, 1, "accept"), *many(30, 1, "reject")])
    assert check(found, "labels").notes[0].endswith("; 9.6 % is in reach")


def test_labels_that_back_the_default_promise_need_no_word():
    found = looked(many(60, 1, "accept") + many(60, 1, "reject"))
    assert check(found, "labels").count == 0
    assert "can back a promise of at most 5 % false accepts" in check(found, "labels").notes[0]


def test_one_large_group_is_told():
    big = [case(f"b{n}", "The one question?", f"answer {n}", "accept") for n in range(30)]
    found = looked([*big, *many(60, 1, "reject")])
    assert any(
        "30 of 90 labelled cases are one group" in f.words for f in findings(found, "labels")
    )


def test_columns_about_labels_that_cannot_be_read_are_a_finding():
    bad = case("a", "Q", "R", "accept", metadata={"sampling": "sometimes"}, place="x.jsonl:1")
    found = looked([bad])
    assert findings(found, "labels")[0].severity == "error"
    assert "x.jsonl:1" in findings(found, "labels")[0].words


# the whole


def test_texts_only_embeds_nothing_and_says_what_is_missing():
    found = audit(FIRST, [case("z", OPENING, "At noon.")], texts_only=True)
    assert (found.embedder, found.instrument) == (None, None)
    assert check(found, "long_texts").count is None
    assert check(found, "leaks").count == 1
    assert "only spelling was compared" in check(found, "leaks").notes[0]


def test_the_same_file_gives_the_same_audit_and_every_text_is_embedded_once():
    embedder = HashEmbedder(64)
    cases = many(8, 3, "accept") + many(8, 3, "reject")
    one, other = (looked(cases, FIRST, embedder=HashEmbedder(64)) for _ in range(2))
    assert one == other
    looked([*cases, *cases], embedder=embedder)
    assert len(embedder.texts) == len(set(embedder.texts))


def test_no_content_keeps_texts_out():
    told = "xyzzy plugh"
    cases = [case("a", told, told), case("b", told, told)]
    assert told in str(looked(cases))
    assert told not in str(looked(cases, content=False))


def test_fields_that_are_not_embedded_are_not_compared():
    embedder = HashEmbedder(64)
    looked([case("a", "What?", "That.", references=("ref",))], embedder=embedder, fields=["input"])
    assert embedder.texts == ["What?"]


@pytest.mark.parametrize(
    "options", [{"similarity": 0}, {"similarity": 1.1}, {"fields": ["response", "label"]}]
)
def test_arguments_that_cannot_be(options):
    with pytest.raises(UsageError):
        looked(FIRST, **options)


def test_a_file_that_changes_meanwhile_is_refused():
    class Twice:
        times = 0

        def __iter__(self):
            self.times += 1
            return iter([case("a", "Q", f"text {self.times}")])

    from closecall.audit.rows import Rows, Texts
    from closecall.audit.vectors import embed_texts
    from closecall.embedders.cached import CachedEmbedder

    source, rows = Twice(), Rows(("x",), Texts())
    list(rows.add(source, None))
    with pytest.raises(DataError, match="changed"):
        embed_texts(rows, [source], CachedEmbedder(HashEmbedder()), ["response"], lambda _: None)


# limits


def test_limits_pass_fail_or_cannot_be_told():
    found = looked([FIRST[0], msgspec.structs.replace(FIRST[0], id="b")])
    held = hold(found, parse_limits(["duplicates <= 1", "cut_off=0"]))
    assert [one.passed for one in held] == [True, True]
    assert exit_code(held) == 0
    held = hold(found, parse_limits(["duplicates <= 0, leaks <= 0"]))
    assert [(one.passed, one.count) for one in held] == [(False, 1), (None, None)]
    assert exit_code(held) == 1
    assert exit_code(held[1:]) == 11
    assert "two files" in held[1].reason


@pytest.mark.parametrize(
    "rule", ["duplicates", "duplicates < 1", "copies <= 0", "leaks <= -1", "leaks<=0,leaks<=1", ""]
)
def test_rules_that_are_none(rule):
    with pytest.raises(UsageError):
        parse_limits([rule])


def test_every_check_can_be_limited():
    from closecall.audit.limits import NAMES

    found = looked(FIRST, [case("z", "Is it far?", "No.")])
    assert {one.name for one in found.checks} == set(NAMES)

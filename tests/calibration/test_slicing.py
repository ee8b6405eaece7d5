"""Which slices a case is in: read from its texts and fields, whatever is missing."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.calibration.evidence.slicing import (
    MOST_VALUES,
    NEGATION_CUES,
    VALUES,
    Slicer,
    negates,
    script,
)
from closecall.errors import UsageError
from closecall.records import Case, Label


def case(**fields):
    return Case(**{"id": "1", "response": "A bike.", "references": ("A bicycle.",), **fields})


def of(fields=(), **own):
    one = case(**own)
    return Slicer.fit([one], fields).of(one)


@pytest.mark.parametrize(
    ("response", "references", "context", "want"),
    [
        ("in 30 days", ("60 days",), (), "in both"),
        ("in 30 days", ("soon", "60 days"), (), "in both"),
        ("in 30 days", ("soon",), (), "not in both"),
        ("soon", ("60 days",), (), "not in both"),
        ("in 30 days", (), ("soon.", "60 days"), "in both"),
        ("in 30 days", ("soon",), ("60 days",), "not in both"),
        ("in ٣٠ days", ("६० days",), (), "in both"),
        ("in 30 days", (), (), None),
    ],
)
def test_numbers_in_the_response_and_what_it_is_held_against(response, references, context, want):
    found = of(response=response, references=references, context=context)
    assert found.get("numbers") == want


@pytest.mark.parametrize(
    "text",
    [
        "It is NOT covered.", "No.", "It isn't covered.", "It isn’t covered.", "You can't.",
        "You cannot return it.", "Never on Sundays", "Returns without a receipt", "we dont ship",
        "None of them", "Das ist nicht erlaubt", "Wir haben keine Räder", "Ce n'est rien",
        "Il n’y a plus de vélos", "Nunca el domingo", "Ninguna bici", "Non è incluso",
        "Senza garanzia", "Het is niet inbegrepen", "Não está incluído",
        "Na\u0303o esta\u0301", "No, gracias", "No. It costs extra",
    ],
)  # fmt: skip
def test_a_text_with_a_negation_cue(text):
    assert negates(text)
    assert of(response=text)["negation"] == "cue"


@pytest.mark.parametrize(
    "text",
    [
        "A note on nothingness in Knott's notebook", "Take tram No. 5", "no. 12 on the list",
        "A non-profit", "Rock 'n roll", "Está na loja, no centro de São Paulo",
        "Im Mai und im Juni", "Il est né ici", "an ant", "", "42",
    ],
)  # fmt: skip
def test_a_text_without_one(text):
    assert not negates(text)


def test_every_listed_cue_counts_and_is_one_folded_word():
    for language, cues in NEGATION_CUES.items():
        for cue in cues:
            assert cue == cue.casefold()
            assert negates(f"x {cue.upper()}, y"), (language, cue)


def test_length_quarters_are_fitted_and_then_fixed():
    cases = [case(id=str(n), response="x" * n) for n in range(1, 13)]
    slicer = Slicer.fit(cases[::-1])
    assert slicer.length_edges == (3, 6, 9)
    values = [slicer.of(one)["length"] for one in cases]
    assert values == [value for value in VALUES["length"] for _ in range(3)]
    assert slicer.of(case(response="  xxx \n"))["length"] == "shortest quarter"
    assert slicer.of(case(response="x" * 999))["length"] == "longest quarter"


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_edges_are_quartiles_even_with_ties(lengths):
    first, half, third = Slicer.fit(case(response="x" * n) for n in lengths).length_edges
    for edge, part in ((first, 1), (half, 2), (third, 3)):
        assert 4 * sum(n <= edge for n in lengths) >= part * len(lengths)
        assert 4 * sum(n < edge for n in lengths) < part * len(lengths)


@pytest.mark.parametrize("response", [None, "", " \n\t"])
def test_without_a_response_only_what_the_case_has(response):
    assert of(response=response, tags=("hard",)) == {"references": "1", "tags:hard": "hard"}
    assert Slicer.fit([case(response=response)]).length_edges is None
    fitted = Slicer.fit([case()])
    assert "length" not in fitted.of(case(response=response))


@pytest.mark.parametrize(
    ("count", "want"),
    [(0, "0"), (1, "1"), (2, "2"), (3, "3-5"), (5, "3-5"), (6, "6+"), (40, "6+")],
)
def test_references(count, want):
    assert of(references=("a bicycle",) * count + (" ",))["references"] == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("A bike", "latin"), ("Ein Rädchen", "latin"), ("Велосипед (bike)", "cyrillic"),
        ("自行车", "han"), ("自転車に乗る", "kana"), ("ｼﾞﾃﾝｼｬ", "kana"), ("コーヒー", "kana"),
        ("자전거", "hangul"), ("دراجة", "arabic"), ("ποδήλατο", "greek"), ("साइकिल", "devanagari"),
        ("ｂｉｋｅ", "latin"), ("𝐛𝐢𝐤𝐞 é", "latin"), ("bike вело", "mixed"), ("42 %", "no letters"),
        ("§ 42 – €", "no letters"),
    ],
)  # fmt: skip
def test_script(text, want):
    assert script(text) == want
    assert of(response=text)["script"] == want


@given(st.text(max_size=20))
def test_any_text_has_a_script_and_a_negation(text):
    assert script(text)
    assert negates(text) in {True, False}


@pytest.mark.parametrize(
    "metadata",
    [
        {"system": "bot-7"}, {"model": "bot-7"}, {"slice.model": "bot-7"}, {"slice": {"system": "bot-7"}},
        {"bot": "bot-7"}, {"subject": " bot-7 "}, {"metadata": {"model": "bot-7"}},
        {"model": "other", "system": "bot-7"}, {"system": None, "model": "bot-7"}, {"system": "", "bot": "bot-7"},
    ],
)  # fmt: skip
def test_the_system_that_answered(metadata):
    assert of(metadata=metadata)["system"] == "bot-7"


def test_no_system_is_no_slice_and_one_asked_for_is_not_there_twice():
    assert "system" not in of()
    both = case(metadata={"model": "a", "bot": "b"})
    assert "system" not in Slicer.fit([both], ["bot"]).of(both)
    assert Slicer.fit([both], ["bot"]).of(both)["bot"] == "b"
    asked = Slicer.fit([both], ["system"])
    assert (asked.fields, asked.of(both)["system"]) == ((), "a")


def test_each_tag_is_a_value_of_its_own():
    found = of(tags=("hard", "hard", "long  form"))
    assert {name: value for name, value in found.items() if "tag" in name} == {
        "tags:hard": "hard",
        "tags:long form": "long form",
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("EU", "EU"), (" two\nlines ", "two lines"), (3, "3"), (True, "true"), (False, "false"),
        (0, "0"), (1.5, "1.5"), (["a", "b"], '["a", "b"]'), ({"b": 1, "a": "ü"}, '{"a": "ü", "b": 1}'),
        (None, None), ("", None), ("  ", None), ([], None), ({}, None),
    ],
)  # fmt: skip
def test_a_field_of_any_kind_becomes_text_and_a_missing_one_no_value(value, text):
    cases = [case(metadata={"region": value}), case(metadata={"region": "x"}), case()]
    slicer = Slicer.fit(cases, ["region"])
    assert [slicer.of(one).get("region") for one in cases] == [text, "x", None]


def test_long_values_are_cut_and_stay_apart():
    first, second = (
        of(["note"], metadata={"note": "word " * 40 + end})["note"] for end in ("a", "b")
    )
    assert first != second
    assert first[:50] == second[:50] == ("word " * 10)
    assert len(first) == len(second) == 60


def test_paths_into_metadata_and_fields_of_the_case():
    one = case(
        group="g1",
        tags=("t",),
        metadata={"a": {"b": {"c": "deep"}}, "a.b": "dotted", "length": "told", "list": [1]},
    )
    fields = ["a.b.c", "a.b", "group", "length", "tags", "metadata.list", "a.b"]
    slicer = Slicer.fit([one], fields)
    found = slicer.of(one)
    assert slicer.fields == ("a.b.c", "a.b", "group", "metadata.length", "metadata.list")
    assert [found[name] for name in slicer.fields] == ["deep", "dotted", "g1", "told", "[1]"]
    assert found["length"] == "shortest quarter"
    assert Slicer.fit([case()], ["length", "script"]).fields == ()
    nested = {"metadata": {"region": "inner"}, "region": "outer"}
    assert of(["metadata.region"], metadata=nested)["metadata.region"] == "inner"


def test_a_field_no_case_has_is_refused_with_those_there_are():
    cases = [case(group="g", metadata={"region": "EU", "run": {"nr": 1}, "empty": ""})]
    with pytest.raises(UsageError) as refused:
        Slicer.fit(cases, ["regoin", "region", "run.no"])
    assert str(refused.value) == (
        "no case has 'regoin' or 'run.no' to slice by; "
        "fields seen: group, id, region, response, run.nr"
    )
    for name in ("empty", "system", "tags", "place"):
        with pytest.raises(UsageError, match=f"no case has '{name}' to slice by"):
            Slicer.fit(cases, [name])
    with pytest.raises(UsageError, match=r"fields seen: group, id, m00.*m17 and 14 more$"):
        Slicer.fit([case(group="g", metadata={f"m{n:02}": n for n in range(31)})], ["x"])


def test_the_label_is_no_slice():
    with pytest.raises(UsageError, match="cannot be sliced by"):
        Slicer.fit([case(label=Label.ACCEPT)], ["label"])


@pytest.mark.parametrize("name", ["city", "system", "tags"])
def test_many_values_are_pooled_and_say_so(name):
    def with_value(value):
        return case(tags=(value,)) if name == "tags" else case(metadata={name: value})

    values = [f"v{n:03}" for n in range(MOST_VALUES + 7)]
    cases = [with_value(value) for value in values] + [with_value("v050"), with_value("v056")]
    slicer = Slicer.fit(cases, ["city"] if name == "city" else [])
    assert Slicer.fit(cases[::-1], slicer.fields) == slicer

    def value_of(one):
        return [v for key, v in slicer.of(one).items() if key.startswith(name)]

    found = [value_of(one) for one in cases]
    kept = {"v050", "v056", *values[: MOST_VALUES - 2]}
    for value, got in zip(values, found, strict=False):
        assert got == [value if value in kept else "other (7 values)"]
    assert value_of(with_value("never seen")) == ["other (7 values)"]
    assert value_of(case()) == []


def test_as_many_values_as_are_kept_are_not_pooled():
    cases = [case(metadata={"city": n}) for n in range(MOST_VALUES)]
    slicer = Slicer.fit(cases, ["city"])
    assert slicer.pooled == {}
    assert slicer.of(case(metadata={"city": "new"}))["city"] == "new"


def test_two_pooled_tags_of_one_case_are_one_value():
    cases = [case(tags=(f"v{n:03}",)) for n in range(MOST_VALUES)]
    several = case(tags=("w1", "w2", "v000"))
    found = Slicer.fit([*cases, *cases, several]).of(several)
    assert {name: value for name, value in found.items() if name.startswith("tags")} == {
        "tags:other (2 values)": "other (2 values)",
        "tags:v000": "v000",
    }


def test_a_slicer_survives_json_and_needs_no_label():
    cases = [
        case(id=str(n), response="x" * n, label=Label.ACCEPT, metadata={"city": n})
        for n in range(1, 80)
    ]
    slicer = Slicer.fit(cases, ["city"])
    assert msgspec.json.decode(msgspec.json.encode(slicer), type=Slicer) == slicer
    for one in cases:
        assert slicer.of(msgspec.structs.replace(one, label=None)) == slicer.of(one)


def test_slices_found_unasked_come_in_their_order():
    one = case(response="30 days", tags=("t",), metadata={"model": "m", "region": "EU"})
    names = [name.partition(":")[0] for name in Slicer.fit([one], ["region"]).of(one)]
    assert names == [*VALUES, "region"]

"""How texts are cut: the published rules, scripts without spaces, texts that leave nothing."""

import pytest

from closecall.metrics.lexical.tokenizers import (
    TOKENIZERS,
    TokenPairs,
    alnum_tokens,
    meai_tokens,
    space_tokens,
    squad_tokens,
    words_tokens,
)


@pytest.mark.parametrize("cut", [meai_tokens, words_tokens], ids=["meai", "words"])
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("One two\tthree\n four", ["ONE", "TWO", "THREE", "FOUR"]),
        ("over-\ndue", ["OVERDUE"]),
        ("over-\r\ndue", ["OVERDUE"]),
        ("over- due", ["OVER", "-", "DUE"]),
        ("&quot;R&amp;D&quot; &lt;b&gt; it&apos;s", ['"', "R", "&", "D", '"', "<", "B", ">", "IT", "'", "S"]),
        ("&amp;lt; &nbsp;", ["&", "LT", ";", "&", "NBSP", ";"]),
        ("a+b=c (d)!", ["A", "+", "B", "=", "C", "(", "D", ")", "!"]),
        ("30. 30", ["30.", "30"]),
        ("3.50, 1/2 10%", ["3.50,", "1/2", "10%"]),
        ("30days B2B CO2", ["30", "DAYS", "B2B", "CO2"]),
        ("$5+3", ["$", "5", "+", "3"]),
        ("don't", ["DON", "'", "T"]),
        ("straße ﬁn", ["STRAßE", "ﬁN"]),
        ("½ cup, ٣٤", ["½", "CUP", ",", "٣٤"]),
        ("ok 👍🏽", ["OK", "👍", "🏽"]),
        ("", []),
        (" \n", []),
    ],
)  # fmt: skip
def test_words_symbols_numbers_and_entities(cut, text, tokens):
    assert cut(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("天气很好。", ["天", "气", "很", "好", "。"]),
        ("東京タワー2024年", ["東", "京", "タ", "ワ", "ー", "2024", "年"]),
        ("ดีมาก", ["ดี", "ม", "า", "ก"]),
        ("がき\u304b\u3099", ["が", "き", "が"]),
        ("\U00020bb7野家", ["\U00020bb7", "野", "家"]),
        ("서울 시", ["서울", "시"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
    ],
)
def test_a_script_without_spaces_is_cut_into_characters_with_their_accents(text, tokens):
    assert words_tokens(text) == tokens
    assert squad_tokens(text) == [t for t in tokens if t != "。"]
    assert alnum_tokens(text) == [t for t in tokens if t != "。"]


def test_the_compatible_cut_leaves_a_clause_whole():
    assert meai_tokens("天气很好。真的") == ["天气很好", "。", "真的"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The cat -- an old one, a tabby -- sat.", ["cat", "old", "one", "tabby", "sat"]),
        ("Theatre another anthem", ["theatre", "another", "anthem"]),
        ("$3.50 U.S.", ["350", "us"]),
        ("«Ça va?» “yes”", ["ça", "va", "yes"]),
        ("A", []),
        ("?!", []),
    ],
)
def test_squad_tokens_have_no_case_punctuation_or_articles(text, tokens):
    assert squad_tokens(text) == tokens


def test_alnum_tokens_keep_accents_and_drop_what_is_invisible():
    assert alnum_tokens("Cafe\u0301 co\u00adoperate snake_case 3.5") == [
        "café", "cooperate", "snake", "case", "3", "5",
    ]  # fmt: skip


def test_space_tokens_are_the_text_as_it_stands():
    assert space_tokens("The  U.S.\n team") == ["The", "U.S.", "team"]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_composed_and_decomposed_texts_are_cut_alike(name):
    for cut in TOKENIZERS[name]:
        assert cut("re\u0301sume\u0301\r\nok") == cut("r\u00e9sum\u00e9\nok")


def test_a_reference_of_nothing_but_articles_or_marks_is_compared_as_it_stands():
    pairs = TokenPairs("squad", "The answer is A +")
    assert pairs.against("A") == (["a"], ["the", "answer", "is", "a"])
    assert pairs.against("+") == (["+"], ["the", "answer", "is", "a", "+"])
    assert pairs.against("answers") == (["answers"], ["answer", "is"])


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("text", ["a", "-\n", "...", "\u200b", "\u0301", "the", "0"], ids=ascii)
def test_every_text_that_is_not_blank_has_tokens_as_a_reference(name, text):
    tokens, same = TokenPairs(name, text).against(text)
    assert tokens == same
    assert tokens


def test_a_response_is_cut_once_for_all_references():
    calls = []

    def cut(text):
        calls.append(text)
        return text.split()

    TOKENIZERS["counted"] = (cut,)
    try:
        pairs = TokenPairs("counted", "said")
        assert pairs.against("a")[1] == pairs.against("b")[1] == ["said"]
    finally:
        del TOKENIZERS["counted"]
    assert calls.count("said") == 1

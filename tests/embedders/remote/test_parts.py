"""The parts that need no server: sizes, requests, waits, replies and masks."""

import base64
import json
import re
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.embedders.remote.batching import LONG, batches
from closecall.embedders.remote.redaction import MASK, Secret, redact
from closecall.embedders.remote.replies import BadReply, Reply, read_reply
from closecall.embedders.remote.retry import Clock, Patience, Waiting, asked_wait
from closecall.embedders.remote.sizes import least_tokens, most_tokens, parts
from closecall.errors import ConfigurationError
from closecall.offline import offline, require_online

TEXT = st.text(st.characters(codec="utf-8"), max_size=200)


@settings(deadline=None)
@given(TEXT.filter(str.strip), st.integers(2, 40), st.integers(0, 39))
def test_parts_hold_every_word_keep_to_the_limit_and_end(text, capacity, overlap):
    found = parts(text, capacity, 0)
    assert "".join("".join(part.text for part in found).split()) == "".join(text.split())
    shared = parts(text, capacity, min(overlap, capacity - 1))
    for part in [*found, *shared]:
        assert part.text.strip()
        assert most_tokens(part.text) <= part.tokens <= capacity
    whole = {word for word in text.split() if 2 * most_tokens(word) <= capacity}
    assert whole <= {word for part in shared for word in part.text.split()}


def test_neighbouring_parts_share_whole_words():
    text = " ".join(f"w{n:03}" for n in range(100))
    found = parts(text, 50, 10)
    for one, following in pairwise(found):
        shared = [word for word in one.text.split() if word in following.text.split()]
        assert one.text.endswith(" ".join(shared))
        assert following.text.startswith(" ".join(shared))
        assert 0 < most_tokens(" ".join(shared)) <= 10


def test_a_part_is_never_within_its_neighbour():
    found = parts("aaaa bbbb cccccccccccccccccc dddd eeee", 10, 4)
    assert len(found) > 2
    assert all(one.text not in before.text for before, one in pairwise(found))


def test_a_word_longer_than_a_part_is_cut_between_characters():
    found = parts("é" * 50, 10, 0)
    assert "".join(part.text for part in found) == "é" * 50
    assert all(most_tokens(part.text) <= 10 for part in found)


def test_the_bounds_hold_for_the_bundled_tokenizer():
    from closecall.embedders.registry import load_embedder

    texts = [
        "The parcel arrived two days late, and nobody answered the phone.",
        "Die Rückerstattung dauert bis zu vierzehn Werktage.",
        "第四个包裹昨天到了。",
        "x = {'a': [1, 2, 3]}  # 12345",
        "def f(n):\n    return n*(n-1)//2 if n>=2 else None",
        "a b c d e f g",
        "https://example.com/a_b?c=1&d=2",
        "Возврат занимает до 14 дней — без выходных.",
    ]
    for text, tokens in zip(
        texts, load_embedder("minilm").embed_counted(texts).tokens, strict=True
    ):
        assert least_tokens(text) <= tokens.total <= most_tokens(text) + 2


@settings(deadline=None)
@given(st.lists(TEXT, max_size=30), st.integers(1, 5), st.integers(1, 100), st.booleans())
def test_requests_hold_each_text_once_in_order_and_keep_to_the_limits(texts, most, budget, alone):
    found = list(batches(texts, lambda: most, budget, alone=alone))
    flat = [text for batch in found for text in batch]
    assert sorted(flat) == sorted(texts)
    assert [text for text in flat if least_tokens(text) <= LONG] == [
        text for text in texts if least_tokens(text) <= LONG
    ]
    for batch in found:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or sum(map(most_tokens, batch)) <= budget


def test_a_long_text_goes_alone_where_it_might_be_cut():
    long = "word " * (LONG + 1)
    assert list(batches(["a", long, "b"], lambda: 9, 10**6, alone=True)) == [[long], ["a", "b"]]
    assert list(batches(["a", long, "b"], lambda: 9, 10**6)) == [["a", long, "b"]]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0),
        ({"retry-after": "Thu, 99 Foo"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"x-ratelimit-reset-requests": "5s"}, None),
        ({"x-ratelimit-reset-requests": "5s", "x-ratelimit-remaining-requests": "0"}, 5),
        ({"x-ratelimit-reset-tokens": "1h2m3s", "x-ratelimit-remaining-tokens": "0"}, 3723),
        ({"x-ratelimit-reset-tokens": "later", "x-ratelimit-remaining-tokens": "0"}, None),
        ({}, None),
    ],
)
def test_what_a_server_says_of_waiting(headers, seconds):
    assert asked_wait(headers, 10.0) == seconds


@settings(deadline=None)
@given(st.integers(0, 1000), st.none() | st.floats(0, 1000), st.floats(0, 1))
def test_a_wait_is_bounded_and_never_less_than_asked(attempt, asked, drawn):
    waiting = Waiting(Patience(), Clock(draw=lambda: drawn))
    wait = waiting.delay(attempt, asked)
    if asked is None:
        assert 0 <= wait <= 20
    else:
        assert asked <= wait <= asked + 1


def test_stopping_ends_a_wait_at_once():
    stopped = threading.Event()
    stopped.set()
    waiting = Waiting(Patience(), Clock())
    waiting.hold(1000)
    assert not waiting.turn(float("inf"), stopped)
    waiting.pause(1000, stopped)


def body(*entries, **more):
    return json.dumps({"data": list(entries), "model": "m", **more}).encode()


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3)
        .filter(any),
        min_size=1, max_size=6,
    ),
    st.randoms(),
)  # fmt: skip
def test_replies_are_put_in_order_whatever_their_form(rows, random):
    entries = [
        {
            "index": at,
            "embedding": random.choice(
                [row, base64.b64encode(np.array(row, "<f4").tobytes()).decode()]
            ),
        }
        for at, row in enumerate(rows)
    ]
    random.shuffle(entries)
    found = read_reply(body(*entries), len(rows), 3)
    assert isinstance(found, Reply)
    np.testing.assert_array_equal(np.stack(found.rows), np.array(rows, np.float32))


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_whatever_bytes_come_there_is_an_answer(data):
    assert isinstance(read_reply(data, 2, 3), BadReply)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "index", "embedding", "usage", "model"]), inner)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(JSON)
def test_whatever_json_comes_no_vector_is_unsound(value):
    found = read_reply(json.dumps({"data": value}).encode(), 1, None)
    if isinstance(found, Reply):
        (row,) = found.rows
        assert isinstance(row, str) or (np.isfinite(row).all() and row.any())


def test_nested_beyond_reason_is_no_crash():
    assert isinstance(read_reply(b"[" * 200_000, 1, None), BadReply)
    assert isinstance(read_reply(b'{"data": ' + b"[" * 200_000, 1, None), BadReply)


HIDDEN = "abcdefgh-ijklmnop-12345678"


@pytest.mark.parametrize(
    "text",
    [
        f"bad key {HIDDEN}.", f"bad key {HIDDEN[:12]}...", f"...{HIDDEN[-8:]}", HIDDEN * 2,
        f"Authorization: Bearer {HIDDEN}", "sk-proj-0123456789abcdef", "sk-abc***********wxyz",
    ],
)  # fmt: skip
def test_a_key_is_masked_whole_and_in_part(text):
    shown = redact(text, Secret(HIDDEN))
    assert MASK in shown
    for at in range(len(HIDDEN) - 7):
        assert HIDDEN[at : at + 8] not in shown
    assert "0123456789" not in shown
    assert "wxyz" not in shown


def test_what_is_no_key_stays():
    assert redact("maximum context length is 8191", Secret(HIDDEN)) == (
        "maximum context length is 8191"
    )
    assert redact("a b c", Secret("a")) == "a b c"
    assert redact("tasks and risk-free", Secret(HIDDEN)) == "tasks and risk-free"


@pytest.mark.parametrize("value", ["1", "true", " ON ", "yes"])
def test_offline_is_on(value):
    environ = {"CLOSECALL_OFFLINE": value}
    assert offline(environ)
    with pytest.raises(ConfigurationError, match="fetching a model needs the network"):
        require_online("fetching a model", environ)


@pytest.mark.parametrize("value", ["", " ", "0", "off", "No", "false"])
def test_offline_is_off(value):
    assert not offline({"CLOSECALL_OFFLINE": value})
    assert not offline({})
    require_online("fetching a model", {"CLOSECALL_OFFLINE": value})


def test_offline_is_one_of_both():
    with pytest.raises(ConfigurationError, match="CLOSECALL_OFFLINE must be on or off"):
        offline({"CLOSECALL_OFFLINE": "maybe"})


@given(TEXT)
def test_a_text_has_a_token_at_least_for_every_word_with_a_letter_or_digit(text):
    assert least_tokens(text) == len(re.findall(r"\S*\w\S*", text))


@pytest.mark.parametrize("sign", ["-", ".", "— "])
def test_a_megabyte_of_signs_is_counted_in_a_moment(sign, no_hang):
    assert least_tokens(sign * 1_000_000) == 0
    assert least_tokens(sign * 1_000_000 + "a") == 1


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([
            "retry-after", "retry-after-ms", "x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens",
        ]),
        st.text(max_size=60) | st.sampled_from([
            "0", "-1", "nan", "1e400", "Fri, 31 Dec 9999 23:59:59 -2400", "Mon, 0 Jan 0000", "1h1m1s",
            "Sun, 06 Nov 1994 08:49:37 +9999999999999999", "(" * 50, "9" * 5000, "1 Jan 1 00:00:00 +9999",
        ]),
    )
)  # fmt: skip
def test_whatever_a_server_says_of_waiting_is_seconds_or_nothing(headers):
    found = asked_wait(headers, 1000.0)
    assert found is None or found >= 0


def test_a_span_without_end_is_read_in_a_moment(no_hang):
    headers = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1" * 90_000}
    assert asked_wait(headers, 0.0) is None

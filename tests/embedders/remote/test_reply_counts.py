"""How many tokens a server says it took: what is no count is not taken for one."""

import json

import pytest

from closecall.chat.replies import read_reply as read_chat
from closecall.embedders.metering import MOST_TOKENS
from closecall.embedders.remote.replies import read_reply as read_vectors

NONE = [-1, MOST_TOKENS + 1, 1 << 60, 1 << 64, 10**400, True, 7.5, "7", None]


def vectors(tokens, **entry):
    body = {
        "data": [{"index": 0, "embedding": [0.5], **entry}],
        "usage": {"prompt_tokens": tokens},
    }
    return read_vectors(json.dumps(body).encode(), 1, None).prompt_tokens


def chat(prompt, completion):
    message = {"role": "assistant", "content": "Monday"}
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    return read_chat(
        json.dumps({"choices": [{"message": message}], "usage": usage}).encode()
    ).usage


@pytest.mark.parametrize("tokens", NONE)
def test_what_is_no_count_is_not_reported(tokens):
    assert vectors(tokens) is None
    assert vectors(tokens, object=float("nan")) is None  # no JSON, and read piece by piece
    assert chat(tokens, 3) == (None, 3)
    assert chat(3, tokens) == (3, None)


def test_what_is_a_count_is():
    assert vectors(7) == vectors(7, object=float("nan")) == 7
    assert vectors(MOST_TOKENS) == MOST_TOKENS
    assert chat(0, MOST_TOKENS) == (0, MOST_TOKENS)

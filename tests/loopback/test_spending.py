"""Over real HTTP: what is counted is what the servers reported, and a budget stops the requests."""

import json
import re

import pytest
from fake_chat import FakeChat, Said, turn

from closecall import evaluate, load_run
from closecall.chat.remote import RemoteChat
from closecall.chat.settings import chat_settings
from closecall.cli import run as command_line
from closecall.embedders.remote.retry import Patience
from closecall.errors import BudgetError
from closecall.runs.reader import open_run

pytestmark = pytest.mark.loopback

QUESTIONS = [f"How is lamp number {n} lit?" for n in range(12)]
METRICS = "llm_relevance,llm_coherence"
PRICES = """\
[prices.assistant]
input = 1
output = 2
currency = "USD"
[prices."openai-compatible:judge"]
input = 0.5
output = 1.5
currency = "USD"
"""


class Desk(FakeChat):
    """Plays assistant and judge; adds up what it reported of each."""

    def __init__(self):
        super().__init__("openai-compatible")
        self.script = self.says
        self.told = {"assistant": [0, 0, 0], "judge": [0, 0, 0]}
        self.silent = False

    def says(self, received):
        marks = json.dumps({"thoughts": "t", "reason": "r", "score": 5})
        judging = "response_format" in received.body
        said = self.reply(received, turn(marks if judging else "It is lit by day."))
        if self.silent:
            said.body.pop("usage")
            return said
        usage = said.body["usage"]
        with self._lock:
            counts = self.told["judge" if judging else "assistant"]
            counts[0] += 1
            counts[1] += usage["prompt_tokens"]
            counts[2] += usage["completion_tokens"]
        return said


@pytest.fixture
def server():
    with Desk() as provider:
        yield provider


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    rows = [{"id": f"c{n}", "input": one} for n, one in enumerate(QUESTIONS)]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


@pytest.fixture
def ask(server, place, monkeypatch):
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CLOSECALL_SUBJECT_API_KEY", "subject-key-for-tests")
    monkeypatch.setenv("COLUMNS", "100")  # workers that test side by side are told 80
    url = server.environment()["OPENAI_COMPATIBLE_ENDPOINT"]

    def asked(*more, folder="run"):
        return command_line(
            ["eval", "cases.jsonl", "-q", "-m", METRICS, "--endpoint", url, "--model",
             "assistant", "--judge-model", "openai-compatible:judge", "--aef", folder, *more]
        )  # fmt: skip

    return asked


def counts(run):
    return {
        {"subject": "assistant"}.get(one.role, one.role): [
            one.requests, one.prompt_tokens, one.completion_tokens,
        ]
        for one in run.spending.spent
    }  # fmt: skip


def scores(folder):
    return {row.case.id: [r.measurement.value for r in row.results] for row in load_run(folder)}


def test_counts_are_what_the_server_reported(server, place, ask, capsys):
    (place / "closecall.toml").write_text(PRICES)
    assert ask() == 0
    run = load_run(place / "run")
    assert counts(run) == server.told
    assert server.told["assistant"][0] == 12
    assert server.told["judge"][0] == 24
    said = capsys.readouterr().out
    assert "assistant@openai-compatible" in said
    assert f"{server.told['judge'][1]:,}" in said
    _, prompt, written = server.told["judge"]
    judge = run.spending.spent[1]
    assert run.spending.cost(judge).amount * 10**6 == (prompt * 5 + written * 15) / 10
    assert command_line(["runs", "show", "run"]) == 0
    assert "spent in all" in capsys.readouterr().out


@pytest.mark.parametrize("budget", [60, 700, 1500])
def test_a_budget_stops_the_requests_and_a_resumed_run_ends_the_same(
    server, place, ask, capsys, budget
):
    assert ask(folder="whole") == 0
    before = {name: list(told) for name, told in server.told.items()}
    capsys.readouterr()
    assert ask("--budget", str(budget)) == 8
    said = capsys.readouterr().err
    assert "Go on with: closecall eval --resume run --budget MORE" in said
    assert f"the budget of {budget:,} tokens is spent" in said
    spent = sum(told[1] + told[2] - before[name][1] - before[name][2]
                for name, told in server.told.items())  # fmt: skip
    cut = load_run(place / "run")
    assert cut.spending.tokens == spent
    longest = 1000  # of one request of a judge, prompt and reply
    assert budget <= spent < budget + longest
    assert cut.cases.unmeasured == 0
    assert len(cut) < 12
    here = len(server.requests)
    assert command_line(["eval", "--resume", "run", "-q"]) == 8
    assert len(server.requests) == here, "nothing was left to spend, and nothing was sent"
    assert command_line(["eval", "--resume", "run", "-q", "--budget", "1_000_000"]) == 0
    assert scores(place / "run") == scores(place / "whole")
    assert not open_run(place / "run").verify()


def test_a_replay_spends_nothing(server, place, ask, capsys):
    assert ask("--record", "tape") == 0
    told = server.told
    server.__exit__()
    assert ask("--replay", "tape", "--budget", "1", folder="again") == 0
    run = load_run(place / "again")
    assert run.spending.tokens == 0
    judge = run.spending.spent[1]
    assert [judge.replayed, judge.replayed_prompt_tokens, judge.replayed_completion_tokens] == (
        told["judge"]
    )
    assert scores(place / "again") == scores(place / "run")
    assert "not spent: 24 replies from a recording" in capsys.readouterr().out
    server.__enter__()


def test_with_a_cassette_a_budget_loses_nothing_that_was_paid(server, place, ask):
    assert ask("--record-missing", "tape", "--budget", "900") == 8
    assert command_line(["eval", "--resume", "run", "-q", "--budget", "900_000"]) == 0
    assert server.told["assistant"][0] == 12
    assert server.told["judge"][0] == 24
    run = load_run(place / "run")
    assert counts(run) == server.told


def test_a_server_that_reports_nothing_still_meets_the_budget(server, place, ask, capsys):
    server.silent = True
    assert ask() == 0
    run = load_run(place / "run")
    assert [(one.requests, one.unreported) for one in run.spending.spent] == [(12, 12), (24, 24)]
    assert run.spending.tokens == 0
    assert "24 of 24 requests did not report all of their tokens" in capsys.readouterr().out
    assert ask("--budget", "5000", folder="other") == 8
    said = capsys.readouterr().err
    taken = int(
        re.search(r"did not report theirs, taken for ([0-9,]+) tokens", said)[1].replace(",", "")
    )
    assert 5000 <= taken < 6500


def test_money_without_a_price_is_refused_before_any_request(server, place, ask, capsys):
    (place / "closecall.toml").write_text(PRICES.split('[prices."', maxsplit=1)[0])
    assert ask("--budget", "1.50USD") == 3
    assert 'add [prices."judge"] to closecall.toml' in capsys.readouterr().err
    assert ask("--budget", "1.50EUR") == 3
    assert not server.requests
    (place / "closecall.toml").write_text(PRICES.replace("0.5", '"much"'))
    assert ask() == 3
    said = capsys.readouterr().err
    assert f'{place / "closecall.toml"}: prices."openai-compatible:judge".input' in said
    assert not server.requests
    (place / "closecall.toml").write_text(PRICES)
    assert ask("--budget", "0.000300 USD", folder="money") == 8
    cut = load_run(place / "money")
    assert 300 <= cut.spending.total.amount * 10**6 < 1300
    assert command_line(["eval", "--resume", "money", "-q", "--budget", "1 USD"]) == 0


def test_a_budget_that_is_none_is_a_usage_error(server, ask, capsys):
    assert ask("--budget", "200k") == 2
    assert "200_000" in capsys.readouterr().err
    assert not server.requests


def test_replies_that_cannot_be_used_were_paid_for_too(server, time, monkeypatch):
    said = iter([{"choices": []}, {"choices": [turn(finish="content_filter")]}])
    server.script = lambda received: server.reply(received, **next(said))
    settings = chat_settings("openai-compatible:judge", environ=server.environment())
    chat = RemoteChat(settings, patience=Patience(attempts=3), clock=time.clock)
    cases = [{"id": "a", "input": "Why?", "response": "So."}]
    run = evaluate(cases, "llm_relevance", judge=chat, cache=False)
    assert run.cases.unmeasured == 1
    (judge,) = run.spending.spent
    reported = 2 * (judge.prompt_tokens // 2)
    assert (judge.requests, judge.unreported, judge.completion_tokens) == (2, 0, 4)
    assert judge.prompt_tokens == reported > 0


def test_what_a_server_turns_down_costs_nothing(server, time):
    server.script = lambda received: Said(429, {}, (("retry-after", "0"),))
    settings = chat_settings("openai-compatible:judge", environ=server.environment())
    chat = RemoteChat(settings, patience=Patience(attempts=2), clock=time.clock)
    cases = [{"id": "a", "input": "Why?", "response": "So."}]
    assert evaluate(cases, "llm_relevance", judge=chat, cache=False).spending is None


# --- embeddings ----------------------------------------------------------------------------------

TEXTS = [
    {"id": f"e{n}", "response": f"lamp {n} is lit", "reference": f"it is lamp {n}"}
    for n in range(40)
]


def embedded(run):
    return next(one for one in run.spending.spent if one.role == "embedder")


def test_embeddings_are_counted_once_and_the_cache_is_free(serve, connect, tmp_path):
    provider = serve("openai")
    embedder = connect(provider)
    options = {"guards": "off", "cache": tmp_path / "cache"}
    first = evaluate(TEXTS, embedder=embedder, **options)
    assert embedded(first).prompt_tokens == embedder.usage.reported
    assert embedded(first).requests == embedder.usage.replies
    assert embedded(first).name == "asked-model@openai"
    again = evaluate(TEXTS, embedder=connect(provider), **options)
    assert embedded(again).requests == 1, "the one that finds out what the server is"
    assert embedded(again).cached == 80
    assert embedded(again).completion_tokens == 0


def test_a_budget_in_the_midst_of_embeddings(serve, connect, tmp_path):
    provider = serve("openai", limit=4)
    whole = evaluate(TEXTS, embedder=connect(provider), cache=False, guards="off")
    options = {"guards": "off", "cache": tmp_path / "cache", "aef": tmp_path / "run"}
    with pytest.raises(BudgetError):
        evaluate(TEXTS, embedder=connect(provider), budget=60, **options)
    cut = load_run(tmp_path / "run")
    assert cut.cases.unmeasured == 0
    assert 60 <= cut.spending.tokens < 60 + 64
    run = evaluate(TEXTS, embedder=connect(provider), budget=100_000, resume=True, **options)
    assert [r.results[0].measurement.value for r in run] == [
        r.results[0].measurement.value for r in whole
    ]
    first = 9  # words of the text that finds out what the server is, once a process
    assert run.spending.tokens == whole.spending.tokens + first, "nothing else is paid for twice"


def test_replayed_vectors_are_not_spent(serve, connect, tmp_path):
    from closecall.cassettes import open_cassette

    for mode in ("record", "replay"):
        provider = serve("openai")
        with open_cassette(tmp_path / "tape", mode, scenario="s") as cassette:
            run = evaluate(TEXTS, embedder=connect(provider), cassette=cassette, guards="off")
        # One given as an object is asked what it is, recorded or not.
        assert (embedded(run).requests > 1) == (mode == "record")
        assert (embedded(run).replayed == 80) == (mode == "replay")
        assert (embedded(run).prompt_tokens > 9) == (mode == "record")


def test_an_embedder_is_nobody_s_once_its_run_is_over(serve, connect):
    provider = serve("openai", limit=4)
    embedder = connect(provider)
    with pytest.raises(BudgetError):
        evaluate(TEXTS, embedder=embedder, budget=60, cache=False, guards="off")
    assert embedder.embed(["another text"]).shape == (1, 8)


def test_a_named_embedder_is_counted_recorded_and_replayed(
    server, serve, place, monkeypatch, capsys
):
    provider = serve("openai")
    for name, value in provider.environment().items():
        monkeypatch.setenv(name, value)
    (place / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in TEXTS))
    asked = ["eval", "texts.jsonl", "-q", "-m", "embed_answer_similarity", "--embedder",
             "openai:asked-model"]  # fmt: skip
    assert command_line([*asked, "--budget", "1USD"]) == 3
    assert 'add [prices."asked-model"]' in capsys.readouterr().err
    assert not provider.requests
    command_line([*asked, "--record", "tape", "--aef", "first"])
    first = embedded(load_run(place / "first"))
    assert first.requests == len(provider.requests)
    told = sum(len(text.split()) + 1 for one in provider.requests for text in one.texts)
    assert first.prompt_tokens == told
    command_line([*asked, "--replay", "tape", "--aef", "again", "--budget", "1USD"])
    again = embedded(load_run(place / "again"))
    assert (again.requests, again.prompt_tokens, again.replayed) == (0, 0, 80)
    assert first.requests == len(provider.requests)
    command_line([*asked, "--record-missing", "tape", "--aef", "third"])
    assert embedded(load_run(place / "third")).replayed == 80
    assert first.requests == len(provider.requests)


def test_money_needs_the_price_of_an_embedder_before_it_is_asked(serve, connect):
    from closecall.errors import MissingPriceError

    provider = serve("openai")
    with pytest.raises(MissingPriceError, match="no price for asked-model"):
        evaluate(TEXTS, embedder=connect(provider), budget="1 USD", cache=False, guards="off")
    assert not provider.requests
    prices = {"asked-model": {"input": "0.02", "currency": "USD"}}
    run = evaluate(TEXTS, embedder=connect(provider), budget="1 USD", prices=prices, cache=False,
                   guards="off")  # fmt: skip
    assert run.spending.total.amount * 10**8 == 2 * embedded(run).prompt_tokens

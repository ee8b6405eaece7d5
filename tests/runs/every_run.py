"""One small run of every kind that closecall writes, each into a folder of its own.

``KINDS`` maps a name to a function that takes a folder to write to, a scratch folder and options
of ``evaluate``. All are made with an embedder of hashes and scripted chats, so that they are the
same each time but for ids and times.
"""

import functools
import json

from labelled_rows import made, rows, unlabelled, write

from closecall import Goal, calibrate, evaluate
from closecall.bulk.merging import merge_runs
from closecall.cassettes import open_cassette
from closecall.chat.base import ChatFailure, ChatIdentity, ChatReply, ChatUsage
from closecall.errors import BudgetError
from closecall.gates.deciding import DecidingGates, LaterGates
from closecall.subjects.chat import ChatSubject
from closecall.testing import HashEmbedder, ScriptedChat

GATES = (
    "pass_rate(semantic_similarity) >= 0.2",
    'mean(semantic_similarity where label = "accept") >= 0.5',
    "surely pass_rate(semantic_similarity) >= 0.01",
    "count(semantic_similarity >= 0.9) <= 5",
    "p10(semantic_similarity) >= 0.1",
    "measured(semantic_similarity) == asked",
    "pass_rate(semantic_similarity) >= 0.99",
)
FEW = 12


def asked(rules=GATES):
    return {"gates": [{"rule": rule, "name": ""} for rule in rules]}


def decided(header):
    return DecidingGates(GATES, header)


def later(header):
    return LaterGates(GATES, header)


def cases(count=FEW, seed=5):
    """Good and wrong answers, with groups, tags and metadata, and two that cannot be measured."""
    half = count // 2
    found = rows(half, count - half, seed=seed, tags=["made", "words"], kind="shelf")
    found[1] |= {"response": " ", "label": "reject"}
    found[3] |= {"group": "drawer of socks"}
    del found[4]["label"]
    return found


class Failing(HashEmbedder):
    """An embedder that cannot embed some texts."""

    def embed(self, texts, role="text"):
        if any("tallow" in text for text in texts):
            raise RuntimeError(f"500 the model gave up on {texts[0]!r}")
        return super().embed(texts)


def run(folder, given=None, metrics="semantic_similarity", embedder=None, **options):
    options = {"cache": False} | options
    return evaluate(given or cases(), metrics, embedder or HashEmbedder(), aef=folder, **options)


def chat(content, model="desk", tokens=(10, 5)):
    def said(request):
        found = content(request)
        if isinstance(found, ChatFailure):
            return found
        return ChatReply(content=found, usage=ChatUsage(*tokens), latency_ms=12.5)

    return ScriptedChat(said, identity=ChatIdentity(provider="openai", host="h", model=model))


def mark(request):
    question = request.messages[-1].content
    told = f"because it says {question[:40]}"
    return json.dumps({"thoughts": told, "reason": told, "score": 1 + len(question) % 5})


def other_mark(request):
    return json.dumps(json.loads(mark(request)) | {"score": 3})


def answer(request):
    return f"So: {request.messages[-1].content}"


def questions(count=6):
    return [{"id": f"q{n}", "input": f"What is lamp {n}?", "context": "It is lit."} for n in
            range(count)]  # fmt: skip


def plain(folder, scratch, **options):
    run(folder, metrics="semantic_similarity,embed_answer_similarity,chrf", **options)


def unscored(folder, scratch, **options):
    """A metric without a cutoff, and one of one's own that fails."""

    def picky(case):
        if case.id.endswith("2"):
            raise ValueError(f"not for me: {case.response}")
        return len(case.response) / 100

    run(folder, metrics=["rouge_l", picky], **options)


def failing(folder, scratch, **options):
    run(folder, metrics="semantic_similarity,chrf", embedder=Failing(), **options)


def bad_rows(folder, scratch, **options):
    path = scratch / "bad.jsonl"
    lines = [json.dumps(case) for case in cases()]
    lines.insert(2, '{"id": "crooked", "response": ["crooked teapot"], "reference": 7}')
    lines.insert(5, "crooked teapot in no JSON")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run(folder, str(path), on_bad_row="skip", **options)


def guarded(folder, scratch, **options):
    good = "The trial lasts 30 days and can be cancelled."
    others = ["The trial lasts 60 days and can be cancelled.", "Bananas.",
              "The trial lasts 30 days and can not be cancelled."]  # fmt: skip
    given = [
        {
            "id": f"g{at}",
            "response": text,
            "reference": good,
            "label": "reject" if at else "accept",
        }
        for at, text in enumerate([good, *others])
    ]
    run(folder, given, metrics="embed_answer_similarity",
        guards="numbers=reject,negation=unsure", **options)  # fmt: skip


def gated(folder, scratch, **options):
    run(folder, watch=decided, asked=asked(), **options)


@functools.cache
def calibration():
    return made()


@functools.cache
def rungs():
    both = Goal(max_far=0.1, max_frr=0.1)
    many = rows(200, 200, seed=7)
    found = [
        calibrate(many, metric, HashEmbedder(), both, cache=False, lock=False)
        for metric in ("chrf", "embed_answer_similarity")
    ]
    assert all(one.reject_cutoff is not None for one in found)
    return found


def calibrated(folder, scratch, **options):
    run(folder, rows(20, 20, seed=9), metrics=None, calibration=calibration(), **options)


def uncalibrated(folder, scratch, **options):
    run(folder, unlabelled(cases()), metrics=None, calibration=calibration(), uncalibrated=True,
        embedder=HashEmbedder(48), **options)  # fmt: skip


def cascaded(folder, scratch, **options):
    run(folder, rows(20, 20, seed=9), metrics=None, calibration=rungs(), cascade=True, **options)


def asked_of_a_desk(folder, scratch, runs=1, cassette=None, count=6, **options):
    desk, marker = chat(answer), chat(mark, "marker", (100, 20))
    if cassette is not None:
        desk = cassette.chat(functools.partial(chat, answer), "desk")
        marker = cassette.chat(functools.partial(chat, mark, "marker", (100, 20)), "marker")
    options = {"answers": ChatSubject(desk), "judge": marker, "cache": False} | options
    more = {"runs": runs, "success_threshold": 0.6} if runs > 1 else {}
    metrics = ["llm_relevance", "embed_query_context"]
    return evaluate(questions(count), metrics, HashEmbedder(), aef=folder, **more, **options)


def judged(folder, scratch, **options):
    asked_of_a_desk(folder, scratch, **options)


def paneled(folder, scratch, **options):
    judges = [chat(mark, "one"), chat(other_mark, "two"), chat(mark, "three")]
    asked_of_a_desk(folder, scratch, judge=judges, **options)


class Desk:
    """Answers right, wrong or by turns, and once not at all."""

    def __init__(self):
        self.asked = {}

    def __call__(self, case):
        turn = self.asked[case.id] = self.asked.get(case.id, -1) + 1
        if (case.id, turn) == ("q2", 1):
            raise RuntimeError(f"429 too many requests about {case.input}")
        if case.id == "q4":
            return "Bananas."
        return "It is lit." if case.id < "q2" or (turn + len(case.id)) % 3 else "No."


def repeated(folder, scratch, **options):
    given = [one | {"reference": "It is lit."} for one in questions()]
    given[5]["response"] = "It is lit."
    metrics = "embed_answer_similarity,semantic_similarity,rouge_l"
    run(folder, given, metrics=metrics, answers=Desk(), runs=5, success_threshold=0.6, **options)


def budgeted(folder, scratch, **options):
    """A run whose budget was spent, and that went on with more."""
    import pytest

    with pytest.raises(BudgetError):
        asked_of_a_desk(folder, scratch, count=20, budget=700, **options)
    asked_of_a_desk(folder, scratch, count=20, budget=100_000, resume=True, **options)


def spent(folder, scratch, **options):
    """A run whose budget was spent: it stays open."""
    import pytest

    with pytest.raises(BudgetError):
        asked_of_a_desk(folder, scratch, count=20, budget=700, **options)


class StopError(Exception):
    pass


def resumed(folder, scratch, **options):
    import pytest

    def stop(done, total):
        if done >= 256:
            raise StopError

    path = write(scratch / "many.jsonl", rows(150, 150, seed=3))
    with pytest.raises(StopError):
        run(folder, str(path), progress=stop, watch=decided, asked=asked(), **options)
    found = run(folder, str(path), watch=decided, asked=asked(), resume=True, **options)
    assert len(found) == 300


def replayed(folder, scratch, **options):
    tape = scratch / "tape"
    with open_cassette(tape, "record") as cassette:
        asked_of_a_desk(scratch / "recorded", scratch, cassette=cassette)
    with open_cassette(tape, "replay") as cassette:
        asked_of_a_desk(folder, scratch, cassette=cassette, asked={"mode": "replay"}, **options)


def replayed_trials(folder, scratch, **options):
    tape = scratch / "tape"
    with open_cassette(tape, "record") as cassette:
        asked_of_a_desk(scratch / "recorded", scratch, runs=3, cassette=cassette)
    with open_cassette(tape, "replay") as cassette:
        asked_of_a_desk(
            folder, scratch, runs=3, cassette=cassette, asked={"mode": "replay"}, **options
        )


def merged(folder, scratch, **options):
    path = write(scratch / "cases.jsonl", cases(30))
    places = [scratch / f"shard-{index}" for index in (1, 2, 3)]
    for index, place in enumerate(places, 1):
        run(place, str(path), shard=f"{index}/3", watch=later, asked=asked(), **options)
    merge_runs(places, folder, watch=decided)


def sharded(folder, scratch, **options):
    path = write(scratch / "cases.jsonl", cases(30))
    run(folder, str(path), shard="2/3", watch=later, asked=asked(), **options)


def empty(folder, scratch, **options):
    given = [{"id": "only", "response": " ", "reference": "copper violin"}]
    run(folder, given, **options)


KINDS = {
    kind.__name__: kind
    for kind in (
        plain, unscored, failing, bad_rows, guarded, gated, calibrated, uncalibrated, cascaded,
        judged, paneled, repeated, budgeted, resumed, replayed, replayed_trials, merged, sharded,
        empty,
    )
}  # fmt: skip
OPEN = {"spent": spent}


def made_once(tmp_path_factory):
    """Return a function that gives the run of a kind, made when it is first asked for."""
    known = {}

    def of(kind):
        if kind not in known:
            above = tmp_path_factory.mktemp(kind)
            KINDS[kind](above / "run", above)
            known[kind] = above / "run"
        return known[kind]

    return of

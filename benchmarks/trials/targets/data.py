"""Case files of every form, case files of other evaluators, collections of a search, and scores.

What is read is measured, reported, gated, written and read again: a value that is accepted here
and breaks the third command after is as bad as one that breaks the reader.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from closecall import evaluate, open_dataset
from closecall.importing import case_line, open_import
from closecall.records import Case, Measured
from closecall.report.formats import write
from closecall.testing import HashEmbedder

from ..inputs import Target

ROWS: tuple[dict[str, Any], ...] = (
    {
        "id": "c1", "input": "How long may I return a lamp?", "response": "Thirty days.",
        "references": ["30 days", "a month"], "context": ["Lamps: 30 days.", {"text": "Sale: 7."}],
        "label": "accept", "group": "returns", "tags": ["lamp", "time"],
        "expected_facts": ["30|thirty"], "shelf": {"row": 4, "seen": [1.5, None]},
    },
    {
        "id": "c2", "input": "Do you ship to Peru?", "response": "No, we do not.",
        "references": ["No."], "context": ["We ship to Chile."], "label": "reject",
        "group": "shipping", "tags": [], "expected_facts": {"none": ["yes"]}, "shelf": None,
    },
    {
        "id": 3, "input": "Née Żukowska \U0001f600?", "response": "It costs 12.50 €.",
        "references": ["EUR 12.50"], "context": [], "label": None, "group": None,
        "tags": ["price"], "forbidden_text": "dollar", "shelf": {"row": 1e3},
    },
)  # fmt: skip

METRICS = ("token_f1", "expected_fact", "forbidden_text", "embed_answer_similarity")
GATES = (
    "share(token_f1 >= 0.5 where slice.shelf.row = 4) >= 0.1",
    "surely pass_rate(token_f1) > 0",
)
FORMATS = ("json", "csv", "markdown")


def use(cases: Sequence[Case], folder: Path) -> None:
    """Measure, report and gate cases, write them, and read them back as the same."""
    written = folder.parent / "again.jsonl"
    written.write_text("".join(f"{case_line(case)}\n" for case in cases), encoding="utf-8")
    # Absent values are not written, so there may be no column left to read.
    said = any(case.input or case.response or case.references or case.context for case in cases)
    again = list(open_dataset(written)) if said else cases
    for one, other in zip(cases, again, strict=True):
        fields = ("input", "response", "references", "context", "label", "group", "tags")
        for field in fields:
            if getattr(one, field) != getattr(other, field):
                raise AssertionError(f"{one.id}: {field} came back as another")
    run = evaluate(cases, list(METRICS), HashEmbedder(), cutoffs={"token_f1": 0.5}, cache=False)
    states = run.metrics[0]
    if states.asked != len(cases):
        raise AssertionError(f"{states.asked} asked of {len(cases)}")
    for row in run:
        for result in row.results:
            if isinstance(result.measurement, Measured) and not math.isfinite(
                result.measurement.value
            ):
                raise AssertionError(f"{row.case.id}: no finite number")
    from closecall.gates.evaluate import evaluate_gates

    evaluate_gates(run, GATES)
    for form in FORMATS:
        out = io.StringIO()
        write(run, form, out)
        out.getvalue().encode("utf-8")


def reads(name: str, **options: Any) -> Callable[[Path], None]:
    """Return what reads the data set of a name in the folder, in every way there is."""

    def read(folder: Path) -> None:
        data = open_dataset(folder / name, **options)
        scan = data.scan()
        cases = list(data)
        if len(cases) != scan.cases or list(data.between(1, 2)) != cases[1:2]:
            raise AssertionError("two passes over a file differ")
        use(cases, folder)

    return read


def jsonl(folder: Path, name: str = "cases.jsonl", rows: Sequence[Any] = ROWS) -> None:
    """Write rows as JSON Lines."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / name).write_text(text, encoding="utf-8")


def document(name: str, value: Any, *, indent: int | None = 1) -> Callable[[Path], None]:
    """Return what writes one JSON value."""

    def make(folder: Path) -> None:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
        (folder / name).write_text(text, encoding="utf-8")

    return make


def text(name: str, content: str, encoding: str = "utf-8") -> Callable[[Path], None]:
    """Return what writes a text."""
    return lambda folder: (folder / name).write_bytes(content.encode(encoding)) and None


CSV = (
    "id,input,response,references,context,label,tags\r\n"
    "c1,How long?,30 days,\"['30 days', 'a month']\",\"[{'text': 'Lamps: 30'}]\",accept,a;b\r\n"
    'c2,"Do you ship, to Peru?","No, we ""do not"".",[1] says so,"line one\nline two",0,\r\n'
    'c3,Née?,12.50,"[""EUR 12""]",,1.0,price\r\n'
)
YAML = """\
usual: &usual
  group: returns
  tags: [lamp, time]
cases:
  - id: c1
    <<: *usual
    input: How long may I return a lamp?
    response: &days Thirty days.
    references: [*days, "30 days"]
    label: Yes
  - {id: c2, input: Open?, response: 'At "nine".', references: At 9., label: no}
  - input: |
      Two
      lines.
    response: >-
      1.50
    references: ~
"""
TALK = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "How long?"}]},
        {"role": "assistant", "content": "Thirty days.", "tool_calls": [{"id": 1}]},
    ],
    "reference": "30 days",
}


def parquet(folder: Path) -> None:
    """Write the rows as Parquet: texts, lists, objects, numbers, a coded column, times."""
    import datetime as dt

    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        {
            "id": ["c1", "c2", "c3"],
            "input": ["How long?", "Do you ship?", "Née?"],
            "response": pa.array(["Thirty.", "No.", "No."]).dictionary_encode(),
            "references": [["30 days", "a month"], ["No."], []],
            "context": [[{"text": "Lamps"}], None, [{"text": "x"}]],
            "label": ["accept", None, "reject"],
            "weight": [1.5, float("nan"), 2.0],
            "day": [dt.date(2026, 1, 2), None, dt.date(1, 1, 1)],
            "at": [dt.datetime(2026, 1, 2, tzinfo=dt.UTC)] * 3,
            "shelf": [{"row": 4}, {"row": None}, None],
            "places": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    pq.write_table(table, folder / "cases.parquet", row_group_size=2, compression="zstd")


def parts(folder: Path) -> None:
    """Write two Parquet files of one data set."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "set").mkdir()
    for name in ("a", "b"):
        rows = [{"input": f"Is {name} open?", "response": "Yes.", "reference": "yes"}] * 2
        pq.write_table(pa.Table.from_pylist(rows), folder / "set" / f"{name}.parquet")


def arrow(form: str) -> Callable[[Path], None]:
    """Return what writes an Arrow file, an Arrow stream, or a folder of one."""

    def make(folder: Path) -> None:
        import pyarrow as pa

        about = {"info": {"features": {"n": {"_type": "ClassLabel", "names": ["no", "yes"]}}}}
        table = pa.table(
            {
                "question": ["How long?", "Open?"],
                "reference": ["Five days.", "At nine."],
                "context": [["a", "b"], []],
                "n": [1, None],
                "picture": [b"\x89PNG", None],
                "at": pa.array([0, 10**15], pa.timestamp("us", "UTC")),
            }
        ).replace_schema_metadata({"huggingface": json.dumps(about)})
        if form == "folder":
            (folder / "saved").mkdir()
            (folder / "saved" / "state.json").write_text(
                json.dumps({"_data_files": [{"filename": "data.arrow"}], "_split": "train"})
            )
        place = folder / ("saved/data.arrow" if form == "folder" else "rows.arrow")
        make = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
        with place.open("wb") as file, make(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=1)

    return make


def imports(name: str, source: str | None = None) -> Callable[[Path], None]:
    """Return what imports a file of the folder, whosever it is, and writes it as Parquet too."""

    def read(folder: Path) -> None:
        from closecall.importing.parquet import write_parquet

        found = open_import(folder / name, source)
        cases = list(found)
        told = (*found.notes, *map(str, found.problems))
        "\n".join(told).encode("utf-8", "backslashreplace")
        use(cases, folder)
        written = folder.parent / "again.parquet"
        write_parquet(cases, written)
        if len(list(open_dataset(written))) != len(cases):
            raise AssertionError("Parquet came back with other rows")

    return read


DEEPEVAL = [
    {
        "input": "How long?", "actual_output": "Thirty days.", "expected_output": "30 days",
        "retrieval_context": ["deepeval_source=a,deepeval_context=Lamps"], "context": ["ideal"],
        "name": "one", "tags": ["a"], "additional_metadata": {"n": 1},
    },
    {
        "scenario": "A return", "expected_outcome": "refund", "name": "talk",
        "turns": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    },
]  # fmt: skip
RAGAS = [
    {
        "user_input": "How long?", "response": "Thirty days.", "reference": "30 days",
        "retrieved_contexts": ["Lamps: 30 days."], "rubrics": {"score1": "bad"},
    },
    {"user_input": [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Hello"}]},
]  # fmt: skip
PROMPTFOO = """\
prompts: ['Answer: {{question}}']
providers: [echo]
defaultTest:
  assert: [{type: not-contains, value: sorry}]
  vars: {city: [Lima, Quito]}
tests:
  - description: hours
    vars: {question: 'Open in {{city}}?'}
    assert:
      - {type: icontains-any, value: [nine, '9']}
      - {type: assert-set, assert: [{type: similar, value: 'At nine in {{city}}', threshold: 0.8}]}
      - {type: regex, value: '(?:nine|9)'}
      - {type: javascript, value: output.length}
  - vars: {question: Closed?}
    providerOutput: Never.
    metadata: {owner: shop}
scenarios:
  - config: [{vars: {x: 1}}]
    tests: [{assert: [{type: is-refusal}]}]
"""
RESULTS = {
    "results": {
        "version": 3,
        "results": [
            {
                "vars": {"question": "Open?"}, "success": True, "score": 1, "testIdx": at,
                "promptIdx": 0, "provider": {"id": "echo", "label": ""},
                "prompt": {"raw": "Answer: Open?", "label": "a"},
                "response": {"output": "At nine", "tokenUsage": {"total": 3}},
                "testCase": {"assert": [{"type": "equals", "value": "At nine"}]},
                "gradingResult": {
                    "componentResults": [{"pass": True, "assertion": {"type": "human"}}]
                },
            }
            for at in range(2)
        ],
    }
}  # fmt: skip
EVALS = (
    {"spec": {"run_id": "r", "eval_name": "hours", "completion_fns": ["echo"]}},
    {"run_id": "r", "event_id": 0, "sample_id": "s.0", "type": "raw_sample",
     "data": {"input": [{"role": "user", "content": "Open?"}], "ideal": ["At nine"]}},
    {"run_id": "r", "event_id": 1, "sample_id": "s.0", "type": "sampling",
     "data": {"prompt": [{"role": "user", "content": "Open?"}], "sampled": ["At 9", "Never"]}},
    {"run_id": "r", "event_id": 2, "sample_id": "s.0", "type": "match",
     "data": {"correct": True, "expected": "At nine", "picked": "At 9"}},
    {"final_report": {"accuracy": 1.0}},
)  # fmt: skip
SAMPLES = (
    {"input": [{"role": "system", "content": "Brief."}, {"role": "user", "content": "Open?"}],
     "ideal": ["At nine", "9"], "id": 7},
    {"input": "Closed?", "ideal": "Never"},
)  # fmt: skip
PROMPTFOO_CSV = (
    "question,city,__expected,__expected2,__description,__metadata:owner,__threshold\n"
    'Open?,Lima,"contains-any:nine,9",similar(0.8):At nine,hours,shop,0.5\n'
    "Closed?,Quito,Never,is-refusal,,,\n"
)


def beir(folder: Path) -> None:
    """Write a small collection, grades in BEIR's form, and a run."""
    jsonl(
        folder, "corpus.jsonl",
        [{"_id": f"d{at}", "title": "Tea", "text": f"Steep it {at} minutes."} for at in range(6)],
    )  # fmt: skip
    jsonl(
        folder, "queries.jsonl",
        [
            {"_id": f"q{at}", "text": f"How many minutes, {at}?", "metadata": {"group": "tea"}}
            for at in range(4)
        ],
    )  # fmt: skip
    grades = "".join(f"q{at}\td{at}\t{at % 2 + 1}\n" for at in range(4))
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{grades}")
    (folder / "run.txt").write_text(
        "".join(
            f"q{a} Q0 d{b} {b + 1} {1 / (b + 1):.4f} mine\n" for a in range(4) for b in (2, 1, 0)
        )
    )


def trec(folder: Path) -> None:
    """Write the collection with grades in TREC's form."""
    beir(folder)
    (folder / "qrels.tsv").write_text("".join(f"q{at} 0 d{at} 1\n" for at in range(4)))


def contexts(folder: Path) -> None:
    """Write cases whose passages are the corpus."""
    jsonl(
        folder, "cases.jsonl",
        [
            {
                "id": at, "input": f"How many minutes, {at}?", "group": at % 2, "tags": ["tea"],
                "context": [{"id": f"d{at}", "text": f"Steep it {at} minutes."}, "Milk last."],
                "relevant": [f"d{at}"] if at else {"d0": 2}, "metadata": {"shelf": at},
            }
            for at in range(4)
        ],
    )  # fmt: skip


def searched(*names: str) -> Callable[[Path], None]:
    """Return what opens a collection, and searches and measures it."""

    def read(folder: Path) -> None:
        from closecall.report import retrieval, retrieval_formats
        from closecall.retrieval.estimates import Drawing
        from closecall.retrieval.evaluate import evaluate_retrieval
        from closecall.retrieval.labelled import labelled_cases
        from closecall.retrieval.reading import open_collection

        collection = open_collection([folder / name for name in names] or [folder])
        run = folder / "run.txt"
        found = evaluate_retrieval(
            collection,
            HashEmbedder(),
            runs=[run] if names == () else (),
            baselines=False,
            slices=("group",),
            drawing=Drawing(resamples=100),
            cache=False,
        )
        list(labelled_cases(found.rankings[0], collection))
        out = io.StringIO()
        retrieval.write(found.result, out, 100)
        retrieval_formats.write_json(found.result, out)
        retrieval_formats.write_csv(found.result, out)
        out.getvalue().encode("utf-8")

    return read


def passages(name: str) -> Callable[[Path], None]:
    """Return what reads a corpus passage by passage, as the making of an index does."""

    def read(folder: Path) -> None:
        from closecall.index.filters import compiled
        from closecall.index.rows import checked_row
        from closecall.retrieval.passages import Passages

        rows = Passages(folder / name)
        count = rows.count()
        found = list(rows)
        if len(found) != count.rows:
            raise AssertionError("two passes over a corpus differ")
        passes = compiled({"year": {"gte": 2000}, "shelf": ["a", 1]})
        for at, row in enumerate(found):
            kept, _ = checked_row(tuple(row), at)
            passes(kept.metadata)

    return read


def scores(name: str) -> Callable[[Path], None]:
    """Return what draws the scores of a file."""

    def read(folder: Path) -> None:
        from closecall.report.charts.chart import Chart
        from closecall.report.charts.distributions import distributions
        from closecall.report.charts.score_file import of_file
        from closecall.report.charts.svg import svg

        found = of_file(folder / name)
        drawn = distributions(found.accepts, found.rejects, score=found.metric)
        if isinstance(drawn, Chart):
            svg(drawn, "scores").encode("utf-8")

    return read


def labelled(folder: Path) -> None:
    """Write labelled rows, enough of them for a cutoff."""
    jsonl(
        folder, "labelled.jsonl",
        [
            {
                "id": f"c{at}", "input": f"Is shelf {at} open?", "group": f"g{at % 20}",
                "response": "It is open." if at % 2 else "It is shut.", "reference": "It is open.",
                "label": "accept" if at % 2 else "reject", "annotator": "ann", "tags": ["shop"],
            }
            for at in range(40)
        ],
    )  # fmt: skip


def calibrated(folder: Path) -> None:
    """Choose a cutoff from the labelled file of a folder, and write what came of it."""
    from closecall import Calibration, calibrate, save_calibration

    found = calibrate(folder / "labelled.jsonl", "token_f1", HashEmbedder(), cache=False)
    if isinstance(found, Calibration):
        save_calibration(found, folder.parent / "kept.json")


SCORES = (
    "case,metric,label,value\nc1,token_f1,accept,0.9\nc2,token_f1,reject,0.1\nc3,token_f1,,0.5\n"
)

SCORED = [{"label": label, "value": 0.9} for label in ("accept", "reject")]

TARGETS = (
    Target("JSON Lines", jsonl, reads("cases.jsonl")),
    Target("JSON Lines, bad rows left out", jsonl, reads("cases.jsonl", on_bad_row="skip")),
    Target("JSON", document("cases.json", {"cases": ROWS}), reads("cases.json")),
    Target("JSON on one line", document("cases.json", ROWS, indent=None), reads("cases.json")),
    Target("conversations", lambda f: jsonl(f, rows=[TALK, TALK]), reads("cases.jsonl")),
    Target("CSV", text("cases.csv", CSV), reads("cases.csv")),
    Target("CSV, UTF-16", text("cases.csv", CSV, "utf-16"), reads("cases.csv")),
    Target(
        "TSV, carriage returns",
        text("cases.tsv", CSV.replace(",", "\t").replace("\n", "")),
        reads("cases.tsv", on_bad_row="skip"),
    ),
    Target("YAML", text("cases.yaml", YAML), reads("cases.yaml")),
    Target("Parquet", parquet, reads("cases.parquet")),
    Target("folder of Parquet", parts, reads("set")),
    Target("import: Arrow file", arrow("file"), imports("rows.arrow")),
    Target("import: Arrow stream", arrow("stream"), imports("rows.arrow")),
    Target("import: saved data set", arrow("folder"), imports("saved")),
    Target("import: Parquet", parquet, imports("cases.parquet")),
    Target("import: deepeval", document("goldens.json", DEEPEVAL), imports("goldens.json")),
    Target(
        "import: deepeval table",
        text("goldens.csv", "input,actual_output,retrieval_context\nOpen?,At 9.,a|b\nShut?,,\n"),
        imports("goldens.csv"),
    ),
    Target("import: ragas", document("samples.json", RAGAS), imports("samples.json")),
    Target("import: promptfoo", text("config.yaml", PROMPTFOO), imports("config.yaml")),
    Target("import: promptfoo results", document("out.json", RESULTS), imports("out.json")),
    Target("import: promptfoo table", text("tests.csv", PROMPTFOO_CSV), imports("tests.csv")),
    Target("import: OpenAI evals log", lambda f: jsonl(f, rows=EVALS), imports("cases.jsonl")),
    Target("import: OpenAI evals", lambda f: jsonl(f, rows=SAMPLES), imports("cases.jsonl")),
    Target("collection, BEIR", beir, searched()),
    Target(
        "collection, TREC grades", trec, searched("corpus.jsonl", "queries.jsonl", "qrels.tsv")
    ),
    Target("collection of cases", contexts, searched("cases.jsonl")),
    Target("passages", beir, passages("corpus.jsonl")),
    Target(
        "passages, table",
        text("corpus.csv", "id,text,title,year\nd1,Steep it.,Tea,2020\nd2,Milk.,Milk,1999\n"),
        passages("corpus.csv"),
    ),
    Target("passages, lines", text("corpus.txt", "Steep.\n\nMilk.\n"), passages("corpus.txt")),
    Target("scores, table", text("scores.csv", SCORES), scores("scores.csv")),
    Target(
        "scores, lines",
        lambda f: jsonl(f, "scores.jsonl", SCORED),
        scores("scores.jsonl"),
    ),
    Target("labelled rows", labelled, calibrated),
)  # fmt: skip

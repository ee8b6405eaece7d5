"""What is served and asked over HTTP, and what is shown: hostile bytes are read or refused."""

import os
import random
import socket

import pytest
from trials.targets import served

from closecall.labelling.web import serving
from trials import inputs, label_page, reports

pytestmark = [
    pytest.mark.loopback,
    pytest.mark.skipif(os.name != "posix", reason="the trials use alarms and pipes of POSIX"),
]

SLOW = {"reports of hostile texts": 6, "vectors over the line": 15, "chat over the line": 15}


@pytest.mark.parametrize("target", served.TARGETS, ids=lambda target: target.name)
def test_damaged_input_is_read_or_refused(target):
    (row,) = inputs.run([target], 10, SLOW.get(target.name, 25))
    assert row.held == row.tried, "\n".join(row.failures)


@pytest.mark.parametrize("at", range(0, len(served.MARKUP), 9))
def test_no_report_obeys_a_text(at, tmp_path):
    from closecall import Case, evaluate
    from closecall.testing import HashEmbedder

    rows = served.hostile_rows(served.MARKUP[at : at + 9])
    cases = [Case(**row | {key: tuple(row[key]) for key in ("references", "context", "tags")}) for row in rows]  # fmt: skip
    name = served.MARKUP[at].strip() or "suite"
    name = "".join(char for char in name if char.isprintable())
    run = evaluate(cases, None, HashEmbedder(), cache=False, name=name)
    reports.check_all(run, served._plain())


def test_the_check_of_reports_sees_what_it_looks_for():
    run = served._plain()
    for name, text in {
        "html": "<html><script>alert(1)</script>",
        "table": "a\x1b[2J",
        "csv": "id\n=1+1\n",
        "junit": "<testsuites><script/></testsuites>",
        "json": '{\n "a": NaN}',
        "markdown": "a <script>b",
    }.items():
        with pytest.raises(reports.ReportError):
            reports._CHECKS[name](text, run)


def test_the_label_page_answers_requests_of_every_shape_and_keeps_only_what_is_signed(
    monkeypatch,
):
    monkeypatch.setattr(serving, "ROOM", 60.0)  # a busy machine may be slow to hang up
    rows = label_page.run(seed=5, scale=0.015)
    for row in rows:
        assert row.held == row.tried, "\n".join(row.failures)
    # Some of them were sound, so keeping nothing at all would have been seen.
    assert rows[0].also["labels kept"] > 0
    assert rows[0].also["400"] > 0


def test_a_label_that_nobody_signed_would_be_seen(monkeypatch):
    from closecall.labelling.web.guarding import Gate

    page = label_page.LabelPage()
    try:
        page.tried(label_page.PRESS + label_page.BODY)
        monkeypatch.setattr(Gate, "may_change", lambda gate, headers: True)
        forged = label_page.PRESS.replace(b"Origin: http://{host}", b"Origin: http://evil.example")
        with pytest.raises(label_page.BrokenError, match="labels were kept of"):
            page.tried(forged + label_page.BODY)
    finally:
        page.close()


def test_the_same_seed_makes_the_same_requests():
    made = [label_page.made(random.Random("label page 3 4")) for _ in range(2)]
    assert made[0] == made[1]


def test_a_page_that_is_gone_is_no_pass():
    page = label_page.LabelPage()
    page.close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", page.port), timeout=5)
    with pytest.raises(OSError, match="refused"):
        page.look()

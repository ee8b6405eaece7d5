"""Arguments longer than any file's name are refused, and are no internal error."""

import pytest

from closecall.cli import run

LONG = "x" * 5_000


@pytest.mark.parametrize(
    "args",
    [
        ["eval", LONG], ["search", LONG, "q"], ["report", LONG], ["retrieval", LONG],
        ["compare", LONG, LONG], ["eval", "cases.jsonl", "--aef", LONG], ["import", LONG],
        ["search", "cases.jsonl", "--queries", LONG], ["verify", LONG], ["plot", LONG],
    ],
)  # fmt: skip
def test_a_name_that_no_file_has_is_refused(args, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.jsonl").write_text('{"input": "a", "response": "b", "reference": "b"}\n')
    assert run(args) in {2, 3, 4}
    assert "internal error" not in capsys.readouterr().err

"""``closecall report A B C --compare A C``: which two runs the page compares."""

import pytest

from closecall import evaluate
from closecall.cli import run as cli
from closecall.testing import HashEmbedder


@pytest.fixture
def folders(tmp_path):
    made = []
    for name, wrong in (("a", 0), ("b", 2), ("c", 8)):
        rows = [
            {
                "id": f"c{at}",
                "input": f"q{at}",
                "response": "no" if at < wrong else "yes",
                "references": ["yes"],
            }
            for at in range(12)
        ]
        evaluate(rows, "token_f1", HashEmbedder(), aef=tmp_path / name, cache=False, name=name)
        made.append(str(tmp_path / name))
    return made


def test_two_of_the_runs_are_compared(folders, tmp_path, capsys):
    a, _, c = folders
    out = tmp_path / "page.html"
    assert cli(["report", *folders, "--compare", a, c, "-o", str(out)]) == 0
    assert "8 pass in A alone and 0 in B alone" in out.read_text()
    assert cli(["report", *folders, "-o", str(out)]) == 0
    assert "6 pass in A alone and 0 in B alone" in out.read_text()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{a}", "{b}", "--compare", "{a}", "{c}"], "compare two of the RUNs given"),
        (["{a}", "{b}", "--compare", "{a}", "{a}"], "one and the same run"),
        (["{a}", "--format", "json", "--compare", "{a}", "{b}"], "--compare is of the HTML page"),
    ],
)
def test_what_cannot_be_compared_is_refused(folders, capsys, arguments, said):
    names = dict(zip("abc", folders, strict=True))
    assert cli(["report", *(one.format(**names) for one in arguments)]) == 2
    assert said in capsys.readouterr().err

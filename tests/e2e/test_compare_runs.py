"""Two runs with the bundled model, as a person makes and compares them."""

import json
import os
import subprocess
import sys

REFERENCE = "You can return shoes within thirty days of delivery."
SAME = "Shoes can be returned within thirty days of delivery."
OTHER = "Our shop opens at nine in the morning."


def closecall(tmp_path, *args):
    return subprocess.run(
        [sys.executable, "-m", "closecall", *map(str, args)],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        env=dict(os.environ),
        timeout=300,
    )


def write(path, responses):
    rows = [
        {"id": f"c{at}", "input": f"Question {at}?", "response": said, "reference": REFERENCE}
        for at, said in enumerate(responses)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_eval_twice_then_compare(tmp_path):
    write(tmp_path / "before.jsonl", [SAME] * 12)
    write(tmp_path / "after.jsonl", [OTHER] * 6 + [SAME] * 6)
    for name in ("before", "after"):
        done = closecall(
            tmp_path,
            "eval",
            f"{name}.jsonl",
            "--aef",
            name,
            "--guards",
            "off",
            "-q",
            "-o",
            f"{name}.md",
        )
        assert done.returncode in {0, 1}, done.stderr
    done = closecall(tmp_path, "compare", "before", "after")
    assert done.returncode == 1, done.stderr
    assert "6 pass in A alone and 0 in B alone" in done.stdout
    assert OTHER in done.stdout
    back = closecall(tmp_path, "compare", "after", "before", "-o", "compared.html")
    assert back.returncode == 0, back.stderr
    assert "B is better" in (tmp_path / "compared.html").read_text(encoding="utf-8")

"""The built wheel in an empty environment: no network, no torch, no checkout.

With ``--no-network`` it must also stand in a network namespace where nothing is, not even this
machine's own addresses, so that what does not go through Python could reach nobody either.
"""

import errno
import importlib.util
import json
import socket
import subprocess
import sys
from pathlib import Path

# Refuses every connection and lookup in the processes below.
BLOCK = """
import socket

def refuse(*args, **kwargs):
    raise OSError("no network in the smoke test")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""


def closecall(*args: str, code: int = 0) -> str:
    """Run the installed command line and return what it prints."""
    program = f"{BLOCK}\nfrom closecall.cli import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", program, *args],
        capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode != code:
        raise SystemExit(f"closecall {args}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def nothing_is_in_reach() -> None:
    """Stop unless this process is where no address can be reached."""
    for host in ("203.0.113.7", "127.0.0.1"):
        with socket.socket() as one:
            one.settimeout(5)
            found = one.connect_ex((host, 9))
        if found != errno.ENETUNREACH:
            raise SystemExit(f"{host} is in reach of a process that was to have no network")


WAY = (
    ("audit demo.jsonl", 0),
    ("calibrate demo.jsonl --max-far 0.1 -o cutoff.json", 0),
    ("eval demo.jsonl --calibration cutoff.json --aef run -o page.html", 1),
    ("eval demo.jsonl --no-aef --record tape", 1),
    ("eval demo.jsonl --no-aef --replay tape", 1),
    ("cassette verify tape", 0),
    ("verify run", 0),
    ("report run -o again.html", 0),
    ("runs show run", 0),
    ("plot cutoff.json -o scores.svg", 0),
    ("index build corpus.jsonl -o corpus.index", 0),
    ("index verify corpus.index", 0),
    ("search corpus.index refunds", 0),
    ("label demo.jsonl --status", 0),
    ("label demo.jsonl --export labelled.jsonl", 0),
    ("compare-models demo.jsonl -m token_f1 -m embed_answer_similarity --resamples 100", 0),
    ("check-gates demo.jsonl --gate pass_rate(embed_answer_similarity)>=0.99", 0),
    ("cache info", 0),
)
"""What a project does from its labels to its reports, and how each ends."""


def whole_way() -> None:
    """Go the way of a project, with a corpus made of the demo's answers."""
    rows = [json.loads(line) for line in Path("demo.jsonl").read_text("utf-8").splitlines()]
    corpus = [{"_id": f"d{n}", "text": row["response"]} for n, row in enumerate(rows[:20])]
    Path("corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)), encoding="utf-8")
    for line, code in WAY:
        closecall(*line.split(), code=code)


def main() -> None:
    """Run the main job and look at what it says."""
    if "--no-network" in sys.argv[1:]:
        nothing_is_in_reach()
    for absent in ("torch", "onnx", "pytest", "sklearn"):
        if importlib.util.find_spec(absent) is not None:
            raise SystemExit(f"{absent} is installed; this environment was to be empty")
    if "false accepts" not in closecall("demo", "--save", "demo.jsonl"):
        raise SystemExit("the demo does not say how often the cutoff errs")
    closecall("doctor")
    closecall("models", "verify")
    if "bge-small-en-v1.5" not in closecall("models", "known"):
        raise SystemExit("the wheel holds no cards of known models")
    said = closecall("stress", "demo.jsonl", "-q")
    if "guards hold back" not in " ".join(said.split()):
        raise SystemExit("the stress report does not say what the guards did")
    prompts = "from closecall import load_metric; load_metric('llm_groundedness')"
    subprocess.run([sys.executable, "-c", prompts], check=True)
    closecall("eval", "demo.jsonl", "--format", "json", "-o", "report.json", code=1)
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    stats = report["stats"]
    if stats["measured"] != stats["total"] or report["metadata"]["EmbeddingProvider"] != "local":
        raise SystemExit(f"unexpected report: {stats}, {report['metadata']}")
    json.loads(closecall("score", "A dog barks.", "A dog is barking.", "--json"))
    spec = importlib.util.find_spec("closecall")
    if spec is None or not spec.origin or not Path(spec.origin).with_name("py.typed").exists():
        raise SystemExit("the wheel lacks py.typed")
    whole_way()
    where = "where no address can be reached" if "--no-network" in sys.argv[1:] else "offline"
    print(f"smoke test: {stats['total']} cases of the demo measured, {where}, without torch")


if __name__ == "__main__":
    main()

"""The built wheel in an empty environment: no network, no torch, no checkout."""

import importlib.util
import json
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


def main() -> None:
    """Run the main job and look at what it says."""
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
    print(f"smoke test: {stats['total']} cases of the demo measured, offline, without torch")  # noqa: T201


if __name__ == "__main__":
    main()

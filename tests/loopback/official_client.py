"""The official client, in a process of its own that answers one line after the other.

It reads settings from the environment as it is loaded, so it is not in the process of the tests;
and loading it takes longer than all it is asked.
"""

import json
import os
import subprocess
import sys

import pytest
from fake_provider import KEY

LOOP = """
import json, sys
import openai

def client(given):
    if given["azure"]:
        return openai.AzureOpenAI(
            azure_endpoint=given["root"], azure_deployment="our-deployment",
            api_key=given["key"], api_version="2024-10-21", max_retries=0, timeout=60,
        )
    return openai.OpenAI(
        base_url=given["root"] + "/v1", api_key=given["key"], max_retries=0, timeout=60
    )

for line in sys.stdin:
    given = json.loads(line)
    try:
        with client(given) as asking:
            said = answer(asking, given)
    except openai.APIStatusError as problem:
        said = {"status": problem.status_code}
    except Exception as problem:
        said = {"problem": type(problem).__name__}
    print(json.dumps(said), flush=True)
"""


def official_client(answer):
    """Return a fixture: what asks a server as ``answer(client, given)``, source code, does."""

    @pytest.fixture(scope="module")
    def official():
        clean = {name: text for name, text in os.environ.items() if not _leads_elsewhere(name)}
        process = subprocess.Popen(
            [sys.executable, "-c", answer + LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=clean,
        )

        def ask(server, **given):
            azure = server.style in {"azure", "foundry"}
            asked = {"azure": azure, "root": server.root, "key": KEY} | given
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.communicate(timeout=60)

    return official


def _leads_elsewhere(name):
    return "_proxy" in name.lower() or name.startswith(("OPENAI_", "AZURE_OPENAI_"))

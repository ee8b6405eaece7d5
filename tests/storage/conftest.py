"""Stores to test: a folder, fsspec's memory, moto's S3 and Azurite, the last two beside a proxy
that loses connections. What is not installed is skipped, with the reason."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # keys.py and lossy.py

from keys import AZURE_KEY, KEY_ID, SECRET
from lossy import Lossy


@pytest.fixture
def memory():
    """fsspec's memory, empty; returns its file system."""
    pytest.importorskip("fsspec", reason="fsspec is not installed: closecall[storage]")
    from fsspec.implementations.memory import MemoryFileSystem

    def empty():
        MemoryFileSystem.store.clear()
        MemoryFileSystem.pseudo_dirs[:] = [""]

    empty()
    yield MemoryFileSystem()
    empty()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder of its own, where spool folders go."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Go to what stands for another machine: another working folder, another host name."""

    def go(name="elsewhere"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        monkeypatch.setattr(socket, "gethostname", lambda: name)
        return folder

    return go


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    """Try again at once."""
    from closecall.storage import remote

    at_once = remote.Retry(pause=lambda _: None)
    monkeypatch.setattr(remote, "Retry", lambda: at_once)


@pytest.fixture(scope="session")
def _moto():
    for name in ("moto.server", "s3fs", "boto3"):
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            pytest.skip(f"{name} is not installed: pip install s3fs 'moto[server]'")
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()
    server.stop()


@pytest.fixture
def s3(request, monkeypatch):
    """An S3 bucket behind a proxy: ``s3.url``, ``s3.proxy``, ``s3.client`` (beside the proxy)."""
    host, port = request.getfixturevalue("_moto")
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    import boto3
    import requests

    requests.post(f"http://{host}:{port}/moto-api/reset", timeout=30)
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
    client.create_bucket(Bucket="bucket")
    with Lossy(host, port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
        yield _Server("s3://bucket", proxy, client)
    client.close()


class _Server:
    def __init__(self, url, proxy, client):
        self.url, self.proxy, self.client = url, proxy, client


@pytest.fixture(scope="session")
def _azurite(tmp_path_factory):
    program = os.environ.get("AZURITE") or shutil.which("azurite-blob")
    if program is None:
        pytest.skip("Azurite is not installed: npm install azurite, and AZURITE=.../azurite-blob")
    for name in ("adlfs", "azure.storage.blob"):
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            pytest.skip(f"{name} is not installed: pip install adlfs")
    # A port that was free may be another's by the time Azurite takes it; then it ends.
    tries = (_started(program, tmp_path_factory.mktemp("azurite")) for _ in range(5))
    process, port = next(filter(None, tries), (None, None))
    assert process is not None, "Azurite ended"
    yield port
    process.kill()
    process.wait()


def _started(program, place):
    """Return Azurite's process and port once it listens; None where it ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (place / "said").open("wb") as said:
        process = subprocess.Popen(
            [program, "--silent", "--blobHost", "127.0.0.1", "--blobPort", str(port),
             "--location", str(place), "--skipApiVersionCheck", "--disableTelemetry"],
            stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
    deadline = time.monotonic() + 120
    while process.poll() is None:
        if b"successfully listen" in (place / "said").read_bytes():
            return process, port
        if time.monotonic() > deadline:
            process.kill()
        time.sleep(0.1)
    return None


@pytest.fixture
def azure(request, monkeypatch):
    """An Azure container behind a proxy, as ``s3``."""
    port = request.getfixturevalue("_azurite")
    for name in list(os.environ):
        if name.startswith("AZURE_"):
            monkeypatch.delenv(name)
    from azure.storage.blob import BlobServiceClient

    client = BlobServiceClient.from_connection_string(_connection(port))
    for container in client.list_containers():
        for blob in client.get_container_client(container).list_blobs():
            client.get_blob_client(container, blob.name).delete_blob()
    if "bucket" not in [one.name for one in client.list_containers()]:
        client.create_container("bucket")
    with Lossy("127.0.0.1", port) as proxy:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", _connection(proxy.port))
        yield _Server("az://bucket", proxy, client)
    client.close()


def _connection(port):
    return (
        "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
        f"AccountKey={AZURE_KEY};BlobEndpoint=http://127.0.0.1:{port}/devstoreaccount1;"
    )


@pytest.fixture(params=["s3", "azure"])
def server(request):
    """Each of the two servers."""
    return request.getfixturevalue(request.param)

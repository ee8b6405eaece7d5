"""``closecall sign``, ``eval --sign`` and ``verify --key``: words, exit codes, and no key told."""

import json
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

SECRET = "correct horse battery"  # noqa: S105 - of a key made here


@pytest.fixture
def key(cli):
    said = cli("sign", "--new-key", "sign.key")
    assert said.code == 0
    assert "keep it to yourself" in said.out
    assert "key id sha256:" in said.out
    return Path("sign.key")


@pytest.fixture
def locked(tmp_path):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    path = tmp_path / "locked.key"
    path.touch(0o600)
    path.write_bytes(
        ed25519.Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(SECRET.encode()),
        )
    )
    return path


@pytest.fixture
def folder(cli, write, passing, failing):
    assert cli("eval", write(passing, failing), "--aef", "run", "-q").code == 1
    return Path("run")


def test_sign_and_verify(cli, folder, key):
    said = cli("sign", folder, "--key", key)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("run: signed with sha256:")
    made = said.out.split()[-1]
    plain = cli("verify", folder)
    assert plain.code == 0
    assert f"signed with {made}, which was not checked (--key FILE does)" in plain.out
    checked = cli("verify", folder, "--key", "sign.key.pub")
    assert checked.code == 0
    assert f"; signed by sign.key.pub ({made})\n" in checked.out
    told = cli("verify", folder, "--key", "sign.key.pub", "--json").json
    assert told["signature"] == {
        "state": "trusted", "keyIds": [made], "signers": {made: "sign.key.pub"}, "keys": 1,
    }  # fmt: skip
    assert json.loads(cli("sign", folder, "--key", key, "--json").out)["keyId"] == made


def test_the_exit_code_says_what_is_wrong(cli, folder, key):
    said = cli("verify", folder, "--key", "sign.key.pub")
    assert (said.code, "NOT SIGNED" in said.out) == (14, True)
    cli("sign", folder, "--key", key)
    assert cli("sign", "--new-key", "other.key").code == 0
    said = cli("verify", folder, "--key", "other.key.pub")
    assert (said.code, "NOT TRUSTED" in said.out) == (15, True)
    results = folder / "results.ndjson"
    results.write_bytes(results.read_bytes().replace(b'"failed"', b'"passed"'))
    for keys in ([], ["--key", "sign.key.pub"], ["--key", "other.key.pub"]):
        said = cli("verify", folder, *keys)
        assert said.code == 4
        assert "results.ndjson: was changed after sealing" in said.out
    assert cli("verify", folder, "--key", "nowhere.pub").code == 3
    assert cli("verify", folder, "--key", "sign.key").code == 3
    assert cli("sign", folder, "--key", key).code == 4


def test_eval_signs_what_it_sealed(cli, write, passing, key):
    cases = write(passing)
    said = cli("eval", cases, "--aef", "signed", "--sign", key)
    assert said.code == 0
    assert "closecall: signed with sha256:" in said.err
    assert cli("verify", "signed", "--key", "sign.key.pub").code == 0
    assert cli("eval", cases, "--sign", key, "-q").code == 0
    (default,) = Path(".closecall/runs").iterdir()
    assert cli("verify", default, "--key", "sign.key.pub").code == 0
    assert cli("eval", cases, "--sign", key, "--no-aef").code == 2
    said = cli("eval", cases, "--aef", "never", "--sign", "nowhere.key")
    assert (said.code, Path("never").exists()) == (3, False)
    said = cli("eval", "--resume", "signed", "--sign", key)
    assert said.code == 0


def test_a_passphrase_comes_from_a_variable_a_file_or_a_terminal(
    cli, folder, locked, monkeypatch, tmp_path
):
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    said = cli("sign", folder, "--key", locked)
    assert (said.code, "CLOSECALL_SIGN_PASSPHRASE" in said.err) == (3, True)
    monkeypatch.setenv("CLOSECALL_SIGN_PASSPHRASE", "wrong one")
    said = cli("sign", folder, "--key", locked)
    assert (said.code, "passphrase is wrong" in said.err) == (3, True)
    assert "wrong one" not in said.out + said.err
    file = tmp_path / "passphrase"
    file.write_text(f"{SECRET}\nsecond line\n", encoding="utf-8")
    said = cli("sign", folder, "--key", locked, "--passphrase-file", file)
    assert (said.code, SECRET in said.out + said.err) == (0, False)
    (folder / "attestation.dsse.json").unlink()
    monkeypatch.setenv("CLOSECALL_SIGN_PASSPHRASE", SECRET)
    assert cli("sign", folder, "--key", locked).code == 0
    (folder / "attestation.dsse.json").unlink()
    monkeypatch.delenv("CLOSECALL_SIGN_PASSPHRASE")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    asked = []

    def prompt(text, **options):
        asked.append((text, options))
        return SECRET

    monkeypatch.setattr("click.prompt", prompt)
    assert cli("sign", folder, "--key", locked).code == 0
    assert asked[0][1] == {"hide_input": True, "err": True}
    assert cli("sign", folder, "--key", locked, "--passphrase-file", "nowhere").code == 3


def test_a_report_does_not_replace_the_key_or_its_passphrase(cli, write, passing, key):
    cases, before = write(passing), key.read_bytes()
    Path("words").write_text("words\n", encoding="utf-8")
    more = ["--sign", key, "--passphrase-file", "words", "--aef", "run", "--format", "json"]
    for output in (key, "words"):
        said = cli("eval", cases, *more, "-o", output)
        assert (said.code, "it would be lost" in said.err) == (2, True)
    assert (key.read_bytes(), Path("words").read_text(encoding="utf-8")) == (before, "words\n")
    assert not Path("run").exists()


def test_what_is_asked_for_by_halves(cli, folder, key):
    for wrong in ([folder], ["--key", key], ["--new-key", "k", "--key", key], [],
                  [folder, "--key", key, "--new-key", "k"]):  # fmt: skip
        assert cli("sign", *wrong).code == 2
    said = cli("sign", "--new-key", "sign.key")
    assert (said.code, "never overwritten" in said.err) == (2, True)
    Path("other.key.pub").write_text("mine", encoding="utf-8")
    assert cli("sign", "--new-key", "other.key").code == 2
    assert not Path("other.key").exists()


def test_nothing_of_a_key_is_in_the_run_or_in_a_word_that_is_said(cli, folder, key, monkeypatch):
    body = key.read_text(encoding="utf-8").splitlines()[1]
    said = cli("sign", folder, "--key", key)
    texts = [said.out, said.err]
    key.chmod(0o644)
    said = cli("sign", folder, "--key", key)
    texts += [said.out, said.err]
    texts += [path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()]
    assert said.code == 3
    assert not any(body in text for text in texts)

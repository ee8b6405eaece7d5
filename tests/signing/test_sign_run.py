"""Signing a sealed run, and what anyone can check of it, with other tools than ours."""

import base64
import hashlib
import json
import os
import random
import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from every_run import OPEN, cases, gated

from closecall import save_report, sign_run, verify_run
from closecall.errors import RunFolderError
from closecall.runs.parts.folder import PartsFolder
from closecall.runs.stored import load_run
from closecall.signing.checking import check_signature
from closecall.signing.envelope import pae
from closecall.signing.private_keys import load_signing_key, new_key
from closecall.signing.public_keys import trusted_keys
from closecall.signing.records import SignatureState

ATTESTATION = "attestation.dsse.json"


def envelope(run):
    return json.loads((run / ATTESTATION).read_bytes())


def write(run, value):
    (run / ATTESTATION).write_bytes(json.dumps(value, indent=2).encode() + b"\n")


def test_a_run_is_signed_and_the_signature_is_checked(run, key, public):
    before = verify_run(run, [public])
    assert (before.signature, before.exit_code, before.trusted) == ("unsigned", 14, False)
    made = sign_run(run, key)
    found = verify_run(run, public)
    assert (found.problems, found.signature, found.exit_code) == ((), "trusted", 0)
    assert found.trusted
    assert found.signed_by == (made,)
    assert found.signers == {made: "sign.key.pub"}
    unchecked = verify_run(run)
    assert (unchecked.signature, unchecked.exit_code, unchecked.trusted) == ("unchecked", 0, False)


def test_the_envelope_is_that_of_the_format(run, key, public):
    made = sign_run(run, key)
    found = envelope(run)
    seal = (run / "seal.json").read_bytes()
    assert list(found) == ["payloadType", "payload", "signatures"]
    assert found["payloadType"] == "application/vnd.in-toto+json"
    assert base64.b64decode(found["payload"]) == seal
    (one,) = found["signatures"]
    loaded = serialization.load_pem_public_key(public.read_bytes())
    spki = loaded.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    assert one["keyid"] == made == "sha256:" + hashlib.sha256(spki).hexdigest()
    signed = b"DSSEv1 28 application/vnd.in-toto+json " + str(len(seal)).encode() + b" " + seal
    assert pae(seal) == signed
    loaded.verify(base64.b64decode(one["sig"]), signed)  # raises where it is not


def test_the_encoding_before_signing_is_the_published_one():
    """The example of the protocol's own page."""
    assert pae(b"hello world", "http://example.com/HelloWorld") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not on this machine")
def test_openssl_agrees(run, key, public, tmp_path):
    sign_run(run, key)
    seal = (run / "seal.json").read_bytes()
    (tmp_path / "pae").write_bytes(
        b"DSSEv1 28 application/vnd.in-toto+json " + str(len(seal)).encode() + b" " + seal
    )
    (tmp_path / "sig").write_bytes(base64.b64decode(envelope(run)["signatures"][0]["sig"]))

    def checked():
        return subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin",
             "-in", tmp_path / "pae", "-sigfile", tmp_path / "sig"],
            check=False, capture_output=True, timeout=60,
        )  # fmt: skip

    said = checked()
    if b"rawin" in said.stderr:
        pytest.skip("this openssl signs no raw input")
    assert said.returncode == 0, said.stderr
    (tmp_path / "pae").write_bytes((tmp_path / "pae").read_bytes() + b" ")
    assert checked().returncode != 0


def test_signing_again_changes_nothing_and_another_key_adds_to_it(run, key, public, tmp_path):
    first = sign_run(run, key)
    data = (run / ATTESTATION).read_bytes()
    assert sign_run(run, key) == first
    assert (run / ATTESTATION).read_bytes() == data
    other = tmp_path / "other.key"
    (tmp_path / "other.pub").write_bytes(new_key(other).public_pem())
    second = sign_run(run, other)
    assert [one["keyid"] for one in envelope(run)["signatures"]] == [first, second]
    for one in ([public], [tmp_path / "other.pub"], [public, tmp_path / "other.pub"]):
        assert verify_run(run, one).trusted
    assert len(verify_run(run, [public, tmp_path / "other.pub"]).signers) == 2


def test_a_key_that_none_of_the_trusted_is_says_so(run, key, tmp_path):
    made = sign_run(run, key)
    stranger = tmp_path / "stranger.pub"
    stranger.write_bytes(new_key(tmp_path / "stranger").public_pem())
    found = verify_run(run, stranger)
    assert (found.signature, found.exit_code, found.sound, found.trusted) == (
        "unknown key", 15, True, False,
    )  # fmt: skip
    assert found.signed_by == (made,)


def test_a_signature_survives_reports_and_copies(run, key, public, tmp_path):
    sign_run(run, key)
    for name in ("r.json", "r.html", "r.md", "r.csv", "r.xml"):
        save_report(load_run(run), tmp_path / name)
    moved = shutil.copytree(run, tmp_path / "elsewhere")
    assert verify_run(moved, public).trusted


def test_a_changed_run_is_neither_signed_nor_trusted(run, key, public):
    sign_run(run, key)
    place = run / "results.ndjson"
    place.write_bytes(place.read_bytes().replace(b'"passed"', b'"failed"', 1))
    found = verify_run(run, public)
    assert (found.exit_code, found.trusted) == (4, False)
    (run / ATTESTATION).unlink()
    with pytest.raises(RunFolderError, match=r"is not signed, because it does not hold"):
        sign_run(run, key)
    assert not (run / ATTESTATION).exists()


def test_only_a_closed_and_sealed_run_is_signed(run, key, tmp_path):
    (run / "seal.json").unlink()
    with pytest.raises(RunFolderError, match=r"not sealed.*--resume"):
        sign_run(run, key)
    OPEN["spent"](tmp_path / "open", tmp_path)
    with pytest.raises(RunFolderError, match=r"not closed.*--resume"):
        sign_run(tmp_path / "open", key)
    with pytest.raises(RunFolderError, match="no such folder"):
        sign_run(tmp_path / "nowhere", key)


def test_a_seal_that_was_made_anew_is_not_the_one_signed(run, key, public):
    from closecall.runs.sealing import seal_run

    sign_run(run, key)
    (run / "seal.json").unlink()
    seal_run(run)
    found = verify_run(run, public)
    assert found.signature is SignatureState.BROKEN
    assert any("signs another seal.json" in one for one in found.problems)
    assert found.exit_code == verify_run(run).exit_code == 4
    with pytest.raises(RunFolderError, match="signs another"):
        sign_run(run, key)


def test_any_byte_of_the_envelope_that_says_another_thing(run, key, public):
    sign_run(run, key)
    data = (run / ATTESTATION).read_bytes()
    said = json.loads(data)
    draw, keys = random.Random(11), trusted_keys(public)
    lost = []
    for at in sorted(draw.sample(range(len(data)), 300)) + list(range(len(data) - 260, len(data))):
        other = draw.choice([b for b in range(256) if b != data[at]])
        (run / ATTESTATION).write_bytes(data[:at] + bytes([other]) + data[at + 1 :])
        if check_signature(run, keys).state is not SignatureState.TRUSTED:
            continue
        try:  # white space may change: it says nothing
            same = json.loads((run / ATTESTATION).read_bytes()) == said
        except ValueError:
            same = False
        if not same:
            lost.append((at, other))
    assert lost == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda e: e.update(payloadType="text/plain"), "payloadType must be"),
        (lambda e: e.update(more=1), "nothing else"),
        (lambda e: e.update(signatures=[]), "1 to 100 signatures"),
        (lambda e: e.update(signatures=e["signatures"] * 2), "a key signed twice"),
        (lambda e: e.update(signatures=e["signatures"] * 101), "1 to 100 signatures"),
        (lambda e: e["signatures"][0].update(keyid="me"), "keyid must be"),
        (lambda e: e["signatures"][0].update(sig="!"), "sig is not base64"),
        (lambda e: e["signatures"][0].update(sig=e["signatures"][0]["sig"].rstrip("=")), "base64"),
        (lambda e: e["signatures"][0].update(sig=7), "of no use"),
        (lambda e: e["signatures"][0].pop("sig"), "keyid and sig"),
        (lambda e: e.update(payload="e30="), "signs another seal.json"),
        (lambda e: e["signatures"].append(7), "of no use"),
    ],
)
def test_an_envelope_that_is_none(run, key, public, change, problem):
    sign_run(run, key)
    value = envelope(run)
    change(value)
    write(run, value)
    for keys in (None, public):
        found = verify_run(run, keys)
        assert found.signature == "broken"
        assert found.exit_code == 4
        assert any(ATTESTATION in one and problem in one for one in found.problems)


def test_a_signature_under_a_trusted_id_that_is_not_its_own(run, key, public, tmp_path):
    sign_run(run, key)
    value = envelope(run)
    forger = tmp_path / "forger"
    new_key(forger)
    made = load_signing_key(forger).sign(pae((run / "seal.json").read_bytes()))
    value["signatures"][0]["sig"] = base64.b64encode(made).decode()
    write(run, value)
    found = verify_run(run, public)
    assert (found.signature, found.exit_code) == ("broken", 4)
    assert "the signature is not that of sign.key.pub" in found.problems[0]
    value["signatures"][0]["sig"] = base64.b64encode(b"short").decode()
    write(run, value)
    assert verify_run(run, public).signature == "broken"


def test_a_key_of_p256(run, tmp_path):
    made = ec.generate_private_key(ec.SECP256R1())
    path, public = tmp_path / "p256", tmp_path / "p256.pub"
    path.touch(0o600)
    path.write_bytes(
        made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(
        made.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    sign_run(run, path)
    assert verify_run(run, public).trusted
    sig = base64.b64decode(envelope(run)["signatures"][0]["sig"])
    from cryptography.hazmat.primitives import hashes

    made.public_key().verify(sig, pae((run / "seal.json").read_bytes()), ec.ECDSA(hashes.SHA256()))
    assert sig[0] == 0x30  # DER


def test_a_run_in_parts_is_signed_too(key, public, tmp_path):
    pytest.importorskip("pyarrow")
    place = tmp_path / "parts"
    gated(PartsFolder(place, cases=3), tmp_path, given=cases(6))
    sign_run(place, key)
    assert verify_run(place, public).trusted
    load_run(place)
    part = min((place / "parts").iterdir())
    part.write_bytes(part.read_bytes()[:-1] + b"!")
    assert verify_run(place, public).exit_code == 4


def test_a_signer_that_was_killed_leaves_nothing_in_the_way(run, key, public):
    (run / f"{ATTESTATION}.tmp").write_bytes(b"{")
    assert "does not belong" in verify_run(run).problems[0]
    sign_run(run, key)
    assert verify_run(run, public).trusted
    assert not (run / f"{ATTESTATION}.tmp").exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(run, key):
    run.chmod(0o500)
    try:
        with pytest.raises(RunFolderError, match="cannot be signed"):
            sign_run(run, key)
    finally:
        run.chmod(0o700)

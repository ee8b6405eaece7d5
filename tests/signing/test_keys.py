"""Keys in files: which are taken, which are refused, and that nothing of them is ever told."""

import os
import pickle
import shutil
import stat
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519

from closecall.errors import ConfigurationError, MissingExtraError, UsageError
from closecall.signing.private_keys import load_signing_key, new_key
from closecall.signing.public_keys import load_public_keys, trusted_keys

PEM, DER = serialization.Encoding.PEM, serialization.Encoding.DER
PKCS8, SSH = serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.OpenSSH
PLAIN = serialization.NoEncryption()
SPKI = serialization.PublicFormat.SubjectPublicKeyInfo
SECRET = b"a secret nobody tells"


@pytest.fixture
def write(tmp_path):
    def written(data, name="key", mode=0o600):
        path = tmp_path / name
        path.write_bytes(data)
        path.chmod(mode)
        return path

    return written


def spki(key):
    return key.public_key().public_bytes(PEM, SPKI)


def ssh(key):
    return key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )


@pytest.mark.parametrize("form", [PKCS8, SSH])
@pytest.mark.parametrize(
    "make",
    [ed25519.Ed25519PrivateKey.generate, lambda: ec.generate_private_key(ec.SECP256R1())],
)
def test_both_forms_of_both_kinds_with_and_without_a_passphrase(write, form, make):
    key = make()
    plain = write(key.private_bytes(PEM, form, PLAIN), "plain")
    known = load_public_keys(write(spki(key), "plain.pub", 0o644))[0]
    signature = load_signing_key(plain).sign(b"data")
    assert known.holds(signature, b"data")
    assert not known.holds(signature, b"date")
    assert load_signing_key(plain).key_id == known.key_id
    locked = write(
        key.private_bytes(PEM, form, serialization.BestAvailableEncryption(SECRET)), "locked"
    )
    asked = []

    def ask():
        asked.append(1)
        return SECRET.decode()

    assert load_signing_key(locked, ask).key_id == known.key_id
    assert load_signing_key(locked, SECRET).key_id == known.key_id
    assert load_signing_key(plain, ask).key_id == known.key_id
    assert asked == [1]  # only where it is needed
    with pytest.raises(ConfigurationError, match="encrypted, and no passphrase was given"):
        load_signing_key(locked)
    with pytest.raises(ConfigurationError, match="passphrase is wrong") as found:
        load_signing_key(locked, "another secret")
    error = found.value
    assert "another secret" not in f"{error}{error.__cause__}"
    assert error.__suppress_context__


def test_keys_that_sign_no_runs(write):
    for key in (
        rsa.generate_private_key(public_exponent=65537, key_size=2048),
        ec.generate_private_key(ec.SECP384R1()),
        x25519.X25519PrivateKey.generate(),
    ):
        with pytest.raises(ConfigurationError, match="Ed25519 or ECDSA P-256"):
            load_signing_key(write(key.private_bytes(PEM, PKCS8, PLAIN)))
        with pytest.raises(ConfigurationError, match="Ed25519 or ECDSA P-256"):
            load_public_keys(write(spki(key)))
    with pytest.raises(ConfigurationError, match="Ed25519 or ECDSA P-256"):
        load_public_keys(write(b"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ== me\n"))
    with pytest.raises(ConfigurationError, match="Ed25519 or ECDSA P-256"):
        load_public_keys(write(b"sk-ssh-ed25519@openssh.com AAAA me\n"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00",
        b"-----BEGIN PRIVATE KEY-----\nbm8=\n-----END PRIVATE KEY-----\n",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\nbm8=\n-----END OPENSSH PRIVATE KEY-----\n",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\n!!!\n-----END OPENSSH PRIVATE KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----",
        b"x" * 70_000,
    ],
)
def test_what_is_no_private_key(write, data):
    with pytest.raises(ConfigurationError):
        load_signing_key(write(data), "secret")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# only a remark\n",
        b"not a key\n",
        b"ssh-ed25519\n",
        b"ssh-ed25519 AAAA\n",
        b"ssh-ed25519 !!!! me\n",
        b"-----BEGIN PUBLIC KEY-----\nbm8=\n-----END PUBLIC KEY-----\n",
        b"-----BEGIN PUBLIC KEY-----",
        b"x" * 70_000,
    ],
)
def test_what_is_no_public_key(write, data):
    with pytest.raises(ConfigurationError):
        load_public_keys(write(data))


def test_a_list_of_signers(write):
    one, two = ed25519.Ed25519PrivateKey.generate(), ec.generate_private_key(ec.SECP256R1())
    lines = b"# who may\n\nmaria@example.com " + ssh(one) + b" laptop\nteam,ci " + ssh(two) + b"\n"
    found = load_public_keys(write(lines))
    assert [key.name for key in found] == ["maria@example.com", "team,ci"]
    assert [key.name for key in load_public_keys(write(ssh(one) + b" laptop\n"))] == ["laptop"]
    assert load_public_keys(write(ssh(one), "bare"))[0].name == "bare"
    assert len(load_public_keys(write(spki(one) + spki(two)))) == 2
    assert len(trusted_keys([write(spki(one), "a"), write(ssh(one), "b")])) == 1
    options = b'maria@example.com namespaces="git" ' + ssh(one)
    with pytest.raises(ConfigurationError, match=r":1: options of a signer are not heeded"):
        load_public_keys(write(options))


def test_one_half_of_a_key_is_not_taken_for_the_other(write):
    key = ed25519.Ed25519PrivateKey.generate()
    private = write(key.private_bytes(PEM, PKCS8, PLAIN), "private")
    with pytest.raises(ConfigurationError, match="holds a private key; give the public one"):
        load_public_keys(private)
    with pytest.raises(ConfigurationError, match="a public key; name the private one"):
        load_signing_key(write(spki(key), "public", 0o644))


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o604, 0o610])
def test_a_private_key_that_others_may_read_is_refused(write, mode):
    data = ed25519.Ed25519PrivateKey.generate().private_bytes(PEM, PKCS8, PLAIN)
    path = write(data, mode=mode)
    with pytest.raises(ConfigurationError, match=f"{mode:04o}.*chmod 600"):
        load_signing_key(path)
    path.chmod(0o400)
    load_signing_key(path)


def test_a_new_key_is_its_owners_alone_and_overwrites_nothing(tmp_path):
    path = tmp_path / "key"
    made = new_key(path)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_signing_key(path).key_id == made.key_id
    data = path.read_bytes()
    with pytest.raises(UsageError, match="is there already"):
        new_key(path)
    assert path.read_bytes() == data
    with pytest.raises(UsageError, match="cannot write"):
        new_key(tmp_path / "no" / "such" / "folder")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    with pytest.raises(UsageError, match="is there already"):
        new_key(link)


def test_a_key_is_not_shown_and_not_pickled(tmp_path):
    path = tmp_path / "key"
    made = new_key(path)
    body = path.read_text().splitlines()[1]
    assert body not in repr(made) + str(made) + str(vars(made))
    assert repr(made) == f"<SigningKey {made.key_id}>"
    with pytest.raises(TypeError):
        pickle.dumps(made)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not on this machine")
def test_the_keys_of_ssh_keygen(tmp_path):
    path = tmp_path / "id_ed25519"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-C", "me", "-f", path],
        check=True, timeout=60,
    )  # fmt: skip
    made = load_signing_key(path, "secret")
    (known,) = load_public_keys(path.with_name("id_ed25519.pub"))
    assert (known.name, known.key_id) == ("me", made.key_id)
    assert known.holds(made.sign(b"data"), b"data")


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    path = tmp_path / "key"
    new_key(path)
    for name in [one for one in sys.modules if one.split(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for use in (load_signing_key, load_public_keys, new_key):
        with pytest.raises(MissingExtraError, match=r"closecall\[sign\]"):
            use(path)

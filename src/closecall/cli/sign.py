"""``closecall sign``: put a signature beside the seal of a run."""

from __future__ import annotations

from pathlib import Path

import click

from closecall.cli.places import FOLDER, Place
from closecall.cli.say import say, say_json
from closecall.cli.signing import passphrase_option, signing_key
from closecall.there import exists

EXAMPLES = """\b
Examples:
  closecall sign --new-key sign.key
  closecall sign runs/monday --key sign.key
  closecall sign s3://bucket/runs/monday --key ~/.ssh/id_ed25519
  closecall verify runs/monday --key sign.key.pub

\b
Exit codes: 0 signed, 2 usage, 3 the key cannot be used, 4 the run is not sealed, or is no
longer what was sealed.
"""


@click.command("sign", epilog=EXAMPLES)
@click.argument("folder", metavar="[DIR]", type=FOLDER, required=False)
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Private key: Ed25519, or ECDSA P-256, as PEM (PKCS #8) or in OpenSSH's format. Only its "
    "owner may be able to read it.",
)
@passphrase_option
@click.option(
    "--new-key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Make an Ed25519 key in FILE, and its public key in FILE.pub; neither may be there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    folder: Place | None,
    key: Path | None,
    passphrase_file: Path | None,
    new_key: Path | None,
    as_json: bool,
) -> int:
    """Sign the run in DIR, or at a URL, that is sealed and as it was sealed.

    The signature stands in attestation.dsse.json and is over the bytes of seal.json, and so over
    the digest of every file. Keys are read with: pip install 'closecall[sign]'
    """
    if (folder is None) != (key is None) or (folder is None) == (new_key is None):
        raise click.UsageError("give a DIR and its --key FILE, or --new-key FILE and nothing else")
    if new_key is not None:
        return _new(new_key, as_json=as_json)
    if folder is None or key is None:
        raise TypeError("seen above")
    from closecall.signing.sign import sign_run

    made = sign_run(str(folder), signing_key(key, passphrase_file))
    if as_json:
        say_json({"folder": str(folder), "keyId": made})
    else:
        say(f"{folder}: signed with {made}")
    return 0


def _new(path: Path, *, as_json: bool) -> int:
    from closecall.errors import UsageError
    from closecall.signing.private_keys import new_key

    public = path.with_name(f"{path.name}.pub")
    if exists(public):
        raise UsageError(f"{public}: is there already, and a key is never overwritten")
    made = new_key(path)
    try:
        with public.open("xb") as file:
            file.write(made.public_pem())
    except OSError as error:
        raise UsageError(f"cannot write {public}: {error.strerror or error}") from error
    if as_json:
        say_json({"key": str(path), "public": str(public), "keyId": made.key_id})
        return 0
    say(f"private key {path}: keep it to yourself; it is not encrypted, and only you may read it")
    say(f"public key {public}: give it to who is to check your runs")
    say(f"key id {made.key_id}")
    return 0

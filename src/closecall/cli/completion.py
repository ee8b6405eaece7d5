"""``closecall completion``: the script that completes commands and options in your shell."""

from __future__ import annotations

import click

EXAMPLES = """\b
Examples:
  closecall completion bash >> ~/.bashrc
  closecall completion zsh >> ~/.zshrc
  closecall completion fish > ~/.config/fish/completions/closecall.fish
"""


@click.command("completion", epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL."""
    from click.shell_completion import get_completion_class

    from closecall.cli import cli

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    if shell == "bash":
        # click's own source() first runs bash to learn its version; the script needs none of it.
        found = type("Bash", (found,), {"_check_version": staticmethod(lambda: None)})
    click.echo(found(cli, {}, "closecall", "_CLOSECALL_COMPLETE").source())

"""Groups of commands that say what they have where a name is mistyped."""

from __future__ import annotations

import click


class NamingGroup(click.Group):
    """A group whose error of an unknown command names the nearest one and all there are."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for a mistyped one."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"there is no command {name!r}.{hint} Commands: {', '.join(known)}.")
        return super().resolve_command(ctx, args)

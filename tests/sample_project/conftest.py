"""A project as a user has it. ``tests/pytest_plugin`` runs its suite; the suite here leaves it out."""

collect_ignore_glob = ["*"]

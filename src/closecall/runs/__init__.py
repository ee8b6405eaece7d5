"""Running an evaluation and keeping what came of it, in one folder of plain JSON files."""

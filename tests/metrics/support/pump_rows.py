"""Labelled answers that a pair model of words tells apart: half of them deny their reference."""

import json

PARTS = ("pump", "tank", "valve", "boiler", "filter")
TIMES = ("autumn", "spring", "summer", "winter")


def rows(count=120):
    """Answers that say what the reference says, and answers that deny it."""
    made = []
    for at in range(count):
        part, time = PARTS[at % 5], TIMES[at % 4]
        good = at % 2 == 0
        made.append(
            {
                "id": f"row-{at}",
                "group": f"group-{at}",
                "input": f"When is the {part} drained?",
                "response": f"The {part} is {'' if good else 'not '}drained in {time} {at}.",
                "reference": f"the {part} is drained in {time} {at}",
                "context": [f"The {part} is drained in {time} {at}. It is old."],
                "label": "accept" if good else "reject",
            }
        )
    return made


def file_of(path, count=120):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(count)), encoding="utf-8")
    return path

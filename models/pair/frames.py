"""Contexts of a statement, by what they do to a direction, and words that narrow one.

``{vp}`` is what somebody does, ``{n}``, ``{a}`` and ``{ns}`` a thing without an article, with one
and several, ``{s}`` a clause, ``{x}`` and ``{y}`` people.
"""

from __future__ import annotations

Frames = dict[str, list[str]]

ACTING: Frames = {
    "up": (
        "{x} did {vp}|{x} managed to {vp}|{x} will {vp}|{x} had to {vp}|{x} and {y} managed "
        "to {vp}|"
        "It is true that {x} had to {vp}|At least two of the students managed to {vp}|"
        "Many people here {vp}|Several people {vp}|Some of the guests had to {vp}|"
        "Every student had to {vp}|All of the guests managed to {vp}|Each of us had to {vp}|"
        "Most of them managed to {vp}|It is not true that nobody managed to {vp}|"
        "Nobody failed to {vp}|{x} did not forget to {vp}|{x} never fails to {vp}|"
        "{x} did not fail to {vp}|No one doubts that {x} will {vp}|{x} was able to {vp}|"
        "I know that {x} had to {vp}|More than three people {vp}|{x} saw {y} {vp}|"
        "Not only {x} managed to {vp}|A few of them {vp}|{x} helped {y} {vp}|Somebody had "
        "to {vp}|"
        "It is not impossible to {vp}|{x} does not deny having had to {vp}|"
        "If nobody complains, {x} will {vp}|Before the exam, {x} had to {vp}|"
        "Everyone without a ticket had to {vp}|{x}, who never sleeps, managed to {vp}|"
        "Not all of them failed to {vp}|{x} made {y} {vp}"
    ).split("|"),
    "down": (
        "{x} did not {vp}|{x} didn't {vp}|{x} will not {vp}|{x} could not {vp}|{x} refused "
        "to {vp}|"
        "{x} failed to {vp}|{x} forgot to {vp}|Nobody managed to {vp}|No student had to {vp}|"
        "Few people {vp}|Few of them managed to {vp}|At most three of the guests managed to "
        "{vp}|"
        "Hardly anyone managed to {vp}|None of us could {vp}|It is not true that {x} "
        "managed to {vp}|"
        "I doubt that {x} will {vp}|{x} was too tired to {vp}|{x} is unable to {vp}|"
        "If {x} has to {vp}, {y} will be angry|Everyone who had to {vp} was paid|"
        "All people who {vp} are insured|Every student who managed to {vp} was praised|"
        "It is forbidden to {vp}|It is impossible to {vp}|{x} is not allowed to {vp}|"
        "Neither {x} nor {y} managed to {vp}|{x} left before {y} could {vp}|"
        "Fewer than five people {vp}|{x} never had to {vp}|Whenever people {vp}, {x} is happy|"
        "{x} got home without having to {vp}|It is not the case that somebody had to {vp}|"
        "No one who had to {vp} was paid|Each of the guests who had to {vp} left early|"
        "It is false that {x} had to {vp}|{x} did not make {y} {vp}|People rarely {vp}"
    ).split("|"),
}
DO_EXACT = (
    "Exactly three of the students managed to {vp}|Exactly one of us had to {vp}|"
    "Exactly half of them managed to {vp}"
).split("|")
THINGS: Frames = {
    "up": (
        "There was {a}|They mentioned {a}|{x} has described {a}|It is true that there was {a}|"
        "Everyone here has heard of {a}|Every guest talked about {a}|Nobody failed to "
        "notice {a}|"
        "It is not true that nobody noticed {a}|At least two of us noticed {a}|"
        "Most of them mentioned {a}|{a} was mentioned|At least one {n} was mentioned|"
        "Some {n} was mentioned|Not every {n} was mentioned|Several {ns} were "
        "mentioned|"
        "At least three {ns} were mentioned|Two {ns} were described|Not all {ns} are like that|"
        "More than one {n} was mentioned|There are some {ns} on the list|{x} wrote about {a}|"
        "{x} does not deny that there was {a}|All of the students wrote about {a}|"
        "More than four {ns} were described|I know that there was {a}|We have found {a}|"
        "There is no doubt that there was {a}|If nobody objects, we will talk about {a}|"
        "{x}, who knows nobody here, mentioned {a}|Somebody reported {a}|"
        "It was not without {a}|No one denies that there was {a}|{x} thought of {a}"
    ).split("|"),
    "down": (
        "There was no {n}|They did not mention {a}|{x} has never described {a}|There was "
        "never {a}|"
        "It is not true that there was {a}|Nobody here has heard of {a}|No guest talked "
        "about {a}|"
        "I doubt that there was {a}|{x} finished without mentioning {a}|No {n} was mentioned|"
        "Everyone who noticed {a} was questioned|If there is {a}, call {x}|Every {n} was "
        "mentioned|"
        "Each {n} is on the list|Not a single {n} was mentioned|Few people noticed {a}|"
        "At most two of us noticed {a}|All {ns} are like that|Hardly any {ns} were mentioned|"
        "At most three {ns} were mentioned|Few {ns} are like that|No {ns} were described|"
        "Fewer than four {ns} were described|None of the students wrote about {a}|"
        "{x} denies that there was {a}|Whenever there is {a}, {x} tells us|We have not "
        "found any {n}|"
        "{x} didn't notice any {ns}|There aren't any {ns} on the list|Nobody reported {a}|"
        "It is false that there was {a}|{x} knows every {n} on the list|Neither of us "
        "mentioned {a}|"
        "Any {n} is welcome|{x} has yet to mention {a}|Hardly a single {n} was mentioned"
    ).split("|"),
}
THING_EXACT = (
    "Exactly one {n} was mentioned|Exactly one of us noticed {a}|"
    "Exactly half of the students wrote about {a}"
).split("|")
CLAUSES: Frames = {
    "up": (
        "{s}|{s}|{s}|It is true that {s}|I know that {s}|Somebody said that {s}|After all, {s}|"
        "Nobody doubts that {s}|It is not false that {s}|No one denies that {s}|"
        "{x} noticed that {s}|It is well known that {s}|{x} does not deny that {s}|"
        "It is not true that nobody knows that {s}|Everyone knows that {s}|{x} proved that {s}|"
        "There is no doubt that {s}|Nobody failed to notice that {s}"
    ).split("|"),
    "down": (
        "It is not true that {s}|It is not the case that {s}|It is false that {s}|"
        "I doubt that {s}|If {s}, then {x} was wrong|{x} denies that {s}|Nobody told me "
        "that {s}|"
        "There is no evidence that {s}|Nobody said that {s}|{x} never said that {s}|"
        "It cannot be true that {s}|Everyone who said that {s} was questioned|"
        "It would be a mistake to say that {s}|If it is true that {s}, {x} will be told|"
        "No one believes that {s}|{x} does not believe that {s}"
    ).split("|"),
}
ACTS = "describe|mention|notice|draw|remember|write about|talk about|name|point at".split("|")
ADJUNCTS = (
    "with bare hands|in the dark|on purpose|in front of the children|in a hurry|in silence|"
    "by accident|with great care|in public|at night|with a friend|very slowly|in the rain|"
    "by hand|"
    "in the garden|with a smile|in a strange way|for money|on a Sunday|for the second time|"
    "alone|"
    "in secret|with help|on the way home|during the holidays|carefully and quietly"
).split("|")
LATER = (
    "call a friend|drink the tea|sing a song|write a letter|open the window|pay the bill|"
    "wash the dishes|read a book|feed the cat|sell the car|visit the museum|turn off the light|"
    "buy the bread|lock the door|clean the room|take a photograph|leave early|tell a lie"
).split("|")
DESCRIBED = (
    "that surprised everyone|from abroad|that nobody expected|of great importance|of that kind|"
    "that we all remember|that caused trouble|from the last century|that was never explained|"
    "without a name|that everybody liked|that was not planned"
).split("|")
NARROWING = (
    "strange|unexpected|foreign|famous|modern|beautiful|unusual|expensive|remarkable|very old|"
    "well-known|simple|surprising|terrible"
).split("|")

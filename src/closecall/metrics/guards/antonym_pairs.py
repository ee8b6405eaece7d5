"""English words that are opposites, in pairs, and words made opposite by a prefix or suffix.

Only pairs of which one excludes the other in the same sentence; *hot* and *cold*, not *man* and
*woman*. Forms are found by stem (*increased*, *increasing*), comparatives are listed.
"""

from __future__ import annotations

from functools import cache

from closecall.metrics.guards.words import listed, stem

_PAIRS = """
able/unable above/below absent/present absence/presence accept/reject accept/refuse
accurate/inaccurate active/passive add/remove add/subtract advance/retreat advantage/disadvantage
after/before agree/disagree alive/dead allow/forbid allow/prohibit allow/ban allow/deny
allow/prevent permit/forbid permit/prohibit permit/ban legalize/ban ancient/modern
appear/disappear appear/vanish approve/reject approve/disapprove arrive/depart arrive/leave
ascend/descend asleep/awake attack/defend attract/repel available/unavailable bad/good bad/well
evil/good beautiful/ugly begin/end begin/finish begin/stop start/stop start/end start/finish
start/conclude benefit/harm beneficial/harmful best/worst better/worse big/small big/little
large/small large/little huge/tiny enormous/tiny great/small bigger/smaller larger/smaller
largest/smallest biggest/smallest bitter/sweet black/white bless/curse borrow/lend bottom/top
brave/cowardly brave/afraid bright/dark bright/dim light/dark light/heavy lighter/heavier
lighter/darker broad/narrow wide/narrow wider/narrower build/destroy build/demolish
create/destroy busy/idle buy/sell bought/sold calm/stormy calm/nervous capable/incapable
careful/careless cautious/reckless cheap/expensive cheaper/dearer cheap/costly clean/dirty
clear/cloudy clear/unclear clever/stupid smart/stupid smart/dumb intelligent/stupid wise/foolish
close/distant close/far near/far nearer/farther nearby/distant close/open closed/open shut/open
opening/closing cold/hot cool/warm cold/warm colder/hotter colder/warmer cooler/warmer
coldest/hottest common/rare frequent/rare frequent/infrequent usual/unusual complete/incomplete
complex/simple complicated/simple difficult/simple difficult/easy hard/easy hard/soft
harder/easier harder/softer hardest/easiest confirm/deny confirm/refute admit/deny affirm/deny
connect/disconnect consistent/inconsistent construct/demolish continue/stop continue/cease
continue/discontinue convex/concave correct/incorrect correct/wrong right/wrong true/false
true/untrue courage/cowardice danger/safety dangerous/safe safe/unsafe day/night
daytime/nighttime dead/living deep/shallow deeper/shallower defeat/victory lose/win lost/won
loss/gain loss/profit lose/gain lose/find lost/found decline/rise decline/grow decline/increase
decrease/increase reduce/increase reduction/increase drop/rise drop/increase fall/rise fell/rose
fallen/risen fall/increase lower/raise lower/higher lower/increase reduce/raise reduce/expand
shrink/grow shrink/expand contract/expand diminish/increase diminish/grow lessen/increase
worsen/improve deteriorate/improve deny/accept dense/sparse deteriorate/recover
discourage/encourage dissuade/persuade different/same different/identical different/alike
other/same similar/different dissimilar/similar identical/opposite equal/unequal dry/wet
drier/wetter dull/sharp dull/bright dull/interesting boring/interesting boring/exciting
early/late earlier/later earliest/latest east/west eastern/western north/south northern/southern
northeast/southwest northwest/southeast empty/full encourage/deter enemy/friend hostile/friendly
enter/exit enter/leave entrance/exit even/odd exclude/include excluding/including export/import
exterior/interior external/internal fail/succeed failure/success unsuccessful/successful
failed/passed fail/pass fair/unfair famous/unknown famous/obscure fast/slow quick/slow rapid/slow
faster/slower fastest/slowest quicker/slower accelerate/slow accelerate/decelerate fat/thin
fat/slim thick/thin thicker/thinner fertile/barren few/many few/numerous fewer/more first/last
former/latter forward/backward forwards/backwards fresh/stale front/back generous/stingy
gentle/rough smooth/rough genuine/fake real/fake authentic/fake give/take guilty/innocent
happy/sad happy/unhappy glad/sad happier/sadder hate/love dislike/like health/illness
healthy/sick healthy/ill healthy/unhealthy well/ill well/sick heaven/hell help/hinder
hero/villain hide/reveal hide/show conceal/reveal high/low highest/lowest honest/dishonest
honest/deceitful horizontal/vertical humble/proud ignorant/knowledgeable important/trivial
important/unimportant important/insignificant significant/insignificant major/minor
majority/minority inhale/exhale inner/outer inside/outside indoor/outdoor indoors/outdoors
innocent/convicted input/output introduce/abolish join/leave join/separate junior/senior
known/unknown lawful/unlawful legal/illegal lawful/illegal lazy/hardworking lead/follow
left/right leftmost/rightmost lengthen/shorten less/more least/most like/unlike likely/unlikely
liquid/solid literal/figurative little/much lock/unlock long/short longer/shorter
longest/shortest tall/short taller/shorter loose/tight loud/quiet noisy/quiet noisy/silent
loud/soft loyal/disloyal male/female mandatory/optional compulsory/optional required/optional
mandatory/voluntary compulsory/voluntary masculine/feminine mature/immature maximum/minimum
maximize/minimize max/min mild/severe mild/strong mobile/stationary moral/immoral multiply/divide
natural/artificial natural/synthetic necessary/unnecessary negative/positive new/old newer/older
newest/oldest young/old younger/older youngest/oldest new/ancient normal/abnormal obey/disobey
offense/defense offensive/defensive often/rarely often/seldom frequently/rarely frequently/seldom
usually/rarely always/never sometimes/never always/seldom always/rarely optimist/pessimist
optimistic/pessimistic optimism/pessimism order/chaos ordinary/extraordinary outgoing/shy
over/under overestimate/underestimate peace/war peaceful/violent perfect/imperfect
permanent/temporary plentiful/scarce abundant/scarce polite/rude polite/impolite poor/rich
poor/wealthy poorer/richer poverty/wealth popular/unpopular possible/impossible powerful/weak
powerful/powerless strong/weak stronger/weaker strongest/weakest strengthen/weaken
strength/weakness praise/criticize praise/condemn predator/prey private/public privately/publicly
profitable/unprofitable profit/deficit surplus/deficit surplus/shortage protect/endanger
proud/ashamed prove/disprove pull/push pure/impure qualified/unqualified question/answer
raw/cooked rational/irrational regular/irregular release/capture relevant/irrelevant
reliable/unreliable religious/secular remember/forget remembered/forgot respect/disrespect
responsible/irresponsible rural/urban satisfied/dissatisfied save/spend save/waste
secure/insecure send/receive sent/received separate/together shiny/dull sink/float sour/sweet
stable/unstable steady/unsteady straight/crooked straight/curved strict/lenient
subjective/objective sunny/cloudy sunny/rainy sunrise/sunset superior/inferior support/oppose
support/reject favor/oppose for/against supporter/opponent ally/enemy sure/unsure
certain/uncertain teach/learn throw/catch tie/untie tiny/massive together/apart
transparent/opaque trust/distrust trust/mistrust ugly/pretty union/separation unite/divide
unite/separate upper/lower upstairs/downstairs upstream/downstream upward/downward
upwards/downwards useful/useless vacant/occupied valid/invalid valuable/worthless victory/loss
visible/invisible voluntary/involuntary wild/domestic wild/tame winner/loser wealthy/broke
whole/partial wholly/partly fully/partly completely/partly entirely/partly totally/partially
fully/partially completely/partially zenith/nadir arrival/departure ascent/descent birth/death
born/died departure/return domestic/foreign domestic/international national/international
global/local hire/fire hired/fired employ/dismiss married/divorced married/single
married/unmarried innovative/conventional conservative/liberal minor/significant
negligible/significant recent/ancient relaxed/tense sober/drunk summer/winter tight/slack
virtue/vice
"""

LIGHT = listed("before after above below more less most least")
"""Function words that are opposites all the same."""

_NOT_PREFIXED = listed(
    "disaster disclose discount discourse discover discuss disease dish disk dislike dispatch "
    "display distance distinct distribute district image immigrate immune impact imply import "
    "impress improve include income increase indeed index india indian industry infant inform "
    "information inherit initial injure ink inn innate inner input insert inside insist inspect "
    "install instance instead institute instruct intend intense interest interior internal "
    "international interview into invade invent invest invite involve irish iron nonetheless "
    "uncle under uniform union unique unit unite united universe unless until"
)
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "mis")
_SHORTEST = 3


@cache
def _opposites() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for pair in _PAIRS.split():
        first, second = (stem(word) for word in pair.split("/"))
        if first != second:
            table.setdefault(first, set()).add(second)
            table.setdefault(second, set()).add(first)
    return {word: frozenset(others) for word, others in table.items()}


def opposites(stemmed: str) -> frozenset[str]:
    """Return the stems of the words that are opposites of a stem, by the table alone."""
    return _opposites().get(stemmed, frozenset())


def unaffixed(folded: str) -> tuple[str, ...]:
    """Return the stems that a word negates by a prefix, or by *-less*; none for most words.

    >>> unaffixed("unhappy"), unaffixed("harmless"), unaffixed("until")
    (('happy',), ('harm', 'harmful'), ())
    """
    if folded in _NOT_PREFIXED or stem(folded) in _NOT_PREFIXED:
        return ()
    found = [
        stem(folded[len(prefix) :])
        for prefix in _PREFIXES
        if folded.startswith(prefix) and len(folded) - len(prefix) >= _SHORTEST
    ]
    if folded.endswith("less") and len(folded) > 4 + _SHORTEST:
        root = folded[:-4]
        found += [stem(root), stem(root + "ful")]
    return tuple(found)


def opposed(first: str, first_stem: str, second: str, second_stem: str) -> bool:
    """Return whether two words are opposites: in the table, or one negates the other by an affix.

    The words are folded and given with their stems.
    """
    return (
        second_stem in opposites(first_stem)
        or second_stem in unaffixed(first)
        or first_stem in unaffixed(second)
    )

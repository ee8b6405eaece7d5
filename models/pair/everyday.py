"""Everyday words that statements are made of: people, things, what they did, how they compare."""

from __future__ import annotations

PEOPLE = (
    "Anna Ben Clara David Elena Farid Grace Hugo Ines Jonas Karen Liam Maria Noah Olga Peter Rosa "
    "Samuel Tara Victor Wendy Yusuf Zoe Mei Omar Priya Ivan Lucia Kofi Hana"
).split()
SOMEONE = (
    "The teacher|My neighbour|The nurse|Our manager|The driver|His sister|The old man|The mayor|"
    "A friend of mine|The young woman|The company|The committee|The police|Her brother|The chef|"
    "The lawyer|The pilot|The coach|The tenant|The customer|The scientist|The author|The farmer"
).split("|")
THING = (
    "The room|The soup|This book|The road|Her house|The water|The film|His car|The bridge|"
    "The weather|Your idea|The box|My phone|The exam|The garden|The museum|The meeting|The river|"
    "That dress|The bread|The plan|The new office|The engine|The ticket|The answer|The city"
).split("|")
KINDS = {
    "animal": ("dog", "cat", "horse", "cow", "rabbit", "fox", "bear", "lion", "goat", "monkey"),
    "bird": ("sparrow", "eagle", "owl", "crow", "pigeon", "parrot", "swan"),
    "fruit": ("apple", "orange", "pear", "banana", "mango", "plum", "peach"),
    "vegetable": ("carrot", "potato", "onion", "cabbage", "tomato"),
    "vehicle": ("car", "truck", "bus", "van", "bicycle", "motorcycle", "tractor"),
    "tool": ("hammer", "saw", "drill", "screwdriver", "wrench"),
    "flower": ("rose", "tulip", "lily", "daisy", "orchid"),
    "tree": ("oak", "pine", "maple", "birch", "willow"),
    "building": ("house", "church", "hotel", "school", "hospital", "library", "barn"),
    "instrument": ("piano", "violin", "guitar", "flute", "trumpet", "drum"),
    "drink": ("coffee", "tea", "juice", "milk", "beer", "lemonade"),
    "scientist": ("chemist", "biologist", "physicist", "geologist"),
    "athlete": ("swimmer", "runner", "boxer", "gymnast", "cyclist"),
    "artist": ("painter", "sculptor", "musician", "dancer"),
    "insect": ("ant", "bee", "butterfly", "beetle", "wasp"),
    "fish": ("salmon", "trout", "shark", "tuna"),
    "weapon": ("sword", "gun", "spear", "bow"),
    "child": ("boy", "girl", "toddler"),
}
OWNED = "animal bird fruit vegetable vehicle tool flower tree instrument".split()
DONE = (  # present, past, participle, base form's ending for he
    ("chase", "chased", "chased"), ("see", "saw", "seen"), ("help", "helped", "helped"),
    ("follow", "followed", "followed"), ("push", "pushed", "pushed"), ("call", "called", "called"),
    ("hit", "hit", "hit"), ("kiss", "kissed", "kissed"), ("invite", "invited", "invited"),
    ("thank", "thanked", "thanked"), ("beat", "beat", "beaten"), ("catch", "caught", "caught"),
    ("teach", "taught", "taught"), ("praise", "praised", "praised"), ("sue", "sued", "sued"),
    ("hire", "hired", "hired"), ("wake", "woke", "woken"), ("visit", "visited", "visited"),
)  # fmt: skip
ACTS = (  # of one alone: past, base
    ("left early", "leave early"), ("sang a song", "sing a song"), ("slept", "sleep"),
    ("passed the exam", "pass the exam"), ("bought a house", "buy a house"), ("swam", "swim"),
    ("ate breakfast", "eat breakfast"), ("came home late", "come home late"),
    ("paid the bill", "pay the bill"), ("opened the window", "open the window"),
    ("read the letter", "read the letter"), ("went to Paris", "go to Paris"),
    ("answered the question", "answer the question"), ("ran away", "run away"),
    ("won a prize", "win a prize"), ("wrote a report", "write a report"),
    ("cooked dinner", "cook dinner"), ("missed the train", "miss the train"),
    ("called a doctor", "call a doctor"), ("smiled", "smile"), ("lost the keys", "lose the keys"),
    ("bought a red car", "buy a red car"), ("ate two large apples", "eat two large apples"),
    ("walked slowly through the park", "walk slowly through the park"),
)  # fmt: skip
FULLER = (  # the first says more than the second
    ("bought a red car", "bought a car"), ("sang an old song", "sang a song"),
    ("ran quickly", "ran"), ("slept on the sofa", "slept"), ("ate a green apple", "ate an apple"),
    ("came home late", "came home"), ("bought a house in Rome", "bought a house"),
    ("wrote a long report", "wrote a report"), ("walked slowly", "walked"),
    ("won a prize last year", "won a prize"), ("smiled at the baby", "smiled"),
    ("read the letter twice", "read the letter"), ("cooked dinner for six", "cooked dinner"),
    ("swam across the lake", "swam"), ("painted the door blue", "painted the door"),
    ("went to Paris by train", "went to Paris"), ("danced in the rain", "danced"),
    ("speaks French fluently", "speaks French"), ("owns a small boat", "owns a boat"),
    ("works in a large hospital", "works in a hospital"), ("has a twin sister", "has a sister"),
)  # fmt: skip
VERBS = (  # one denies the other: past and base of both
    ("remembered the meeting", "remember the meeting", "forgot the meeting", "forget the meeting"),
    ("accepted the offer", "accept the offer", "rejected the offer", "reject the offer"),
    ("won the match", "win the match", "lost the match", "lose the match"),
    ("passed the test", "pass the test", "failed the test", "fail the test"),
    ("arrived on time", "arrive on time", "arrived late", "arrive late"),
    ("told the truth", "tell the truth", "lied", "lie"),
    ("agreed with the plan", "agree with the plan", "opposed the plan", "oppose the plan"),
    ("stayed at home", "stay at home", "went out", "go out"),
    ("kept the promise", "keep the promise", "broke the promise", "break the promise"),
    ("survived the accident", "survive the accident", "died in the accident",
     "die in the accident"),
    ("finished the work", "finish the work", "left the work undone", "leave the work undone"),
    ("liked the film", "like the film", "disliked the film", "dislike the film"),
    ("allowed the visit", "allow the visit", "forbade the visit", "forbid the visit"),
    ("was awake", "be awake", "was asleep", "be asleep"),
    ("locked the door", "lock the door", "left the door unlocked", "leave the door unlocked"),
)  # fmt: skip
NEAR = ("I think that {}", "It is true that {}", "They say that {}", "As far as I know, {}",
        "{}, as everyone knows", "In the end {}", "Yesterday {}", "{} today",
        "Well, {}")  # fmt: skip
COMPARED = (
    ("taller", "shorter", "tall"), ("older", "younger", "old"), ("faster", "slower", "fast"),
    ("heavier", "lighter", "heavy"), ("richer", "poorer", "rich"), ("larger", "smaller", "large"),
    ("stronger", "weaker", "strong"), ("louder", "quieter", "loud"), ("earlier", "later", "early"),
)  # fmt: skip
NUMBERS = (
    "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty fifty"
).split()

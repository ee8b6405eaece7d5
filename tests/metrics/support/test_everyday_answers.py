"""Plain answers to everyday questions: those that say what the reference says outscore the others."""

import numpy as np

from closecall import Case, load_metric

ANSWERS = (
    # question, reference, answers that say it, answers that do not
    (
        "When does the museum open?",
        "It opens at nine.",
        ["The museum opens at nine o'clock.", "At 9 a.m."],
        ["The museum opens at ten o'clock.", "It does not open at nine."],
    ),
    (
        "Can I return shoes I have worn?",
        "No, only unworn shoes can be returned.",
        [
            "Worn shoes cannot be returned.",
            "You may send back shoes only if they have not been worn.",
        ],
        ["Yes, you can return shoes that you have worn."],
    ),
    (
        "How long is the warranty?",
        "Two years.",
        ["The warranty runs for 24 months.", "It is covered for two years."],
        ["The warranty runs for 3 years."],
    ),
    (
        "Who do I contact about a broken machine?",
        "Call the service desk at extension 410.",
        ["Ring extension 410, the service desk."],
        ["Ring extension 401, the service desk.", "Write a letter to the director."],
    ),
    (
        "What is the capital of France?",
        "Paris",
        ["The capital of France is Paris.", "Paris"],
        ["The capital of France is Lyon."],
    ),
    (
        "Is breakfast included?",
        "Breakfast is included in every room rate.",
        ["Yes, every rate includes breakfast."],
        ["Breakfast costs extra.", "No, breakfast is not included."],
    ),
    (
        "How do I reset my password?",
        'Click "Forgot password" on the sign-in page and follow the link we send you.',
        ['On the sign-in page choose "Forgot password"; we will email you a link to follow.'],
        ["You cannot reset your password.", "Passwords have to be changed every ninety days."],
    ),
    (
        "Which plan has phone support?",
        "Only the Premium plan has phone support.",
        ["Phone support comes with Premium only."],
        ["All plans have phone support.", "The Basic plan has phone support."],
    ),
    (
        "Who wrote the letter?",
        "Anna wrote it to Paul.",
        ["The letter to Paul was written by Anna."],
        ["Paul wrote it to Anna."],
    ),
    (
        None,
        "The ferry carries cars and bicycles.",
        [
            "Bicycles and cars are carried by the ferry.",
            "You can take your car or your bike on the ferry.",
        ],
        ["My aunt keeps bees behind her house.", "The ferry carries only bicycles."],
    ),
    (
        None,
        "All seats are taken.",
        ["There are no free seats left."],
        ["Some seats are still free."],
    ),
    (
        "What temperature should I bake it at?",
        "180 degrees",
        ["Bake it at 180 °C."],
        ["Bake it at 220 °C."],
    ),
    (
        "When was the bridge built?",
        "In 1894.",
        ["The bridge dates from 1894."],
        ["The bridge dates from 1984."],
    ),
    (
        "How many people live there?",
        "About 12,000 people.",
        ["Roughly twelve thousand."],
        ["About 120,000 people live there."],
    ),
    (
        "Does the shop accept cards?",
        "Yes, all major cards are accepted.",
        ["They take all major cards."],
        ["They take cash only."],
    ),
    (
        "Where is the head office?",
        "In Rotterdam, near the harbour.",
        ["The head office is located close to the port of Rotterdam."],
        ["The head office is located in Antwerp."],
    ),
    (
        "Is the path open in winter?",
        "The path is closed from November to March.",
        ["No, it is closed in winter."],
        ["Yes, it stays open all year."],
    ),
    (
        "What is a deductible?",
        "The amount you pay yourself before the insurer pays.",
        ["It is what you have to pay on your own before your insurance begins to pay."],
        ["It is the amount that the insurer pays before you do."],
    ),
    (
        "What causes tides?",
        "The pull of the moon and the sun.",
        ["Tides are caused by the gravity of the moon and the sun."],
        ["Tides are caused by wind."],
    ),
    (
        "What time does the last train leave?",
        "The last train leaves at 23:40.",
        ["The final train departs at 11:40 pm."],
        ["The final train departs at 11:40 am."],
    ),
    (
        "Is the medicine safe for children?",
        "It must not be given to children under six.",
        ["Do not give it to children younger than six."],
        ["It can be given to children of any age."],
    ),
    (
        "How much does delivery cost?",
        "Delivery is free for orders over 50 euros.",
        ["Orders above 50 euros are delivered free of charge."],
        ["Delivery always costs 50 euros."],
    ),
    (
        "Who discovered penicillin?",
        "Alexander Fleming",
        ["It was discovered by Fleming."],
        ["It was discovered by Marie Curie."],
    ),
    (
        "Is smoking allowed on the balcony?",
        "Smoking is allowed on balconies but not inside.",
        ["Yes, on balconies, though not indoors."],
        ["Smoking is allowed inside but not on balconies."],
    ),
    (
        "Can I cancel my booking?",
        "You can cancel free of charge up to 24 hours before arrival.",
        ["Cancelling costs nothing until a day before you arrive."],
        ["Bookings cannot be cancelled."],
    ),
    (
        "Which language is spoken in Brazil?",
        "Portuguese",
        ["Brazilians speak Portuguese."],
        ["Brazilians speak Spanish."],
    ),
)


def test_right_answers_outscore_wrong_ones():
    cases, right = [], []
    for question, reference, good, bad in ANSWERS:
        for answers, label in ((good, True), (bad, False)):
            for answer in answers:
                cases.append(
                    Case(id=answer, input=question, references=(reference,), response=answer)
                )
                right.append(label)
    metric = load_metric("answer_support")
    values = np.array([found.value for found in metric.measure_batch(cases, {})])
    yes, no = values[np.array(right)], values[~np.array(right)]
    assert (yes[:, None] > no[None, :]).mean() > 0.8

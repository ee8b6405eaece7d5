"""Collections made of a few lines."""

from closecall.retrieval.collection import Document, Query, assembled

NOTICES = {
    "d1": ("Returns", "You may return shoes within thirty days of delivery."),
    "d2": ("Shipping", "Parcels to islands take nine days longer than usual."),
    "d3": ("Opening", "The shop on Mill Street opens at nine on weekdays."),
    "d4": ("Vouchers", "A voucher stays valid for three years from purchase."),
    "d5": ("Repairs", "Torn soles are glued again at no cost within a year."),
}
QUESTIONS = {
    "q1": ("How long may I return shoes?", {"d1": 2, "d5": 1}),
    "q2": ("When does the shop on Mill Street open?", {"d3": 1}),
    "q3": ("Is a voucher valid for three years?", {"d4": 1, "d2": 0}),
    "q4": ("Do you sell umbrellas?", {}),
}


def made(notices, questions, **about):
    return assembled(
        "shop",
        {own: Document(id=own, title=title, text=text) for own, (title, text) in notices.items()},
        {
            own: Query(id=own, text=text, **about.get(own, {}))
            for own, (text, _) in questions.items()
        },
        {own: graded for own, (_, graded) in questions.items() if graded},
        qrels="qrels.tsv",
    )

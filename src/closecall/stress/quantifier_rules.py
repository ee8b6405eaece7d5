"""Quantifiers and their contraries in four languages, as patterns and what replaces them."""

from __future__ import annotations

_AMOUNT = r"(?=\s+(?:[$€£]?\d|(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|half)\b))"
_MANY = r"(?=\s+(?:of\b|(?:[a-z]+\s)?(?:people|children|men|women|[a-z]{3,}s)\b))"
"""What is counted: a plural, or *of*."""

_OTHERS = r"(?!\s+(?:about|over|that|but|the|these|those|this|their|my|your|our|his|her|its)\b)"
_ACTS = (
    r"(?=\s+(?:can|will|would|could|should|had|did|else|ever|really|in|on|at|knew|[a-z]+(?:s|ed))\b"
    r"|[.,;]|$)"
)
"""What *no one* does, and not *no one language*."""

RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "en": (
        (r"(?<!not )(?<!at )(?<!n't )(?<!above )(?<!of )all" + _OTHERS + _MANY, "only some"),
        (r"(?<!not )(?<!at )all(?: of)? the(?= \w+s\b)", "only some of the"),
        (r"(?<!not )everyone", "no one"),
        (r"(?<!not )everybody", "nobody"),
        (r"(?<!not )everything", "nothing"),
        (r"no one" + _ACTS, "everyone"),
        (r"nobody", "everybody"),
        (r"nothing(?! (?:but|more|less|like)\b)", "something"),
        (r"(?<!not )always", "never"),
        (r"never(?! (?:before|mind|again)\b)", "always"),
        (r"(?<!not )(?<!how )often", "rarely"),
        (r"rarely", "often"),
        (r"seldom", "often"),
        (r"(?<!not )usually", "rarely"),
        (r"sometimes", "never"),
        (r"(?<!not )(?<!how )(?<!as )(?<!so )(?<!too )(?<!a )many" + _MANY, "few"),
        (r"(?<!a )(?<!the )(?<!very )few" + _MANY, "many"),
        (r"most of", "hardly any of"),
        (r"(?<!not )(?<!the )both(?= of\b)", "neither"),
        (r"none(?= of\b)", "all"),
        (r"(?<!the )(?<!and )some(?= of\b)", "all"),
        (rf"^some{_MANY}", "all"),
        (r"at least" + _AMOUNT, "at most"),
        (r"at most" + _AMOUNT, "at least"),
        (r"(?<!no )(?<!not )(?<!once )more than" + _AMOUNT, "less than"),
        (r"(?<!no )(?<!not )less than" + _AMOUNT, "more than"),
        (r"(?<!no )(?<!not )fewer than" + _AMOUNT, "more than"),
        (r"no more than" + _AMOUNT, "no less than"),
        (r"no less than" + _AMOUNT, "no more than"),
        (r"up to" + _AMOUNT, "at least"),
        (r"a minimum of", "a maximum of"),
        (r"a maximum of", "a minimum of"),
    ),
    "de": (
        (r"(?<!nicht )(?<!vor )alle(?=\s(?-i:[A-ZÄÖÜ]))", "nur einige"),
        (r"(?<!nicht )(?<!noch )immer(?! (?:noch|mehr|wenn)\b)", "nie"),
        (r"nie", "immer"),
        (r"niemals", "immer"),
        (r"(?<!nicht )(?<!wie )oft", "selten"),
        (r"selten", "oft"),
        (r"(?<!nicht )viele", "wenige"),
        (r"wenige", "viele"),
        (r"mindestens", "höchstens"),
        (r"höchstens", "mindestens"),
        (r"maximal", "mindestens"),
        (r"meistens", "selten"),
        (r"manchmal", "nie"),
        (r"(?<!nicht )mehr als" + _AMOUNT, "weniger als"),
        (r"(?<!nicht )weniger als" + _AMOUNT, "mehr als"),
        (r"niemand", "jeder"),
    ),
    "fr": (
        (r"(?<!pas )tous les", "seuls quelques"),
        (r"(?<!pas )toutes les", "seules quelques"),
        (r"(?<!pas )souvent", "rarement"),
        (r"rarement", "souvent"),
        (r"parfois", "toujours"),
        (r"(?<!pas )toujours", "rarement"),
        (r"au moins" + _AMOUNT, "au plus"),
        (r"au plus" + _AMOUNT, "au moins"),
        (r"plus de" + _AMOUNT, "moins de"),
        (r"(?<!pas )(?<!le )moins de" + _AMOUNT, "plus de"),
        (r"beaucoup de", "peu de"),
        (r"(?<!un )peu de", "beaucoup de"),
        (r"la plupart des", "une minorité des"),
    ),
    "es": (
        (r"(?<!no )todos los", "solo algunos de los"),
        (r"(?<!no )todas las", "solo algunas de las"),
        (r"(?<!no )siempre", "nunca"),
        (r"nunca", "siempre"),
        (r"a menudo", "rara vez"),
        (r"rara vez", "a menudo"),
        (r"al menos" + _AMOUNT, "como máximo"),
        (r"como máximo", "al menos"),
        (r"más de" + _AMOUNT, "menos de"),
        (r"menos de" + _AMOUNT, "más de"),
        (r"(?<!no )muchos", "pocos"),
        (r"(?<!no )muchas", "pocas"),
        (r"pocos", "muchos"),
        (r"pocas", "muchas"),
        (r"algunos", "todos los"),
        (r"algunas", "todas las"),
    ),
}
"""What is looked for, as a whole word, and what takes its place."""

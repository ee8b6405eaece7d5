"""Nothing may load and only the page's own script may run: the policy says so and the page fits."""

import base64
import hashlib
import json
import re
from importlib.resources import files

import pytest

from closecall.report.html.escaping import script_json

ASSETS = sorted(
    (path for path in files("closecall.report.html").joinpath("assets").iterdir()),
    key=lambda path: path.name,
)
MARKUP_FROM_TEXT = (
    "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "createContextualFragment",
    "DOMParser", "srcdoc", "setHTML",
)  # fmt: skip
CODE_FROM_TEXT = ("eval(", "new Function", 'setTimeout("', 'setInterval("', "javascript:")
NETWORK = ("fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "import(",
           "importScripts", "http:", "https:", "//cdn")  # fmt: skip


def hashed(content):
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def test_the_policy_allows_this_style_and_this_script_and_nothing_else(page):
    (style,), (script,) = page.styles, page.scripts
    assert page.csp == (
        f"default-src 'none'; style-src {hashed(style)}; script-src {hashed(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_no_attribute_runs_or_styles_or_loads_anything(page):
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name not in {"style", "src", "srcset", "action", "formaction", "data", "background"}
        if name.endswith("href"):
            assert value.startswith("#"), (tag, value)
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(page.tags)


def test_the_style_loads_nothing(page):
    assert not re.search(r"url\(|@import|@font-face|expression\(", page.styles[0])


@pytest.mark.parametrize("asset", ASSETS, ids=lambda path: path.name)
def test_an_asset_may_stand_in_a_page_of_ascii(asset):
    text = asset.read_text("utf-8")
    assert text.isascii()
    assert "</" + "script" not in text.lower()
    assert "<!--" not in text
    assert "</" + "style" not in text.lower()


@pytest.mark.parametrize(
    "asset", [one for one in ASSETS if one.name.endswith(".js")], ids=lambda path: path.name
)
def test_a_script_makes_neither_markup_nor_code_from_texts_and_asks_nobody(asset):
    # The name of the SVG elements is an address that nobody visits.
    text = asset.read_text("utf-8").replace('"http://www.w3.org/2000/svg"', "")
    assert text.lstrip().startswith('"use strict";')
    for word in (*MARKUP_FROM_TEXT, *CODE_FROM_TEXT, *NETWORK):
        assert word not in text, word


def test_json_in_a_script_holds_nothing_that_html_or_a_script_gives_meaning_to():
    text = script_json({"</script>": "<!-- & \u2028 \u2029 \ud800 \xe9"})
    assert re.fullmatch(r"[\x20-\x7e]+", text)
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"</script>": "<!-- & \u2028 \u2029 \ud800 \xe9"}


def test_a_number_that_json_does_not_know_is_refused():
    with pytest.raises(ValueError, match="Out of range float"):
        script_json(float("nan"))

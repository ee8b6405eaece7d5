"""A page taken apart as a browser would: its elements, its policy, its data."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser

import pytest

_VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.source = text
        self.tags, self.attributes, self.blocks, self.texts = [], [], {}, []
        self.styles, self.scripts, self.comments, self.csp = [], [], [], ""
        self._open, self._within, self._id = [], None, None
        self.feed(text)
        self.close()
        self.left_open = list(self._open)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.attributes.extend((tag, name, value) for name, value in attrs)
        if tag == "meta" and found.get("http-equiv") == "Content-Security-Policy":
            self.csp = found["content"]
        if tag not in _VOID and not self.get_starttag_text().endswith("/>"):
            self._open.append(tag)
        if tag in {"script", "style"}:
            self._within, self._id = (tag, found.get("type")), found.get("id")

    def handle_endtag(self, tag):
        if self._open and self._open[-1] == tag:
            self._open.pop()
        self._within = None

    def handle_comment(self, data):
        self.comments.append(data)

    def handle_data(self, data):
        if self._within is None:
            self.texts.append(data)
        elif self._within == ("style", None):
            self.styles.append(data)
        elif self._within == ("script", None):
            self.scripts.append(data)
        else:
            self.blocks[self._id] = data

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.texts))

    def unpacked(self, name):
        return json.loads(gzip.decompress(base64.b64decode(self.blocks[name], validate=True)))

    @property
    def index(self):
        return json.loads(self.blocks["cc-index"])

    @property
    def columns(self):
        return self.unpacked("cc-columns")

    @property
    def cases(self):
        return [
            case
            for number in range(len(self.index["starts"]))
            for case in self.unpacked(f"cc-chunk-{number}")
        ]


@pytest.fixture(scope="session")
def taken_apart():
    return Page


@pytest.fixture(scope="session")
def page_of(render):
    def made(run):
        return Page(render(run, "html"))

    return made


@pytest.fixture(scope="module")
def page(page_of, run):
    return page_of(run)

"use strict";
/* The one global: the data of the page, the router, the keyboard and what builds elements.
   Elements are built with createElement and textContent alone, so a case's text is never markup. */
const CC = (() => {
  const byId = (id) => document.getElementById(id);
  const pages = new Map();
  const keys = [];
  const chunks = new Map();
  const KEPT_CHUNKS = 64;
  let shown = null;
  let columns = null;

  const index = JSON.parse(byId("cc-index").textContent);

  /* ---- data ---- */

  async function unpack(element) {
    if (typeof DecompressionStream === "undefined") {
      throw new Error("This browser cannot unpack the cases; it takes one of 2023 or later.");
    }
    const packed = atob(element.textContent);
    const bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; at += 1) bytes[at] = packed.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function chunkOf(i) {
    let low = 0;
    let high = index.starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (index.starts[middle] <= i) low = middle;
      else high = middle;
    }
    return low;
  }

  /* Unpacked blocks are kept for a while; the one used longest ago goes first. */
  function chunk(number) {
    let found = chunks.get(number);
    if (found === undefined) found = unpack(byId(`cc-chunk-${number}`));
    chunks.delete(number);
    chunks.set(number, found);
    if (chunks.size > KEPT_CHUNKS) chunks.delete(chunks.keys().next().value);
    return found;
  }

  async function caseAt(i) {
    const number = chunkOf(i);
    return (await chunk(number))[i - index.starts[number]];
  }

  /* Yields [place, case] of every case, block by block, without keeping the blocks. */
  async function* cases() {
    for (let number = 0; number < index.starts.length; number += 1) {
      const own = await (chunks.get(number) || unpack(byId(`cc-chunk-${number}`)));
      for (let at = 0; at < own.length; at += 1) yield [index.starts[number] + at, own[at]];
    }
  }

  const block = (page, name) => unpack(byId(`cc-block-${page}-${name}`));

  function decode(raw) {
    const digits = (text) => Uint8Array.from(text, (c) => parseInt(c, 16));
    const places = new Map();
    raw.ids.forEach((id, i) => { if (!places.has(id)) places.set(id, i); });
    return Object.freeze({
      ...raw,
      places,
      states: digits(raw.states),
      labels: digits(raw.labels),
      metrics: raw.metrics.map((one) => ({
        states: digits(one.states),
        values: one.values,
        flags: digits(one.flags),
      })),
    });
  }

  /* ---- elements ---- */

  function fill(node, children) {
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      node.append(child instanceof Node ? child : text(String(child)));
    }
    return node;
  }

  function set(node, props) {
    for (const [name, value] of Object.entries(props || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") {
        for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
      } else if (name === "class") node.setAttribute("class", value);
      else if (name === "data") Object.assign(node.dataset, value);
      else if (name === "value" || name === "checked") node[name] = value;
      else if (name.startsWith("on") || name === "style") throw new Error(`not allowed: ${name}`);
      else node.setAttribute(name, value === true ? "" : value);
    }
    return node;
  }

  const el = (tag, props, ...children) => fill(set(document.createElement(tag), props), children);
  const SVG = "http://www.w3.org/2000/svg";
  const svg = (tag, props, ...children) => fill(set(document.createElementNS(SVG, tag), props), children);

  function clear(node, ...children) {
    node.replaceChildren();
    return fill(node, children);
  }

  /* What a terminal would obey, or what turns text round unseen, is spelt out. */
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\ud800-\udfff]/gu;

  function spelt(char) {
    const code = char.codePointAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  }

  function text(value) {
    const fragment = document.createDocumentFragment();
    let from = 0;
    for (const match of value.matchAll(HIDDEN)) {
      if (match.index > from) fragment.append(value.slice(from, match.index));
      const escape = document.createElement("span");
      escape.className = "esc";
      escape.textContent = spelt(match[0]);
      fragment.append(escape);
      from = match.index + match[0].length;
    }
    if (from < value.length || from === 0) fragment.append(value.slice(from));
    return fragment;
  }

  const plainText = (value) => value.replace(HIDDEN, spelt);

  /* A text from outside, in its own direction, whatever it holds. */
  const outside = (value, props) => el("span", { dir: "auto", ...props, class: `text ${(props && props.class) || ""}`.trim() }, text(value));

  /* ---- numbers and words ---- */

  const count = (n) => n.toLocaleString("en-US");
  const number = (value, digits) => (value === null || value === undefined ? "-" : value.toFixed(digits));
  const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
  const rate = (k, n) => (n ? `${count(k)} / ${count(n)} (${((100 * k) / n).toFixed(1)} %)` : `${k} / ${n}`);

  const WORDS = {
    passed: ["\u2713", "passed"], failed: ["\u2717", "failed"], warn: ["!", "warned"],
    inconclusive: ["?", "unsure"], scored: ["\u00b7", "scored"],
    not_measured: ["\u2013", "not measured"], not_applicable: ["\u2013", "not applicable"],
    skipped: ["\u2013", "skipped"], error: ["!", "error"],
    accept: ["\u2713", "accept"], reject: ["\u2717", "reject"],
  };

  const word = (name) => (WORDS[name] || ["", name])[1];

  function badge(name, more) {
    const [sign, said] = WORDS[name] || ["", name];
    return el("span", { class: `badge is-${name}` }, el("span", { "aria-hidden": "true" }, sign), ` ${said}`, more || null);
  }

  function say(message) {
    byId("live").textContent = message;
  }

  function trouble(error) {
    const place = byId("trouble");
    place.textContent = error instanceof Error ? error.message : String(error);
    place.hidden = false;
  }

  function link(i) {
    const id = columns.ids[i];
    return el("a", { href: hash("cases", { case: id }), dir: "auto", class: "text" }, id);
  }

  function download(name, content, type) {
    const address = URL.createObjectURL(new Blob([content], { type }));
    const anchor = el("a", { href: address, download: name });
    document.body.append(anchor);
    anchor.click();
    anchor.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  /* Where storage is refused (opened from disk, private windows) the page works without it. */
  const store = {
    get(name) {
      try { return localStorage.getItem(`closecall:${name}`); } catch { return null; }
    },
    set(name, value) {
      try {
        if (value === null) localStorage.removeItem(`closecall:${name}`);
        else localStorage.setItem(`closecall:${name}`, value);
        return true;
      } catch { return false; }
    },
  };

  /* ---- router: #page?name=value ---- */

  function hash(page, params) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(params || {})) {
      if (value !== null && value !== undefined && value !== "") query.set(name, value);
    }
    const said = query.toString();
    return `#${page}${said ? `?${said}` : ""}`;
  }

  function where() {
    const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
    const known = [...document.querySelectorAll("main > section.page")].map((one) => one.id);
    return {
      page: known.includes(name) ? name : known[0],
      params: Object.fromEntries(new URLSearchParams(query || "")),
    };
  }

  function go(page, params, replace) {
    const to = hash(page, params);
    if (!replace) location.hash = to;
    // Who has moved on meanwhile, with the event still to come, is not taken back.
    else if (where().page === page) history.replaceState(null, "", to);
  }

  function route(focus) {
    const { page, params } = where();
    for (const section of document.querySelectorAll("main > section.page")) {
      section.classList.toggle("off", section.id !== page);
    }
    for (const anchor of document.querySelectorAll("#nav a")) {
      if (anchor.dataset.page === page) {
        anchor.setAttribute("aria-current", "page");
        anchor.scrollIntoView({ block: "nearest", inline: "nearest" });
      } else anchor.removeAttribute("aria-current");
    }
    const moved = shown !== page;
    if (moved && shown !== null && pages.get(shown)?.hide) pages.get(shown).hide(byId(shown));
    shown = page;
    if (moved) {
      window.scrollTo(0, 0);
      if (focus) byId("main").focus({ preventScroll: true });
    }
    Promise.resolve(pages.get(page)?.show(byId(page), params)).catch(trouble);
  }

  /* ---- keyboard ---- */

  function key(name, label, run, page) {
    keys.push({ name, label, run, page });
  }

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const at = event.target;
    const typing = at instanceof Element && at.closest("input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select");
    if (typing && event.key !== "Escape") return;
    if (document.querySelector("dialog[open]")) return;
    const found = keys.find((one) => one.name === event.key && (!one.page || one.page === shown));
    if (found && found.run(event) !== false) event.preventDefault();
  }

  function help() {
    const titles = { j: "j", k: "k" };
    const rows = keys.filter((one) => one.label && (!one.page || one.page === shown))
      .map((one) => el("tr", null, el("th", { scope: "row" }, el("kbd", null, titles[one.name] || one.name)), el("td", null, one.label)));
    const dialog = el("dialog", { "aria-labelledby": "help-title" },
      el("h2", { id: "help-title" }, "Keys"),
      el("table", { class: "plain" }, el("tbody", null, rows)),
      el("form", { method: "dialog" }, el("button", { class: "button" }, "Close")));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  /* ---- light and dark ---- */

  function theme() {
    const asked = matchMedia("(prefers-color-scheme: dark)");
    const root = document.documentElement;
    const kept = store.get("theme");
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
    const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : asked.matches);
    const button = el("button", { class: "button quiet", type: "button", id: "theme" });
    const tell = () => {
      button.textContent = dark() ? "\u2600 Light" : "\u263e Dark";
      button.setAttribute("aria-label", dark() ? "Show in light colours" : "Show in dark colours");
    };
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      store.set("theme", root.dataset.theme);
      tell();
    });
    asked.addEventListener("change", tell);
    tell();
    byId("tools").append(
      el("button", { class: "button quiet", type: "button", id: "keys", "aria-label": "Show the keys", on: { click: help } }, "? Keys"),
      button);
  }

  async function start() {
    document.documentElement.classList.add("scripted");
    theme();
    document.addEventListener("keydown", pressed);
    key("?", "Show these keys", help);
    [...document.querySelectorAll("#nav a")].forEach((anchor, at) => {
      key(String(at + 1), `Go to ${anchor.textContent.trim()}`, () => go(anchor.dataset.page));
    });
    try {
      columns = decode(await unpack(byId("cc-columns")));
    } catch (error) {
      trouble(error);
      document.documentElement.classList.remove("scripted");
      return;
    }
    CC.labels.load();
    for (const page of pages.values()) if (page.start) page.start();
    addEventListener("hashchange", () => route(true));
    route(false);
    document.documentElement.dataset.ready = "yes";
  }

  return {
    index, get columns() { return columns; }, get shown() { return shown; },
    case: caseAt, cases, block, page(name, made) { pages.set(name, made); },
    go, hash, where, key, say, trouble, link, download, store, start,
    el, svg, clear, text, plainText, outside, badge, word, count, number, plural, rate,
  };
})();

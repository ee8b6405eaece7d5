"use strict";
/* The cases: searched, filtered and sorted; a list that builds only the rows in sight; one case. */
(() => {
  const { el } = CC;
  const ROW = 62;
  const SPARE = 6;
  const TALLEST = 12000000;
  const PRINTED = 2000;
  const WAIT = 200;
  const RANK = ["failed", "error", "not_measured", "skipped", "inconclusive", "warn", "scored", "passed", "not_applicable"];
  const SORTS = { worst: "Worst first", labels: "Most against its label", low: "Score, lowest first", high: "Score, highest first", id: "Id", file: "Order of the file" };
  const SHOWS = { "": "All", fa: "Let through wrongly", fr: "Turned away wrongly", close: "Close calls", held: "Held back by guards", cut: "Read only in part", given: "Labelled here" };

  const view = { q: "", metric: "", state: "", label: "", show: "", slice: "", sort: "worst" };
  let list = [];
  let chosen = -1;
  let hits = null;
  let searching = 0;
  let place = {};
  let panel = {};

  const states = () => CC.index.states;
  const code = (name) => states().indexOf(name);
  const ONE = CC.index.metrics.length === 1;
  const m = () => (ONE ? 0 : view.metric === "" ? -1 : CC.index.metrics.findIndex((one) => one.id === view.metric));
  const stateOf = (i) => (m() < 0 ? CC.columns.states[i] : CC.columns.metrics[m()].states[i]);
  const valueOf = (i) => (m() < 0 ? CC.columns.scores[i] : CC.columns.metrics[m()].values[i]);
  const digits = () => (m() < 0 ? 1 : CC.index.metrics[m()].digits);
  const flagged = (i, bit) => (m() < 0 ? CC.columns.metrics.some((one) => one.flags[i] & bit) : CC.columns.metrics[m()].flags[i] & bit);
  const wrong = (i, kind) => {
    const label = CC.labels.of(i);
    return kind === "fa" ? label === "reject" && stateOf(i) === code("passed") : label === "accept" && stateOf(i) === code("failed");
  };

  /* ---- filter and sort ---- */

  const KEEP = {
    "": () => true,
    fa: (i) => wrong(i, "fa"),
    fr: (i) => wrong(i, "fr"),
    close: (i) => flagged(i, 1),
    held: (i) => flagged(i, 2),
    cut: (i) => flagged(i, 4),
    given: (i) => CC.labels.isGiven(i),
  };

  function slice() {
    const said = view.slice.trim();
    if (!said) return () => true;
    for (const field of CC.columns.fields) {
      const code = field.values.findIndex((value) => `${field.name}: ${value}`.trim() === said) + 1;
      if (code) return (i) => field.codes[i] === code;
    }
    const [kind, name] = said.split(/:\s*(.*)/s);
    const of = (names, wanted) => new Set(names.flatMap((one, at) => (wanted(one) ? [at] : [])));
    const tags = of(CC.columns.tagNames, (one) => (kind === "tag" ? one === name : one === said));
    const groups = of(CC.columns.groupNames, (one) => (kind === "group" ? one === name : one === said));
    return (i) => groups.has(CC.columns.groups[i]) || CC.columns.tags[i].some((tag) => tags.has(tag));
  }

  function filtered(ignoreState) {
    const wanted = new Set(view.state.split(",").filter(Boolean).map(code));
    const keep = KEEP[view.show] || KEEP[""];
    const inSlice = slice();
    const found = [];
    for (let i = 0; i < CC.index.count; i += 1) {
      if (!ignoreState && wanted.size && !wanted.has(stateOf(i))) continue;
      if (view.label && (CC.labels.of(i) || "none") !== view.label) continue;
      if (hits !== null && !hits.has(i)) continue;
      if (!keep(i) || !inSlice(i)) continue;
      found.push(i);
    }
    return found;
  }

  /* How far a decision lies from its label; what agrees with it, or has none, comes last. */
  function against(i) {
    const value = valueOf(i);
    if (value === null) return -Infinity;
    if (wrong(i, "fa")) return value;
    if (wrong(i, "fr")) return -value;
    return -Infinity;
  }

  function sorted(found) {
    const low = (i) => { const value = valueOf(i); return value === null ? Infinity : value; };
    const ranks = states().map((name) => RANK.indexOf(name));
    const absent = (i) => { const value = valueOf(i); return value === null ? 0 : value; };
    const by = {
      worst: (a, b) => ranks[stateOf(a)] - ranks[stateOf(b)] || absent(a) - absent(b) || a - b,
      low: (a, b) => low(a) - low(b) || a - b,
      high: (a, b) => (valueOf(b) ?? -Infinity) - (valueOf(a) ?? -Infinity) || a - b,
      id: (a, b) => (CC.columns.ids[a] < CC.columns.ids[b] ? -1 : CC.columns.ids[a] > CC.columns.ids[b] ? 1 : a - b),
      file: (a, b) => a - b,
      labels: (a, b) => { const x = wrong(a, "fa") || wrong(a, "fr"); const y = wrong(b, "fa") || wrong(b, "fr"); return y - x || (x ? against(b) - against(a) || 0 : 0) || a - b; },
    };
    return found.sort(by[view.sort] || by.worst);
  }

  /* ---- search: ids at once, texts block by block ---- */

  function* texts(found) {
    yield found.id;
    yield found.input;
    yield found.response;
    yield* found.references || [];
    yield* found.context || [];
    for (const trial of found.trials || []) yield trial.response;
    for (const result of found.results) {
      yield result.reason;
      if (typeof result.details?.reason === "string") yield result.details.reason;
    }
  }

  async function search() {
    const turn = ++searching;
    const wanted = view.q.normalize("NFC").toLowerCase().trim();
    if (!wanted) {
      hits = null;
      CC.clear(place.progress);
      refresh();
      return;
    }
    hits = new Set();
    CC.columns.ids.forEach((id, i) => { if (id.toLowerCase().includes(wanted)) hits.add(i); });
    refresh();
    let told = 0;
    let size = hits.size;
    for await (const [i, found] of CC.cases()) {
      if (turn !== searching) return;
      for (const text of texts(found)) {
        if (text && text.normalize("NFC").toLowerCase().includes(wanted)) { hits.add(i); break; }
      }
      if (i - told >= 1000) {
        told = i;
        place.progress.textContent = `${CC.count(i)} of ${CC.count(CC.index.count)} cases searched\u2026`;
        if (hits.size !== size) { size = hits.size; refresh(); }
      }
    }
    if (turn !== searching) return;
    CC.clear(place.progress);
    refresh();
  }

  function later(run) {
    let timer = 0;
    return (...given) => { clearTimeout(timer); timer = setTimeout(() => run(...given), WAIT); };
  }

  /* ---- the list ---- */

  const tall = () => Math.min(list.length * ROW, TALLEST);
  /* Of very many rows the scroll bar moves over more than one at a time. */
  const ratio = () => (list.length * ROW > TALLEST ? (list.length * ROW - place.list.clientHeight) / (TALLEST - place.list.clientHeight) : 1);

  function draw() {
    const box = place.list;
    const top = box.scrollTop * ratio();
    const first = Math.max(0, Math.floor(top / ROW) - SPARE);
    const last = Math.min(list.length, Math.ceil((top + box.clientHeight) / ROW) + SPARE);
    const kept = new Map([...place.rows.children].map((row) => [row.dataset.key, row]));
    const offset = box.scrollTop - top;
    const rows = [];
    for (let at = first; at < last; at += 1) {
      const i = list[at];
      const key = `${i}:${at}:${CC.labels.of(i)}:${view.metric}`;
      const row = kept.get(key) || made(i, at, key);
      row.style.transform = `translateY(${at * ROW + offset}px)`;
      row.setAttribute("aria-selected", String(i === chosen));
      rows.push(row);
    }
    place.rows.replaceChildren(...rows);
    place.list.setAttribute("aria-activedescendant", list.includes(chosen) && document.getElementById(`case-${chosen}`) ? `case-${chosen}` : "");
    if (!list.length) place.list.removeAttribute("aria-activedescendant");
  }

  function made(i, at, key) {
    const label = CC.labels.of(i);
    const against = wrong(i, "fa") || wrong(i, "fr");
    const snippet = el("span", { class: "snippet", dir: "auto" });
    const state = states()[stateOf(i)];
    const row = el("div", {
      class: "case-row", role: "option", id: `case-${i}`, data: { key },
      "aria-posinset": String(at + 1), "aria-setsize": String(list.length),
      on: { click: () => choose(i, true) },
    },
      el("span", { class: "line" }, CC.badge(state), CC.outside(CC.columns.ids[i], { class: "id" }),
        el("span", { class: "value mono" }, CC.number(valueOf(i), digits()))),
      el("span", { class: "line" }, snippet,
        label ? el("span", { class: `said is-${label}${against ? " is-against" : ""}` }, `${CC.labels.isGiven(i) ? "\u270e " : ""}${against ? "\u26a0 " : ""}${label}`) : null));
    CC.case(i).then((found) => {
      const said = found.response ?? found.trials?.[0]?.response;
      snippet.append(said === undefined ? (CC.index.content ? "no response" : "") : CC.text(said.slice(0, 160).replace(/\s+/g, " ")));
    }).catch(CC.trouble);
    return row;
  }

  function refresh() {
    list = sorted(filtered(false));
    place.sizer.style.height = `${tall()}px`;
    const total = CC.index.count;
    place.count.textContent = list.length === total ? CC.plural(total, "case") : `${CC.count(list.length)} of ${CC.plural(total, "case")}`;
    place.none.hidden = list.length > 0;
    chips();
    labelBar();
    draw();
    where();
  }

  const tell = later(() => CC.say(`${place.count.textContent} shown`));

  function where() {
    const at = list.indexOf(chosen);
    if (panel.at) panel.at.textContent = at < 0 ? "not in the list as filtered" : `${CC.count(at + 1)} of ${CC.count(list.length)}`;
  }

  function scrollTo(at, centred) {
    const box = place.list;
    const top = (at * ROW) / ratio();
    const inSight = top >= box.scrollTop && top + ROW <= box.scrollTop + box.clientHeight;
    if (centred && !inSight) box.scrollTop = top - (box.clientHeight - ROW) / 2;
    else if (top < box.scrollTop) box.scrollTop = top;
    else if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
  }

  /* ---- the toolbar ---- */

  function remember() {
    const kept = Object.fromEntries(Object.entries(view).filter(([name, value]) => value && !(name === "sort" && value === "worst")));
    CC.go("cases", { ...kept, case: chosen >= 0 ? CC.columns.ids[chosen] : "" }, true);
  }

  function changed(name, value) {
    view[name] = value;
    if (name === "q") search();
    else refresh();
    place.list.scrollTop = 0;
    draw();
    remember();
    tell();
  }

  function chips() {
    const counts = new Map();
    for (const i of filtered(true)) counts.set(stateOf(i), (counts.get(stateOf(i)) || 0) + 1);
    const on = new Set(view.state.split(",").filter(Boolean));
    const shown = RANK.filter((name) => counts.get(code(name)) || on.has(name));
    const focused = document.activeElement?.dataset?.state;
    CC.clear(place.chips, shown.map((name) => el("button", {
      class: "button chip-state", type: "button", data: { state: name }, "aria-pressed": String(on.has(name)),
      on: { click: () => { if (on.has(name)) on.delete(name); else on.add(name); changed("state", [...on].join(",")); } },
    }, el("span", { class: `dot fill-${name === "error" || name === "skipped" ? "not_measured" : name}`, "aria-hidden": "true" }), CC.word(name), " ", el("span", { class: "muted" }, CC.count(counts.get(code(name)) || 0)))));
    if (focused) place.chips.querySelector(`[data-state="${focused}"]`)?.focus();
  }

  function picker(name, label, options) {
    const select = el("select", { id: `pick-${name}`, on: { change: () => changed(name, select.value) } },
      Object.entries(options).map(([value, said]) => el("option", { value }, said)));
    place[`pick-${name}`] = select;
    return el("label", { class: "pick" }, el("span", null, label), select);
  }

  function slices() {
    const sizes = (numbers, names, kind) => {
      const counts = new Map();
      for (const own of numbers) for (const one of Array.isArray(own) ? own : [own]) if (one >= 0) counts.set(one, (counts.get(one) || 0) + 1);
      return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 300).map(([one]) => `${kind}: ${names[one]}`);
    };
    const fields = CC.columns.fields.flatMap((field) => sizes(field.codes.map((code) => code - 1), field.values, field.name));
    const all = [...sizes(CC.columns.tags, CC.columns.tagNames, "tag"), ...fields, ...sizes(CC.columns.groups, CC.columns.groupNames, "group")];
    if (!all.length) return null;
    const input = el("input", { type: "text", id: "pick-slice", list: "slices", placeholder: "any", autocomplete: "off", on: { change: () => changed("slice", input.value) } });
    place["pick-slice"] = input;
    return el("label", { class: "pick" }, el("span", null, "Slice"), input, el("datalist", { id: "slices" }, all.map((one) => el("option", { value: one }))));
  }

  function labelBar() {
    const given = CC.labels.count;
    place.labels.hidden = given === 0;
    if (!given) { CC.clear(place.labels); return; }
    CC.clear(place.labels,
      el("strong", null, CC.plural(given, "label")), " given here. ",
      el("button", { class: "button main", type: "button", id: "download-given", on: { click: () => download(CC.labels.places(), "labels") } }, "Download them"),
      " ",
      el("button", { class: "button", type: "button", id: "download-all", on: { click: () => download([...CC.columns.ids.keys()].filter((i) => CC.labels.of(i)), "all-labels") } }, "Download all labelled cases"));
  }

  /* A file that closecall reads as cases: the labels, and the texts where the run kept them. */
  async function download(places, name) {
    const lines = [];
    for (const i of places) {
      const found = await CC.case(i);
      const row = { id: found.id, label: CC.labels.of(i) };
      for (const field of ["input", "response", "references", "context", "group", "tags"]) {
        if (found[field] !== undefined) row[field] = found[field];
      }
      lines.push(JSON.stringify(row));
    }
    const stem = CC.index.name.replace(/\.[a-z0-9]+$/i, "").replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 60) || "cases";
    CC.download(`${stem}-${name}.jsonl`, `${lines.join("\n")}\n`, "application/jsonl");
    CC.say(`${CC.plural(lines.length, "label")} written`);
  }

  /* ---- one case ---- */

  async function choose(i, remembered) {
    chosen = i;
    document.getElementById("cases").classList.toggle("has-case", i >= 0);
    draw();
    if (i < 0) { remember(); return; }
    if (remembered) remember();
    try {
      const found = await CC.case(i);
      if (chosen === i) open(found, i);
    } catch (error) {
      CC.trouble(error);
    }
  }

  function open(found, i) {
    panel = { at: el("span", { class: "small muted" }), found, state: {} };
    const label = el("span", { class: "row", id: "case-label" });
    panel.label = label;
    const act = (name, key, run) => el("button", { class: "button", type: "button", id: `act-${key}`, "aria-keyshortcuts": key, on: { click: run } }, name, " ", el("kbd", { "aria-hidden": "true" }, key));
    CC.clear(place.detail,
      el("div", { class: "case-head" },
        el("button", { class: "button quiet back", type: "button", on: { click: () => choose(-1, true) } }, "\u2190 List"),
        el("div", { class: "row grow" },
          el("h3", { id: "case-title", tabindex: "-1" }, CC.outside(found.id)), CC.badge(found.state), label),
        el("div", { class: "row" }, panel.at,
          el("button", { class: "button quiet", type: "button", "aria-label": "Previous case", on: { click: () => step(-1) } }, "\u2191"),
          el("button", { class: "button quiet", type: "button", "aria-label": "Next case", on: { click: () => step(1) } }, "\u2193"))),
      el("div", { class: "row acts", role: "group", "aria-label": "Label this case" },
        act("Accept", "a", () => give("accept")), act("Reject", "r", () => give("reject")), act("Undo", "u", undo)),
      CC.detail.render(found, panel.state));
    place.detail.scrollTop = 0;
    tellLabel(i);
    where();
  }

  function tellLabel(i) {
    if (!panel.label) return;
    const now = CC.labels.of(i);
    const own = CC.labels.own(i);
    CC.clear(panel.label,
      now ? CC.badge(now) : el("span", { class: "small muted" }, "no label"),
      CC.labels.isGiven(i) ? el("span", { class: "small muted" }, `labelled here, ${own ? `${own} in the file` : "none in the file"}`) : now ? el("span", { class: "small muted" }, "by label") : null);
    for (const [key, name] of [["a", "accept"], ["r", "reject"]]) {
      document.getElementById(`act-${key}`)?.setAttribute("aria-pressed", String(now === name));
    }
  }

  function give(label) {
    if (chosen < 0) return false;
    CC.labels.give(chosen, label);
    CC.say(`${CC.columns.ids[chosen]}: ${label}`);
    return true;
  }

  function undo() {
    const i = CC.labels.back();
    if (i === null) { CC.say("nothing to undo"); return; }
    CC.say(`${CC.columns.ids[i]}: label taken back`);
    if (i !== chosen) choose(i, true);
  }

  function step(by) {
    if (!list.length) return;
    const at = list.indexOf(chosen);
    const next = at < 0 ? 0 : Math.min(list.length - 1, Math.max(0, at + by));
    scrollTo(next);
    choose(list[next], true);
  }

  /* ---- the page ---- */

  function start() {
    const metrics = Object.fromEntries([["", "All together"], ...CC.index.metrics.map((one) => [one.id, CC.plainText(one.id)])]);
    place.search = el("input", { type: "search", id: "search", placeholder: CC.index.content ? "Search ids and texts" : "Search ids", "aria-label": "Search cases", autocomplete: "off", spellcheck: "false" });
    const typed = later(() => changed("q", place.search.value));
    place.search.addEventListener("input", typed);
    place.progress = el("span", { class: "small muted", role: "status" });
    place.count = el("span", { class: "count", id: "count" });
    place.chips = el("div", { class: "row", role: "group", "aria-label": "States" });
    place.labels = el("div", { class: "note good labels", id: "labels-given", hidden: true });
    place.rows = el("div", { class: "rows", role: "presentation" });
    place.sizer = el("div", { class: "sizer", role: "presentation" }, place.rows);
    place.none = el("p", { class: "muted none", hidden: true }, "No case fits.");
    place.list = el("div", { class: "case-list", role: "listbox", tabindex: "0", "aria-label": "Cases", id: "case-list" }, place.sizer);
    place.detail = el("div", { class: "case-detail card", id: "case-detail", role: "region", "aria-label": "The case" }, el("p", { class: "muted" }, "Choose a case."));
    place.list.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
    place.list.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -list.length, End: list.length }[event.key];
      if (by) { event.preventDefault(); step(by); }
    });
    CC.clear(document.getElementById("cases-app"),
      el("div", { class: "toolbar" },
        el("div", { class: "row" }, place.search, ONE ? null : picker("metric", "Metric", metrics), picker("label", "Label", { "": "any", accept: "accept", reject: "reject", none: "none" }),
          picker("show", "Show", SHOWS), slices()),
        el("div", { class: "row" }, place.chips, el("span", { class: "grow" }), place.progress, place.count, picker("sort", "Sort", SORTS))),
      place.labels,
      el("div", { class: "panes" }, el("div", { class: "pane-list" }, place.list, place.none), place.detail));
    new ResizeObserver(() => draw()).observe(place.list);
    CC.labels.listen((i) => {
      labelBar();
      draw();
      if (i === chosen) tellLabel(i);
    });
    CC.key("j", "Next case", () => step(1), "cases");
    CC.key("k", "Previous case", () => step(-1), "cases");
    CC.key("a", "Accept this case", () => give("accept"), "cases");
    CC.key("r", "Reject this case", () => give("reject"), "cases");
    CC.key("u", "Undo the last label", undo, "cases");
    CC.key("/", "Search", () => place.search.focus(), "cases");
    CC.key("Escape", "Back to the list", () => { if (document.activeElement === place.search) place.search.blur(); else if (matchMedia("(max-width: 900px)").matches) choose(-1, true); }, "cases");
    addEventListener("beforeprint", printed);
  }

  /* Paper has no list to scroll: the filtered cases as a plain table, then the one that is open. */
  function printed() {
    const shown = list.slice(0, PRINTED);
    CC.clear(document.getElementById("cases-print"),
      el("p", null, `${place.count.textContent}${list.length > shown.length ? `, the first ${CC.count(PRINTED)} of them` : ""}, ${SORTS[view.sort].toLowerCase()}`),
      el("table", null, el("caption", { class: "visually-hidden" }, "The cases as filtered"),
        el("thead", null, el("tr", null, ["case", "state", "label", ...CC.index.metrics.map((one) => one.id)].map((name, at) => el("th", { scope: "col", class: at > 2 ? "num" : null }, CC.outside(name))))),
        el("tbody", null, shown.map((i) => el("tr", null, el("th", { scope: "row" }, CC.outside(CC.columns.ids[i])), el("td", null, CC.word(states()[CC.columns.states[i]])), el("td", null, CC.labels.of(i) || ""),
          CC.index.metrics.map((one, at) => el("td", { class: "num" }, CC.number(CC.columns.metrics[at].values[i], one.digits))))))),
      chosen >= 0 && panel.found ? el("div", { class: "printed-case" }, el("h3", null, CC.outside(panel.found.id), " ", CC.badge(panel.found.state)), CC.detail.render(panel.found, panel.state)) : null);
  }

  function show(section, params) {
    const before = view.q;
    for (const name of Object.keys(view)) view[name] = params[name] || (name === "sort" ? "worst" : "");
    place.search.value = view.q;
    for (const name of ["metric", "label", "show", "sort", "slice"]) if (place[`pick-${name}`]) place[`pick-${name}`].value = view[name];
    if (view.q !== before) search();
    else refresh();
    const asked = params.case === undefined ? -1 : CC.columns.places.get(params.case) ?? -1;
    if (params.case !== undefined && asked < 0) CC.trouble(`There is no case ${CC.plainText(params.case)} in this report.`);
    const wide = matchMedia("(min-width: 901px)").matches;
    const next = asked >= 0 ? asked : wide && list.length ? list[0] : -1;
    if (next !== chosen || next < 0) choose(next, false);
    const at = list.indexOf(next);
    if (at >= 0) scrollTo(at, true);
    draw();
  }

  CC.page("cases", { start, show });
})();

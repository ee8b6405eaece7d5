"use strict";
/* Everything that is known of one case, in one panel. */
CC.detail = (() => {
  const { el } = CC;
  /* Characters of a text that are shown at once, and that are compared word by word. */
  const SHOWN = 6000;
  const CLIPPED = 20000;
  /* Word matches: where nobody has chosen, shown where there is no difference to show. */
  const marksOn = { diff: true, guards: true, support: true, alignment: null };
  const GUARD_WORDS = { differ: "differs", agree: "agrees", absent: "nothing to compare" };

  const digits = (m) => CC.index.metrics[m].digits;
  const clean = (text) => text.replace(/\r\n?/g, "\n").normalize("NFC");

  /* Guards look at the text in NFC with LF, and so do their spans. */
  function findings(found) {
    const made = new Map();
    for (const result of found.results) {
      const all = { ...(result.details?.findings || {}), ...(result.details?.heldBack || {}) };
      for (const [name, one] of Object.entries(all)) {
        if (one && typeof one === "object" && (!made.has(name) || made.get(name).state !== "differ")) made.set(name, one);
      }
    }
    return made;
  }

  function guardMarks(text, found, side, reference) {
    const marks = [];
    for (const [name, one] of findings(found)) {
      if (one.state === "absent") continue;
      if (side === "spansReference" && (one.reference ?? 0) !== reference) continue;
      for (const [start, end] of CC.diff.units(text, one[side] || [])) {
        marks.push({ start, end, class: `m-guard ${one.state === "differ" ? "is-differ" : "is-agree"}`, title: `${name} ${GUARD_WORDS[one.state] || one.state}: ${one.words || ""}` });
      }
    }
    return marks;
  }

  /* Where facts were found, metrics keep the places in the response. */
  function factMarks(text, found) {
    const marks = [];
    for (const result of found.results) {
      for (const [name, differs] of [["found", false], ["unwanted", true]]) {
        const list = result.details?.[name];
        if (!Array.isArray(list)) continue;
        for (const one of list) {
          if (typeof one?.start !== "number" || typeof one.end !== "number") continue;
          const [[start, end]] = CC.diff.units(text, [[one.start, one.end]]);
          marks.push({ start, end, class: `m-guard ${differs ? "is-differ" : "is-agree"}`, title: `${differs ? "unwanted" : "wanted"}: ${one.wanted || ""}` });
        }
      }
    }
    return marks;
  }

  /* What a pair model went by: the sentence that is supported least, the part that counts against. */
  function supports(found) {
    const span = (start, end) => (Number.isInteger(start) && Number.isInteger(end) && start < end ? [start, end] : null);
    return found.results.map((result, m) => {
      const details = result.details || {};
      const at = Array.isArray(details.weakestSentenceAt) ? details.weakestSentenceAt : [];
      const part = details.against;
      const value = details.weakestSentenceSupport ?? details.weakestSentenceAlignment;
      const of = details.readings ?? details.sentences;
      return {
        metric: CC.index.metrics[m]?.id,
        sentence: typeof value === "number" && of > 1 ? { text: details.weakestSentence, value, of, span: span(at[0], at[1]) } : null,
        against: typeof part?.without === "number" ? { text: part.text, without: part.without, span: span(part.start, part.end) } : null,
      };
    }).filter((one) => one.sentence || one.against);
  }

  function supportMarks(text, found) {
    const marks = [];
    for (const { metric, sentence, against } of supports(found)) {
      for (const [one, kind, title] of [
        [sentence, "m-sentence", sentence && `${metric}: least supported, ${sentence.value.toFixed(2)}`],
        [against, "m-against", against && `${metric}: without this ${against.without.toFixed(2)}`],
      ]) {
        if (!one?.span) continue;
        const [[start, end]] = CC.diff.units(text, [one.span]);
        marks.push({ start, end, class: kind, title });
      }
    }
    return marks;
  }

  const heat = (match) => CC.heat.level(match);

  /* The five words with the weakest match, which every result keeps that looked word by word. */
  function weakWords(found, side) {
    const made = [];
    found.results.forEach((result, m) => {
      const details = result.details || {};
      const ofResponse = details.alignmentPrecision !== undefined && details.alignmentRecall === undefined;
      const list = side === "response"
        ? details.weakestOfResponse || (ofResponse ? details.weakest : null)
        : ofResponse ? null : details.weakest;
      if (Array.isArray(list)) made.push({ metric: CC.index.metrics[m]?.id, words: list.filter((one) => typeof one?.word === "string" && typeof one.match === "number") });
    });
    return made.filter((one) => one.words.length);
  }

  /* Of runs that kept no more than those, they are what can be marked. */
  function weakMarks(text, found, side) {
    const marks = [];
    for (const { metric, words } of weakWords(found, side)) {
      const by = new Map();
      for (const one of words) if (!by.has(one.word)) by.set(one.word, one.match);
      for (const match of text.matchAll(/[\p{L}\p{M}\p{N}']+|[^\s\p{L}\p{N}]/gu)) {
        const weak = by.get(match[0]);
        if (weak !== undefined) marks.push({ start: match.index, end: match.index + match[0].length, class: `m-weak heat-${heat(weak)}`, title: `${metric}: best match ${weak.toFixed(2)}` });
      }
    }
    return marks;
  }

  /* A text with its marks; of a long one the beginning, until the rest is asked for. */
  function shownText(text, marks, empty) {
    if (text === undefined || text === null) return el("p", { class: "muted" }, empty);
    if (!text.trim()) return el("p", { class: "muted" }, text ? `${CC.count(text.length)} blank characters` : "empty text");
    const place = el("div", { class: "text body", dir: "auto" });
    const put = (all) => {
      const part = all ? text : text.slice(0, SHOWN);
      CC.clear(place, CC.diff.draw(part, marks.filter((one) => one.end <= part.length)));
      if (!all && text.length > SHOWN) {
        place.append(el("button", { class: "button more", type: "button", on: { click: () => put(true) } },
          `Show all ${CC.count(text.length)} characters`));
      }
    };
    put(text.length <= SHOWN);
    return place;
  }

  function bestReference(found) {
    for (const result of found.results) {
      const best = result.details?.bestReference;
      if (Number.isInteger(best) && found.references?.[best] !== undefined) return best;
    }
    const at = (found.references || []).findIndex((one) => one.trim());
    return Math.max(at, 0);
  }

  function bestPassage(found) {
    for (const result of found.results) {
      const best = result.details?.bestPassage;
      if (Number.isInteger(best) && found.context?.[best] !== undefined) return best;
    }
    return 0;
  }

  /* What metrics say in words they say of one answer; of several that is the one looked at. */
  const said = (found, state) => (found.trials?.length ? { ...found, results: found.trials[state.trial ?? 0].results || [] } : found);

  /* ---- the two texts side by side ---- */

  function beside(found, state, told) {
    const sides = [];
    (found.references || []).forEach((text, at) => sides.push({ name: found.references.length > 1 ? `reference ${at + 1}` : "reference", text, side: "reference", at }));
    (found.context || []).forEach((text, at) => sides.push({ name: found.context.length > 1 ? `context ${at + 1}` : "context", text, side: "context", at }));
    const best = found.references?.length ? bestReference(found) : (found.references || []).length + bestPassage(found);
    const place = el("div");
    const runs = (found.trials || []).map((trial) => trial.response);
    const put = () => {
      told(found, state);
      const left = sides[state.left ?? best];
      const response = runs.length ? runs[state.trial ?? 0] : found.response;
      const source = said(found, state);
      const leftText = left && clean(left.text);
      const rightText = response === undefined || response === null ? undefined : clean(response);
      const marks = { left: [], right: [] };
      let aligned = true;
      if (marksOn.diff && left && rightText !== undefined && left.side === "reference") {
        const cutLeft = leftText.slice(0, CLIPPED);
        const cutRight = rightText.slice(0, CLIPPED);
        const changed = CC.diff.compare(cutLeft, cutRight);
        aligned = changed.aligned;
        const hot = (one) => (one.hot ? ` is-hot is-${one.hot}` : "");
        marks.left.push(...CC.diff.joined(cutLeft, changed.left).map((one) => ({ ...one, tag: "del", class: `m-gone${hot(one)}`, title: `not in the response${one.hot ? `: a ${one.hot}` : ""}` })));
        marks.right.push(...CC.diff.joined(cutRight, changed.right).map((one) => ({ ...one, tag: "ins", class: `m-new${hot(one)}`, title: `not in the reference${one.hot ? `: a ${one.hot}` : ""}` })));
      }
      if (marksOn.guards) {
        if (left?.side === "reference") marks.left.push(...guardMarks(leftText, source, "spansReference", left.at));
        if (rightText !== undefined) marks.right.push(...guardMarks(rightText, source, "spansResponse", 0), ...factMarks(rightText, source));
      }
      if (marksOn.support && rightText !== undefined) marks.right.push(...supportMarks(rightText, source));
      const words = CC.heat.chosen(source, state);
      const matches = marksOn.alignment ?? !(found.references || []).length;
      const itsOwn = left?.side === "reference" && left.at === (words?.best ?? bestReference(source));
      if (matches && words) {
        if (itsOwn) marks.left.push(...CC.heat.marks(leftText, words, "reference"));
        if (rightText !== undefined) marks.right.push(...CC.heat.marks(rightText, words, "response"));
      } else if (matches) {
        if (itsOwn) marks.left.push(...weakMarks(leftText, source, "reference"));
        if (rightText !== undefined) marks.right.push(...weakMarks(rightText, source, "response"));
      }
      const leftPick = sides.length > 1
        ? el("select", { "aria-label": "What stands beside the response", on: { change: (event) => { state.left = Number(event.target.value); put(); } } },
          sides.map((one, at) => el("option", { value: String(at), selected: at === (state.left ?? best) }, `${one.name}${at === best ? " (best)" : ""}`)))
        : el("span", null, left ? left.name : "reference");
      const rightPick = runs.length
        ? el("select", { "aria-label": "Which run's response", on: { change: (event) => { state.trial = Number(event.target.value); put(); } } },
          runs.map((_, at) => el("option", { value: String(at), selected: at === (state.trial ?? 0) }, `response of run ${at + 1}, ${CC.word(found.trials[at].state)}`)))
        : el("span", null, "response");
      const absent = CC.index.content ? "none" : "the run kept no texts";
      CC.clear(place,
        el("div", { class: "beside" },
          el("div", { class: "side-text", tabindex: "0", role: "group", "aria-label": "Expected text" }, el("div", { class: "side-name" }, leftPick), shownText(leftText, marks.left, absent)),
          el("div", { class: "side-text", tabindex: "0", role: "group", "aria-label": "Response" }, el("div", { class: "side-name" }, rightPick), shownText(rightText, marks.right, absent))),
        aligned ? null : el("p", { class: "small muted" }, "Too long to be aligned: marked are the words that the other text does not have at all."),
        legend(source, matches, put),
        matches && CC.index.content ? CC.heat.legend(source, state, { reference: itsOwn ? leftText : undefined, response: rightText }, put) : null);
    };
    put();
    return place;
  }

  function legend(found, matches, put) {
    if (!CC.index.content) return null;
    const on = (name) => (name === "alignment" ? matches : marksOn[name]);
    const toggle = (name, label, sample) => el("button", {
      class: "button toggle", type: "button", "aria-pressed": String(on(name)), data: { marks: name },
      on: { click: (event) => { const inside = event.target.closest(".legend-marks").parentElement; marksOn[name] = !on(name); put(); inside.querySelector(`[data-marks="${name}"]`)?.focus(); } },
    }, label, " ", sample);
    const swatches = [1, 2, 3, 4].map((step) => el("span", { class: `swatch heat-${step}`, "aria-hidden": "true" }));
    return el("div", { class: "row legend-marks", role: "group", "aria-label": "What is marked in the texts" },
      toggle("diff", "Differences", [el("del", { class: "m-gone" }, "gone"), " ", el("ins", { class: "m-new" }, "new"), " ", el("del", { class: "m-gone is-hot" }, "number, name, not")]),
      findings(found).size ? toggle("guards", "Guards", [el("mark", { class: "m-guard is-differ" }, "differs"), " ", el("mark", { class: "m-guard is-agree" }, "agrees")]) : null,
      supports(found).some((one) => one.sentence?.span || one.against?.span) ? toggle("support", "Support", [el("mark", { class: "m-sentence" }, "least supported"), " ", el("mark", { class: "m-against" }, "counts against")]) : null,
      CC.heat.choices(found).length ? toggle("alignment", "Word matches", swatches)
        : weakWords(found, "reference").length || weakWords(found, "response").length ? toggle("alignment", "Weakest words", swatches) : null);
  }

  /* ---- metrics ---- */

  function scale(result, m) {
    const plan = CC.index.metrics[m];
    if (result.value === undefined || plan.low === null || plan.high === null || !(plan.high > plan.low)) return null;
    const at = (value) => 100 * Math.min(1, Math.max(0, (value - plan.low) / (plan.high - plan.low)));
    const cutoff = result.cutoff;
    return CC.svg("svg", { class: "scale", viewBox: "0 0 104 10", "aria-hidden": "true", focusable: "false" },
      CC.svg("line", { x1: 2, x2: 102, y1: 5, y2: 5, class: "axis" }),
      cutoff === undefined ? null : CC.svg("line", { x1: 2 + at(cutoff), x2: 2 + at(cutoff), y1: 0, y2: 10, class: "cut" }),
      CC.svg("circle", { cx: 2 + at(result.value), cy: 5, r: 3, class: `fill-${result.state}` }));
  }

  /* As many decimals as show on which side of the cutoff a value lies. */
  function exact(value, cutoff, least) {
    for (let places = least; places < 12; places += 1) {
      const said = value.toFixed(places);
      if (cutoff === undefined || value === cutoff || Math.sign(Number(said) - cutoff) === Math.sign(value - cutoff)) return said;
    }
    return String(value);
  }

  function results(found) {
    return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Metrics of this case" }, el("table", null,
      el("caption", { class: "visually-hidden" }, "Each metric of this case"),
      el("thead", null, el("tr", null, ["metric", "state", "value", "cutoff"].map((name, at) => el("th", { scope: "col", class: at > 1 ? "num" : null }, name)))),
      found.results.map((result, m) => el("tbody", null,
        el("tr", { class: "joined" },
          el("th", { scope: "row" }, CC.outside(CC.index.metrics[m].id, { class: "metric" }), scale(result, m)),
          el("td", null, CC.badge(result.state), result.borderline ? el("span", { class: "below" }, "close call") : null,
            result.held?.length ? el("span", { class: "below" }, `held back: ${result.held.join(", ")}`) : null),
          el("td", { class: "num" }, result.value === undefined ? "-" : exact(result.value, result.cutoff, digits(m))),
          el("td", { class: "num" }, result.cutoff === undefined ? "-" : String(Number(result.cutoff.toPrecision(10))))),
        el("tr", null, el("td", { colspan: "4" }, CC.outside(result.reason || ""), details(result)))))));
  }

  const OWN_PLACE = new Set(["heldBack", "findings", "weakest", "weakestOfResponse", "wordMatches", "weakestSentence", "weakestSentenceAt", "weakestSentenceSupport", "weakestSentenceAlignment", "against", "reason", "thoughts", "votes", "nearestLabelled"]);

  function details(result) {
    const rows = Object.entries(result.details || {}).filter(([name]) => !OWN_PLACE.has(name));
    const tokens = Object.entries(result.tokens || {});
    if (!rows.length && !tokens.length) return null;
    const said = (value) => (typeof value === "string" ? value : JSON.stringify(value));
    return el("details", { class: "small" }, el("summary", null, "Details"),
      el("dl", { class: "facts" },
        rows.map(([name, value]) => el("div", null, el("dt", null, CC.text(name)), el("dd", null, CC.outside(said(value))))),
        tokens.map(([name, one]) => el("div", null, el("dt", null, `tokens of ${name}`),
          el("dd", null, `${CC.count(one.seen)} of ${CC.count(one.total)} read${one.windows > 1 ? ` in ${one.windows} windows` : ""}${one.unknown ? `, ${CC.count(one.unknown)} unknown to the model` : ""}`)))));
  }

  /* ---- what metrics say in words ---- */

  function section(title, ...children) {
    const inside = children.flat(Infinity).filter(Boolean);
    return inside.length ? el("section", { class: "part" }, el("h4", null, title), inside) : null;
  }

  function guards(found) {
    const all = [...findings(found)].filter(([, one]) => one.state !== "absent");
    return section("Guards", all.map(([name, one]) => el("p", null,
      el("span", { class: `badge is-${one.state === "differ" ? "failed" : "passed"}` }, el("span", { "aria-hidden": "true" }, one.state === "differ" ? "\u2260" : "="), ` ${name} ${GUARD_WORDS[one.state] || one.state}`),
      " ", CC.outside(one.words || ""))));
  }

  function weakest(found) {
    const lists = [...weakWords(found, "reference").map((one) => ({ ...one, of: "the reference" })), ...weakWords(found, "response").map((one) => ({ ...one, of: "the response" }))];
    return section("Weakest words", lists.map((one) => el("p", { class: "row" },
      el("span", { class: "small muted" }, CC.outside(one.metric), `, words of ${one.of} and their best match:`),
      one.words.map((weak) => el("span", { class: `chip heat-${heat(weak.match)}` }, CC.outside(weak.word), " ", el("span", { class: "mono" }, weak.match.toFixed(2)))))));
  }

  function support(found) {
    const said = (one) => (typeof one.text === "string" && one.text.trim() ? el("q", null, CC.outside(one.text)) : one.span ? `characters ${CC.count(one.span[0])} to ${CC.count(one.span[1])}` : "a part of it");
    return section("Support", supports(found).flatMap(({ metric, sentence, against }) => [
      sentence ? el("p", null, el("span", { class: "small muted" }, CC.outside(metric), ", the least supported sentence: "), said(sentence), " ", el("span", { class: "mono" }, sentence.value.toFixed(2)), el("span", { class: "small muted" }, ` of ${CC.count(sentence.of)}`)) : null,
      against ? el("p", null, el("span", { class: "small muted" }, CC.outside(metric), ", the part that counts most against it: "), said(against), el("span", { class: "small muted" }, " without it "), el("span", { class: "mono" }, against.without.toFixed(2))) : null,
    ]));
  }

  function judges(found) {
    const made = [];
    found.results.forEach((result, m) => {
      const one = result.details || {};
      if (!one.reason && !one.thoughts && !one.votes) return;
      made.push(el("div", { class: "judge" },
        el("p", { class: "small muted" }, CC.outside(CC.index.metrics[m].id), one.judge ? [", ", CC.outside(String(one.judge))] : null, one.rating !== undefined ? `, rated ${one.rating}` : null),
        one.reason ? el("blockquote", null, CC.outside(String(one.reason))) : null,
        one.thoughts ? el("details", null, el("summary", null, "Thoughts"), el("blockquote", null, CC.outside(String(one.thoughts)))) : null,
        Array.isArray(one.votes) ? el("ul", { class: "lines small" }, one.votes.map((vote) => el("li", null, CC.outside(String(vote.judge ?? "")), ` ${vote.score}`, vote.reason ? [": ", CC.outside(String(vote.reason))] : null))) : null));
    });
    return section("Judges", made);
  }

  function nearest(found) {
    const list = found.results.map((result) => result.details?.nearestLabelled).find(Array.isArray) || [];
    const usable = list.filter((one) => one && typeof one === "object");
    return section("Nearest labelled answers", usable.length ? el("ul", { class: "lines" }, usable.map((one) => {
      const i = CC.columns.places.get(one.id);
      return el("li", null, CC.badge(one.label), " ", el("span", { class: "mono" }, typeof one.similarity === "number" ? one.similarity.toFixed(3) : "-"), " ",
        i === undefined ? CC.outside(String(one.id ?? "")) : CC.link(i), one.sameQuestion ? el("span", { class: "muted" }, " same question") : null,
        one.response ? el("div", { class: "small" }, CC.outside(one.response)) : null);
    })) : null);
  }

  function trials(found) {
    if (!found.trials?.length) return null;
    return section(`${found.trials.length} runs of this case`, el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Runs of this case" }, el("table", { class: "small" },
      el("caption", { class: "visually-hidden" }, "Each run of this case"),
      el("thead", null, el("tr", null, el("th", { scope: "col" }, "run"), el("th", { scope: "col" }, "state"),
        CC.index.metrics.map((plan) => el("th", { scope: "col", class: "num" }, CC.outside(plan.id, { class: "metric" }))))),
      found.trials.map((trial, at) => el("tbody", null, el("tr", { class: "joined" }, el("th", { scope: "row", class: "narrow" }, String(at + 1)), el("td", null, CC.badge(trial.state)),
        CC.index.metrics.map((_, m) => {
          const one = trial.results?.[m];
          return el("td", { class: "num", title: one?.reason }, one?.value === undefined ? CC.word(one?.state || "not_measured") : CC.number(one.value, digits(m)));
        }),
      ), el("tr", null, el("td", { colspan: String(2 + CC.index.metrics.length) }, trial.response === undefined ? el("span", { class: "muted" }, "no response") : shownText(clean(trial.response), [], "no response"))))))));
  }

  function passages(found) {
    const best = bestPassage(found);
    const list = found.context || [];
    return section(list.length > 1 ? `Context, ${CC.plural(list.length, "passage")}` : "Context", list.map((text, at) => {
      const body = shownText(clean(text), [], "none");
      if (list.length === 1) return body;
      return el("details", { open: at === best }, el("summary", null, `Passage ${at + 1}${at === best ? ", the best" : ""}, ${CC.plural(text.length, "character")}`), body);
    }));
  }

  /* The fields of a case by their dotted paths, as slices and filters name them. */
  function metadata(fields, path) {
    return Object.entries(fields || {}).flatMap(([name, value]) => {
      const place = path ? `${path}.${name}` : name;
      if (value === null) return [];
      if (typeof value === "object" && !Array.isArray(value)) return metadata(value, place);
      return [[place, Array.isArray(value) ? value.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join(", ") : String(value)]];
    });
  }

  function facts(found) {
    const rows = [["group", found.group], ["tags", (found.tags || []).join(", ")], ...metadata(found.metadata, ""), ["place", found.place]].filter(([, value]) => value);
    for (const one of found.answered || []) {
      const tokens = one.prompt_tokens === undefined || one.prompt_tokens === null ? "" : `, ${CC.count(one.prompt_tokens)} + ${one.completion_tokens === null || one.completion_tokens === undefined ? "-" : CC.count(one.completion_tokens)} tokens`;
      rows.push(["answered by", `${one.model}${tokens}${one.replayed ? ", from a recording" : ""}`]);
    }
    return section("Where it comes from", rows.length ? el("dl", { class: "facts" }, rows.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, CC.outside(String(value)))))) : null);
  }

  /* Returns what is shown of a case; state keeps what was chosen in the panel. */
  function render(found, state) {
    const words = el("div");
    const told = () => {
      const source = said(found, state);
      const of = found.trials?.length ? el("p", { class: "small muted part" }, `What follows is about run ${(state.trial ?? 0) + 1}:`) : null;
      const parts = [guards(source), support(source), weakest(source), judges(source), nearest(source)].filter(Boolean);
      CC.clear(words, parts.length ? [of, parts] : null);
    };
    return [
      section("Question", found.input === undefined ? null : shownText(clean(found.input), [], "none")),
      el("section", { class: "part" }, el("h4", { class: "visually-hidden" }, "Texts side by side"), beside(found, state, told)),
      el("section", { class: "part" }, el("h4", null, "Metrics"), results(found)),
      words, trials(found), passages(found), facts(found),
    ];
  }

  return { render, marksOn, exact };
})();

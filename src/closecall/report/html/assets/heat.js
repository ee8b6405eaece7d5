"use strict";
/* How well each word of a text is matched, by the metrics that look word by word. */
CC.heat = (() => {
  const { el } = CC;
  /* The least match of each level, from well matched (0) to hardly at all (4, which has none). */
  const LEAST = [0.8, 0.65, 0.5, 0.35];
  const SIDES = ["reference", "response"];

  const level = (match) => { const at = LEAST.findIndex((least) => match >= least); return at < 0 ? LEAST.length : at; };
  const whole = (list) => Array.isArray(list) && list.every(Number.isInteger);

  /* The words of one text as a result keeps them: [start, end, match]; null where it has none. */
  function read(details, side) {
    const one = details?.wordMatches?.[side];
    if (!one || !whole(one.spans) || !whole(one.matches) || one.spans.length !== 2 * one.matches.length) return null;
    let at = 0;
    const words = one.matches.map((match, i) => {
      const start = at + one.spans[2 * i];
      at = start + one.spans[2 * i + 1];
      return [start, at, match / 100];
    });
    return { words, leftOut: Number.isInteger(one.leftOut) ? one.leftOut : 0 };
  }

  /* The metrics of a case that keep such words, each with those of both texts. */
  function metrics(found) {
    const made = [];
    (found.results || []).forEach((result, m) => {
      const own = Object.fromEntries(SIDES.map((side) => [side, read(result.details, side)]));
      if (own.reference || own.response) made.push({ metric: CC.index.metrics[m]?.id ?? "", reference: own.reference, response: own.response, best: result.details.bestReference });
    });
    return made;
  }

  /* What can be marked: each text by the first metric that looked at it, then metric by metric.
     Of those that looked at the same words in the same way one is enough. */
  function choices(found) {
    const seen = new Map();
    const every = metrics(found);
    const [reference, response] = SIDES.map((side) => every.find((one) => one[side]));
    if (reference && response && reference !== response) {
      every.unshift({ metric: `${reference.metric} (reference), ${response.metric} (response)`, reference: reference.reference, response: response.response, best: reference.best });
    }
    for (const one of every) {
      const key = JSON.stringify([one.reference?.words, one.response?.words]);
      if (seen.has(key)) seen.get(key).names.push(one.metric);
      else seen.set(key, { ...one, names: [one.metric] });
    }
    return [...seen.values()];
  }

  const chosen = (found, state) => { const all = choices(found); return all[state.heat ?? 0] || all[0] || null; };

  function marks(text, one, side) {
    const own = one?.[side];
    if (!own) return [];
    const places = CC.diff.units(text, own.words.map(([start, end]) => [start, end]));
    return places.map(([start, end], i) => {
      const match = own.words[i][2];
      return { start, end, class: `m-heat heat-${level(match)}`, title: `best match ${match.toFixed(2)}` };
    });
  }

  /* What the marks mean, and the same in figures for who cannot see them. */
  function legend(found, state, texts, put) {
    const all = choices(found);
    const one = chosen(found, state);
    if (!one) return null;
    const name = (entry) => entry.names.join(", ");
    const pick = all.length > 1
      ? el("select", { "aria-label": "Whose word matches are marked", class: "pick-heat", on: { change: (event) => { state.heat = Number(event.target.value); put(); } } },
        all.map((entry, at) => el("option", { value: String(at), selected: entry === all[state.heat ?? 0] }, name(entry))))
      : CC.outside(name(one), { class: "metric" });
    const samples = [...LEAST.map((least) => `from ${least.toFixed(2)}`), "below"];
    return el("div", { class: "heat-legend small" },
      el("p", null, "Best match of each word, by ", pick, ": ",
        samples.map((said, at) => [el("span", { class: `m-heat heat-${at}` }, said), " "]),
        el("span", { class: "muted" }, "The weaker the match, the stronger the line. Words that the model did not read, or does not know, have none either.")),
      SIDES.filter((side) => one[side]).map((side) => listed(one[side], side, texts[side])));
  }

  function listed(own, side, text) {
    if (text === undefined) return null;
    const total = own.words.length + own.leftOut;
    const place = el("p", { class: "words-listed" });
    const cut = own.leftOut ? `, the first ${CC.count(own.words.length)} of ${CC.count(total)}` : "";
    const fill = () => {
      if (place.childNodes.length) return;
      const places = CC.diff.units(text, own.words.map(([start, end]) => [start, end]));
      own.words.forEach(([, , match], i) => {
        place.append(el("span", { class: `chip heat-${level(match)}` }, CC.outside(text.slice(...places[i])), " ", el("span", { class: "mono" }, match.toFixed(2))), " ");
      });
    };
    return el("details", { class: "small", on: { toggle: fill } },
      el("summary", null, `Words of the ${side} with their best match${cut || ` (${CC.count(total)})`}`), place,
      own.leftOut ? el("p", { class: "muted" }, `${CC.count(own.leftOut)} further words of this long text are not marked.`) : null);
  }

  return { level, choices, chosen, marks, legend };
})();

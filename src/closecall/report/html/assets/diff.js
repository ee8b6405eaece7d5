"use strict";
/* What differs between two texts, word by word, and how it is drawn.
   Case, width and punctuation apart: those are no difference in what is said. */
CC.diff = (() => {
  const MOST_CELLS = 4000000;
  const UNSPACED = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}";
  /* A number with its separators, one sign of a script without spaces, or a word. */
  const WORD = new RegExp(
    `\\p{N}+(?:[.,:/\u2019']\\p{N}+)*%?|[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{M}])+(?:['\u2019-](?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+)*\\p{N}*`, "gu");
  const NEGATIONS = new Set(("no not never none nobody nothing nowhere neither nor without cannot can't won't don't "
    + "doesn't didn't isn't aren't wasn't weren't hasn't haven't hadn't shouldn't wouldn't couldn't mustn't unable "
    + "nicht kein keine keinen keinem keiner nie niemals ohne weder noch ne pas jamais sans aucun aucune rien "
    + "nunca sin ni tampoco ning\u00fan ninguna nada non mai senza nessun nessuna niente n\u00e3o nem sem nenhum nenhuma "
    + "niet geen nooit zonder nie nigdy bez \u043d\u0435 \u043d\u0435\u0442 \u043d\u0438\u043a\u043e\u0433\u0434\u0430 \u0431\u0435\u0437 \u4e0d \u6ca1 \u65e0 \u975e").split(" "));
  const NUMBERS = new Set(("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    + "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand "
    + "million billion half twice once dozen").split(" "));

  function kindOf(word, first) {
    const low = word.toLowerCase().replace(/\u2019/g, "'");
    if (NEGATIONS.has(low) || low.endsWith("n't")) return "negation";
    if (/\p{N}/u.test(word) || NUMBERS.has(low)) return "number";
    if (!first && /^\p{Lu}/u.test(word) && low !== "i") return "name";
    return "";
  }

  /* Words with where they stand (in UTF-16 units) and what kind of word they are. */
  function words(text) {
    const found = [];
    let end = 0;
    for (const match of text.matchAll(WORD)) {
      const first = found.length === 0 || /[.!?:\n]/.test(text.slice(end, match.index));
      end = match.index + match[0].length;
      found.push({
        start: match.index, end,
        key: match[0].normalize("NFKC").toLowerCase().replace(/\u2019/g, "'"),
        kind: kindOf(match[0], first),
      });
    }
    return found;
  }

  /* The longest common run of words, by dynamic programming between the common ends. */
  function matched(a, b) {
    const pairs = [];
    let low = 0;
    while (low < a.length && low < b.length && a[low].key === b[low].key) { pairs.push([low, low]); low += 1; }
    let endA = a.length;
    let endB = b.length;
    const tail = [];
    while (endA > low && endB > low && a[endA - 1].key === b[endB - 1].key) { endA -= 1; endB -= 1; tail.push([endA, endB]); }
    const n = endA - low;
    const m = endB - low;
    if (n * m > MOST_CELLS) return null;
    if (n && m) {
      const wide = m + 1;
      const best = new Uint32Array((n + 1) * wide);
      for (let i = n - 1; i >= 0; i -= 1) {
        for (let j = m - 1; j >= 0; j -= 1) {
          best[i * wide + j] = a[low + i].key === b[low + j].key
            ? best[(i + 1) * wide + j + 1] + 1
            : Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1]);
        }
      }
      let i = 0;
      let j = 0;
      while (i < n && j < m) {
        if (a[low + i].key === b[low + j].key) { pairs.push([low + i, low + j]); i += 1; j += 1; }
        else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1]) i += 1;
        else j += 1;
      }
    }
    return pairs.concat(tail.reverse());
  }

  /* Where two texts are too long to be aligned: the words that the other does not have at all. */
  function bagged(a, b) {
    const inA = new Set(a.map((one) => one.key));
    const inB = new Set(b.map((one) => one.key));
    const mark = (own, other) => own.filter((one) => !other.has(one.key)).map((one) => ({ start: one.start, end: one.end, hot: one.kind === "number" || one.kind === "negation" ? one.kind : "" }));
    return { left: mark(a, inB), right: mark(b, inA), aligned: false };
  }

  /* Returns the marks of both texts: { left, right: [{start, end, hot}], aligned }.
     hot is "number", "name" or "negation" where such a word was changed for another or is missing;
     what a longer response merely adds is no change, but for a negation. */
  function compare(left, right) {
    const a = words(left);
    const b = words(right);
    const pairs = matched(a, b);
    if (pairs === null) return bagged(a, b);
    const found = { left: [], right: [], aligned: true };
    let i = 0;
    let j = 0;
    for (const [nextA, nextB] of [...pairs, [a.length, b.length]]) {
      const gone = a.slice(i, nextA);
      const come = b.slice(j, nextB);
      const swapped = gone.length > 0 && come.length <= Math.max(8, 3 * gone.length);
      for (const one of gone) found.left.push({ start: one.start, end: one.end, hot: one.kind });
      for (const one of come) {
        found.right.push({ start: one.start, end: one.end, hot: swapped || one.kind === "negation" ? one.kind : "" });
      }
      i = nextA + 1;
      j = nextB + 1;
    }
    return found;
  }

  /* Offsets that count whole characters, as Python does, in the units of a script's text. */
  function units(text, spans) {
    if (!/[\ud800-\udbff]/.test(text)) return spans;
    const places = [];
    let at = 0;
    for (const char of text) { places.push(at); at += char.length; }
    places.push(at);
    return spans.map(([start, end]) => [places[start] ?? at, places[end] ?? at]);
  }

  /* Marks of neighbouring words of one kind become one, so that a phrase reads as one change. */
  function joined(text, marks) {
    const made = [];
    for (const mark of marks) {
      const last = made[made.length - 1];
      if (last && last.hot === mark.hot && /^[\s]*$/.test(text.slice(last.end, mark.start))) last.end = mark.end;
      else made.push({ ...mark });
    }
    return made;
  }

  /* Returns a text with marks drawn: each { start, end, class, tag, title, said }. Where marks lie
     over each other the text is cut at their ends and carries the classes of all. */
  function draw(text, marks) {
    const ends = new Set([0, text.length]);
    const within = marks.filter((one) => one.start < one.end && one.end <= text.length);
    for (const one of within) { ends.add(one.start); ends.add(one.end); }
    const cuts = [...ends].sort((x, y) => x - y);
    const open = [...within].sort((x, y) => x.start - y.start);
    const node = document.createDocumentFragment();
    let active = [];
    let next = 0;
    for (let at = 0; at + 1 < cuts.length; at += 1) {
      const [from, to] = [cuts[at], cuts[at + 1]];
      active = active.filter((one) => one.end > from);
      while (next < open.length && open[next].start <= from) { active.push(open[next]); next += 1; }
      const piece = CC.text(text.slice(from, to));
      if (!active.length) { node.append(piece); continue; }
      const tag = active.find((one) => one.tag)?.tag || "mark";
      const title = active.map((one) => one.title).filter(Boolean).join("; ");
      node.append(CC.el(tag, { class: active.map((one) => one.class).join(" "), title: title || null }, piece));
    }
    return node;
  }

  return { words, compare, joined, units, draw };
})();

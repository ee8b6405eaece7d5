"use strict";
/* The cutoff that can be dragged: by mouse, finger and keys, or typed. */
CC.page("cutoff", (() => {
  const { el, count, clear } = CC;
  const maths = CC.cutoff;
  const STEP = 25;
  const PAGE = 20;
  let metrics = [];
  let shown = null;
  const views = new Map();
  const stale = new Set();

  /* ---- one metric: its state, and what shows it ---- */

  function view(metric, fitted) {
    const article = document.getElementById(`cutoff-${metric.at}`);
    let swept = maths.sweep(metric, fitted);
    let { levels } = swept;
    if (!levels.length) return null;
    const two = metric.reject !== null;
    const start = metric.accept === null ? { accept: levels[(levels.length - 1) >> 1], reject: null }
      : { accept: metric.accept, reject: metric.reject };
    const issued = metric.accept === null ? null : { ...start };
    const now = { ...start };
    const rowOf = (side) => maths.atLeast(levels, now[side]);
    let frame = 0;
    let spoken = 0;
    const handles = {};
    const inputs = {};
    const mirrors = [];

    /* Row 0 accepts nobody, row j accepts the j highest observed scores. */
    function put(side, row) {
      const most = levels.length;
      let to = Math.min(Math.max(row, 0), most);
      if (side === "accept" && two) to = Math.min(to, rowOf("reject"));
      if (side === "reject") to = Math.max(to, rowOf("accept"));
      const other = two ? (side === "accept" ? "reject" : "accept") : null;
      // In one row the two are one: the issued place of one may lie beyond the other's score.
      if (other && to === rowOf(other)) now[side] = now[other];
      else if (issued && to === maths.atLeast(levels, issued[side])) now[side] = issued[side];
      else now[side] = to === 0 ? Infinity : levels[to - 1];
      if (!frame) frame = requestAnimationFrame(draw);
    }

    const back = () => { Object.assign(now, start); if (!frame) frame = requestAnimationFrame(draw); };

    /* ---- what shows it ---- */

    const where = el("p", { class: "cutoff-where text" });
    const body = el("tbody");
    const lists = el("div", { class: "cutoff-lists" });
    const open = { changed: false, wrong: false, missed: false };
    const many = { changed: STEP, wrong: STEP, missed: STEP };

    function names(side) {
      if (!two) return "Cutoff";
      return side === "accept" ? "Accept from" : "Reject below";
    }

    function field(side) {
      const id = `cutoff-${metric.at}-${side}-value`;
      const input = el("input", { type: "number", step: "any", id, inputmode: "decimal" });
      inputs[side] = input;
      input.addEventListener("keydown", (event) => {
        if (event.key === "ArrowUp" || event.key === "ArrowDown") pressed(side, event);
      });
      input.addEventListener("change", () => {
        const asked = input.value.trim() === "" ? NaN : Number(input.value);
        if (Number.isFinite(asked)) put(side, maths.atLeast(levels, asked));
        if (!frame) frame = requestAnimationFrame(draw);
      });
      return el("div", null, el("label", { for: id }, names(side)), input);
    }

    function panel() {
      return el("div", null,
        el("div", { class: "cutoff-fields" }, two ? [field("reject"), field("accept")] : field("accept"),
          el("button", { class: "button", type: "button", on: { click: back } }, issued ? "Back to the issued one" : "Back to the start")),
        where,
        el("table", { class: "cutoff-figures" }, el("caption", { class: "visually-hidden" }, "What this cutoff does"), body),
        el("p", { class: "muted small" }, swept.labelled
          ? "95% Clopper-Pearson intervals that take every answer as independent; those of the issued cutoff allow for several answers to one question. "
          + (metric.promised ? "Only the issued cutoff has a promise, and one " : "A cutoff ") + "picked by looking here does better on these labels than on others."
          : "Without accepts and rejects no error is known: only how many are accepted.",
        metric.guards ? " What guards hold back counts as accepted here." : ""));
    }

    function figure(name, k, n) {
      if (!n) return el("tr", null, el("th", { scope: "row" }, name), el("td", null, "none labelled"));
      const [low, high] = CC.shares.clopperPearson(k, n);
      return el("tr", null, el("th", { scope: "row" }, name),
        el("td", { class: "num" }, `${count(k)} of ${count(n)}`,
          el("span", { class: "share" }, `${CC.shares.percent(k / n, n)} (95% interval ${CC.shares.span(low, high, n)})`)));
    }

    function told(c) {
      const at = now.accept === Infinity ? "Accepts nobody." : two
        ? `Accepts from ${maths.plain(now.accept)}, rejects below ${maths.plain(now.reject)}.`
        : `Accepts from ${maths.plain(now.accept)}.`;
      const same = issued && now.accept === issued.accept && now.reject === issued.reject;
      const errors = swept.labelled
        ? ` False accepts ${count(c.falseAccepts)} of ${count(c.rejects)}, false rejects ${count(c.falseRejects)} of ${count(c.accepts)}.` : "";
      return { at: `${at}${same ? " This is the issued cutoff." : ""}`, errors };
    }

    function draw() {
      frame = 0;
      const c = maths.counts(swept, now.accept, now.reject);
      const words = told(c);
      where.textContent = `${words.at} ${issued ? "Other cutoffs" : "Cutoffs"} are the ${count(levels.length)} distinct scores observed.`;
      clear(body,
        swept.labelled ? [figure("False accepts, of rejects", c.falseAccepts, c.rejects),
          figure("False rejects, of accepts", c.falseRejects, c.accepts),
          figure("Wrong, of the labelled that are accepted", c.falseAccepts, c.falseAccepts + c.kept)] : null,
        c.measured ? figure("Accepted, of all measured in this run", c.accepted, c.measured) : null,
        two && c.measured ? figure("Unsure, of all measured in this run", c.unsure, c.measured) : null);
      for (const side of Object.keys(handles)) place(side);
      for (const mirror of mirrors) mirror(c);
      drawLists(c);
      clearTimeout(spoken);
      if (shown === metric.at && CC.shown === "cutoff") spoken = setTimeout(() => tell(words), 500);
    }

    /* Once it rests: said aloud, and kept in the address, so that a link leads to this cutoff. */
    function tell(words) {
      CC.say(`${words.at}${words.errors}`);
      const at = (side) => (now[side] === null || now[side] === start[side] ? null : now[side] === Infinity ? "none" : maths.plain(now[side]));
      CC.go("cutoff", { metric: metric.id, at: at("accept"), below: two ? at("reject") : null }, true);
    }

    /* Goes to the cutoffs that an address names. */
    function visit(params) {
      // Twice, as the one may stand in the way of the other.
      for (const [side, name] of two ? [["reject", "below"], ["accept", "at"], ["reject", "below"]] : [["accept", "at"]]) {
        const asked = params[name] === "none" ? Infinity : params[name] ? Number(params[name]) : NaN;
        if (!Number.isNaN(asked)) put(side, maths.atLeast(levels, asked));
      }
    }

    /* ---- the cases that it is about ---- */

    function list(name, title, total, take, column) {
      const details = el("details", { open: open[name], data: { list: name } }, el("summary", null, `${title}: ${count(total)}`));
      details.addEventListener("toggle", () => {
        if (open[name] === details.open) return;
        open[name] = details.open;
        draw();
      });
      if (!open[name] || !total) return details;
      const rows = take(Math.min(many[name], total)).map(([value, i]) => {
        const label = CC.labels.of(i);
        return el("tr", null, el("th", { scope: "row" }, CC.link(i)), el("td", { class: "num" }, maths.plain(value)),
          el("td", null, label ? CC.badge(label) : "no label"), el("td", null, column(value)));
      });
      details.append(el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title },
        el("table", null, el("thead", null, el("tr", null, ["case", "score", "label", "verdict"].map((head) => el("th", { scope: "col", class: head === "score" ? "num" : null }, head)))), el("tbody", null, rows)),
        total > many[name] ? el("button", { class: "button quiet", type: "button", on: { click: () => { many[name] += 4 * STEP; draw(); } } }, `Show more of ${count(total)}`) : null));
      return details;
    }

    function drawLists(c) {
      const made = [];
      if (issued) {
        const found = maths.changed(swept, issued, now);
        const take = (n) => found.spans.flatMap(([from, to]) => swept.cases.all.slice(from, Math.min(to, from + n))).slice(0, n);
        made.push(list("changed", "Verdicts that change from the issued cutoff", found.count, take,
          (value) => `${maths.verdict(value, issued)} \u2192 ${maths.verdict(value, now)}`));
      }
      if (swept.own && swept.labelled) {
        made.push(list("wrong", "False accepts now, highest score first", c.falseAccepts, (n) => swept.cases.reject.slice(0, n), (value) => maths.verdict(value, now)));
        made.push(list("missed", "False rejects now, lowest score first", c.falseRejects, (n) => swept.cases.accept.slice(-n).reverse(), (value) => maths.verdict(value, now)));
      }
      const held = document.activeElement && lists.contains(document.activeElement) && document.activeElement.closest("details");
      clear(lists, made);
      if (held) lists.querySelector(`details[data-list="${held.dataset.list}"] > summary`)?.focus({ preventScroll: true });
    }

    /* ---- the handle over the picture ---- */

    function plotOf(figure) {
      const svg = figure.querySelector("svg");
      if (!svg) return null;
      const box = svg.viewBox.baseVal;
      const d = svg.dataset;
      const number = (name) => Number(d[name]);
      const plot = el("div", { class: "cutoff-plot" });
      svg.replaceWith(plot);
      plot.append(svg);
      return {
        svg, plot,
        left: (value) => {
          const share = (value - number("low")) / (number("high") - number("low"));
          return (number("left") + number("width") * Math.min(Math.max(share, 0), 1)) / box.width;
        },
        top: number("top") / box.height, height: number("height") / box.height,
        down: (share) => (number("top") + number("height") * (1 - share / number("ceiling"))) / box.height,
        score: (x) => {
          const seen = svg.getBoundingClientRect();
          const at = ((x - seen.left) / seen.width) * box.width;
          return number("low") + ((at - number("left")) / number("width")) * (number("high") - number("low"));
        },
      };
    }

    const main = plotOf(article.querySelector(".cutoff-drag") || document.createElement("div"));

    function place(side) {
      const handle = handles[side];
      const value = now[side] === Infinity ? levels[0] : now[side];
      handle.style.left = `${100 * main.left(now[side] === Infinity ? Infinity : now[side])}%`;
      handle.setAttribute("aria-valuenow", String(value));
      handle.setAttribute("aria-valuetext", now[side] === Infinity ? "accepts nobody" : maths.plain(now[side]));
      inputs[side].value = now[side] === Infinity ? "" : maths.plain(now[side]);
      inputs[side].placeholder = now[side] === Infinity ? "accepts nobody" : "";
    }

    /* The row whose lowest accepted score lies nearest; well above the highest, nobody is accepted. */
    function nearest(value) {
      const row = maths.atLeast(levels, value);
      if (row === 0) return value > levels[0] + (levels[0] - levels[levels.length - 1]) / 100 ? 0 : 1;
      if (row === levels.length) return row;
      return levels[row - 1] - value <= value - levels[row] ? row : row + 1;
    }

    function dragFrom(side, event) {
      if (event.button) return;
      const target = event.currentTarget;
      target.setPointerCapture(event.pointerId);
      const move = (moved) => put(side, nearest(main.score(moved.clientX)));
      const done = () => {
        target.removeEventListener("pointermove", move);
        target.removeEventListener("pointerup", done);
        target.removeEventListener("pointercancel", done);
      };
      target.addEventListener("pointermove", move);
      target.addEventListener("pointerup", done);
      target.addEventListener("pointercancel", done);
      move(event);
      handles[side].focus({ preventScroll: true });
      event.preventDefault();
    }

    function pressed(side, event) {
      const far = Math.max(1, Math.round(levels.length / PAGE));
      const steps = { ArrowRight: -1, ArrowUp: -1, ArrowLeft: 1, ArrowDown: 1, PageUp: -far, PageDown: far };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in steps) {
        const step = steps[event.key];
        const row = rowOf(side);
        put(side, row + step * (event.shiftKey ? 10 : 1));
      } else if (event.key === "Home") put(side, levels.length);
      else if (event.key === "End") put(side, 0);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }

    function handle(side) {
      const made = el("div", {
        class: `cutoff-handle is-${side}`, role: "slider", tabindex: "0", "aria-label": `${names(side)} of ${CC.plainText(metric.id)}`,
        "aria-valuemin": String(levels[levels.length - 1]), "aria-valuemax": String(levels[0]), "aria-orientation": "horizontal",
        on: { pointerdown: (event) => { dragFrom(side, event); event.stopPropagation(); }, keydown: (event) => pressed(side, event) },
      }, el("span", { class: "grip", "aria-hidden": "true" }, two ? (side === "accept" ? "\u2713" : "\u2717") : "\u2194"));
      made.style.top = `${100 * main.top}%`;
      made.style.height = `${100 * main.height}%`;
      handles[side] = made;
      return made;
    }

    /* The other pictures follow. */
    function follow(figure) {
      const kind = figure.dataset.kind;
      if (kind === "det") return;
      const plot = plotOf(figure);
      if (!plot) return;
      const line = el("div", { class: kind === "roc" ? "cutoff-mirror is-point" : "cutoff-mirror", "aria-hidden": "true" });
      plot.plot.append(line);
      if (kind === "roc") {
        mirrors.push((c) => {
          line.style.left = `${100 * plot.left(c.falseAccepts / c.rejects)}%`;
          line.style.top = `${100 * plot.down(c.kept / c.accepts)}%`;
        });
        return;
      }
      line.style.top = `${100 * plot.top}%`;
      line.style.height = `${100 * plot.height}%`;
      mirrors.push(() => { line.style.left = `${100 * plot.left(now.accept)}%`; });
    }

    /* Labels given in the page count at once. */
    function refresh() {
      if (fitted) return;
      swept = maths.sweep(metric, null);
      levels = swept.levels;
      clear(article.querySelector(".cutoff-panel"), panel());
      for (const side of Object.keys(handles)) put(side, rowOf(side));
      draw();
    }

    clear(article.querySelector(".cutoff-panel"), panel());
    article.querySelector(".cutoff-live").append(lists);
    if (main) {
      main.plot.classList.add("can-drag");
      main.plot.append(...(two ? [handle("reject"), handle("accept")] : [handle("accept")]));
      main.plot.addEventListener("pointerdown", (event) => {
        const value = main.score(event.clientX);
        const side = two && Math.abs(value - now.reject) < Math.abs(value - now.accept) ? "reject" : "accept";
        dragFrom(side, event);
      });
      for (const one of article.querySelectorAll(".cutoff-pictures figure")) follow(one);
      draw();
    }
    return { now, put, refresh, visit, get swept() { return swept; } };
  }

  /* ---- the section ---- */

  async function choose(at) {
    shown = at;
    for (const one of metrics) {
      document.getElementById(`cutoff-${one.at}`).hidden = one.at !== at;
    }
    const select = document.getElementById("cutoff-metric");
    if (select) select.value = String(at);
    if (!views.has(at)) {
      const metric = metrics.find((one) => one.at === at);
      const fitted = metric.basis === "fitted" ? await CC.block("cutoff", `labels-${at}`) : null;
      views.set(at, view(metric, fitted));
    } else if (stale.delete(at) && views.get(at)) views.get(at).refresh();
  }

  function start() {
    metrics = CC.index.pages.cutoff.metrics;
    CC.labels.listen(() => { for (const at of views.keys()) stale.add(at); });
    const place = document.getElementById("cutoff-choice");
    if (metrics.length < 2) return;
    const select = el("select", { id: "cutoff-metric" }, metrics.map((one) => el("option", { value: String(one.at) }, CC.plainText(one.id))));
    select.addEventListener("change", () => CC.go("cutoff", { metric: metrics.find((one) => String(one.at) === select.value).id }));
    place.append(el("label", { for: "cutoff-metric" }, "Metric"), select);
    place.hidden = false;
  }

  return {
    start,
    show(section, params) {
      if (!metrics.length) return null;
      const asked = metrics.find((one) => one.id === params.metric);
      return choose(asked ? asked.at : shown === null ? metrics[0].at : shown).then(() => views.get(shown)?.visit(params));
    },
    get views() { return views; },
  };
})());

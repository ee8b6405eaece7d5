"use strict";
/* The comparison: what differs between the two responses of a case, word by word, and a way to
   the case itself. The texts stand in the page already. */
(() => {
  let marked = true;
  let drawn = false;

  function texts(move) {
    const side = (name) => move.querySelector(`[data-side="${name}"]`);
    const [a, b] = [side("a"), side("b")];
    return a && b ? [a, b] : null;
  }

  function put(place, text, marks, tag, name) {
    const hot = (one) => (one.hot ? ` is-hot is-${one.hot}` : "");
    CC.clear(place, CC.diff.draw(text, marked ? CC.diff.joined(text, marks).map((one) => ({
      ...one, tag, class: `${name}${hot(one)}`,
      title: `${tag === "del" ? "not in B" : "not in A"}${one.hot ? `: a ${one.hot}` : ""}`,
    })) : []));
  }

  function mark(section) {
    for (const move of section.querySelectorAll(".move")) {
      const both = texts(move);
      if (!both) continue;
      const [a, b] = both.map((one) => one.textContent);
      const found = marked ? CC.diff.compare(a, b) : { left: [], right: [] };
      put(both[0], a, found.left, "del", "m-gone");
      put(both[1], b, found.right, "ins", "m-new");
    }
  }

  /* Cases of B have a place in this report where it is the run that the report is of. */
  function link(section) {
    for (const place of section.querySelectorAll(".move-id")) {
      const i = CC.columns.places.get(place.dataset.id);
      if (i !== undefined) CC.clear(place, CC.link(i));
    }
  }

  function tools(section) {
    const place = section.querySelector("#compare-tools");
    if (!place || !section.querySelector("[data-side]")) return;
    place.append(CC.el("button", {
      class: "button", type: "button", "aria-pressed": "true", id: "compare-marks",
      on: {
        click: (event) => {
          marked = !marked;
          event.target.setAttribute("aria-pressed", String(marked));
          mark(section);
        },
      },
    }, "Mark what differs"));
  }

  CC.page("compare", {
    show(section) {
      if (drawn) return;
      drawn = true;
      tools(section);
      mark(section);
      if (CC.index.pages.compare?.linked) link(section);
    },
  });
})();

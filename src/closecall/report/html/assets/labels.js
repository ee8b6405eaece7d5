"use strict";
/* Labels given in the page: kept in memory, and between visits where the browser allows it. */
CC.labels = (() => {
  const NAME = `labels:${CC.index.run}`;
  const given = new Map();
  const undo = [];
  const listeners = [];
  const own = (i) => CC.index.labels[CC.columns.labels[i]];

  function keep() {
    const kept = [...given].map(([i, label]) => [CC.columns.ids[i], label]);
    CC.store.set(NAME, kept.length ? JSON.stringify(kept) : null);
  }

  /* Reads what an earlier visit kept; what does not fit this run is left alone. */
  function load() {
    try {
      for (const [id, label] of JSON.parse(CC.store.get(NAME) || "[]")) {
        const i = CC.columns.places.get(id);
        if (i !== undefined && (label === "accept" || label === "reject")) given.set(i, label);
      }
    } catch { /* Not ours: begin anew. */ }
  }

  function put(i, label) {
    if (label === null || label === own(i)) given.delete(i);
    else given.set(i, label);
  }

  function changed(i) {
    keep();
    for (const listener of listeners) listener(i);
  }

  function give(i, label) {
    undo.push([i, given.get(i) ?? null]);
    put(i, label);
    changed(i);
  }

  /* Takes back the last label given; returns the place of its case, null when there is none. */
  function back() {
    const last = undo.pop();
    if (last === undefined) return null;
    put(...last);
    changed(last[0]);
    return last[0];
  }

  return {
    own, load, give, back,
    of: (i) => given.get(i) ?? own(i),
    isGiven: (i) => given.has(i),
    get count() { return given.size; },
    places: () => [...given.keys()].sort((a, b) => a - b),
    listen: (listener) => listeners.push(listener),
  };
})();

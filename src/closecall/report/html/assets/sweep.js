"use strict";
/* What every cutoff does. Only distinct observed scores are cutoffs: between two of them nothing
   changes. Scores are sorted once; what a cutoff does is then looked up, never recounted. */
CC.cutoff = (() => {
  /* A score with all the digits it is compared by. */
  const plain = (value) => (value === Infinity ? "none" : String(Number(value.toPrecision(10))));

  /* As a calibration rounds a score before it compares: half to even, like numpy. */
  function rounded(value, decimals) {
    if (decimals === null) return value;
    const scale = 10 ** decimals;
    if (Math.abs(value) >= 2 ** 52 / scale) return value;
    const scaled = value * scale;
    const floor = Math.floor(scaled);
    const rest = scaled - floor;
    return (rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor) / scale + 0;
  }

  /* ---- what every cutoff does ---- */

  /* How many of the values, highest first, are at least the cutoff. */
  function atLeast(values, cutoff) {
    let low = 0;
    let high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] >= cutoff) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  const falling = (values) => Float64Array.from(values).sort().reverse();

  /* The sorted columns of one metric: all cases of the run, its labelled ones, the levels. */
  function sweep(metric, fitted) {
    const { values } = CC.columns.metrics[metric.at];
    const order = [];
    for (let i = 0; i < values.length; i += 1) {
      if (values[i] !== null) order.push([rounded(values[i], metric.decimals), i]);
    }
    order.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    const of = (label) => order.filter((one) => CC.labels.of(one[1]) === label);
    const cases = { all: order, accept: of("accept"), reject: of("reject") };
    const score = (list) => Float64Array.from(list, (one) => one[0]);
    const all = score(order);
    const accepts = fitted ? falling(fitted.accepts) : score(cases.accept);
    const rejects = fitted ? falling(fitted.rejects) : score(cases.reject);
    const labelled = accepts.length > 0 && rejects.length > 0;
    const levels = [];
    const from = labelled ? falling([...accepts, ...rejects]) : all;
    for (const value of from) if (levels[levels.length - 1] !== value) levels.push(value);
    return { all, accepts, rejects, labelled, levels: Float64Array.from(levels), cases, own: !fitted };
  }

  function counts(swept, accept, reject) {
    const { accepts, rejects, all } = swept;
    const kept = atLeast(accepts, accept);
    const falseAccepts = atLeast(rejects, accept);
    const low = reject === null ? accept : reject;
    return {
      falseAccepts, rejects: rejects.length,
      falseRejects: accepts.length - atLeast(accepts, low), accepts: accepts.length,
      kept, accepted: atLeast(all, accept), measured: all.length,
      unsure: atLeast(all, low) - atLeast(all, accept),
    };
  }

  /* The places in the order of all cases whose verdict two rules see differently, and how many. */
  function changed(swept, before, after) {
    const spans = ["accept", "reject"].filter((side) => before[side] !== null && after[side] !== null)
      .map((side) => [atLeast(swept.all, before[side]), atLeast(swept.all, after[side])].sort((a, b) => a - b))
      .filter(([from, to]) => to > from).sort((a, b) => a[0] - b[0]);
    const merged = [];
    for (const [from, to] of spans) {
      const last = merged[merged.length - 1];
      if (last && from <= last[1]) last[1] = Math.max(last[1], to);
      else merged.push([from, to]);
    }
    return { spans: merged, count: merged.reduce((sum, [from, to]) => sum + to - from, 0) };
  }

  function verdict(value, rule) {
    if (value >= rule.accept) return "accept";
    return rule.reject !== null && value >= rule.reject ? "unsure" : "reject";
  }

  return { plain, rounded, atLeast, sweep, counts, changed, verdict };
})();

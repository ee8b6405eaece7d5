"use strict";
/* Shares of counts: their intervals, and the words that every report has for them. */
CC.shares = (() => {
  /* ---- the interval of Clopper and Pearson: betaincinv, as scipy.special has it ---- */

  const LANCZOS = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];

  function logGamma(z) {
    let sum = LANCZOS[0];
    const x = z - 1;
    for (let i = 1; i < 9; i += 1) sum += LANCZOS[i] / (x + i);
    const t = x + 7.5;
    return 0.5 * Math.log(2 * Math.PI) + (x + 0.5) * Math.log(t) - t + Math.log(sum);
  }

  /* The continued fraction of the incomplete beta function, by Lentz's method. */
  function fraction(a, b, x) {
    const tiny = 1e-300;
    let c = 1;
    let d = 1 - ((a + b) * x) / (a + 1);
    d = 1 / (Math.abs(d) < tiny ? tiny : d);
    let h = d;
    for (let m = 1; m < 20000; m += 1) {
      for (const even of [true, false]) {
        const k = even
          ? (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
          : (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + k * d;
        c = 1 + k / c;
        d = 1 / (Math.abs(d) < tiny ? tiny : d);
        c = Math.abs(c) < tiny ? tiny : c;
        h *= d * c;
      }
      if (Math.abs(d * c - 1) < 1e-16) break;
    }
    return h;
  }

  /* The regularised incomplete beta function; front is log(1 / B(a, b)). */
  function betaInc(a, b, x, front) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const log = (front === undefined ? logGamma(a + b) - logGamma(a) - logGamma(b) : front) + a * Math.log(x) + b * Math.log1p(-x);
    if (x < (a + 1) / (a + b + 2)) return (Math.exp(log) * fraction(a, b, x)) / a;
    return 1 - (Math.exp(log) * fraction(b, a, 1 - x)) / b;
  }

  /* Its inverse by halving: slower than Newton's method, and it cannot miss. */
  function betaInv(a, b, p) {
    const front = logGamma(a + b) - logGamma(a) - logGamma(b);
    let low = 0;
    let high = 1;
    for (let i = 0; i < 120; i += 1) {
      const middle = (low + high) / 2;
      if (middle === low || middle === high) break;
      if (betaInc(a, b, middle, front) < p) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  }

  function clopperPearson(k, n, level) {
    const half = (1 - (level === undefined ? 0.95 : level)) / 2;
    return [k <= 0 ? 0 : betaInv(k, n - k + 1, half), k >= n ? 1 : betaInv(k + 1, n - k, 1 - half)];
  }

  /* ---- numbers in words, as the other reports have them ---- */

  /* No more digits than n rows support; never 0% of a share above 0, nor 100% of one below 1. */
  function percent(share, n) {
    const value = 100 * Number(share.toPrecision(12));
    if (!value) return "0%";
    const digits = n >= 1000 ? 3 : 2;
    const size = Math.floor(Math.log10(value) + 1e-12);
    let places = Math.max(0, digits - 1 - size);
    let rounded = halfEven(value, places);
    if (places && rounded >= 10 ** (size + 1)) {
      places -= 1;
      rounded = halfEven(value, places);
    }
    return rounded >= 100 && value < 100 ? ">99%" : `${rounded.toFixed(places)}%`;
  }

  function halfEven(value, places) {
    const scale = 10 ** places;
    const scaled = Number((value * scale).toPrecision(12));
    const floor = Math.floor(scaled);
    const rest = scaled - floor;
    return (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor) / scale;
  }

  function span(low, high, n) {
    const [a, b] = [percent(low, n), percent(high, n)];
    return b[0] === ">" ? `${a} to ${b}` : `${a.slice(0, -1)}-${b}`;
  }

  return { betaInc, betaInv, clopperPearson, percent, span };
})();

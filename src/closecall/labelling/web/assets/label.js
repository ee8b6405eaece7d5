"use strict";
// Texts of cases are untrusted: they enter the page through textContent alone.
(() => {
  const SHOWN = 20000; // characters laid out at once; a button shows the rest
  const KEYS = { a: "accept", r: "reject", s: "unsure", u: "undo", n: "note", q: "quit", "?": "help" };
  const at = (id) => document.getElementById(id);
  let state = null;
  let busy = false;
  let ended = false;

  function element(tag, name, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function part(one) {
    const box = element("section", "part");
    box.append(element("h3", "", one.name));
    const text = element("div", "text", one.text.slice(0, SHOWN));
    text.dir = "auto";
    text.tabIndex = 0;
    text.setAttribute("role", "group");
    text.setAttribute("aria-label", one.name);
    box.append(text);
    const left = one.text.length - SHOWN;
    if (left > 0) {
      const more = element("button", "", "Show " + left.toLocaleString("en") + " characters more");
      more.type = "button";
      more.addEventListener("click", () => {
        text.textContent = one.text;
        more.remove();
        text.focus();
      });
      box.append(more);
    }
    return box;
  }

  function list(id, lines) {
    at(id).replaceChildren(...lines.map((line) => element("li", "", line)));
    at(id).hidden = lines.length === 0;
  }

  function say(text, failed) {
    at("message").textContent = text;
    at("message").classList.toggle("failed", Boolean(failed));
  }

  function show(next, failed) {
    state = next;
    const found = state.case;
    at("counted").textContent = state.counted;
    at("bar").max = Math.max(state.total, 1);
    at("bar").value = state.done;
    list("lines", state.lines);
    at("question").textContent = found ? found.question : "Nothing is left to ask.";
    at("name").textContent = found ? found.id : "q ends; u goes back.";
    const parts = found ? found.parts : [];
    const first = parts.filter((one) => !one.side && one.name === "Question");
    const sides = element("div", "sides");
    sides.append(...parts.filter((one) => one.side).map(part));
    const rest = parts.filter((one) => !one.side && one.name !== "Question");
    at("parts").replaceChildren(...first.map(part), sides, ...rest.map(part));
    list("heard", found ? found.heard : []);
    at("own-note").textContent = found && found.note ? "Your note: " + found.note : "";
    for (const button of document.querySelectorAll("#keys button")) {
      const key = button.dataset.key;
      button.disabled =
        (!found && ["accept", "reject", "unsure", "note"].includes(key)) ||
        (state.mode === "resolve" && key === "unsure");
    }
    say(state.message, failed);
    document.querySelector("main").scrollTop = 0;
    at("case").focus({ preventScroll: true });
  }

  async function ask(path, body) {
    const options = { credentials: "same-origin", cache: "no-store" };
    if (body !== undefined) {
      options.method = "POST";
      options.headers = { "Content-Type": "application/json", "X-Closecall-Form": state.form };
      options.body = JSON.stringify(body);
    }
    return fetch(path, options);
  }

  async function press(key, note) {
    if (busy || ended || !state) return;
    busy = true;
    try {
      const body = { key, step: state.step };
      if (note !== undefined) body.note = note;
      const reply = await ask("press", body);
      const kind = reply.headers.get("Content-Type") || "";
      if (kind.startsWith("application/json")) {
        show(await reply.json(), !reply.ok);
      } else {
        say("Not kept: " + (await reply.text()), true);
      }
    } catch {
      say("Not kept: closecall label does not answer. Start it again; what was kept is safe.", true);
    } finally {
      busy = false;
    }
  }

  async function quit() {
    if (ended || !state) return;
    try {
      const reply = await ask("quit", {});
      ended = reply.ok;
    } catch {
      ended = true;
    }
    if (ended) {
      document.querySelectorAll("#keys button").forEach((button) => { button.disabled = true; });
      say("Ended. Every key is kept; you can close this tab.");
    }
  }

  function openNote() {
    if (!state || !state.case || ended) return;
    at("note").maxLength = state.note_limit;
    at("note").value = state.case.note;
    at("note-form").hidden = false;
    at("note").focus();
  }

  function closeNote() {
    at("note-form").hidden = true;
    at("case").focus({ preventScroll: true });
  }

  function obey(name) {
    if (name === "help") at("help").showModal();
    else if (name === "note") openNote();
    else if (name === "quit") quit();
    else if (!document.querySelector('#keys button[data-key="' + name + '"]').disabled) press(name);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || at("help").open) return;
    if (event.target === at("note")) {
      if (event.key === "Escape") closeNote();
      else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        const text = at("note").value;
        closeNote();
        press("note", text);
      }
      return;
    }
    const name = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : undefined;
    if (name) {
      event.preventDefault();
      obey(name);
    }
  });
  at("keys").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) obey(button.dataset.key);
  });
  at("note-form").addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("focus", () => {
    // Another tab may have gone on meanwhile.
    if (!busy && !ended && state && at("note-form").hidden) load();
  });

  async function load() {
    try {
      const reply = await ask("state");
      if (!reply.ok) throw new Error(await reply.text());
      const next = await reply.json();
      if (!state || next.step !== state.step) show(next, false);
    } catch (error) {
      say("closecall label does not answer: " + error.message, true);
    }
  }
  load();
})();

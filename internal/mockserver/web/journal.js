"use strict";
// The page asks for the journal again and again, and puts in place what changed.
// Every text comes from somebody else: it becomes a text node, and nothing but
// that.
(() => {
  const $ = (id) => document.getElementById(id);
  const list = $("rows"), find = $("find");
  const base = location.pathname.replace(/\/*$/, "/");
  const apart = /^\/t\/([^/]+)\//.exec(base); // the page of one conversation
  if (apart) {
    find.value = decodeURIComponent(apart[1]);
    find.disabled = true;
  }

  // The token is kept here alone: not in the address, not in the history.
  let token = "";
  const take = () => {
    const given = /^#token=(.+)$/.exec(location.hash);
    if (!given) return;
    try { token = decodeURIComponent(given[1]); } catch { token = given[1]; }
    history.replaceState(null, "", location.pathname);
  };
  const ask = (path, headers, signal) => fetch(path, {
    headers: token === "" ? headers : { ...headers, Authorization: "Bearer " + token },
    cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", signal,
  });
  // why is what an answer says is wrong.
  const why = async (res) => {
    const text = await res.text();
    try { return JSON.parse(text).error.message; } catch { return text || `The server answers with status ${res.status}.`; }
  };

  const el = (tag, cls, ...inside) => {
    const e = document.createElement(tag);
    if (cls) e.className = cls;
    e.append(...inside);
    return e;
  };
  const icon = (name) => {
    const of = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
    const svg = of("svg"), use = of("use");
    svg.setAttribute("class", "i " + name);
    svg.setAttribute("aria-hidden", "true");
    use.setAttribute("href", "#i-" + name);
    svg.append(use);
    return svg;
  };
  // pre shows a text; the lines of a difference have colours.
  const pre = (text) => {
    const e = el("pre", "");
    e.dir = "auto";
    e.tabIndex = 0;
    const differs = text.includes("(- expected, + in the request)");
    for (const line of text.split("\n")) {
      const side = differs ? { "-": "want", "+": "got" }[line.trimStart()[0]] : undefined;
      e.append(side ? el("span", side, line) : line, "\n");
    }
    return e;
  };
  const button = (words, act) => {
    const b = el("button", "", words);
    b.type = "button";
    b.addEventListener("click", () => act(b));
    return b;
  };

  // scenario copies the conversation of an entry, and shows what it copied: a
  // page by a name that is not this machine has no clipboard.
  const scenario = async (row, body) => {
    const path = row.id === "" ? "/rehearse/scenario" : `/t/${encodeURIComponent(row.id)}/rehearse/scenario`;
    const box = el("div", "scenario-copy");
    try {
      const res = await ask(path, {});
      if (!res.ok) throw new Error(await why(res));
      const text = await res.text();
      const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
      box.append(el("h4", "", copied ? "Copied as a scenario" : "The scenario, to copy"), pre(text.trimEnd()));
    } catch (e) {
      box.append(el("p", "muted", e.message));
    }
    body.querySelector(".scenario-copy")?.remove();
    body.querySelector(".again").after(box);
  };

  const render = (row) => {
    const again = el("div", "again"), facts = el("dl", "facts");
    const body = el("div", "body", again, facts);
    if (row.again) again.append(button("Copy as scenario", () => scenario(row, body)));
    if (row.id !== "" && !apart) {
      again.append(button("Only this test id", () => {
        find.value = row.id;
        restart();
      }));
    }
    if (!again.firstChild) again.hidden = true;
    for (const f of row.facts ?? []) facts.append(el("div", "", el("dt", "", f.name), el("dd", "", el("bdi", "", f.text))));
    for (const t of row.texts ?? []) body.append(el("h4", "", t.name), pre(t.text));
    const summary = el("summary", "", icon(row.class), el("span", "word", row.word));
    if (row.id !== "") summary.append(el("span", "id", el("bdi", "", row.id)));
    if (row.fault) summary.append(el("span", "tag solid", "fault " + row.fault));
    const time = el("span", "time", new Date(row.at).toLocaleTimeString());
    summary.append(el("span", "short", el("bdi", "", row.short)), time);
    const e = el("details", "trial " + row.class, summary, body);
    e.open = row.open === true;
    return e;
  };

  // put shows entries. Those that are shown already stay what they are, open or
  // not, and keep the focus.
  let have = new Map();
  const put = (rows) => {
    const next = new Map();
    for (const row of rows) {
      const key = JSON.stringify([row.id, row.kind, row.seq]), text = JSON.stringify(row), old = have.get(key);
      if (old && old.text === text) {
        next.set(key, old);
        continue;
      }
      const e = render(row);
      if (old) e.open = old.e.open;
      next.set(key, { text, e });
    }
    for (const [key, old] of have) if (next.get(key) !== old) old.e.remove();
    let at = list.firstChild;
    for (const { e } of next.values()) {
      if (e === at) at = at.nextSibling;
      else list.insertBefore(e, at);
    }
    have = next;
    list.hidden = rows.length === 0;
    $("nothing").hidden = rows.length > 0;
  };

  const trouble = (text) => {
    $("trouble").hidden = text === "";
    $("trouble").textContent = text;
  };
  let timer = 0, tag = "", under = new AbortController();
  const poll = async () => {
    const { signal } = under;
    try {
      const res = await ask(base + "live?find=" + encodeURIComponent(apart ? "" : find.value.trim()), tag === "" ? {} : { "If-None-Match": tag }, signal);
      if (res.status === 401) {
        $("ask").hidden = false;
        trouble(token === "" ? "" : "The server refuses this token.");
        return; // until there is another
      }
      if (res.status !== 304) {
        if (!res.ok) throw new Error(await why(res));
        const now = await res.json();
        tag = res.headers.get("ETag") ?? "";
        put(now.entries);
        $("found").textContent = now.shown < now.conversations ? `${now.shown} of ${now.conversations} conversations, those that were asked last` : "";
      }
      $("ask").hidden = true;
      trouble("");
    } catch (e) {
      if (signal.aborted) return;
      tag = "";
      trouble("The journal cannot be read: " + e.message);
    }
    timer = setTimeout(poll, 700);
  };
  const restart = () => {
    clearTimeout(timer);
    under.abort();
    under = new AbortController();
    tag = "";
    if (!document.hidden) poll();
  };
  find.addEventListener("input", restart);
  document.addEventListener("visibilitychange", restart);
  addEventListener("hashchange", () => { take(); restart(); });
  $("ask").addEventListener("submit", (e) => {
    e.preventDefault();
    token = $("token").value.trim();
    $("token").value = "";
    restart();
  });
  take();
  restart();
})();

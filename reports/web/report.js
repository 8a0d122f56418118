// The first views and the first failing trials need none of this. It expands
// what stands compressed, filters, moves, copies, and holds two trials side by
// side.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];
  const root = document.documentElement;
  root.classList.add("js");
  for (const e of all(".sidelink")) e.hidden = false;
  for (const e of all(".taglink")) e.disabled = false;
  $("tools-bar").hidden = false;

  // Details of trials: gzip in base64, some trials together. The text was
  // escaped before it was compressed, and the policy of this page lets nothing
  // in it act.
  const chunks = new Map();
  const unpack = async (id) => {
    const bytes = Uint8Array.from(atob($(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const holder = document.createElement("template");
    holder.innerHTML = await new Response(stream).text();
    return holder.content;
  };
  const expand = async (trial) => {
    const id = trial.dataset.chunk;
    if (id) {
      const body = trial.querySelector(".body");
      try {
        if (!chunks.has(id)) {
          if (chunks.size > 4) chunks.delete(chunks.keys().next().value);
          chunks.set(id, unpack(id));
        }
        const content = await chunks.get(id);
        const packed = content.querySelector(`[data-trial="${trial.id}"]`);
        if (trial.dataset.chunk && packed) {
          body.replaceChildren(...packed.cloneNode(true).childNodes);
          delete trial.dataset.chunk;
        }
      } catch (e) {
        body.textContent = "This browser cannot expand the details: " + e.message;
      }
    }
    for (const b of all(".copy", trial)) b.hidden = false;
    reach(trial);
  };
  // A text that scrolls can be scrolled by keys.
  const reach = (of) => {
    for (const p of all("pre", of)) {
      if (p.scrollHeight > p.clientHeight + 1 || p.scrollWidth > p.clientWidth + 1) p.tabIndex = 0;
    }
  };
  document.addEventListener("toggle", (e) => {
    if (!e.target.open) return;
    if (e.target.matches("details.trial")) expand(e.target);
    else reach(e.target);
  }, true);
  for (const t of all("details.trial[open]")) expand(t);

  // The bar at the top may wrap, and on a narrow screen its links scroll away;
  // what is below it has to know how much of it stays.
  const header = document.querySelector(".top"), links = header.querySelector("nav");
  new ResizeObserver(() => {
    const away = matchMedia("(max-width: 50rem)").matches ? links.offsetHeight : 0;
    root.style.setProperty("--away", away + "px");
    root.style.setProperty("--bar", header.offsetHeight - away + "px");
  }).observe(header);

  // land scrolls to what was asked for. What is off the screen has a height that
  // is guessed until it is drawn, and what opens above a target moves it, so land
  // scrolls until the target has stood still for some frames, or the reader moves.
  let landing = 0;
  const land = (target) => {
    const mine = ++landing;
    const head = target.closest(".scenario")?.querySelector(".head");
    root.style.setProperty("--head", (head && head.parentElement !== target ? head.offsetHeight : 0) + "px");
    target.scrollIntoView();
    let top = target.getBoundingClientRect().top, still = 0, frames = 0;
    const again = () => {
      if (mine !== landing || frames++ > 120) return;
      const now = target.getBoundingClientRect().top;
      still = now === top ? still + 1 : 0;
      if (still === 5) return;
      target.scrollIntoView();
      top = target.getBoundingClientRect().top;
      requestAnimationFrame(again);
    };
    requestAnimationFrame(again);
  };
  for (const what of ["wheel", "touchmove", "pointerdown", "keydown"]) addEventListener(what, () => { landing++; }, { capture: true, passive: true });

  // Rows: by kind, by tag, by name.
  let tag = "";
  const rows = all(".matrix tbody tr");
  const modes = all("input[name=show]");
  const filter = () => {
    const text = $("find").value.trim().toLowerCase();
    for (const e of all("[data-name]")) {
      const named = e.dataset.name.toLowerCase().includes(text);
      e.hidden = !named || (tag !== "" && !e.dataset.tags.split("\n").includes(tag));
    }
    tell();
    const shown = $("tag-shown");
    if (shown) {
      shown.hidden = tag === "";
      shown.replaceChildren();
      if (tag !== "") {
        const clear = document.createElement("button");
        clear.type = "button";
        clear.textContent = "tag " + tag + " ✕";
        clear.addEventListener("click", () => { tag = ""; filter(); });
        shown.append(clear);
      }
    }
  };
  // tell says how many scenarios are shown, of each kind and in all.
  const tell = () => {
    const of = (mode) => rows.filter((r) => !r.hidden && (mode === "all" || r.classList.contains("r-" + mode)));
    for (const m of modes) m.parentElement.querySelector("span").textContent = of(m.value).length;
    const mode = modes.find((m) => m.checked) ?? { value: "all" };
    const n = of(mode.value).length, text = $("find").value.trim();
    $("found").textContent = text === "" && tag === "" && mode.value === "all" ? "" : `${n} of ${rows.length} scenarios`;
    const none = $("nothing");
    if (!none) return;
    none.textContent = of("all").length > 0 ? "No scenario is of this kind." : "No scenario has this " + (text === "" ? "tag." : "in its name: " + text);
    none.classList.toggle("shown", n === 0);
  };
  $("find").addEventListener("input", filter);
  $("find").addEventListener("keydown", (e) => {
    if (e.key !== "Enter") return;
    const first = all(".scenario").find((s) => s.offsetParent !== null);
    if (first) go(first.id);
  });
  for (const e of all(".taglink")) {
    e.addEventListener("click", () => {
      tag = e.dataset.tag;
      filter();
      land($("matrix"));
      history.replaceState(null, "", "#tag-" + encodeURIComponent(tag));
    });
  }
  const show = (name) => {
    const radio = $("show-" + name);
    if (!radio) return;
    radio.checked = true;
    tell();
    history.replaceState(null, "", "#show-" + name);
  };
  for (const e of modes) {
    e.addEventListener("change", () => { tell(); history.replaceState(null, "", "#" + e.id); });
  }
  const unfilter = () => {
    $("find").value = "";
    tag = "";
    const radio = $("show-all");
    if (radio) radio.checked = true;
    filter();
  };

  // Links: #trial-1-1-1, #scenario-1, #side-trial-1-1-1-and-trial-1-2-1,
  // #show-failing, #tag-name.
  const reveal = async () => {
    const name = decodeURIComponent(location.hash.slice(1));
    let m;
    if ((m = /^side-(trial-[\d-]+)-and-(trial-[\d-]+)$/.exec(name))) return side($(m[1]), $(m[2]));
    if ((m = /^show-(\w+)$/.exec(name))) { show(m[1]); return land($("matrix")); }
    if (name.startsWith("tag-")) { tag = name.slice(4); filter(); return land($("matrix")); }
    const target = name && $(name);
    if (!target) return;
    if (target.closest("[data-name]") && target.closest("[data-name]").offsetParent === null) unfilter();
    for (let d = target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
    if (target.matches("details.trial")) {
      await expand(target);
      at = failing().indexOf(target);
    }
    land(target);
  };
  addEventListener("hashchange", reveal);
  // go follows a link, also to where the page already is.
  const go = (id) => {
    if (location.hash === "#" + id) reveal();
    else location.hash = "#" + id;
  };
  document.addEventListener("click", (e) => {
    const link = e.target.closest?.("a[href^='#']");
    if (link && link.hash === location.hash && !e.ctrlKey && !e.metaKey && !e.shiftKey) {
      e.preventDefault();
      reveal();
    }
  });

  // Keys and the button for the next failing trial.
  let at = -1;
  const failing = () => all("details.trial:not([data-ok])").filter((d) => d.closest(".scenario").offsetParent !== null);
  const move = async (step) => {
    const list = failing();
    if (list.length === 0) return;
    at = at < 0 && step < 0 ? list.length - 1 : (at + step + list.length) % list.length;
    list[at].open = true;
    await expand(list[at]);
    land(list[at]);
    list[at].querySelector("summary").focus({ preventScroll: true });
    history.replaceState(null, "", "#" + list[at].id);
  };
  $("next").hidden = failing().length === 0;
  $("next").addEventListener("click", () => move(1));
  let row = -1;
  const moveDifferent = (step) => {
    const list = all(".scenario.r-different").filter((e) => e.offsetParent !== null);
    if (list.length === 0) return;
    row = row < 0 && step < 0 ? list.length - 1 : (row + step + list.length) % list.length;
    land(list[row]);
    const first = list[row].querySelector("button, summary");
    if (first) first.focus({ preventScroll: true });
    history.replaceState(null, "", "#" + list[row].id);
  };
  const help = (open) => {
    $("help").hidden = !open;
    $("keys").setAttribute("aria-expanded", String(open));
  };
  $("keys").addEventListener("click", () => help($("help").hidden));
  const here = () => document.activeElement.closest?.(".scenario") ||
    all(".scenario").find((e) => e.offsetParent !== null && e.getBoundingClientRect().bottom > 80);
  addEventListener("keydown", (e) => {
    if (e.key === "Escape") {
      help(false);
      if (!$("side").hidden) close();
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey || /^(TEXTAREA|SELECT)$/.test(e.target.tagName) || e.target.type === "search") return;
    const keys = {
      n: () => move(1), p: () => move(-1), d: () => moveDifferent(1), D: () => moveDifferent(-1),
      s: () => { const s = here(); if (s) sides(s); },
      "/": () => $("find").focus(), "?": () => help($("help").hidden),
      1: () => show("all"), 2: () => show("failing"), 3: () => show("different"), 4: () => show("flaky"), 5: () => show("errors"), 6: () => show("changed"),
    };
    if (keys[e.key]) {
      e.preventDefault();
      keys[e.key]();
    }
  });

  // Copying. A page from disk may have no clipboard of its own.
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  document.addEventListener("click", async (e) => {
    const button = e.target.closest?.("button.copy");
    if (!button) return;
    const text = button.dataset.link ? location.href.split("#")[0] + "#" + button.dataset.link : button.dataset.copy;
    await copy(text);
    const words = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1200);
  });

  // Two trials side by side, and where they part.
  let back = null;
  const plain = (trial) => {
    const part = (c) => trial.querySelector("summary " + c)?.textContent ?? "";
    const attempt = trial.querySelector("summary > span.muted")?.textContent ?? "";
    return [part(".name"), attempt, part(".word")].filter((s) => s !== "").join(" ");
  };
  const sides = (scenario) => {
    const list = all("details.trial", scenario);
    if (list.length < 2) return;
    const model = (d) => d.querySelector("summary .name")?.textContent ?? "";
    const a = list.find((d) => d.matches(".failed")) ?? list[0];
    const b = list.find((d) => d !== a && model(d) !== model(a) && d.matches(".passed")) ??
      list.find((d) => d !== a && model(d) !== model(a)) ?? list.find((d) => d !== a && !d.matches(".failed")) ?? list.find((d) => d !== a);
    location.hash = `#side-${a.id}-and-${b.id}`;
  };
  const side = async (a, b) => {
    if (!a || !b) return;
    const scenario = a.closest(".scenario");
    back = scenario;
    const box = $("side");
    box.hidden = false;
    box.querySelector("h3").textContent = "Side by side: " + scenario.dataset.name;
    for (const [id, chosen] of [["side-a", a], ["side-b", b]]) {
      const select = $(id);
      select.replaceChildren(...all("details.trial", scenario).map((t) => {
        const o = document.createElement("option");
        o.value = t.id;
        o.textContent = plain(t);
        o.selected = t === chosen;
        return o;
      }));
      await expand(chosen);
      $(id + "-body").replaceChildren(...chosen.querySelector(".body").cloneNode(true).childNodes);
      // What is told of one trial alone stays where that trial is.
      for (const e of all(".again, dl.facts, .fall, .fallhead, .wire", $(id + "-body"))) e.remove();
    }
    $("side-words").textContent = part($("side-a-body"), $("side-b-body"), plain(a), plain(b));
    reach(box);
    land(box);
    box.querySelector("h3").focus({ preventScroll: true });
  };
  const callOf = (card) => (card.querySelector(".call")?.textContent ?? "") + " " + (card.querySelector(".io > div")?.textContent ?? "");
  const resultOf = (card) => card.querySelector(".io > div + div")?.textContent ?? "";
  // part marks the first call in which two trials differ and says how.
  const part = (left, right, a, b) => {
    const x = all(".card", left), y = all(".card", right);
    for (const list of [x, y]) {
      list.forEach((card, i) => {
        const mark = document.createElement("span");
        mark.className = "muted small nth";
        mark.textContent = "call " + (i + 1);
        card.querySelector(".cardhead").prepend(mark);
      });
    }
    const mark = (i) => {
      for (const list of [x, y]) {
        if (!list[i]) continue;
        list[i].classList.add("parts");
        const word = document.createElement("strong");
        word.className = "partsword";
        word.textContent = "they part here";
        list[i].querySelector(".cardhead").prepend(word);
      }
    };
    const called = (card) => card.querySelector(".call").textContent;
    for (let i = 0; i < Math.max(x.length, y.length); i++) {
      if (x[i] && y[i] && callOf(x[i]) === callOf(y[i])) continue;
      mark(i);
      if (!x[i]) return `They part at call ${i + 1}: “${a}” makes no further call, “${b}” calls ${called(y[i])}.`;
      if (!y[i]) return `They part at call ${i + 1}: “${a}” calls ${called(x[i])}, “${b}” makes no further call.`;
      return called(x[i]) === called(y[i]) ? `They part at call ${i + 1}: both call ${called(x[i])}, with other arguments.` :
        `They part at call ${i + 1}: “${a}” calls ${called(x[i])}, “${b}” calls ${called(y[i])}.`;
    }
    for (let i = 0; i < x.length; i++) {
      if (resultOf(x[i]) !== resultOf(y[i])) {
        mark(i);
        return `The calls are the same; the results of call ${i + 1} differ.`;
      }
    }
    return x.length === 0 ? "Neither makes a call." : "Calls and results are the same; what was said may differ.";
  };
  const close = () => {
    $("side").hidden = true;
    if (back) {
      history.replaceState(null, "", "#" + back.id);
      land(back);
      back.querySelector("button, summary")?.focus({ preventScroll: true });
    }
  };
  $("side-close").addEventListener("click", close);
  for (const id of ["side-a", "side-b"]) {
    $(id).addEventListener("change", () => { location.hash = `#side-${$("side-a").value}-and-${$("side-b").value}`; });
  }
  for (const e of all(".sidelink")) e.addEventListener("click", () => sides(e.closest(".scenario")));

  filter(); // a browser may remember what was chosen before
  reveal();
})();

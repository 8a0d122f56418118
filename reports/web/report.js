// Conveniences only: the page says everything without them.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const trials = all("details.trial");
  const failing = trials.filter((d) => !("ok" in d.dataset));
  $("tools").hidden = trials.length === 0;
  $("next").hidden = failing.length === 0;

  const filter = () => {
    document.body.classList.toggle("only-failing", $("only").checked);
    const text = $("find").value.trim().toLowerCase();
    for (const e of all("[data-name]")) {
      e.hidden = !e.dataset.name.toLowerCase().includes(text);
    }
  };
  $("only").addEventListener("change", filter);
  $("find").addEventListener("input", filter);

  $("open").addEventListener("click", () => {
    const open = trials.some((d) => !d.open);
    for (const d of trials) d.open = open;
    $("open").textContent = open ? "Close all" : "Open all";
  });

  // A link to a trial opens it; newer browsers do so by themselves.
  const reveal = () => {
    const target = location.hash && $(location.hash.slice(1));
    const trial = target && target.closest("details.trial");
    if (trial) {
      trial.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", reveal);
  reveal();

  let at = -1;
  const move = (step) => {
    const list = failing.filter((d) => d.offsetParent !== null);
    if (list.length === 0) return;
    at = (at + step + list.length) % list.length;
    list[at].open = true;
    list[at].scrollIntoView();
    list[at].querySelector("summary").focus({ preventScroll: true });
  };
  $("next").addEventListener("click", () => move(1));
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA)$/.test(e.target.tagName)) return;
    if (e.key === "n") move(1);
    if (e.key === "p") move(-1);
  });
})();

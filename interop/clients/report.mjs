// A reader of reports: opens a page in Chromium and does what a person does.
//
// usage: report.mjs PAGE rich|hostile|diff [PICTURES]
//
// Prints what is wrong as one JSON list of texts, which is empty when all is
// well. With PICTURES, a folder, it leaves a picture of each view there.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [, , file, kind, pictures] = process.argv;
const url = pathToFileURL(file).href;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const wrong = [];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });

// open gives the page in a context that tells of errors and requests.
const open = async (where, options, hash = "") => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) wrong.push(`${where}: console: ${m.text()}`); });
  page.on("pageerror", (e) => wrong.push(`${where}: error: ${e.message}`));
  page.on("request", (r) => { if (!r.url().startsWith(url)) wrong.push(`${where}: request: ${r.url().slice(0, 200)}`); });
  page.on("dialog", (d) => { wrong.push(`${where}: dialog: ${d.message()}`); d.dismiss(); });
  page.setDefaultTimeout(30_000);
  await page.goto(url + hash);
  return page;
};
const check = async (where, what, ok) => {
  try {
    const got = await ok();
    if (got !== true) wrong.push(`${where}: ${what}: ${JSON.stringify(got)}`);
  } catch (e) {
    wrong.push(`${where}: ${what}: ${String(e.message).slice(0, 400)}`);
  }
};
const sideways = (page) => page.evaluate(() => {
  const e = document.documentElement;
  return e.scrollWidth <= e.clientWidth || `the page is ${e.scrollWidth} wide, of which ${e.clientWidth} are seen`;
});
const views = kind === "diff" ? ["changes", "overview", "matrix", "causes", "trials", "tools", "cost", "provenance", "words"] :
  ["overview", "matrix", "pairs", "causes", "trials", "tools", "cost", "gold", "provenance", "words"];
const sizes = [[1280, 900], [400, 800]];

for (const [width, height] of sizes) {
  for (const colorScheme of ["light", "dark"]) {
    const where = `${width} ${colorScheme}`;
    const page = await open(where, { viewport: { width, height }, colorScheme });
    for (const id of views) {
      if (kind === "hostile" && (await page.locator("#" + id).count()) === 0) continue;
      await check(where, `view ${id}`, async () => {
        if (width > 1000) await page.locator(`nav a[href="#${id}"]`).click();
        else await page.evaluate((id) => { location.hash = id; }, id);
        const box = await page.locator("#" + id).boundingBox();
        return box !== null && box.y > -5 && box.y < height ? true : box;
      });
      if (pictures) await page.screenshot({ path: `${pictures}/${kind}-${width}-${colorScheme}-${id}.png` });
    }
    await check(where, "as it opens", () => sideways(page));
    // Everything open, as far as a page of hundreds of trials allows.
    await page.evaluate(() => {
      const list = [...document.querySelectorAll("details:not(.trial)"), ...[...document.querySelectorAll("details.trial")].slice(0, 10)];
      for (const d of list) d.open = true;
    });
    await page.waitForFunction(() => document.querySelectorAll("details.trial[open][data-chunk]").length === 0);
    await page.evaluate(() => { for (const d of document.querySelectorAll("details.trial[open] details")) d.open = true; });
    await check(where, "all open", () => sideways(page));
    await check(where, "expected and actual are whole", () => page.evaluate(() => {
      const boxes = [...document.querySelectorAll("details.trial[open] .check[open] > .inner")];
      const cut = boxes.find((b) => b.scrollWidth > b.clientWidth + 1);
      return boxes.length > 0 && (cut === undefined || `${cut.scrollWidth} wide, of which ${cut.clientWidth} are seen: ${cut.textContent.slice(0, 200)}`);
    }));
    await page.evaluate(axe);
    const result = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
    for (const v of result.violations) {
      if (["serious", "critical"].includes(v.impact)) {
        wrong.push(`${where}: axe: ${v.id}: ${v.help}: ${v.nodes.length} times, such as ${v.nodes[0].html.slice(0, 200)} ${(v.nodes[0].any[0] ?? {}).message ?? ""}`);
      }
    }
    await page.context().close();
  }
}

// A click on a name or a mark of the matrix leads there at once, whatever opens
// above it: each of the first ten, in a page of its own where nothing above has
// been drawn yet.
const landed = async (page, link) => {
  const hash = await link.getAttribute("href");
  await link.click();
  return page.evaluate(async (hash) => {
    const target = document.getElementById(hash.slice(1));
    // Settled is what ten frames leave where it is.
    for (let still = 0, last = NaN; still < 10;) {
      await new Promise(requestAnimationFrame);
      const top = target.getBoundingClientRect().top;
      still = top === last ? still + 1 : 0;
      last = top;
    }
    const bar = Math.max(0, document.querySelector(".top").getBoundingClientRect().bottom);
    const head = target.closest(".scenario").querySelector("h3").getBoundingClientRect();
    const line = target.querySelector("h3, summary").getBoundingClientRect();
    const seen = document.elementFromPoint(line.x + 20, line.y + line.height / 2);
    const end = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const top = target.getBoundingClientRect().top - bar;
    return (end || top > -1 && top < 130) && head.top >= bar - 1 && head.bottom <= innerHeight && target.contains(seen) ||
      { hash, top, bar, head: [head.top, head.bottom], seen: seen?.outerHTML.slice(0, 100) };
  }, hash);
};
if (kind !== "hostile") {
  for (const [width, list] of [[1280, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]], [400, [2, 5]]]) {
    for (const n of list) {
      const page = await open("jump", { viewport: { width, height: 900 } });
      const row = page.locator(".matrix tbody tr").nth(n - 1);
      const links = [["the name", row.locator("th a")], ["the last mark", row.locator(".dot").last()]];
      for (const [what, link] of width > 1000 ? links : links.reverse()) {
        await check("jump", `${what} of row ${n} at ${width}`, () => landed(page, link));
      }
      await page.context().close();
    }
  }
}

const opened = (page) => page.evaluate(() => location.hash);
if (kind === "rich") {
  const page = await open("keys", { viewport: { width: 1280, height: 900 } });
  const rows = () => page.evaluate(() => [...document.querySelectorAll(".matrix tbody tr")].filter((e) => e.offsetParent !== null).length);
  const every = await rows();
  await check("keys", "n goes to a failing trial", async () => {
    await page.keyboard.press("n");
    await page.waitForFunction(() => location.hash.startsWith("#trial-"));
    return page.evaluate(() => {
      const t = document.querySelector(location.hash);
      return t.open && t.matches(".failed, .error") && document.activeElement === t.querySelector("summary") || t.outerHTML.slice(0, 200);
    });
  });
  await check("keys", "n again goes to another", async () => {
    const before = await opened(page);
    await page.keyboard.press("n");
    await page.waitForFunction((b) => location.hash !== b, before);
    await page.keyboard.press("p");
    await page.waitForFunction((b) => location.hash === b, before);
    return true;
  });
  await check("keys", "d goes to a scenario that differs", async () => {
    await page.keyboard.press("d");
    return page.evaluate(() => document.querySelector(location.hash).matches(".scenario.r-different") || location.hash);
  });
  await check("keys", "s holds two models side by side", async () => {
    await page.keyboard.press("s");
    await page.waitForFunction(() => !document.getElementById("side").hidden && document.getElementById("side-words").textContent !== "");
    const said = await page.locator("#side-words").textContent();
    const marks = await page.locator("#side .partsword").count();
    if (pictures) await page.screenshot({ path: `${pictures}/side.png` });
    return /^They part at call \d|results of call|^Neither|^Calls and results/.test(said) && (marks > 0 || /^Neither|^Calls/.test(said)) || said;
  });
  await check("keys", "Escape closes it", async () => {
    await page.keyboard.press("Escape");
    return page.locator("#side").isHidden();
  });
  await check("keys", "2 shows failing rows, 3 different ones, 1 all", async () => {
    const seen = [];
    for (const key of ["2", "3", "4", "5", "1"]) {
      await page.keyboard.press(key);
      seen.push(await rows());
    }
    return seen[4] === every && seen.slice(0, 4).every((n) => n > 0 && n < every) || seen;
  });
  await check("keys", "? shows the keys", async () => {
    await page.keyboard.press("?");
    const shown = await page.locator("#help").isVisible();
    await page.keyboard.press("Escape");
    return shown && page.locator("#help").isHidden();
  });
  await check("keys", "/ finds a scenario, and says how many fit", async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("book a room in");
    const n = await rows();
    const said = await page.locator("#found").innerText();
    const counts = await page.locator(".modes label span").allInnerTexts();
    await page.keyboard.type(" turin");
    const one = await rows();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.startsWith("#scenario-"));
    const first = await page.evaluate(() => document.querySelector(location.hash).dataset.name);
    await page.locator("#find").fill("");
    return n > 1 && said === `${n} of ${every} scenarios` && counts[0] === String(n) && Number(counts[1]) <= n && one === 1 &&
      first === "book a room in Turin" && (await page.locator("#found").innerText()) === "" || [n, said, counts, one, first];
  });
  await check("keys", "what fits nothing says so", async () => {
    await page.locator("#find").fill("no such name");
    const said = [await page.locator("#found").innerText(), await page.locator("#nothing").innerText()];
    await page.locator("#find").fill("");
    return said[0] === `0 of ${every} scenarios` && said[1].includes("no such name") && page.locator("#nothing").isHidden() || said;
  });
  await check("clicks", "a link to where the page is leads there again", async () => {
    const name = page.locator(".matrix tbody th a").nth(3);
    await name.click();
    await page.keyboard.press("3");
    await page.locator("#find").fill("no such name");
    await page.evaluate(() => document.querySelectorAll(".matrix tbody th a")[3].click());
    return page.evaluate(() => document.querySelector(location.hash).offsetParent !== null || location.hash);
  });
  await check("narrow", "find stays on the screen", async () => {
    const p = await open("narrow", { viewport: { width: 400, height: 800 } });
    await p.locator("#causes").scrollIntoViewIfNeeded();
    await p.mouse.wheel(0, 500);
    const box = await p.locator("#find").boundingBox();
    await p.locator("#find").fill("turin");
    const side = await sideways(p);
    await p.context().close();
    return box !== null && box.y >= 0 && box.y < 60 && side === true || [box, side];
  });
  await check("clicks", "a tag shows its rows, and is in the link", async () => {
    await page.locator(".taglink").first().click();
    const n = await rows();
    const hash = await opened(page);
    await page.locator("#tag-shown button").click();
    return n > 0 && n < every && hash.startsWith("#tag-") && (await rows()) === every || [n, hash];
  });
  await check("clicks", "a mark of the matrix opens its trial", async () => {
    const dot = page.locator(".matrix tbody .dot.passed").last();
    await dot.click();
    const t = page.locator("details.trial[open]" + (await opened(page)));
    await t.locator(".script").waitFor();
    if ((await t.getAttribute("data-chunk")) !== null) return "it is still compressed";
    if (pictures) await page.screenshot({ path: `${pictures}/trial.png` });
    return (await t.locator(".fall li").count()) > 0 && (await t.locator(".frames").count()) > 0 && (await t.locator("details.wire").count()) > 0 || "no waterfall, frames or wire";
  });
  await check("clicks", "raw requests are shown on demand", async () => {
    const t = page.locator("details.trial[open]").filter({ has: page.locator("details.raw") }).last();
    await t.locator("details.raw > summary").click();
    await t.locator("details.raw li details > summary").first().click();
    const text = await t.locator("details.raw li details[open]").first().innerText();
    return text.includes("as it was sent") && text.includes("chat.completion") || text.slice(0, 300);
  });
  await check("clicks", "causes are counted by whose doing they are", async () => {
    const rows = await page.locator(".kinds tr.blame th").allInnerTexts();
    return JSON.stringify(rows) === JSON.stringify(["model", "infrastructure"]) || rows;
  });
  await check("clicks", "a flip leads to a trial", async () => {
    await page.locator("details.flips summary").nth(1).click();
    await page.locator("details.flips[open] .fliplist a").first().click();
    return (await opened(page)).startsWith("#scenario-") || opened(page);
  });
  await check("clicks", "each word that is linked is explained", async () => page.evaluate(() => {
    const lost = [...document.querySelectorAll("a.term")].filter((a) => !document.querySelector("#words ~ .words " + a.hash));
    return document.querySelectorAll("a.term").length > 5 && lost.length === 0 || lost.map((a) => a.outerHTML);
  }));
  await check("clicks", "copying", async () => {
    const p = await open("copy", { viewport: { width: 1280, height: 900 }, permissions: ["clipboard-read", "clipboard-write"] });
    const t = p.locator("details.trial.failed[open]").first();
    const texts = [];
    for (const b of await t.locator("button.copy").all()) {
      await b.click();
      texts.push(await p.evaluate(() => navigator.clipboard.readText()));
    }
    await p.context().close();
    return texts.length === 3 && /^rehearse run \S+ --run /.test(texts[0]) && /^scenario: /.test(texts[1]) && texts[2].startsWith(url + "#trial-") || texts;
  });
  await check("clicks", "a link to a compressed trial opens it", async () => {
    const id = await page.locator("details.trial[data-chunk]").last().getAttribute("id");
    const p = await open("link", { viewport: { width: 400, height: 800 } }, "#" + id);
    await p.locator(`#${id}[open] .script`).waitFor();
    const box = await p.locator("#" + id).boundingBox();
    await p.context().close();
    return box.y >= 0 && box.y < 800 || box;
  });
  await page.context().close();

  // The first three views and the first failing trials need no script.
  const still = await open("no script", { viewport: { width: 1280, height: 900 }, javaScriptEnabled: false });
  for (const id of ["overview", "matrix", "pairs"]) {
    await check("no script", id, () => still.locator("#" + id).isVisible());
  }
  await check("no script", "rows are chosen", async () => {
    await still.locator("#show-errors").check();
    const shown = await still.locator(".matrix tbody tr:visible").count();
    await still.locator("#show-all").check();
    return shown > 0 && shown < every || shown;
  });
  await check("no script", "a failing trial is there", () => still.locator("details.trial[open] .script").first().isVisible());
  await check("no script", "no button that would do nothing", async () => (await still.locator("button:visible:enabled").count()) === 0);
  await still.context().close();

  // On paper, what is open is there and the page is white.
  const paper = await open("print", { viewport: { width: 800, height: 1100 }, colorScheme: "dark" });
  await paper.emulateMedia({ media: "print", colorScheme: "light" });
  await check("print", "the plot and the matrix", async () => (await paper.locator(".plot svg:visible").count()) > 0 && paper.locator(".matrix").isVisible());
  await paper.context().close();
}

if (kind === "diff") {
  const page = await open("diff", { viewport: { width: 1280, height: 900 } });
  await check("diff", "each model has a verdict", async () => {
    const said = (await page.locator(".verdict").allInnerTexts()).map((s) => s.trim());
    return said.length === 3 && said[0].startsWith("small is better") && said.slice(1).every((s) => /may be chance\.$/.test(s)) || said;
  });
  await check("diff", "what changed comes first and is open", async () => {
    const rows = await page.locator("#changes ~ .pairs tbody th").allInnerTexts();
    const lists = await page.locator("details.flips").evaluateAll((all) => all.map((d) => d.querySelector("bdi").textContent + " " + d.open));
    return rows[0] === "small" && lists.length === 3 && lists[0] === "small true" && lists.slice(1).every((l) => l.endsWith(" false")) || [rows, lists];
  });
  await check("diff", "rows that changed", async () => {
    const of = (class_) => page.evaluate((c) => [...document.querySelectorAll(".matrix tbody tr" + c)].filter((e) => e.offsetParent !== null).length, class_);
    await page.keyboard.press("6");
    const seen = [await of(""), await of(".r-changed"), Number(await page.locator("label:has(#show-changed) span").innerText())];
    await page.keyboard.press("1");
    return seen[0] > 0 && seen[0] < (await of("")) && seen[1] === seen[0] && seen[2] === seen[0] || seen;
  });
  await check("diff", "the marks of a cell stand in one line", async () => page.evaluate(() => {
    const wrapped = [...document.querySelectorAll(".matrix .dots")].filter((d) => new Set([...d.querySelectorAll("a.dot")].map((a) => a.getBoundingClientRect().top)).size > 1);
    return wrapped.length === 0 || wrapped.length;
  }));
  await check("diff", "a cause leads to a trial of the run that has more of it", async () => {
    const cause = page.locator(".changed > li").first();
    const [, a, b] = /(\d+) → (\d+) trials/.exec(await cause.innerText());
    const link = cause.locator(".links a").first();
    const label = await link.innerText();
    await link.click();
    const t = page.locator("details.trial[open]" + (await opened(page)));
    await t.locator(".cause").waitFor();
    return label.includes(Number(a) > Number(b) ? " a · " : " b · ") || [a, b, label];
  });
  await check("diff", "s holds both runs side by side", async () => {
    await page.keyboard.press("s");
    await page.waitForFunction(() => !document.getElementById("side").hidden && document.getElementById("side-words").textContent !== "");
    return true;
  });
  await page.context().close();
  const still = await open("no script", { viewport: { width: 1280, height: 900 }, javaScriptEnabled: false });
  await check("no script", "changes", () => still.locator(".changed li").first().isVisible());
  await still.context().close();
}

if (kind === "hostile") {
  const page = await open("hostile", { viewport: { width: 1280, height: 900 } });
  // Every trial once, two held side by side.
  await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
  await page.waitForFunction(() => document.querySelectorAll("details.trial[data-chunk]").length === 0, null, { timeout: 180_000 });
  await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
  await check("hostile", "side by side", async () => {
    await page.locator(".sidelink").first().click();
    return page.locator("#side").isVisible();
  });
  await check("hostile", "no text has acted", () => page.evaluate(() => {
    const found = [...document.querySelectorAll("img, iframe, base, form, link, object, embed, meta[http-equiv=refresh], textarea, main script, main style, [onerror], [onload], [onmouseover], [ontoggle], [href^='javascript']")];
    return window.pwned === undefined && found.length === 0 || [String(window.pwned), found.slice(0, 3).map((e) => e.outerHTML)];
  }));
  await check("hostile", "they are there to be read", async () => (await page.evaluate(() => document.body.textContent.split("window.pwned").length)) > 100);
  await page.context().close();
}

await browser.close();
console.log(JSON.stringify(wrong));

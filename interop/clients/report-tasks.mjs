// Someone new to a report: opens it and answers a question by reading and
// clicking, and counts the clicks.
//
// usage: report-tasks.mjs QUESTIONS, a JSON file: {report, diff, failed: {name,
// model, message}, gained: {name, model, before, after}}
//
// Prints one JSON list of {question, clicks, answer, wrong}; wrong is empty
// where the answer is right.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const q = JSON.parse(readFileSync(process.argv[2], "utf8"));
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const out = [];

// ask opens a page for one question. What is read must be on the screen, not
// only in the page.
const ask = async (question, file, find) => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(30_000);
  await page.goto(pathToFileURL(file).href);
  let clicks = 0;
  const click = async (what) => {
    const seen = what.filter({ visible: true }).first();
    await seen.scrollIntoViewIfNeeded();
    clicks++;
    await seen.click();
  };
  const read = async (what) => {
    const seen = what.filter({ visible: true }).first();
    const box = await seen.boundingBox();
    if (!box || box.y + box.height < 0 || box.y > 900) throw new Error(`it is not on the screen: ${JSON.stringify(box)}`);
    return (await seen.innerText()).trim();
  };
  let answer = "", wrong = "";
  try {
    [answer, wrong] = await find(page, click, read);
  } catch (e) {
    wrong = String(e.message).slice(0, 400);
  }
  out.push({ question, clicks, answer, wrong });
  await page.close();
};

await ask("Which model is better, and is it real?", q.report, async (page, click, read) => {
  const better = await read(page.locator(".verdict").nth(0));
  const real = await read(page.locator(".verdict").nth(1));
  const answer = better + " " + real;
  return [answer, /are tied for the best\. \S+ beats small by [\d.]+ points \(95 % interval .* to .*\)/.test(better) && !/small .*tied/.test(better) &&
    /unlikely to be chance \(p /.test(real) ? "" : "not an answer"];
});

await ask(`Why did “${q.failed.name}” fail for ${q.failed.model}?`, q.report, async (page, click, read) => {
  await click(page.locator(`nav a[href="#matrix"]`));
  const row = page.locator(".matrix tbody tr", { has: page.locator("th a", { hasText: new RegExp(`^${q.failed.name}$`) }) });
  await click(row.locator(`td[data-of="${q.failed.model}"] a.dot.failed`));
  const trial = page.locator("details.trial[open]" + new URL(page.url()).hash);
  const cause = await read(trial.locator(".cause"));
  // The call beside the one that was expected is on the same screen.
  const said = await read(trial.locator(".check.failed .lanes, .check.failed pre"));
  return [cause + " " + said, cause.includes(q.failed.message) && said !== "" ? "" : "another cause than " + q.failed.message];
});

await ask("What changed since the baseline?", q.diff, async (page, click, read) => {
  const verdicts = [];
  for (const v of await page.locator(".verdict").all()) verdicts.push(await read(v));
  const small = verdicts.find((v) => v.startsWith(q.gained.model + " is ")) ?? "";
  // The list of what changed is open; what is not on the screen is scrolled to.
  const item = page.locator("details.flips[open] li", { has: page.locator("a", { hasText: new RegExp(`^${q.gained.name}$`) }) });
  await item.filter({ visible: true }).first().scrollIntoViewIfNeeded();
  const flip = await read(item);
  await click(item.locator("span a").first()); // the trial that failed before
  const trial = page.locator("details.trial[open]" + new URL(page.url()).hash);
  const before = await read(trial.locator(".cause"));
  const right = small.startsWith(q.gained.model + " is better") && flip.includes(`${q.gained.before} → ${q.gained.after}`) && before.includes(q.gained.message);
  return [[...verdicts, flip, before].join(" "), right ? "" : JSON.stringify([small, flip, before])];
});

await browser.close();
console.log(JSON.stringify(out));

// How long a browser takes to show a page: the medians of the first paint with
// content and of the end of loading, in milliseconds from the navigation.
//
// usage: view.mjs PAGE CHROMIUM
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [, , file, executablePath] = process.argv;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const all = [];
for (let i = 0; i < 5; i++) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(pathToFileURL(file).href, { waitUntil: "load" });
  all.push(await page.evaluate(async () => {
    const paint = () => performance.getEntriesByName("first-contentful-paint")[0];
    while (!paint()) await new Promise(requestAnimationFrame);
    return { painted: paint().startTime, ready: performance.getEntriesByType("navigation")[0].loadEventEnd || performance.now(), elements: document.querySelectorAll("*").length };
  }));
  await page.close();
}
await browser.close();
const median = (key) => all.map((t) => t[key]).sort((a, b) => a - b)[2];
console.log(JSON.stringify({ Painted: median("painted"), Ready: median("ready"), Elements: median("elements") }));

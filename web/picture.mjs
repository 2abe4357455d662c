#!/usr/bin/env node
// Takes the README's picture of a report: its findings, and what happened over time.
//   node web/picture.mjs RUN/report.html docs/images/report.png
// Nothing in it is made up: it is the page itself in Debian's Chromium.
import { resolve } from 'node:path';
import { chromium } from 'playwright-core';

const [report, picture] = process.argv.slice(2);
if (!report || !picture) {
  console.error('usage: node web/picture.mjs REPORT.html PICTURE.png');
  process.exit(64);
}
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  // Root, as in containers, has no sandbox.
  args: process.getuid() === 0 ? ['--no-sandbox'] : [],
});
const page = await browser.newPage({ viewport: { width: 1100, height: 900 } });
await page.goto(`file://${resolve(report)}`);
// What a reader wants to see first stands together.
const wanted = ['findings', 'throughput', 'percentiles', 'heat'];
await page.evaluate((ids) => {
  const keep = new Set(ids.map((id) => document.getElementById(id)));
  for (const section of document.querySelectorAll('main > section')) {
    if (keep.has(section)) continue;
    for (const child of section.children) child.hidden = !keep.has(child) && child.tagName !== 'H2';
    section.hidden = ![...section.children].some((child) => keep.has(child));
  }
}, wanted);
for (const plot of await page.locator('.figure:visible .plot').all()) {
  await plot.evaluate((element) => element.scrollIntoView({ behavior: 'instant' }));
  await plot.locator('svg').first().waitFor();
}
await page.evaluate(() => window.scrollTo({ top: 0, behavior: 'instant' }));
const main = await page.locator('main').boundingBox();
const height = Math.ceil((main?.y ?? 0) + (main?.height ?? 900) + 24);
await page.screenshot({ path: picture, fullPage: true, clip: { x: 0, y: 0, width: 1100, height } });
await browser.close();

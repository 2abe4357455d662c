#!/usr/bin/env node
// Takes a picture of the first screen of a report.
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
const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
await page.goto(`file://${resolve(report)}`);
await page.locator('main').waitFor();
// Charts are drawn as they come into view.
await page.waitForFunction(() =>
  [...document.querySelectorAll('.figure .plot')].every((plot) => {
    const box = plot.getBoundingClientRect();
    return box.width === 0 || box.top >= window.innerHeight || plot.querySelector('svg') !== null;
  }),
);
await page.screenshot({ path: picture });
await browser.close();

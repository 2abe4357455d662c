/** The page of a model, made from a log whose crowd is known. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIGHT } from '../src/chart/theme';
import {
  axe,
  browser,
  drawAll,
  drawn,
  FORMS,
  layout,
  open,
  openTables,
  scratch,
  shot,
  throng,
} from './support';

const HOSTILE = '/<img src=x onerror=alert(1)></script>';
/** What no log holds but this one: its name is a page's title, too. */
const NAME = '<img src=x onerror=alert(1)>';
const dir = scratch();
const out = join(dir.path, 'model');
const report = join(out, 'report.html');
let chrome: Browser;

/** Four days of visits, more by day than by night, some lines of which are damaged. */
function log(): string {
  let state = 12345;
  // Knuth's numbers: the same log each time.
  const draw = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const begin = Date.UTC(2015, 4, 17) / 1000;
  const lines: [number, string][] = [];
  let user = 0;
  for (let at = 0; at < 4 * 86_400;) {
    const hour = (at / 3600) % 24;
    at += (-Math.log(1 - draw()) * 3600) / (hour > 8 && hour < 20 ? 60 : 10);
    let now = begin + at;
    user += 1;
    const paths = ['/', `/items/${user % 9}`, '/cart', HOSTILE];
    for (let step = 0; step < 1 + Math.floor(draw() * 5); step += 1) {
      const time = new Date(now * 1000).toISOString().slice(0, 19);
      const path = paths[Math.min(step, 3)] ?? '/';
      lines.push([
        now,
        JSON.stringify({
          time: `${time}Z`,
          user: `u${user}`,
          method: 'GET',
          uri: path,
          status: 200,
        }),
      ]);
      now += -Math.log(1 - draw()) * 8;
    }
  }
  lines.sort(([a], [b]) => a - b);
  return `${lines.map(([, line]) => line).join('\n')}\n{"time": "<b>never</b>"}\n`;
}

beforeAll(async () => {
  chrome = await browser();
  writeFileSync(join(dir.path, `${NAME}.json`), log());
  await throng(['model', join(dir.path, `${NAME}.json`), '-o', out, '--key', 'user', '--quiet']);
});
afterAll(async () => {
  await chrome?.close();
  dir.remove();
});

describe('the page of a model', () => {
  test('draws every chart, without a word of complaint', async () => {
    const { page, faults, close } = await open(chrome, report);
    const pictures = await shot(page, 'model-light');
    const found = await drawn(page, pictures, [...LIGHT.lines, ...LIGHT.heat]);
    const ids = await page.locator('.figure').evaluateAll((all) => all.map((one) => one.id));
    expect(ids).toEqual(
      expect.arrayContaining([
        'arrivals-over-time',
        'cycle',
        'counts-0',
        'correlation-0',
        'picture-0',
        'picture-2',
        'hurst',
        'between-distribution',
        'gap',
        'lengths',
        'transitions',
        'thinks-distribution',
        'thinks-histogram',
      ]),
    );
    expect(new Set(ids).size, 'ids are unique').toBe(ids.length);
    for (const id of ids) expect(found[id], `${id} is blank`).toBeGreaterThan(20);
    expect(await layout(page)).toEqual([]);
    await openTables(page);
    expect(faults).toEqual([]);
    await close();
  });

  test('shows findings first, warnings at the top', async () => {
    const { page, close } = await open(chrome, report);
    expect(await page.locator('main section').first().locator('h2').innerText()).toBe('Findings');
    const first = page.locator('.findings li').first();
    expect(await first.getAttribute('class')).toBe('is-warning');
    expect(await page.locator('#the-log').innerText()).toContain('left out');
    await close();
  });

  test('draws the fits over the data', async () => {
    const { page, close } = await open(chrome, report);
    const figure = page.locator('#thinks-distribution');
    await figure.locator('.numbers > summary').click();
    const head = await figure.locator('thead').innerText();
    expect(head).toMatch(/seen.*exponential/s);
    // Think times were drawn from an exponential distribution: the fit follows the data.
    const apart = await figure.locator('table').evaluate((element) => {
      const names = [...element.querySelectorAll('thead th')].map((th) => th.textContent);
      const fit = names.indexOf('exponential');
      const share = (cell: Element | undefined) => Number.parseFloat(cell?.textContent ?? '') / 100;
      const rows = [...element.querySelectorAll('tbody tr')].map((tr) => [...tr.children]);
      return Math.max(...rows.map((cells) => Math.abs(share(cells[1]) - share(cells[fit]))));
    });
    expect(apart).toBeLessThan(0.08);
    await close();
  });

  test('shows other think times where they are chosen, and keeps the selector', async () => {
    const { page, faults, close } = await open(chrome, report);
    const chooser = page.getByLabel('Think times', { exact: true });
    const before = await page.locator('#thinks-distribution .note').innerText();
    await chooser.focus();
    await chooser.selectOption({ index: 1 });
    expect(await page.locator('#thinks-distribution .note').innerText()).not.toBe(before);
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('thinks-of');
    expect(faults).toEqual([]);
    await close();
  });

  test('takes what stands in a log for text', async () => {
    const { page, faults, close } = await open(chrome, report);
    await drawAll(page);
    expect(await page.locator('h1').innerText()).toBe(NAME);
    expect(await page.locator('#the-log').innerText()).toContain('<b>never</b>');
    expect(await page.locator('img').count()).toBe(0);
    expect(faults).toEqual([]);
    await close();
  });

  test.each(['dark', 'phone', 'print'] as const)('has a sound layout: %s', async (form) => {
    const look = FORMS[form];
    const { page, faults, close } = await open(chrome, report, look);
    await shot(page, `model-${form}`, look);
    expect(await layout(page)).toEqual([]);
    if (form !== 'print') expect(await axe(page)).toEqual([]);
    expect(faults).toEqual([]);
    await close();
  });

  test('has the check, once there was one', async () => {
    await throng(['model', 'check', out, '--sessions', '500'], [0, 1]);
    const { page, faults, close } = await open(chrome, report);
    expect(await page.locator('#the-check').innerText()).toMatch(/of \d+ tests reject/);
    expect(faults).toEqual([]);
    await close();
  });
});

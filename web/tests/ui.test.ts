/** Past results in a browser: the list, reports, and comparisons on request. */

import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIGHT } from '../src/chart/theme';
import {
  axe,
  browser,
  crowd,
  drawAll,
  type Look,
  pixels,
  ROOT,
  scratch,
  shot,
  tab,
  throng,
  THRONG,
} from './support';

const HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(1)>{a|b}';
const dir = scratch();
const at = (name: string) => join(dir.path, name);
let chrome: Browser;
let serving: ChildProcess;
let url: string;

/** A copy of a run with another name, as if it had been made so. */
function copy(from: string, id: string, change: (info: Record<string, unknown>) => void): string {
  const to = at(`runs/${id}`);
  cpSync(from, to, { recursive: true });
  const path = join(to, 'run.json');
  const info = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  info.id = id;
  change(info);
  writeFileSync(path, JSON.stringify(info));
  return to;
}

beforeAll(async () => {
  chrome = await browser();
  const first = await crowd(at('runs'), '--set', 'seed=1');
  const second = await crowd(at('runs'), '--set', 'seed=2');
  copy(second, 'hostile', (info) => {
    info.name = HOSTILE;
  });
  rmSync(
    join(
      copy(first, 'bare', (info) => (info.name = 'bare')),
      'report.html',
    ),
  );
  writeFileSync(
    join(
      copy(first, 'cut', () => undefined),
      'run.json',
    ),
    '{"format": 2',
  );
  rmSync(
    join(
      copy(first, 'killed', (info) => (info.status = 'running')),
      'summary.json',
    ),
  );
  await throng(
    ['compare', second, '--baseline', first, '--html', at('runs/a-comparison.html')],
    [0, 1, 2],
  );
  mkdirSync(at('runs/sweep'));
  const sweep = { name: 'sweep', runs: [{ stage: 'done' }, { stage: 'pending' }] };
  writeFileSync(at('runs/sweep/experiment.json'), JSON.stringify(sweep));
  const child = spawn(THRONG, ['ui', at('runs'), '--listen', '127.0.0.1:0'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  serving = child;
  url = await new Promise<string>((done, fail) => {
    let output = '';
    child.stdout.on('data', (piece: Buffer) => {
      output += piece.toString();
      const found = /^results +(\S+)$/m.exec(output)?.[1];
      if (found) done(found);
    });
    child.on('exit', (code) => fail(new Error(`it ended with ${code}: ${output}`)));
  });
});
afterAll(async () => {
  serving?.kill('SIGINT');
  await chrome?.close();
  dir.remove();
});

async function visit(query = '', look: Look = {}) {
  const opened = await tab(chrome, look);
  const { page, faults } = opened;
  await page.goto(url + query);
  await page
    .locator('main')
    .waitFor({ state: 'attached' })
    .catch(async () => {
      const text = await page.locator('body').innerText();
      throw new Error(`nothing is drawn: ${text}\n${faults.join('\n')}`);
    });
  return opened;
}

/** A comparison takes as long as it takes: this only ends what hangs. */
const compared = (page: Page) =>
  page.getByRole('link', { name: 'Save comparison.html' }).waitFor({ timeout: 110_000 });
const rows = (page: Page) => page.locator('#results tbody tr');
const row = (page: Page, place: string) =>
  rows(page).filter({ has: page.locator('.note', { hasText: place }) });

describe('the list of results', () => {
  test('shows all results with their figures, damaged ones too', async () => {
    const { page, faults, close } = await visit();
    expect(await page.locator('h1').innerText()).toBe('Results');
    expect(await rows(page).count()).toBe(8);
    expect(await row(page, 'cut').innerText()).toMatch(/✗ damaged.*run\.json/s);
    expect(await row(page, 'killed').innerText()).toMatch(/… unfinished.*was killed/s);
    expect(await row(page, 'sweep').innerText()).toMatch(/experiment.*1 of 2 runs/s);
    expect(await row(page, 'a-comparison.html').innerText()).toMatch(/page.*comparison/s);
    expect(await row(page, 'bare').innerText()).toMatch(
      /run.*\/s.*(ms|µs).*(measured|passed|failed|trusted)/s,
    );
    // Only comparable results can be selected.
    expect(await row(page, 'cut').locator('input').count()).toBe(0);
    expect(await row(page, 'bare').locator('input').count()).toBe(1);
    expect(faults).toEqual([]);
    await shot(page, 'ui-list');
    await close();
  });

  test('is filtered and sorted, and its address keeps that', async () => {
    const { page, close } = await visit();
    await page.getByLabel('Name or path').fill('BARE');
    expect(await rows(page).count()).toBe(1);
    expect(new URL(page.url()).search).toBe('?name=BARE');
    await page.getByLabel('Name or path').fill('');
    await page.getByLabel('Outcome').selectOption('damaged');
    expect(await rows(page).count()).toBe(1);
    await page.getByLabel('Outcome').selectOption('');
    await page.getByLabel('Kind').selectOption('run');
    const runs = await rows(page).count();
    expect(runs).toBe(6);
    await page.getByLabel('To', { exact: true }).fill('2000-01-01');
    expect(await rows(page).count()).toBe(0);
    await page.getByLabel('To', { exact: true }).fill('');
    await page.getByRole('button', { name: 'name', exact: true }).click();
    const names = await rows(page).locator('th a').allInnerTexts();
    expect(names).toEqual([...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })));
    const kept = new URL(page.url()).search;
    await close();
    const again = await visit(kept);
    expect(await rows(again.page).locator('th a').allInnerTexts()).toEqual(names);
    expect(await again.page.getByLabel('Kind').inputValue()).toBe('run');
    await again.close();
  });

  test('shows names as text', async () => {
    const { page, faults, close } = await visit();
    expect(await row(page, 'hostile').locator('a').innerText()).toBe(HOSTILE);
    await page.getByLabel(`Compare ${HOSTILE}, hostile`).check();
    expect(await page.locator('.selection').innerText()).toContain(HOSTILE);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('script').count()).toBe(1);
    expect(faults).toEqual([]);
    await close();
  });

  test('shows new runs by itself', async () => {
    const { page, close } = await visit();
    const before = await rows(page).count();
    mkdirSync(at('runs/new'));
    writeFileSync(at('runs/new/run.json'), '{');
    await page.waitForFunction(
      (wanted) => document.querySelectorAll('#results tbody tr').length === wanted,
      before + 1,
    );
    rmSync(at('runs/new'), { recursive: true });
    await page.waitForFunction(
      (wanted) => document.querySelectorAll('#results tbody tr').length === wanted,
      before,
    );
    await close();
  });

  test('opens reports, existing ones and those made on request', async () => {
    const { page, faults, close } = await visit();
    const [first] = await rows(page).locator('th a').allInnerTexts();
    expect(first).toBeDefined();
    for (const name of ['bare', 'hostile', 'a-comparison.html']) {
      await page.goto(url);
      await row(page, name).locator('th a').click();
      await page.locator('.findings li').first().waitFor();
      expect(page.url()).toMatch(/\/report\/[0-9a-f]{16}$/);
    }
    await page.goto(url);
    await row(page, 'bare').locator('th a').click();
    expect(await page.locator('h1').innerText()).toBe('bare');
    expect((await pixels(page, 'throughput', LIGHT.lines)).found).toBeGreaterThan(60);
    // It is in a sandbox with an origin of its own.
    expect(await page.evaluate(() => window.origin)).toBe('null');
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('#throughput').getByRole('button', { name: 'as CSV' }).click(),
    ]);
    expect(readFileSync(await saved.path(), 'utf8')).toMatch(/^time/);
    expect(faults).toEqual([]);
    await close();
  });

  test('refuses malformed ids and foreign pages', async () => {
    const { page, close } = await visit();
    for (const path of [
      'report/..%2f..%2fetc%2fpasswd',
      'report/../../etc/passwd',
      'report/0000000000000000',
      'comparison/1e9',
      'runs/bare/run.json',
    ]) {
      expect((await page.request.get(new URL(path, url).href)).status(), path).toBe(404);
    }
    const foreign = { headers: { origin: 'http://evil.test' } };
    const reply = await page.request.post(new URL('compare?runs=', url).href, foreign);
    expect(reply.status()).toBe(403);
    const elsewhere = { headers: { host: 'evil.test' } };
    expect((await page.request.get(url, elsewhere)).status()).toBe(421);
    await close();
  });
});

describe('a comparison', () => {
  test('is made of two runs by keyboard, and can be kept', async () => {
    const { page, faults, close } = await visit('?kind=run');
    const boxes = rows(page).filter({ hasText: 'crowd' }).locator('input');
    for (const box of (await boxes.all()).slice(0, 2)) {
      await box.focus();
      await page.keyboard.press('Space');
    }
    expect(await page.locator('.selection p').innerText()).toMatch(
      /1 run compared with 1 run as the baseline/,
    );
    await page.getByRole('link', { name: 'Compare runs' }).focus();
    await page.keyboard.press('Enter');
    await compared(page);
    expect(await page.locator('.findings li').count()).toBeGreaterThan(0);
    await drawAll(page);
    expect((await pixels(page, 'distributions-0', LIGHT.lines)).found).toBeGreaterThan(60);
    await shot(page, 'ui-comparison');
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Save comparison.html' }).click(),
    ]);
    expect(readFileSync(await saved.path(), 'utf8')).toContain('"kind":"comparison"');
    const kept = new URL(page.url()).search;
    expect(kept).toMatch(/^\?runs=[0-9a-f]{16}&baseline=[0-9a-f]{16}$/);
    await page.getByRole('link', { name: '← All results' }).click();
    await rows(page).first().waitFor();
    expect(faults).toEqual([]);
    await close();
    // The address leads to the same comparison.
    const again = await visit(kept);
    await compared(again.page);
    await again.close();
  });

  test('compares all with each other, and differing scenarios only on request', async () => {
    const { page, faults, close } = await visit('?kind=run');
    for (const place of ['bare', 'hostile']) {
      await row(page, place).locator('input').check();
    }
    // Whatever was proposed as baseline: here there is none.
    for (const box of await page.locator('.selection input').all()) {
      if (await box.isChecked()) await box.click();
    }
    expect(await page.locator('.selection p').innerText()).toMatch(
      /2 runs compared with each other/,
    );
    await page.getByRole('link', { name: 'Compare runs' }).click();
    await page.getByRole('link', { name: 'Compare anyway' }).click();
    await compared(page);
    expect(faults).toEqual([]);
    await close();
  });

  test('that fails says why', async () => {
    const { page, close } = await visit('?runs=0000000000000000,1111111111111111');
    await page
      .getByText('The runs cannot be compared: one of the runs no longer exists.')
      .waitFor();
    await close();
    const bad = await visit('?runs=../../etc');
    await bad.page
      .getByText(/The runs cannot be compared: name the runs to compare by their ids/)
      .waitFor();
    await bad.close();
  });
});

test('the list fits a phone, is dark where wanted, and has no serious fault of accessibility', async () => {
  for (const dark of [false, true]) {
    const { page, faults, close } = await visit('', { dark, width: 360 });
    await row(page, 'bare').locator('input').check();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      360,
    );
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(ground).toBe(dark ? 'rgb(20, 24, 29)' : 'rgb(255, 255, 255)');
    expect(await axe(page)).toEqual([]);
    expect(faults).toEqual([]);
    await shot(page, dark ? 'ui-phone-dark' : 'ui-phone');
    await close();
  }
});

test('the list is reached by keyboard from end to end', async () => {
  const { page, close } = await visit();
  const reached = new Set<string>();
  for (let presses = 0; presses < 200; presses += 1) {
    await page.keyboard.press('Tab');
    const on = await page.evaluate(() => {
      const active = document.activeElement;
      if (!active || active === document.body) return null;
      return `${active.tagName} ${getComputedStyle(active).outlineStyle}`;
    });
    if (on === null) break;
    reached.add(on);
  }
  for (const tag of ['A', 'BUTTON', 'DIV', 'INPUT', 'SELECT']) {
    expect([...reached]).toContain(`${tag} solid`);
  }
  await close();
});

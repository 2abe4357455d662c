/** Past results in a browser: the list, reports, and comparisons on request. */

import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { LIGHT } from '../src/chart/theme';
import {
  axe,
  browser,
  drawAll,
  FORMS,
  layout,
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
  const [first = '', second = ''] = inject('made')
    .runs.slice(0, 2)
    .map((run) => {
      const to = join(at('runs'), basename(run));
      cpSync(run, to, { recursive: true });
      return to;
    });
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
  const killed = copy(first, 'killed', (info) => (info.status = 'running'));
  rmSync(join(killed, 'summary.json'));
  // It has written nothing for a long time.
  for (const name of ['tally.json', 'events.jsonl']) utimesSync(join(killed, name), 1e9, 1e9);
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

const compared = (page: Page) => page.getByRole('link', { name: 'Save comparison.html' }).waitFor();
const rows = (page: Page) => page.locator('#results tbody tr');
const row = (page: Page, place: string) =>
  rows(page).filter({ has: page.locator('.note', { hasText: place }) });

describe('the list of results', () => {
  test('shows all results with their figures, damaged ones too', async () => {
    const { page, faults, close } = await visit();
    expect(await page.locator('h1').innerText()).toBe('Results');
    expect(await rows(page).count()).toBe(8);
    expect(await page.locator('.verdict').innerText()).toBe('8 results');
    const total = await page.locator('#results').getByRole('status').innerText();
    expect(total).toBe('8 results: 6 runs, 1 experiment, 1 page.');
    expect(await row(page, 'cut').innerText()).toMatch(/run\.json.*✗ damaged/s);
    expect(await row(page, 'killed').innerText()).toMatch(/was killed.*… unfinished/s);
    expect(await row(page, 'sweep').innerText()).toMatch(/1 of 2 runs.*experiment/s);
    expect(await row(page, 'a-comparison.html').innerText()).toMatch(/comparison.*page/s);
    expect(await row(page, 'bare').innerText()).toMatch(
      /run.*\/s.*(ms|µs).*(measured|passed|failed|trusted)/s,
    );
    // Nothing is beyond the edge.
    const table = page.locator('#results .scroll');
    expect(await table.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    // Only comparable results can be selected.
    expect(await row(page, 'cut').locator('input').count()).toBe(0);
    expect(await row(page, 'bare').locator('input').count()).toBe(1);
    expect(faults).toEqual([]);
    await close();
  });

  test('is filtered and sorted, and its address keeps that', async () => {
    const { page, close } = await visit();
    await page.getByLabel('Name, path or note').fill('BARE');
    expect(await rows(page).count()).toBe(1);
    expect(new URL(page.url()).search).toBe('?name=BARE');
    await page.getByLabel('Name, path or note').fill('');
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

  test('follows a run in progress to its report, and then the next one', async () => {
    const { page, faults, close } = await visit();
    const crowd = ['run', 'web/tests/crowd.yaml', '--set', 'arrivals.2.hold=20s', '--quiet'];
    const start = () => throng([...crowd, '--runs', at('runs/live')], [0, 1, 2]);
    const ended = start();
    const running = rows(page).filter({ hasText: '● running' });
    await running.locator('th a').first().click();
    await page.waitForURL(/\?live=[0-9a-f]{16}$/);
    const first = new URL(page.url()).search;
    await page.locator('.verdict', { hasText: 'Running' }).waitFor();
    await page.locator('#throughput').waitFor();
    await page.getByText('The run is over. This is its report.').waitFor();
    expect(await page.locator('.verdict').innerText()).not.toBe('Running');
    await ended;
    const again = start();
    await page.waitForFunction((before) => location.search !== before, first);
    await page.locator('.verdict', { hasText: 'Running' }).waitFor();
    await again;
    expect(faults).toEqual([]);
    await close();
    rmSync(at('runs/live'), { recursive: true });
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

  test('refuses malformed ids and pages of other sites', async () => {
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
    const otherSite = { headers: { origin: 'http://evil.test' } };
    const reply = await page.request.post(new URL('compare?runs=', url).href, otherSite);
    expect(reply.status()).toBe(403);
    const elsewhere = { headers: { host: 'evil.test' } };
    expect((await page.request.get(url, elsewhere)).status()).toBe(421);
    await close();
  });
});

describe('trends', () => {
  /** Runs of a scenario one after the other; p99 doubles with the thirteenth, and the fourth is an outlier. */
  const made = () =>
    Array.from({ length: 24 }, (_, n) => {
      const to = copy(at('runs/bare'), `trend-${n}`, (info) => {
        info.name = 'nightly';
        info.started_unix_ns = 1_700_000_000_000_000_000 + n * 86_400_000_000_000;
      });
      const path = join(to, 'summary.json');
      const summary = JSON.parse(readFileSync(path, 'utf8')) as {
        verdict: string;
        measures: { kind: string; count: number; response?: { p99_ns: number } }[];
      };
      summary.verdict = 'passed';
      for (const { response } of summary.measures) {
        if (response)
          response.p99_ns = (n === 3 ? 90 : n < 12 ? 10 : 20) * 1e6 + 1e4 * ((5 * n) % 12);
      }
      writeFileSync(path, JSON.stringify(summary));
      return to;
    });

  test('show since when a figure is different, and no single outlier', async () => {
    const runs = made();
    const { page, faults, close } = await visit();
    await page.getByLabel('Scenario').selectOption('nightly');
    const changes = page.locator('#trends .changes li');
    await page.locator('#trends .changes a', { hasText: 'trend-12' }).waitFor();
    expect(await changes.count()).toBe(1);
    expect(await changes.first().innerText()).toMatch(
      /^p99: 10\.\d ms → 20\.\d ms \(\+\d+ %\) from/,
    );
    await drawAll(page);
    for (const name of ['p50', 'p99', 'rate', 'errors']) {
      expect((await pixels(page, `trend-${name}`, LIGHT.lines)).found).toBeGreaterThan(60);
    }
    // The line of the change is there, and only in the figure that changed.
    const red = [LIGHT.bad];
    expect((await pixels(page, 'trend-p99', red)).found).toBeGreaterThan(20);
    expect((await pixels(page, 'trend-rate', red)).found).toBe(0);
    await page.locator('#trend-p99 .numbers > summary').press('Enter');
    await page.locator('#trend-p99 tbody tr').first().waitFor();
    expect(await page.locator('#trend-p99 tbody tr').count()).toBe(24);
    expect(await axe(page)).toEqual([]);
    expect(await layout(page)).toEqual([]);
    // Somebody wrote why, and the trend says so where the change is.
    await page.getByRole('button', { name: /^Add a note to nightly, trend-12$/ }).click();
    await page.getByLabel('Note on nightly, trend-12').fill(`new pool ${HOSTILE}`);
    await page.keyboard.press('Enter');
    await changes.first().locator('q').waitFor();
    expect(await changes.first().locator('q').innerText()).toBe(`new pool ${HOSTILE}`);
    expect(await page.locator('img').count()).toBe(0);
    for (const [form, look] of Object.entries(FORMS)) {
      const seen = await visit('', look);
      await seen.page.getByLabel('Scenario').selectOption('nightly');
      await seen.page.locator('#trends .changes a', { hasText: 'trend-12' }).waitFor();
      await row(seen.page, 'bare').locator('input').check();
      await shot(seen.page, `ui-${form}`, look);
      expect(await layout(seen.page), form).toEqual([]);
      expect(seen.faults).toEqual([]);
      await seen.close();
    }
    await changes.first().locator('a').click();
    await page.locator('.findings li').first().waitFor();
    expect(faults).toEqual([]);
    await close();
    for (const run of runs) rmSync(run, { recursive: true });
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

describe('notes', () => {
  test('are written by keyboard, shown with the run, and removed', async () => {
    const { page, faults, close } = await visit();
    const add = page.getByRole('button', { name: 'Add a note to bare, bare' });
    await add.focus();
    await page.keyboard.press('Enter');
    const input = page.getByLabel('Note on bare, bare');
    expect(await input.evaluate((one) => one === document.activeElement)).toBe(true);
    expect(await input.getAttribute('maxlength')).toBe('280');
    await page.keyboard.type('larger heap ');
    // The list is drawn again meanwhile: what was written stays, with the focus.
    mkdirSync(at('runs/other'));
    writeFileSync(at('runs/other/run.json'), '{');
    await row(page, 'other').waitFor();
    await page.keyboard.type(HOSTILE);
    await page.keyboard.press('Enter');
    const note = row(page, 'bare').locator('q');
    await note.waitFor();
    expect(await note.innerText()).toBe(`larger heap ${HOSTILE}`);
    expect(readFileSync(at('runs/bare/note.txt'), 'utf8')).toBe(`larger heap ${HOSTILE}\n`);
    rmSync(at('runs/other'), { recursive: true });
    // It is found by its words.
    await page.getByLabel('Name, path or note').fill('larger HEAP');
    expect(await rows(page).count()).toBe(1);
    expect(await axe(page)).toEqual([]);
    // The report shows it, as text.
    await row(page, 'bare').locator('th a').click();
    await page.locator('main').waitFor();
    expect(await page.locator('aside q').innerText()).toBe(`larger heap ${HOSTILE}`);
    expect(await page.locator('img').count()).toBe(0);
    // The filter may still be there, and would hide the row without its note.
    await page.goBack();
    await page.getByLabel('Name, path or note').fill('');
    await page.getByRole('button', { name: 'Change the note on bare, bare' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Change the note on bare, bare' }).click();
    await input.fill('');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await add.waitFor();
    expect(await note.count()).toBe(0);
    expect(faults).toEqual([]);
    await close();
  });

  test('cannot be written by other pages, nor by reports', async () => {
    const { page, close } = await visit();
    const id = await row(page, 'bare').locator('th a').getAttribute('href');
    const path = `note/${id?.replace('report/', '')}?text=theirs`;
    const otherSite = { headers: { origin: 'http://evil.test' } };
    const reply = await page.request.post(new URL(path, url).href, otherSite);
    expect(reply.status()).toBe(403);
    // A report is in a sandbox with an origin of its own.
    await row(page, 'bare').locator('th a').click();
    await page.locator('main').waitFor();
    const sent = await page.evaluate(
      (to) =>
        fetch(to, { method: 'POST' }).then(
          (one) => one.status,
          () => 'refused',
        ),
      new URL(path, url).href,
    );
    expect(sent).toBe('refused');
    await page.goto(url);
    await rows(page).first().waitFor();
    expect(await row(page, 'bare').locator('q').count()).toBe(0);
    await close();
  });
});

test('the list has the colours of the system, and no serious fault of accessibility', async () => {
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

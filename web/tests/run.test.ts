/** The report of a run, as somebody reads it. */

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { DARK, LIGHT } from '../src/chart/theme';
import {
  axe,
  browser,
  drawAll,
  drawn,
  FORMS,
  layout,
  open,
  openTables,
  pixels,
  scratch,
  shot,
  throng,
} from './support';

const dir = scratch();
let chrome: Browser;
const run = inject('made').runs[0] ?? '';
const report = join(run, 'report.html');

beforeAll(async () => {
  chrome = await browser();
});
afterAll(async () => {
  await chrome?.close();
  dir.remove();
});

describe('the report of a run', () => {
  test('draws every chart without errors', async () => {
    const { page, faults, close } = await open(chrome, report);
    expect(await page.locator('h1').innerText()).toBe('crowd');
    const pictures = await shot(page, 'run-light');
    const found = await drawn(page, pictures, [...LIGHT.lines, ...LIGHT.heat]);
    const ids = await page.locator('.figure').evaluateAll((all) => all.map((one) => one.id));
    for (const id of ['throughput', 'users', 'percentiles', 'heat', 'errors-over-time', 'lag']) {
      expect(ids).toContain(id);
    }
    for (const id of ids) expect(found[id], `${id} is blank`).toBeGreaterThan(60);
    expect(await layout(page)).toEqual([]);
    expect(faults).toEqual([]);
    await close();
  });

  test.each(['dark', 'phone', 'print'] as const)('has a sound layout: %s', async (form) => {
    const look = FORMS[form];
    const { page, faults, close } = await open(chrome, report, look);
    const pictures = await shot(page, `run-${form}`, look);
    const colours = form === 'dark' ? DARK : LIGHT;
    const found = await drawn(page, pictures, [...colours.lines, ...colours.heat]);
    for (const [id, pixels] of Object.entries(found)) {
      expect(pixels, `${id} is blank`).toBeGreaterThan(60);
    }
    expect(await layout(page)).toEqual([]);
    if (form === 'dark') expect(await axe(page)).toEqual([]);
    expect(faults).toEqual([]);
    await close();
  });

  test('shows totals first, then findings, thresholds and steps, then charts', async () => {
    const { page, close } = await open(chrome, report);
    const heads = await page.locator('main section h2').allInnerTexts();
    expect(heads.slice(0, 5)).toEqual(['Totals', 'Findings', 'Thresholds', 'Steps', 'Load']);
    const names = await page.locator('#totals dt').allInnerTexts();
    expect(names).toEqual([
      'Verdict',
      'Users',
      'Offered',
      'Begun',
      'Completed',
      'Errors',
      'p50',
      'p95',
      'p99',
    ]);
    // As in the table of steps.
    const p99 = page.locator('#totals .tile').last();
    const step = await p99.locator('.note').innerText();
    const row = page.locator('#steps .table').first().locator('tbody tr', { hasText: step });
    expect(await row.innerText()).toContain(await p99.locator('.value').innerText());
    await close();
  });

  test('shows the evidence of findings one click away', async () => {
    const { page, close } = await open(chrome, report);
    const first = page.locator('#findings');
    const evidence = first.locator('details').first();
    expect(await evidence.locator('dl').isVisible()).toBe(false);
    await evidence.locator('summary').click();
    expect(await evidence.locator('dl').isVisible()).toBe(true);
    await close();
  });

  test('offers every figure as a table and as files', async () => {
    const { page, close } = await open(chrome, report);
    await openTables(page);
    const throughput = page.locator('#throughput');
    const saved = async (name: string) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        throughput.getByRole('button', { name }).click(),
      ]);
      return readFileSync(await download.path(), 'utf8');
    };
    const csv = (await saved('as CSV')).trim().split('\r\n');
    expect(csv[0]).toMatch(/^time \(s\),completed \(1\/s\)/);
    // A line a second, and as many as the table has.
    expect(csv.length - 1).toBe(await throughput.locator('tbody tr').count());
    const svg = await saved('as SVG');
    expect(svg).toMatch(/^<svg[^>]*xmlns/);
    expect(svg).toContain(LIGHT.lines[0]);
    await close();
  });

  test('sorts its tables', async () => {
    const { page, close } = await open(chrome, report);
    const steps = page.locator('#steps .table').first();
    const names = () => steps.locator('tbody th').allInnerTexts();
    const before = await names();
    await steps.getByRole('button', { name: 'step', exact: true }).click();
    expect(await names()).toEqual([...before].sort((a, b) => a.localeCompare(b)));
    await steps.getByRole('button', { name: 'step', exact: true }).click();
    expect(await names()).toEqual([...before].sort((a, b) => b.localeCompare(a)));
    expect(await steps.locator('th[aria-sort]').getAttribute('aria-sort')).toBe('descending');
    await close();
  });

  test('shows how far percentiles may lie from the true ones', async () => {
    const { page, close } = await open(chrome, report);
    const noted = page.locator('#steps .table').first().locator('td[title]').first();
    expect(await noted.getAttribute('title')).toMatch(/^95 %: /);
    await page.getByText('95 % intervals of the percentiles').click();
    const all = page.getByRole('region', { name: '95 % intervals of the percentiles' });
    expect(await all.locator('thead th').allInnerTexts()).toContain('p99.9');
    expect(await all.locator('tbody td').first().innerText()).toMatch(/ … |–/);
    await close();
  });

  test('shows another step when one is selected', async () => {
    const { page, close } = await open(chrome, report);
    const note = page.locator('#percentiles .note');
    await page.locator('#percentiles').scrollIntoViewIfNeeded();
    await page.getByLabel('Step', { exact: true }).selectOption('broadcast');
    expect(await note.innerText()).toMatch(/^broadcast:/);
    const drawn = await pixels(page, 'percentiles', LIGHT.lines);
    expect(drawn.found).toBeGreaterThan(60);
    await close();
  });

  test('shows all steps over time in one view', async () => {
    const { page, close } = await open(chrome, report);
    const rows = page.locator('#all-steps .multiples li');
    const shown = await rows.locator('strong').allInnerTexts();
    const select = page.getByLabel('Step', { exact: true });
    expect(shown).toEqual(await select.locator('option').allInnerTexts());
    const predict = rows.filter({ hasText: 'predict' });
    expect(await predict.innerText()).toMatch(/up to .*\/s\s+p50 .* … .*, p99 /s);
    // A rate, p50 and p99, each with a line.
    expect(await predict.locator('path').count()).toBe(3);
    for (const path of await predict.locator('path').all()) {
      expect((await path.getAttribute('d'))?.match(/L/g)?.length).toBeGreaterThan(2);
    }
    await close();
  });

  test('zooms all figures of time by a drag, and shows all again by a double click', async () => {
    const { page, faults, close } = await open(chrome, report);
    await drawAll(page);
    const axis = (id: string) => page.locator(`#${id} .plot svg text`).allInnerTexts();
    const before = await axis('lag');
    const plot = page.locator('#throughput .plot');
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    if (!box) throw new Error('there is no plot');
    const at = (share: number): [number, number] => [box.x + share * box.width, box.y + 100];
    await page.mouse.move(...at(0.3));
    await page.mouse.down();
    await page.mouse.move(...at(0.45), { steps: 3 });
    expect(await plot.locator('.brush').isVisible()).toBe(true);
    await page.mouse.move(...at(0.7), { steps: 3 });
    await page.mouse.up();
    const bar = page.getByRole('region', { name: 'Zoom' });
    expect(await bar.innerText()).toMatch(/0:0[12] to 0:0[456]/);
    // Another figure, far below, and the heat map follow.
    expect(await axis('lag')).not.toEqual(before);
    expect(await axis('lag')).not.toContain('0:00');
    expect(await axis('heat')).not.toContain('0:00');
    expect((await pixels(page, 'throughput', LIGHT.lines)).found).toBeGreaterThan(60);
    await shot(page, 'run-zoomed');
    await plot.dblclick();
    expect(await bar.isVisible()).toBe(false);
    expect(await axis('lag')).toEqual(before);
    expect(faults).toEqual([]);
    await close();
  });

  test('zooms by keyboard', async () => {
    const { page, close } = await open(chrome, report);
    await page
      .locator('#users')
      .getByRole('button', { name: /^Zoom into/ })
      .focus();
    await page.keyboard.press('Enter');
    const bar = page.getByRole('region', { name: 'Zoom' });
    const status = () => bar.getByRole('status').innerText();
    const half = await status();
    expect(half).toMatch(/^0:02 to 0:0[56]$/);
    await bar.getByRole('button', { name: 'Show what is before' }).press('Enter');
    expect(await status()).toMatch(/^0:0[01] to /);
    await bar.getByRole('button', { name: 'Zoom in' }).press('Enter');
    await page.keyboard.press('Escape');
    expect(await bar.isVisible()).toBe(false);
    await close();
  });

  test('grows when a longer document is drawn', async () => {
    const { page, faults, close } = await open(chrome, report);
    const throughput = page.locator('#throughput');
    await throughput.locator('.numbers > summary').click();
    const rows = throughput.locator('tbody tr');
    await rows.first().waitFor();
    const before = await rows.count();
    await throughput.getByRole('button', { name: 'completed' }).focus();
    // As a live page does it: the same document, two seconds later.
    await page.evaluate(() => {
      const doc = JSON.parse(document.getElementById('document')?.textContent ?? '');
      doc.course.slots += 2;
      for (const track of doc.course.seconds) track.mean.push(1, 2);
      (globalThis as unknown as { throng: { draw: (doc: unknown) => void } }).throng.draw(doc);
    });
    expect(await rows.count()).toBe(before + 2);
    // Open and focused elements stay so, and nothing is duplicated.
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('completed');
    expect(await page.locator('h1').count()).toBe(1);
    expect(await page.locator('#throughput').count()).toBe(1);
    expect(faults).toEqual([]);
    await close();
  });

  test('draws probes below the same axis, and bands if a point covers several seconds', async () => {
    const { page, faults, close } = await open(chrome, report);
    const plain = await pixels(page, 'arrivals', []);
    await page.evaluate(() => {
      const doc = JSON.parse(document.getElementById('document')?.textContent ?? '');
      for (const track of doc.course.seconds) {
        track.min = track.mean.map((x: number) => x / 2);
        track.max = track.mean.map((x: number) => x * 1.5);
      }
      const cpu = { role: 'servers', region: 'eu', metric: 'CPU', unit: '%' };
      doc.course.probes.lines = ['a', 'b'].map((source, n) => ({
        ...cpu,
        source,
        at_s: [-1, 1, 3, 5],
        mean: [n, 40, 60, 50],
      }));
      (globalThis as unknown as { throng: { draw: (doc: unknown) => void } }).throng.draw(doc);
    });
    const probe = await pixels(page, 'probe-0', LIGHT.lines);
    expect(probe.found).toBeGreaterThan(60);
    expect(await page.locator('#server-side h3').innerText()).toBe('servers: CPU');
    const table = page.locator('#throughput .numbers');
    await table.locator('summary').click();
    await table.locator('tbody tr').first().waitFor();
    expect(await table.locator('thead').innerText()).toMatch(/completed, min\s+completed, max/);
    // A band is a light shape below its line.
    const banded = await pixels(page, 'arrivals', []);
    expect(banded.colours).toBeGreaterThan(plain.colours);
    expect(faults).toEqual([]);
    await close();
  });

  test('is used by keyboard alone', async () => {
    const { page, close } = await open(chrome, report);
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('skip');
    // Tab reaches every focusable element, and each shows its focus.
    const reached = new Set<string>();
    for (let presses = 0; presses < 400; presses += 1) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const active = document.activeElement;
        if (!active || active === document.body) return null;
        return `${active.tagName} ${getComputedStyle(active).outlineStyle}`;
      });
      if (at === null) break;
      reached.add(at);
    }
    expect([...reached].sort()).toEqual(
      ['A', 'BUTTON', 'DIV', 'SELECT', 'SUMMARY'].map((tag) => `${tag} solid`),
    );
    const summary = page.locator('#throughput .numbers > summary');
    await summary.focus();
    await page.keyboard.press('Enter');
    await page.locator('#throughput tbody tr').nth(1).waitFor();
    // A line is hidden and shown again.
    const line = page.locator('#throughput .legend button').first();
    await line.focus();
    await page.keyboard.press('Space');
    expect(await line.getAttribute('aria-pressed')).toBe('false');
    const blue = [LIGHT.lines[0] ?? ''];
    expect((await pixels(page, 'throughput', blue)).found).toBe(0);
    await page.keyboard.press('Space');
    expect((await pixels(page, 'throughput', blue)).found).toBeGreaterThan(60);
    await close();
  });

  test('is dark if the system is, or on request', async () => {
    const { page, faults, close } = await open(chrome, report, { dark: true });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(await ground()).toBe('rgb(20, 24, 29)');
    expect((await pixels(page, 'throughput', DARK.lines)).found).toBeGreaterThan(60);
    await page.getByRole('button', { name: 'Switch to light mode' }).click();
    expect(await ground()).toBe('rgb(255, 255, 255)');
    expect((await pixels(page, 'throughput', LIGHT.lines)).found).toBeGreaterThan(60);
    expect(faults).toEqual([]);
    await close();
  });

  test('has no serious fault of accessibility', async () => {
    const { page, close } = await open(chrome, report);
    await page.locator('#throughput .numbers > summary').click();
    await page.locator('.findings summary').first().click();
    expect(await axe(page)).toEqual([]);
    await close();
  });

  test('prints figures that were never in view', async () => {
    const { page, close } = await open(chrome, report, { dark: true });
    const pdf = await page.pdf({ format: 'A4' });
    expect(pdf.length).toBeGreaterThan(50_000);
    expect(await page.locator('.figure .plot svg').count()).toBeGreaterThanOrEqual(
      await page.locator('.figure').count(),
    );
    await close();
  });

  test('shows names and texts as text', async () => {
    const hostile = '</script><script>alert(1)</script><img src=x onerror=alert(1)>{a|b}';
    const copy = join(dir.path, 'hostile');
    cpSync(run, copy, { recursive: true });
    const change = (name: string, edit: (json: never) => void) => {
      const path = join(copy, name);
      const json = JSON.parse(readFileSync(path, 'utf8'));
      edit(json as never);
      writeFileSync(path, JSON.stringify(json));
    };
    type Named = { name: string };
    change('run.json', (info: Named & { target: string; phases: Named[]; host: object }) => {
      info.name = hostile;
      info.target = hostile;
      for (const phase of info.phases) phase.name = hostile;
      info.host = { [hostile]: hostile };
    });
    change(
      'summary.json',
      (summary: {
        findings: { text: string; evidence: object }[];
        thresholds: { text: string; shown: string }[];
        measures: Named[];
        phases: Named[];
      }) => {
        for (const finding of summary.findings) {
          finding.text = hostile;
          finding.evidence = { [hostile]: 1 };
        }
        for (const threshold of summary.thresholds) {
          threshold.text = hostile;
          threshold.shown = hostile;
        }
        for (const named of [...summary.measures, ...summary.phases]) named.name = hostile;
      },
    );
    await throng(['show', copy, '--html']);
    const { page, faults, close } = await open(chrome, join(copy, 'report.html'));
    await drawAll(page);
    // Where the pointer rests, names are drawn, too.
    await page.locator('#throughput .plot').hover();
    expect(await page.locator('h1').innerText()).toBe(hostile);
    expect(await page.locator('.findings .sentence').first().innerText()).toContain(hostile);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('script').count()).toBe(2);
    expect(faults).toEqual([]);
    await close();
  });

  test('shows its findings without scripts', async () => {
    const context = await chrome.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`file://${report}`);
    expect(await page.locator('noscript li').count()).toBeGreaterThan(0);
    await context.close();
  });
});

/** The report of a run, as somebody reads it. */

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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

/** Least coloured pixels of a figure. The step in focus has ten operations, hence three short lines. */
const least = (id: string) => (id === 'percentiles' ? 20 : 60);

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
    for (const id of ids) expect(found[id], `${id} is blank`).toBeGreaterThan(least(id));
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
      expect(pixels, `${id} is blank`).toBeGreaterThan(least(id));
    }
    expect(await layout(page)).toEqual([]);
    if (form === 'dark') expect(await axe(page)).toEqual([]);
    expect(faults).toEqual([]);
    await close();
  });

  test('shows first what broke, and all else one click away', async () => {
    const { page, close } = await open(chrome, report, { brief: true });
    const heads = page.locator('main > section h2');
    expect(await heads.allInnerTexts()).toEqual([
      'Totals',
      'Thresholds',
      'What broke',
      'Steps',
      'Who was the limit',
      'Over time',
    ]);
    expect(await page.locator('#lag').isVisible()).toBe(false);
    await page.locator('.full > summary').click();
    expect(await page.locator('#lag').isVisible()).toBe(true);
    const all = await page.locator('main section h2').allInnerTexts();
    expect(all.slice(6, 9)).toEqual(['Other findings', 'Steps in full', 'Load']);
    // The address remembers it, and leads to what is in it.
    await page.waitForFunction(() => location.hash === '#full');
    await page.reload();
    expect(await page.locator('#lag').isVisible()).toBe(true);
    await page.locator('.full > summary').click();
    await page.waitForFunction(() => location.hash === '');
    await page.getByRole('link', { name: 'Generator', exact: true }).click();
    expect(await page.locator('#generator-heading').isVisible()).toBe(true);
    await close();
  });

  test('begins with the totals, of the step that did worst', async () => {
    const { page, close } = await open(chrome, report, { brief: true });
    const names = await page.locator('#totals dt').allInnerTexts();
    expect(names).toEqual([
      'Verdict',
      'Users',
      'Offered',
      'Begun',
      'Completed',
      'Failed',
      'p50',
      'p95',
      'p99',
    ]);
    // As in the table of steps.
    const p99 = page.locator('#totals .tile').last();
    expect(await page.locator('#totals .tile-group > .note').innerText()).toBe(
      'nowhere, the highest share of failures; 100 % failed',
    );
    const row = page.locator('#steps .table tbody tr').first();
    expect(await row.locator('th').innerText()).toBe('nowhere');
    expect(await row.innerText()).toContain(await p99.locator('.value').innerText());
    expect(await page.locator('#percentiles .note').innerText()).toMatch(/^nowhere:/);
    // Each step has a line, and its text for those who cannot see it.
    expect(await row.locator('.picture path').count()).toBe(2);
    expect(await row.locator('.picture .unseen').textContent()).toMatch(/^p95 .* … /);
    await close();
  });

  test('shows the step whose threshold does not hold, incidents, and samples', async () => {
    const { page, faults, close } = await open(chrome, report, { brief: true });
    await page.evaluate(() => {
      const doc = JSON.parse(document.getElementById('document')?.textContent ?? '');
      doc.thresholds = [
        { text: 'connected >= 99%', passed: true, value: 1, shown: '100 %' },
        { text: 'p99(predict) < 1ms', passed: false, value: 9e6, shown: '9.00 ms' },
      ];
      for (const step of doc.steps) step.breaks_threshold = step.name === 'predict';
      doc.steps.sort(
        (a: { breaks_threshold: boolean }, b: { breaks_threshold: boolean }) =>
          Number(b.breaks_threshold) - Number(a.breaks_threshold),
      );
      const { totals } = doc.focus;
      const own = { ...totals, name: 'predict' };
      doc.focus = { name: 'predict', reason: 'threshold', count: 9, errors: 0, totals: own };
      const figures = {
        operations: 9,
        errors: 3,
        unanswered: 0,
        p50_ns: 8e6,
        p90_ns: 9e6,
        per_s: 3,
      };
      doc.incidents = [
        {
          step: 'predict',
          rows: ['predict'],
          tag: null,
          kinds: ['errors'],
          begin_ns: 2e9,
          end_ns: 4e9,
          to_the_end: false,
          usual: figures,
          during: figures,
          beside: ['begins 1 s after phase lost'],
          text: 'predict: 30 % failed, from 0:02 to 0:04 (3 of 9)',
        },
      ];
      doc.highlights = [{ name: 'predict: errors', kind: 'incident', from_s: 2, to_s: 4 }];
      doc.failures.list[0].samples = [
        {
          at_ns: 2_250_000_000,
          kind: 'status',
          detail: '404',
          user: 17,
          text: 'the status is 404',
          request: 'GET /nowhere HTTP/1.1',
          status: '404 Not Found',
          headers: [['content-type', 'text/html']],
          body: '<b id="markup">nothing</b>',
        },
      ];
      (globalThis as unknown as { throng: { draw: (doc: unknown) => void } }).throng.draw(doc);
    });
    expect(await page.locator('#thresholds tbody tr').first().innerText()).toContain('✗');
    expect(await page.locator('#totals .tile-group').innerText()).toContain('predict');
    expect(await page.locator('#steps tbody th').first().innerText()).toBe('predict');
    const incident = page.locator('.incidents li');
    expect(await incident.innerText()).toMatch(/0:02 to 0:04.*begins 1 s after phase lost/s);
    // It is a band on every axis of time, with its name.
    await drawAll(page);
    for (const id of ['throughput', 'percentiles', 'heat', 'users', 'lag']) {
      const texts = await page.locator(`#${id} .plot svg text`).allTextContents();
      expect(texts.join(' '), id).toContain('predict');
    }
    expect(await page.locator('#steps tbody tr').first().locator('.band').count()).toBe(1);
    await incident.getByRole('button', { name: /^Zoom into predict from 0:02 to 0:04/ }).click();
    expect(await page.getByRole('region', { name: 'Zoom' }).innerText()).toMatch(/0:01 to 0:05/);
    await page.keyboard.press('Escape');
    // A click opens the samples, as text.
    const samples = page.locator('#what-broke').getByRole('button', { name: /^1 sample of/ });
    expect(await samples.getAttribute('aria-expanded')).toBe('false');
    await samples.click();
    expect(await samples.getAttribute('aria-expanded')).toBe('true');
    const sample = await page.locator('.samples li').innerText();
    for (const part of [
      'user 17',
      'GET /nowhere HTTP/1.1',
      '404 Not Found',
      'content-type',
      '<b',
    ]) {
      expect(sample).toContain(part);
    }
    expect(await page.locator('#markup').count()).toBe(0);
    expect(await axe(page)).toEqual([]);
    expect(await layout(page)).toEqual([]);
    expect(faults).toEqual([]);
    await close();
  });

  test.each([390, 1300, 1900])('has no horizontal overflow at %i pixels', async (width) => {
    for (const brief of [true, false]) {
      const { page, close } = await open(chrome, report, { width, brief });
      expect(await layout(page)).toEqual([]);
      await shot(page, `run-${width}${brief ? '-brief' : ''}`);
      expect(await layout(page)).toEqual([]);
      if (!brief) {
        await openTables(page);
        expect(await layout(page)).toEqual([]);
      }
      await close();
    }
  });

  test('shows quantities unbroken, code as code, and memory in a unit', async () => {
    const { page, close } = await open(chrome, report, FORMS.phone);
    const broken = await page
      .locator('.quantity')
      .evaluateAll((all) =>
        all.filter((one) => one.getClientRects().length > 1).map((one) => one.textContent),
      );
    expect(broken).toEqual([]);
    expect(await page.locator('.quantity').count()).toBeGreaterThan(3);
    expect(await page.locator('.findings').allInnerTexts()).not.toContainEqual(
      expect.stringContaining('`'),
    );
    expect(await page.locator('#the-run').innerText()).not.toMatch(/\d kB/);
    await close();
  });

  test('shows what failed and p95 of each step on a phone', async () => {
    const { page, close } = await open(chrome, report, { ...FORMS.phone, brief: true });
    const heads = page.locator('#steps thead th:visible');
    expect((await heads.allInnerTexts()).slice(0, 2)).toEqual(['step', 'over time']);
    for (const name of ['share', 'p95']) {
      const box = await heads.getByText(name, { exact: true }).boundingBox();
      expect((box?.x ?? Infinity) + (box?.width ?? 0), name).toBeLessThan(390);
    }
    await close();
  });

  test('fits two screens if all is well', async () => {
    const { page, close } = await open(chrome, report, { width: 1300, brief: true });
    await page.evaluate(() => {
      const doc = JSON.parse(document.getElementById('document')?.textContent ?? '');
      doc.failures.list = [];
      doc.totals.errors = 0;
      doc.findings = doc.findings.filter((one: { severity: string }) => one.severity === 'good');
      doc.places = doc.findings.map(() => 'limit');
      (globalThis as unknown as { throng: { draw: (doc: unknown) => void } }).throng.draw(doc);
    });
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    expect(height).toBeLessThanOrEqual(2 * 900);
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
    // Both columns have an axis of time.
    const ticks = page.locator('#all-steps .ticks div').first().locator('span');
    expect(await ticks.first().innerText()).toBe('0:00');
    expect(await ticks.count()).toBe(3);
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
    const axis = (id: string) => page.locator(`#${id} .plot svg text`).allTextContents();
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
        // A value is missing.
        mean: [n, 40, null, 50],
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
    // An address that leads into the full report would move the focus there.
    const { page, close } = await open(chrome, report, { brief: true });
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('skip');
    await page.evaluate(() => document.querySelector('details.full')?.setAttribute('open', ''));
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
    await page.locator('#findings summary').first().click();
    expect(await axe(page)).toEqual([]);
    await close();
  });

  test('prints figures that were never in view', async () => {
    const { page, close } = await open(chrome, report, { dark: true });
    const pdf = await page.pdf({ format: 'A4' });
    expect(pdf.length).toBeGreaterThan(50_000);
    expect(
      await page.locator('details.full').evaluate((one) => (one as HTMLDetailsElement).open),
    ).toBe(true);
    expect(await page.locator('.figure .plot svg').count()).toBeGreaterThanOrEqual(
      await page.locator('.figure').count(),
    );
    await close();
  });

  test.each([390, 1300, 1900])('prints the whole axis of time from %i pixels', async (width) => {
    const { page, close } = await open(chrome, report, { width, brief: true });
    await drawAll(page);
    // As the browser does it before it prints, without a frame in between.
    const drawn = await page.evaluate(() => {
      window.dispatchEvent(new Event('beforeprint'));
      return [...document.querySelectorAll('.figure')].map((figure) => {
        const svg = figure.querySelector('.plot svg');
        const texts = [...figure.querySelectorAll('.plot svg text')];
        return {
          id: figure.id,
          width: Number(svg?.getAttribute('width')),
          right: Math.max(...texts.map((one) => (one as SVGTextElement).getCTM()?.e ?? 0)),
        };
      });
    });
    expect(drawn.length).toBeGreaterThan(5);
    for (const { id, width: wide, right } of drawn) {
      expect(wide, id).toBe(680);
      expect(right, id).toBeLessThanOrEqual(680);
    }
    await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    const plot = page.locator('#throughput .plot');
    const box = await plot.boundingBox();
    const after = Number(await plot.locator('svg').getAttribute('width'));
    expect(Math.abs(after - (box?.width ?? 0))).toBeLessThan(2);
    // The browser's own paper has the last seconds of the axis.
    mkdirSync(dir.path, { recursive: true });
    const path = join(dir.path, `run-${width}.pdf`);
    await page.pdf({ format: 'A4', path });
    expect(readFileSync(path).length).toBeGreaterThan(50_000);
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

/** The pages of comparisons, experiments, searches, meters and imported results. */

import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
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

const dir = scratch();
const made = inject('made');
const at = (name: string) => join(dir.path, name);
let chrome: Browser;
/** What the terminal prints of the comparison of two sides. */
let printed: string;

beforeAll(async () => {
  chrome = await browser();
  const [a = '', b = '', c = '', d = ''] = made.runs;
  const runs = [a, b, c, d];
  const fraction = 'testdata/cli/fraction.csv';
  const page = (name: string) => ['--html', at(`${name}.html`)];
  const [text] = await Promise.all([
    throng(['compare', c, d, '--baseline', a, b, '--force', '--full', ...page('sides')], [0, 1, 2]),
    throng(['compare', ...runs, '--force', ...page('all')], [0, 1, 2]),
    throng(['experiment', '--analyze', 'testdata/cli/sweep.csv', ...page('experiment')]),
    throng(['experiment', '--analyze', fraction, '--multiplicative', ...page('multiplicative')]),
    throng(['experiment', '--analyze', fraction, ...page('fraction')]),
    throng([
      'meters',
      a,
      '--meters',
      'web/tests/meters.yaml',
      '--reference',
      'crowd',
      ...page('meters'),
    ]),
    throng([
      'import',
      'testdata/import/results',
      '--start',
      '2015-07-31T15:01',
      '--runs',
      at('imported'),
    ]),
  ]);
  printed = text;
  const [published] = readdirSync(at('imported'));
  await throng(['show', join(at('imported'), published ?? ''), ...page('imported')]);
  cpSync(made.ensemblesPage, at('ensembles.html'));
  cpSync(made.claimsPage, at('claims.html'));
  cpSync(made.capacityPage, at('capacity.html'));
  cpSync(made.sweepPage, at('sweep.html'));
  cpSync(made.duetPage, at('duet.html'));
});
afterAll(async () => {
  await chrome?.close();
  dir.remove();
});

const PAGES: [string, string[]][] = [
  ['sides', ['distributions-0', 'tails-0', 'differences-0', 'similarity-0']],
  ['all', ['distributions-0', 'tails-0', 'similarity-0']],
  ['experiment', ['main-0', 'variation-0', 'means-0']],
  ['fraction', ['effects-0', 'main-0', 'interaction-0-0']],
  ['ensembles', ['main-0', 'modes-0-0', 'modes-0-1', 'modes-1-0']],
  ['claims', ['means-0', 'means-1']],
  ['capacity', ['latency', 'law', 'trials']],
  ['sweep', ['throughput', 'latency']],
  ['duet', ['pairs-0']],
  ['meters', ['normalised', 'published-0', 'normalised-0']],
  ['imported', ['probe-0']],
];

describe.each(PAGES)('the page of %s', (name, wanted) => {
  const file = at(`${name}.html`);

  test('draws every chart without errors, has its tables, and is used by keyboard', async () => {
    const { page, faults, close } = await open(chrome, file);
    const pictures = await shot(page, `${name}-light`);
    const found = await drawn(page, pictures, [...LIGHT.lines, ...LIGHT.heat]);
    const ids = await page.locator('.figure').evaluateAll((all) => all.map((one) => one.id));
    expect(ids).toEqual(expect.arrayContaining(wanted));
    expect(new Set(ids).size, 'ids are unique').toBe(ids.length);
    for (const id of ids) expect(found[id], `${id} is blank`).toBeGreaterThan(20);
    expect(await layout(page)).toEqual([]);
    expect(await axe(page)).toEqual([]);
    const figure = page.locator(`#${wanted[0]}`);
    await figure.locator('.numbers > summary').focus();
    await page.keyboard.press('Enter');
    await figure.locator('tbody tr').first().waitFor();
    // The next stop is the table, which scrolls by keys.
    await page.keyboard.press('Tab');
    const label = await page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    expect(label).toMatch(/^Numbers of /);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await openTables(page);
    expect(faults).toEqual([]);
    await close();
  });

  test.each(['dark', 'phone', 'print'] as const)('has a sound layout: %s', async (form) => {
    const look = FORMS[form];
    const { page, faults, close } = await open(chrome, file, look);
    await shot(page, `${name}-${form}`, look);
    const figures = await page.locator('.figure').count();
    expect(await page.locator('.figure .plot svg').count()).toBe(figures);
    expect(await layout(page)).toEqual([]);
    if (form === 'dark') expect(await axe(page)).toEqual([]);
    expect(faults).toEqual([]);
    await close();
  });
});

test('a table of changes has the intervals that the terminal prints', async () => {
  const { page, close } = await open(chrome, at('sides.html'));
  const table = page.getByRole('region', { name: /^Changes of / }).first();
  const heads = await table.locator('thead th').allInnerTexts();
  expect(heads).toEqual(expect.arrayContaining(['difference', '95 % interval', 'change']));
  const shown = await table
    .locator('tbody tr td')
    .nth(heads.indexOf('95 % interval') - 1)
    .innerText();
  expect(shown).toMatch(/^[+−]\S+ \S+ to [+−]/);
  expect(printed).toContain(shown.replaceAll('−', '-'));
  await close();
});

test('a comparison begins with the decision that the terminal prints, and folds its tests', async () => {
  const { page, close } = await open(chrome, at('sides.html'));
  const words = (text: string) => text.replace(/\s+/g, ' ').toLowerCase();
  const lead = await page.locator('#result .lead').innerText();
  expect(words(printed)).toContain(words(lead.replace(/\.$/, '')));
  const changed = page.locator('#result .changed li');
  expect(await page.locator('#result .changed svg.dumbbell').count()).toBeLessThanOrEqual(
    await changed.count(),
  );
  for (const name of ['Differences that would be seen', 'Tests on operations']) {
    const fold = page.locator('details', { has: page.locator('summary', { hasText: name }) });
    expect(await fold.first().getAttribute('open')).toBeNull();
  }
  await close();
});

test('a duet has its decision, and the difference in each pair, as in result.json', async () => {
  interface Result {
    sentence: string;
    steps: { name: string; differences: number[] }[];
    runs: unknown[];
  }
  const text = readFileSync(join(made.duet, 'result.json'), 'utf8');
  const result = JSON.parse(text) as Result;
  const { page, close } = await open(chrome, at('duet.html'));
  const lead = await page.locator('#result .lead').innerText();
  expect(lead.toLowerCase()).toBe(`${result.sentence.toLowerCase()}.`);
  const steps = page.getByRole('region', { name: 'Steps', exact: true });
  expect(await steps.locator('tbody tr').count()).toBe(result.steps.length);
  for (const [place, step] of result.steps.entries()) {
    const figure = page.locator(`#pairs-${place}`);
    await figure.locator('.numbers > summary').press('Enter');
    await figure.locator('tbody tr').first().waitFor();
    expect(step.differences.length).toBeGreaterThan(0);
    expect(await figure.locator('tbody tr').count()).toBe(step.differences.length);
  }
  expect(await page.locator('#runs tbody tr').count()).toBe(result.runs.length);
  await close();
});

test('edges of the similarity graph end at its nodes', async () => {
  const { page, close } = await open(chrome, at('all.html'));
  await drawAll(page);
  const graphs = await page.locator('[id^="similarity-"] .plot svg').evaluateAll((all) =>
    all.map((svg) => {
      const shapes = [...svg.querySelectorAll<SVGGeometryElement>('path, circle, rect, polyline')];
      const nodes = shapes
        .map((shape) => shape.getBoundingClientRect())
        .filter(({ width, height }) => width > 20 && width < 40 && Math.abs(width - height) < 1);
      const edges = shapes.filter((shape) =>
        /^M[-\d.,\s]+L[-\d.,\s]+$/.test((shape.getAttribute('d') ?? '').trim()),
      );
      const apart = edges.flatMap((edge) =>
        [0, edge.getTotalLength()].map((at) => {
          const end = edge.getPointAtLength(at).matrixTransform(edge.getScreenCTM() ?? undefined);
          const to = nodes.map(({ left, top, width, height }) =>
            Math.hypot(left + width / 2 - end.x, top + height / 2 - end.y),
          );
          return Math.min(...to);
        }),
      );
      return { nodes: nodes.length, edges: edges.length, apart: Math.max(0, ...apart) };
    }),
  );
  expect(graphs.some(({ edges }) => edges > 0)).toBe(true);
  for (const { nodes, apart } of graphs) {
    expect(nodes).toBeGreaterThan(3);
    expect(apart).toBeLessThan(3);
  }
  await close();
});

test('findings of an experiment name their response, and effects have units', async () => {
  const { page, close } = await open(chrome, at('fraction.html'));
  const findings = await page.locator('#findings .sentence').allInnerTexts();
  expect(findings.some((text) => /seconds: A \(a\) explains/.test(text))).toBe(true);
  await page.locator('#findings').getByRole('link', { name: 'Figure' }).first().click();
  expect(page.url()).toMatch(/#response-0$/);
  const figure = page.locator('#effects-0');
  await figure.locator('.numbers > summary').press('Enter');
  const row = figure.locator('tbody tr').first();
  // As the terminal prints it in the column "low to high".
  expect(await row.innerText()).toMatch(/^A\s+\+12\.7\s/);
  await close();
});

test('effects that multiply are factors, not logarithms', async () => {
  const { page, close } = await open(chrome, at('multiplicative.html'));
  const figure = page.locator('#effects-0');
  await figure.locator('.numbers > summary').press('Enter');
  // As the terminal prints it in the column "low to high".
  expect(await figure.locator('tbody tr').first().innerText()).toMatch(/^A\s+×2\.00\s/);
  await close();
});

test('runs are grouped by the selected test', async () => {
  const { page, close } = await open(chrome, at('all.html'));
  const note = page.locator('#similarity-0 .note');
  expect(await note.innerText()).toMatch(/Kolmogorov–Smirnov/);
  await page.getByLabel('Test of similarity').first().selectOption({ index: 1 });
  expect(await note.innerText()).toMatch(/Anderson–Darling/);
  // A row for each run, also where no two are alike.
  await page.locator('#similarity-0 .numbers > summary').press('Enter');
  await page.locator('#similarity-0 tbody tr').first().waitFor();
  expect(await page.locator('#similarity-0 tbody tr').count()).toBe(4);
  await close();
});

test('the modes of each combination follow the selected test, as in analysis.json', async () => {
  interface Analysis {
    ensembles: {
      levels: string[];
      measures: { name: string; tested: { tests: string[]; modes: { count: number }[] }[] }[];
    }[];
  }
  const text = readFileSync(join(made.ensembles, 'analysis.json'), 'utf8');
  const { ensembles } = JSON.parse(text) as Analysis;
  const { page, close } = await open(chrome, at('ensembles.html'));
  expect(ensembles.map((one) => one.levels)).toEqual([['20/s'], ['40/s']]);
  for (const [place, { levels, measures }] of ensembles.entries()) {
    for (const [n, { name, tested }] of measures.entries()) {
      const title = `${name} of ${levels.join(', ')}`;
      const modes = page.getByRole('region', { name: `Modes of ${title}`, exact: true });
      const counts = tested.flatMap((one) => one.modes);
      expect(await modes.locator('tbody tr').count()).toBe(counts.length);
      const figure = page.locator(`#modes-${place}-${n}`);
      const last = tested.at(-1);
      if (tested.length > 1)
        await figure.getByRole('combobox').selectOption({ index: tested.length - 1 });
      expect(await figure.locator('.note').innerText()).toContain(`by ${last?.tests.join(', ')}.`);
      // From, to, and a column for each mode; a row for each bin.
      await figure.locator('.numbers > summary').press('Enter');
      await figure.locator('tbody tr').first().waitFor();
      expect(await figure.locator('.numbers thead th').count()).toBe(2 + (last?.modes.length ?? 0));
      expect(await figure.locator('.numbers tbody tr').count()).toBe(40);
    }
  }
  await close();
});

test('means and claims are those of analysis.json, and a series can be hidden', async () => {
  interface Analysis {
    responses: {
      bars: { groups: { bars: { mean: number; published?: number }[] }[] };
      published: { claims: { text: string; places: { verdict: string; why: string }[] }[] };
    }[];
  }
  const text = readFileSync(join(made.claims, 'analysis.json'), 'utf8');
  const { responses } = JSON.parse(text) as Analysis;
  const { page, close } = await open(chrome, at('claims.html'));
  const [first] = responses;
  const bars = first?.bars.groups.flatMap((group) => group.bars) ?? [];
  expect(bars.map(({ published }) => published)).toEqual([
    undefined,
    12e6,
    70e6,
    undefined,
    undefined,
    70e6,
  ]);
  const figure = page.locator('#means-0');
  await figure.locator('.numbers > summary').press('Enter');
  await figure.locator('tbody tr').first().waitFor();
  const heads = await figure.locator('thead th').allInnerTexts();
  expect(heads).toEqual(['delay', 'rate', 'runs', 'mean', 'low', 'high', 'published']);
  expect(await figure.locator('tbody tr').count()).toBe(bars.length);
  expect(await figure.locator('tbody tr').nth(2).innerText()).toMatch(/^60ms\s.*70\.0 ms$/);
  const claims = page.getByRole('region', { name: 'Published claims on mean(games)' });
  const places = first?.published.claims.flatMap((claim) => claim.places) ?? [];
  expect(places.length).toBe(3);
  for (const [n, { verdict, why }] of places.entries()) {
    const row = await claims.locator('tbody tr').nth(n).innerText();
    expect(row).toContain(verdict.replaceAll('-', ' '));
    expect(row).toContain(why);
  }
  // Bars of one colour go, and their room with them.
  const shapes = () => figure.locator('.plot svg path[fill]').count();
  await drawAll(page);
  const before = await shapes();
  await figure.getByRole('button', { name: 'rate=40/s' }).click();
  expect(await shapes()).toBeLessThan(before);
  await close();
});

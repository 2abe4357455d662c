/** The pages of comparisons, experiments, searches and meters. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIGHT } from '../src/chart/theme';
import { axe, browser, crowd, drawAll, open, pixels, scratch, shot, throng } from './support';

const dir = scratch();
const at = (name: string) => join(dir.path, name);
let chrome: Browser;

beforeAll(async () => {
  chrome = await browser();
  const runs: string[] = [];
  for (const seed of [1, 2, 3, 4]) {
    runs.push(await crowd(at('runs'), '--set', `seed=${seed}`));
  }
  const [a = '', b = '', c = '', d = ''] = runs;
  await throng(
    ['compare', c, d, '--baseline', a, b, '--force', '--html', at('sides.html')],
    [0, 1, 2],
  );
  await throng(['compare', ...runs, '--force', '--html', at('all.html')], [0, 1, 2]);
  const table = 'testdata/cli/sweep.csv';
  await throng(['experiment', '--analyze', table, '--html', at('experiment.html')]);
  const fraction = 'testdata/cli/fraction.csv';
  await throng(['experiment', '--analyze', fraction, '--html', at('fraction.html')]);
  const ensembles = ['web/tests/ensembles.yaml', '--dir', at('ensembles')];
  await throng(['experiment', ...ensembles, '--html', at('ensembles.html')], [0, 2]);
  const meters = ['--meters', 'web/tests/meters.yaml', '--reference', 'crowd'];
  await throng(['meters', a, ...meters, '--html', at('meters.html')]);
  const search = [
    '--of',
    'rate',
    '--at-most',
    '60/s',
    '--repeat',
    '1',
    '--steps',
    '3',
    '--runs',
    at('search'),
  ];
  await throng(
    ['capacity', 'web/tests/crowd.yaml', ...search, '--html', at('capacity.html')],
    [0, 1, 2],
  );
});
afterAll(async () => {
  await chrome?.close();
  dir.remove();
});

const PAGES: [string, string[]][] = [
  ['sides', ['distributions-0', 'tails-0', 'differences-0', 'similarity-0']],
  ['all', ['distributions-0', 'tails-0', 'similarity-0']],
  ['experiment', ['main-0', 'variation-0']],
  ['fraction', ['effects-0', 'main-0', 'interaction-0-0']],
  ['ensembles', ['main-0', 'modes-0-0', 'modes-0-1', 'modes-1-0']],
  ['capacity', ['latency', 'law', 'trials']],
  ['meters', ['normalised', 'published-0', 'normalised-0']],
];

describe.each(PAGES)('the page of %s', (name, wanted) => {
  const file = at(`${name}.html`);

  test('draws every chart without errors', async () => {
    const { page, faults, close } = await open(chrome, file);
    await drawAll(page);
    const ids = await page.locator('.figure').evaluateAll((all) => all.map((one) => one.id));
    expect(ids).toEqual(expect.arrayContaining(wanted));
    expect(new Set(ids).size, 'ids are unique').toBe(ids.length);
    for (const id of ids) {
      const drawn = await pixels(page, id, [...LIGHT.lines, ...LIGHT.heat]);
      expect(drawn.found, `${id} is blank`).toBeGreaterThan(20);
    }
    expect(faults).toEqual([]);
    await shot(page, name);
    await close();
  });

  test('has every figure as a table', async () => {
    const { page, close } = await open(chrome, file);
    for (const figure of await page.locator('.figure').all()) {
      await figure.locator('.numbers > summary').click();
      await figure.locator('tbody tr').first().waitFor();
    }
    await close();
  });

  test('is used by keyboard', async () => {
    const { page, close } = await open(chrome, file);
    const figure = page.locator(`#${wanted[0]}`);
    await figure.locator('.numbers > summary').focus();
    await page.keyboard.press('Enter');
    await figure.locator('tbody tr').first().waitFor();
    // The next stop is the table, which scrolls by keys.
    await page.keyboard.press('Tab');
    const label = await page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    expect(label).toMatch(/^Numbers of /);
    await close();
  });

  test('has no serious fault of accessibility, light or dark', async () => {
    for (const dark of [false, true]) {
      const { page, faults, close } = await open(chrome, file, { dark });
      await drawAll(page);
      expect(await axe(page)).toEqual([]);
      expect(faults).toEqual([]);
      await close();
    }
  });

  test('fits a phone', async () => {
    const { page, close } = await open(chrome, file, { width: 360 });
    await drawAll(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      360,
    );
    await close();
  });
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
  const text = readFileSync(join(at('ensembles'), 'analysis.json'), 'utf8');
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

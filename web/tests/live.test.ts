/** The live page of a real run. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { DARK, LIGHT } from '../src/chart/theme';
import {
  axe,
  browser,
  FORMS,
  layout,
  type Look,
  pixels,
  ROOT,
  scratch,
  shot,
  tab,
  THRONG,
} from './support';

const dir = scratch();
let chrome: Browser;
let running: ChildProcess | undefined;

beforeAll(async () => {
  chrome = await browser();
});
afterEach(() => {
  running?.kill('SIGKILL');
});
afterAll(async () => {
  await chrome?.close();
  dir.remove();
});

/** Starts the crowd with a live page; `ended` resolves to its exit code. */
async function start(name: string, ...args: string[]) {
  const runs = join(dir.path, name);
  const child = spawn(
    THRONG,
    ['run', 'web/tests/crowd.yaml', '--runs', runs, '--quiet', '--ui', ...args],
    { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  running = child;
  const ended = new Promise<number | null>((done) => child.on('exit', done));
  const url = await new Promise<string>((done, fail) => {
    let output = '';
    child.stderr.on('data', (piece: Buffer) => {
      output += piece.toString();
      const found = /^live +(\S+)$/m.exec(output)?.[1];
      if (found) done(found);
    });
    child.on('exit', (code) => fail(new Error(`it ended with ${code}: ${output}`)));
  });
  return { url, ended, runs };
}

/** A tab that watches, and what went wrong in it. */
async function watch(url: string, look: Look = {}) {
  const opened = await tab(chrome, look);
  await opened.page.goto(`${url}#full`);
  await opened.page.locator('main').waitFor();
  return opened;
}

/** The number of seconds in the table of throughput. */
async function seconds(page: Page): Promise<number> {
  const numbers = page.locator('#throughput .numbers');
  if (!(await numbers.evaluate((all) => (all as HTMLDetailsElement).open))) {
    await numbers.locator('summary').click();
  }
  await numbers.locator('tbody tr').first().waitFor();
  return numbers.locator('tbody tr').count();
}

/** The number in the note of the figure of users. */
async function usersStarted(page: Page): Promise<number> {
  const note = await page.locator('#users .note').innerText();
  return Number(/([\d,]+) started/.exec(note)?.[1]?.replaceAll(',', ''));
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 2000; tries += 1) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`never: ${what}`);
}

describe('the live page', { timeout: 300_000 }, () => {
  test('moves, catches up a late tab, and ends as the report', async () => {
    const { url, ended, runs } = await start(
      'moves',
      '--set',
      'rate=10/s',
      '--set',
      'arrivals.2.hold=8s',
    );
    const early = await watch(url);
    expect(await early.page.locator('.verdict').innerText()).toBe('Running');
    const progress = early.page.getByRole('progressbar', { name: 'Progress of the run' });
    const share = async () => Number(await progress.getAttribute('aria-valuenow'));
    const first = await share();
    await until('progress', async () => (await share()) > first);
    expect(await early.page.locator('.progress').innerText()).toMatch(/ s of 13 s, \d+ s left/);
    const before = await seconds(early.page);
    await until('a further second', async () => (await seconds(early.page)) > before);
    const late = await watch(url, { dark: true });
    // The whole history, from its first second on.
    expect(await seconds(late.page)).toBeGreaterThan(before);
    expect(await late.page.locator('#throughput tbody tr').first().innerText()).toMatch(/^0/);
    expect((await pixels(early.page, 'throughput', LIGHT.lines)).found).toBeGreaterThan(60);
    expect((await pixels(late.page, 'throughput', DARK.lines)).found).toBeGreaterThan(60);
    for (const { page } of [early, late]) {
      await page.getByRole('link', { name: 'Save report.html' }).waitFor();
      expect(await page.locator('.verdict').innerText()).not.toBe('Running');
      expect(await page.locator('.findings li').count()).toBeGreaterThan(0);
      expect(await page.getByRole('button', { name: 'Stop the run' }).count()).toBe(0);
      expect(await page.locator('.progress').isVisible()).toBe(false);
    }
    await ended;
    const [run] = readdirSync(runs);
    const [saved] = await Promise.all([
      early.page.waitForEvent('download'),
      early.page.getByRole('link', { name: 'Save report.html' }).click(),
    ]);
    const report = readFileSync(join(runs, run ?? '', 'report.html'), 'utf8');
    expect(readFileSync(await saved.path(), 'utf8')).toBe(report);
    expect([...early.faults, ...late.faults]).toEqual([]);
    await shot(early.page, 'live-over');
    await early.close();
    await late.close();
  });

  test('stops the run, by keyboard and at the second press', async () => {
    const { url, ended, runs } = await start('stops', '--set', 'arrivals.2.hold=60s');
    const { page, close } = await watch(url);
    await page.getByRole('button', { name: 'Stop the run' }).focus();
    await page.keyboard.press('Enter');
    const sure = page.getByRole('button', { name: 'Press again to stop' });
    await sure.waitFor();
    // It keeps the focus while the page is drawn again around it.
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Save report.html' }).waitFor();
    await ended;
    const [run] = readdirSync(runs);
    const info = JSON.parse(readFileSync(join(runs, run ?? '', 'run.json'), 'utf8')) as {
      status: string;
    };
    expect(info.status).toBe('interrupted');
    await close();
  });

  test('pauses arrivals and resumes them, and marks it', async () => {
    const long = ['--set', 'rate=20/s', '--set', 'arrivals.0.for=60s'];
    const { url, ended, runs } = await start('pauses', ...long);
    const { page, faults, close } = await watch(url);
    const verdict = () => page.locator('.verdict').innerText();
    const heading = page.locator('#load-heading');
    await heading.waitFor();
    // Preliminary results are marked as such.
    expect(await page.locator('#thresholds').innerText()).toContain('so far');
    expect(await page.locator('#totals').innerText()).toContain('the verdict comes at the end');
    const pause = page.getByRole('button', { name: 'Pause arrivals' });
    await pause.focus();
    await page.keyboard.press('Enter');
    const resume = page.getByRole('button', { name: 'Resume arrivals' });
    await resume.waitFor();
    expect(await verdict()).toBe('Arrivals paused');
    // It keeps the focus while the page is drawn again around it.
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Resume arrivals');
    // Whole seconds of the pause: fans stay, and nobody joins them.
    const first = await usersStarted(page);
    const from = await seconds(page);
    await until('two more seconds', async () => (await seconds(page)) > from + 2);
    expect(await usersStarted(page)).toBe(first);
    await page.locator('.findings li', { hasText: 'arrivals were paused' }).waitFor();
    await shot(page, 'live-paused');
    await resume.click();
    await pause.waitFor();
    await until('more users', async () => (await usersStarted(page)) > first);
    for (const name of ['Stop the run', 'Press again to stop']) {
      await page.getByRole('button', { name }).click();
    }
    await page.getByRole('link', { name: 'Save report.html' }).waitFor();
    await ended;
    const [run] = readdirSync(runs);
    const events = readFileSync(join(runs, run ?? '', 'events.jsonl'), 'utf8');
    expect(events.match(/arrivals_(paused|resumed)/g)).toEqual([
      'arrivals_paused',
      'arrivals_resumed',
    ]);
    expect(faults).toEqual([]);
    await close();
  });

  test('has a sound layout in every form, and refuses pages of other sites', async () => {
    const { url } = await start('forms', '--set', 'arrivals.2.hold=60s');
    const opened = await Promise.all(
      Object.entries(FORMS).map(async ([form, look]) => ({
        form,
        look,
        ...(await watch(url, look)),
      })),
    );
    // The page stands still while its server is stopped.
    await until('some seconds', async () => (await seconds(opened[0]?.page as Page)) > 3);
    running?.kill('SIGSTOP');
    for (const { form, look, page, faults } of opened) {
      await shot(page, `live-${form}`, look);
      expect(await layout(page), form).toEqual([]);
      if (form === 'dark') expect(await axe(page)).toEqual([]);
      expect(faults).toEqual([]);
    }
    running?.kill('SIGCONT');
    const { page } = opened[0] as (typeof opened)[number];
    const otherSite = await page.request.post(new URL('stop', url).href, {
      headers: { origin: 'http://evil.test' },
    });
    expect(otherSite.status()).toBe(403);
    expect((await page.request.get(url, { headers: { host: 'evil.test' } })).status()).toBe(421);
    for (const { close } of opened) await close();
  });
});

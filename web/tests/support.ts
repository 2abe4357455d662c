/** The program, its reports, and a browser that reads them. */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';

export const ROOT = resolve(import.meta.dirname, '../..');
const TARGET = process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target');
export const THRONG = process.env.THRONG ?? join(TARGET, 'debug/throng');
/** Pictures of pages are kept here. */
const SHOTS = join(ROOT, 'web/shots');

/** A directory that is gone after the tests. */
export function scratch(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'throng-page-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Runs the program; `codes` are the exits that are fine. */
export function throng(args: string[], codes: number[] = [0]): Promise<string> {
  return new Promise((done, fail) => {
    execFile(THRONG, args, { cwd: ROOT, timeout: 90_000 }, (error, out, err) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number' && codes.includes(code)) done(out);
      else fail(new Error(`throng ${args.join(' ')}: ${error?.message}\n${out}${err}`));
    });
  });
}

/** Runs the crowd and returns its run directory. */
export async function crowd(runs: string, ...args: string[]): Promise<string> {
  const before = new Set(mkdirs(runs));
  await throng(['run', 'web/tests/crowd.yaml', '--runs', runs, ...args], [0, 1, 2]);
  const made = mkdirs(runs).find((name) => !before.has(name));
  if (!made) throw new Error(`no run in ${runs}`);
  return join(runs, made);
}

function mkdirs(path: string): string[] {
  mkdirSync(path, { recursive: true });
  return readdirSync(path);
}

export function browser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  // Root, as in containers, has no sandbox.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath, args });
}

export interface Look {
  dark?: boolean;
  width?: number;
}

/** An empty tab, and what goes wrong in it from now on. */
export async function tab(chrome: Browser, look: Look = {}) {
  const context = await chrome.newContext({
    viewport: { width: look.width ?? 1200, height: 900 },
    colorScheme: look.dark ? 'dark' : 'light',
    acceptDownloads: true,
  });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  // Violations of the content security policy are logged there.
  page.on('console', (line) => {
    if (line.type() === 'error' || line.type() === 'warning') faults.push(line.text());
  });
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, faults, close: () => context.close() };
}

/** A page that was read from a file, and what went wrong in it. */
export async function open(chrome: Browser, file: string, look: Look = {}) {
  const opened = await tab(chrome, look);
  const { page, faults } = opened;
  page.on('request', (request) => {
    if (!/^(file|blob|data):/.test(request.url())) faults.push(`requests ${request.url()}`);
  });
  await page.goto(`file://${file}`);
  await page.locator('main').waitFor();
  return opened;
}

/** Keeps a picture of the whole page, all charts drawn. */
export async function shot(page: Page, name: string): Promise<void> {
  await drawAll(page);
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
}

/** Goes down the page, so that every chart comes into view once. */
export async function drawAll(page: Page): Promise<void> {
  for (const figure of await page.locator('.figure .plot').all()) {
    await figure.evaluate((plot) => plot.scrollIntoView({ behavior: 'instant' }));
    await figure.locator('svg').first().waitFor();
  }
  await page.evaluate(() => window.scrollTo({ top: 0, behavior: 'instant' }));
}

/** How much of a chart is drawn in one of these colours, and in how many colours, from its pixels. */
export async function pixels(page: Page, id: string, colours: string[]) {
  const plot = page.locator(`#${id} .plot`);
  await plot.evaluate((element) => element.scrollIntoView({ behavior: 'instant' }));
  await plot.locator('svg').first().waitFor();
  const png = (await plot.screenshot()).toString('base64');
  return page.evaluate(
    async ({ png, colours }) => {
      const bytes = Uint8Array.from(atob(png), (c) => c.charCodeAt(0));
      const picture = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
      const canvas = new OffscreenCanvas(picture.width, picture.height);
      const context = canvas.getContext('2d');
      if (!context) throw new Error('no canvas');
      context.drawImage(picture, 0, 0);
      const { data } = context.getImageData(0, 0, picture.width, picture.height);
      const wanted = new Set(colours.map((hex) => Number.parseInt(hex.slice(1), 16)));
      const seen = new Set<number>();
      let found = 0;
      for (let i = 0; i < data.length; i += 4) {
        const rgb = ((data[i] ?? 0) << 16) | ((data[i + 1] ?? 0) << 8) | (data[i + 2] ?? 0);
        seen.add(rgb);
        if (wanted.has(rgb)) found += 1;
      }
      return { found, colours: seen.size };
    },
    { png, colours },
  );
}

interface Fault {
  id: string;
  impact: string | null;
  nodes: { html: string }[];
}

/** Serious and critical faults that axe finds. */
export async function axe(page: Page): Promise<string[]> {
  const source = createRequire(import.meta.url)('axe-core') as { source: string };
  // Evaluated from outside, past the page's own policy.
  await page.evaluate(source.source);
  const faults = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run: () => Promise<{ violations: Fault[] }> };
    };
    return (await axe.run()).violations;
  });
  return faults
    .filter((fault) => fault.impact === 'serious' || fault.impact === 'critical')
    .map((fault) => `${fault.id}: ${fault.nodes.map((node) => node.html).join(' ')}`);
}

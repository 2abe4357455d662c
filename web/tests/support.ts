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
const SHOTS = join(TARGET, 'pages');
/** Longer pages are kept in several pictures: browsers draw no larger ones. */
const SHOT_HEIGHT_MAX = 8000;
/** This only ends what hangs; a loaded machine may take long. */
const WAIT_MS = 240_000;

/** A directory that is gone after the tests. */
export function scratch(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'throng-page-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Runs the program; `codes` are the exits that are fine. */
export function throng(args: string[], codes: number[] = [0]): Promise<string> {
  return new Promise((done, fail) => {
    execFile(THRONG, args, { cwd: ROOT, timeout: WAIT_MS }, (error, out, err) => {
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
  /** As on paper. */
  print?: boolean;
  /** As it is opened: without the full report. */
  brief?: boolean;
}

/** How people see pages. A sheet of A4 has 703 pixels between its margins. */
export const FORMS: Record<'light' | 'dark' | 'phone' | 'print', Look> = {
  light: {},
  dark: { dark: true },
  phone: { width: 390 },
  print: { width: 703, print: true },
};

/** An empty tab, and what goes wrong in it from now on. */
export async function tab(chrome: Browser, look: Look = {}) {
  const context = await chrome.newContext({
    viewport: { width: look.width ?? 1200, height: 900 },
    colorScheme: look.dark ? 'dark' : 'light',
    acceptDownloads: true,
  });
  context.setDefaultTimeout(WAIT_MS);
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

/** A page that was read from a file, with the full report of a run, and what went wrong in it. */
export async function open(chrome: Browser, file: string, look: Look = {}) {
  const opened = await tab(chrome, look);
  const { page, faults } = opened;
  page.on('request', (request) => {
    if (!/^(file|blob|data):/.test(request.url())) faults.push(`requests ${request.url()}`);
  });
  await page.goto(`file://${file}${look.brief ? '' : '#full'}`);
  await page.locator('main').waitFor();
  return opened;
}

/** Prepares a page for its form: on paper everything is drawn, on a screen what came into view. */
async function prepare(page: Page, { print }: Look): Promise<void> {
  if (!print) return drawAll(page);
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
}

/** Keeps pictures of the whole page, all charts drawn, and returns them. */
export async function shot(page: Page, name: string, look: Look = {}): Promise<Buffer[]> {
  await prepare(page, look);
  mkdirSync(SHOTS, { recursive: true });
  const { width, height } = await page.evaluate(() => ({
    width: document.documentElement.clientWidth,
    height: document.documentElement.scrollHeight,
  }));
  const pieces: Buffer[] = [];
  for (let y = 0; y < height; y += SHOT_HEIGHT_MAX) {
    const piece = pieces.length > 0 ? `-${pieces.length + 1}` : '';
    const clip = { x: 0, y, width, height: Math.min(SHOT_HEIGHT_MAX, height - y) };
    const path = join(SHOTS, `${name}${piece}.png`);
    pieces.push(await page.screenshot({ path, fullPage: true, clip }));
  }
  return pieces;
}

/**
 * What is wrong with the layout of a page: what is wider than the window, labels of a chart that overlap, heads of columns
 * that stand apart from their cells, and figures side by side whose plots are not.
 */
export function layout(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const faults: string[] = [];
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) faults.push(`${scrollWidth} pixels in ${clientWidth}`);
    for (const table of document.querySelectorAll('table')) {
      const cells = table.querySelector('tbody tr:not(.detail-row)')?.children ?? [];
      for (const [n, head] of [...table.querySelectorAll('thead th')].entries()) {
        const cell = cells[n];
        if (!cell || cell.matches('.picture') || head.getBoundingClientRect().width === 0) continue;
        // On a phone heads stand in a row of their own, and rows are cards.
        if (getComputedStyle(head).display !== 'table-cell') continue;
        const [above, below] = [head, cell].map((one) => getComputedStyle(one).textAlign);
        if (above !== below)
          faults.push(`“${head.textContent}” is ${above}, and its cells ${below}`);
      }
    }
    for (const pair of document.querySelectorAll('.pair')) {
      const plots = new Map<number, number>();
      for (const figure of pair.querySelectorAll(':scope > .figure')) {
        const [top, plot] = [figure, figure.querySelector('.plot')].map((one) =>
          Math.round(one?.getBoundingClientRect().top ?? 0),
        );
        const beside = plots.get(top ?? 0) ?? plot ?? 0;
        if (beside !== plot) faults.push(`${figure.id}: its plot is not beside the other one’s`);
        plots.set(top ?? 0, beside);
      }
    }
    for (const figure of document.querySelectorAll('.figure')) {
      const texts = [...figure.querySelectorAll('.plot svg text')].filter((one) => one.textContent);
      const boxes = texts.map((one) => one.getBoundingClientRect());
      const plot = figure.querySelector('.plot')?.getBoundingClientRect();
      texts.forEach((one, n) => {
        const box = boxes[n];
        if (!box || !plot || box.width === 0) return;
        if (box.left < plot.left - 2 || box.right > plot.right + 2) {
          faults.push(`${figure.id}: “${one.textContent}” is cut`);
        }
        // Of names at an angle the boxes overlap, and the names do not.
        if (/matrix\((?!1,0,0,1)/.test(one.getAttribute('transform') ?? '')) return;
        for (const [place, other] of boxes.entries()) {
          const isAngled = /matrix\((?!1,0,0,1)/.test(
            texts[place]?.getAttribute('transform') ?? '',
          );
          if (place <= n || isAngled || other.width === 0) continue;
          const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
          const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
          // The box of a text is higher than its letters.
          if (wide > 1 && high > 4) {
            faults.push(
              `${figure.id}: “${one.textContent}” is over “${texts[place]?.textContent}”`,
            );
          }
        }
      });
    }
    return faults;
  });
}

/** Goes down the page, so that every chart comes into view once. */
export async function drawAll(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    for (const full of document.querySelectorAll<HTMLDetailsElement>('details.full')) {
      full.open = true;
    }
    for (const plot of document.querySelectorAll('.figure .plot')) {
      while (!plot.querySelector('svg')) {
        plot.scrollIntoView({ behavior: 'instant' });
        await frame();
      }
    }
    window.scrollTo({ top: 0, behavior: 'instant' });
  });
}

/** Opens the tables of all figures; each has a row at least. */
export async function openTables(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const summary of document.querySelectorAll<HTMLElement>('.figure .numbers > summary')) {
      summary.click();
    }
  });
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.figure .numbers')].every((one) =>
      one.querySelector('tbody tr'),
    ),
  );
}

/** How much of each chart is drawn in one of these colours, by its id, from the page's pictures. */
export async function drawn(
  page: Page,
  pictures: Buffer[],
  colours: string[],
): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [n, picture] of pictures.entries()) {
    const part = await count(page, picture.toString('base64'), n * SHOT_HEIGHT_MAX, colours);
    for (const [id, pixels] of Object.entries(part)) found[id] = (found[id] ?? 0) + pixels;
  }
  return found;
}

function count(page: Page, png: string, y: number, colours: string[]) {
  return page.evaluate(
    async ({ png, y, colours }) => {
      const bytes = Uint8Array.from(atob(png), (c) => c.charCodeAt(0));
      const picture = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
      const canvas = new OffscreenCanvas(picture.width, picture.height);
      const context = canvas.getContext('2d', { willReadFrequently: true });
      if (!context) throw new Error('no canvas');
      context.drawImage(picture, 0, 0);
      const wanted = new Set(colours.map((hex) => Number.parseInt(hex.slice(1), 16)));
      const found: Record<string, number> = {};
      for (const figure of document.querySelectorAll('.figure')) {
        const plot = figure.querySelector('.plot');
        if (!plot) continue;
        const box = plot.getBoundingClientRect();
        const from = Math.max(0, Math.round(box.top + scrollY - y));
        const to = Math.min(picture.height, Math.round(box.bottom + scrollY - y));
        found[figure.id] = 0;
        if (to <= from) continue;
        const left = Math.round(box.left);
        const { data } = context.getImageData(left, from, Math.round(box.width), to - from);
        for (let i = 0; i < data.length; i += 4) {
          const rgb = ((data[i] ?? 0) << 16) | ((data[i + 1] ?? 0) << 8) | (data[i + 2] ?? 0);
          if (wanted.has(rgb)) found[figure.id] = (found[figure.id] ?? 0) + 1;
        }
      }
      return found;
    },
    { png, y, colours },
  );
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

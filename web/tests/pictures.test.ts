/** The README's pictures of a terminal, as browsers show them: as a document, and in a page as on GitHub. */

import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browser, ROOT, scratch, tab } from './support';

const IMAGES = join(ROOT, 'docs/images');
/** The width of a character, and where the first one stands. */
const CELL = 8.4;
const MARGIN = 16;
const FIREFOX = process.env.FIREFOX ?? 'firefox-esr';

const dir = scratch();
/** A table whose columns are known. */
const table = join(dir.path, 'table.svg');
const TABLE = ['step         rate      p50', 'checkout     30/s  8.00 ms', '', 'ok  ███   █'];
const pictures = [
  table,
  ...readdirSync(IMAGES)
    .filter((name) => name.endsWith('.svg'))
    .map((name) => join(IMAGES, name)),
];
let chrome: Browser;

beforeAll(async () => {
  const script = join(ROOT, 'scripts/terminal-picture.py');
  execFileSync(script, ['--columns', '60', table, '--', 'printf', TABLE.join('\\n')]);
  chrome = await browser();
});
afterAll(async () => {
  await chrome?.close();
  dir.remove();
});

/** A piece of a line: its place and its length. */
interface Piece {
  x: number;
  y: number;
  length: number;
  text: string;
}

/** The pieces of a picture, from its source. */
function pieces(file: string): Piece[] {
  const pattern = /<text x="([\d.]+)" y="(\d+)"[^>]* textLength="([\d.]+)"[^>]*>([^<]*)<\/text>/g;
  return [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, x, y, length, text]) => ({
    x: Number(x),
    y: Number(y),
    length: Number(length),
    text: text ?? '',
  }));
}

function sizeOf(file: string) {
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(readFileSync(file, 'utf8')) ?? [];
  return { width: Number(width), height: Number(height) };
}

/** Which pieces of a picture are not drawn where they should be, and what is drawn between them, from its pixels. */
function faults(page: Page, png: Buffer, wanted: Piece[]): Promise<string[]> {
  return page.evaluate(
    async ({ png, wanted }) => {
      const bytes = Uint8Array.from(atob(png), (c) => c.charCodeAt(0));
      const picture = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
      const canvas = new OffscreenCanvas(picture.width, picture.height);
      const context = canvas.getContext('2d', { willReadFrequently: true });
      if (!context) throw new Error('no canvas');
      context.drawImage(picture, 0, 0);
      // The corner behind the rounded one, below the title.
      const [r = 0, g = 0, b = 0] = context.getImageData(8, 40, 1, 1).data;
      /** How much is drawn in a part of a line, from above its letters to below them. */
      const drawn = (from: number, to: number, y: number) => {
        if (to - from < 1) return 0;
        const { data } = context.getImageData(Math.round(from), y - 12, Math.round(to - from), 16);
        let count = 0;
        for (let i = 0; i < data.length; i += 4) {
          const away = Math.abs((data[i] ?? 0) - r) + Math.abs((data[i + 1] ?? 0) - g);
          if (away + Math.abs((data[i + 2] ?? 0) - b) > 60) count += 1;
        }
        return count;
      };
      const found: string[] = [];
      wanted.forEach((one, n) => {
        const last = one.x + one.length;
        if (drawn(one.x, one.x + 8.4, one.y) === 0) found.push(`“${one.text}” does not begin`);
        if (drawn(last - 8.4, last, one.y) === 0) found.push(`“${one.text}” does not end`);
        const next = wanted[n + 1];
        if (next?.y === one.y && drawn(last + 3, next.x - 3, one.y) > 0) {
          found.push(`something is between “${one.text}” and “${next.text}”`);
        }
      });
      return found;
    },
    { png: png.toString('base64'), wanted },
  );
}

/** A page with the picture, as a README has it. */
function readme(file: string): string {
  const path = join(dir.path, 'readme.html');
  writeFileSync(
    path,
    `<!doctype html><body style="margin:0"><img src="file://${file}" alt="" style="display:block">`,
  );
  return path;
}

test('the columns of a table are those of the terminal', () => {
  const expected = TABLE.flatMap((line) =>
    [...line.matchAll(/\S+(?: \S+)*/g)].map((word) => ({ column: word.index, text: word[0] })),
  );
  const found = pieces(table).map(({ x, text }) => ({
    column: Math.round((x - MARGIN) / CELL),
    text,
  }));
  expect(found).toEqual(expected);
});

describe.each(pictures)('%s', (file) => {
  test('has no blanks that a viewer could collapse', () => {
    expect(pieces(file).length).toBeGreaterThan(4);
    expect(readFileSync(file, 'utf8')).not.toMatch(/<text[^>]*>[^<]*(\s\s|\u00a0)/);
  });

  test('has each character at its column, as a document', async () => {
    const { page, faults: logged, close } = await tab(chrome, { width: sizeOf(file).width });
    await page.goto(`file://${file}`);
    const measured = await page.evaluate(() =>
      [...document.querySelectorAll<SVGTextElement>('text[textLength]')].map((one) => ({
        text: one.textContent ?? '',
        characters: one.getNumberOfChars(),
        begin: one.getStartPositionOfChar(0).x,
        end: one.getEndPositionOfChar(one.getNumberOfChars() - 1).x,
      })),
    );
    const wanted = pieces(file);
    expect(measured.length).toBe(wanted.length);
    for (const [n, one] of measured.entries()) {
      const piece = wanted[n];
      expect(one.characters, one.text).toBe(one.text.length);
      // Half of a character would be seen.
      expect(Math.abs(one.begin - (piece?.x ?? 0)), one.text).toBeLessThan(CELL / 4);
      const end = (piece?.x ?? 0) + (piece?.length ?? 0);
      expect(Math.abs(one.end - end), one.text).toBeLessThan(CELL / 4);
    }
    expect(logged).toEqual([]);
    await close();
  });

  test('is drawn in a page as an image', async () => {
    const size = sizeOf(file);
    const { page, faults: logged, close } = await tab(chrome, { width: size.width });
    await page.goto(`file://${readme(file)}`);
    const image = page.locator('img');
    const natural = await image.evaluate((one: HTMLImageElement) =>
      one.decode().then(() => ({ width: one.naturalWidth, height: one.naturalHeight })),
    );
    expect(natural).toEqual(size);
    const png = await image.screenshot();
    expect(await faults(page, png, pieces(file))).toEqual([]);
    expect(logged).toEqual([]);
    await close();
  });

  test('is drawn in Firefox', async (context) => {
    try {
      execFileSync(FIREFOX, ['--version'], { stdio: 'ignore' });
    } catch {
      return context.skip(`${FIREFOX} is missing`);
    }
    const { width, height } = sizeOf(file);
    const png = join(dir.path, 'firefox.png');
    const look = ['--profile', dir.path, `--window-size=${width},${height + 40}`];
    await promisify(execFile)(FIREFOX, [
      '--headless',
      ...look,
      '--screenshot',
      png,
      `file://${readme(file)}`,
    ]);
    const { page, close } = await tab(chrome);
    expect(await faults(page, readFileSync(png), pieces(file))).toEqual([]);
    await close();
  });
});

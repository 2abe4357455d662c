/** A run as it runs, read from its record; when it is over its report, then the next run as soon as that starts. */

import type { Document } from '../document';
import type { Entry, IndexDocument } from '../document/results';
import type { RunDocument } from '../document/run';
import { el } from '../dom';
import { progressBar } from '../progress';
import { atTop, page } from '../shell';
import { IN_PROGRESS } from '../views/run/totals';
import { request } from './request';

/** A run writes a checkpoint every three seconds. */
const CHECKPOINT_MS = 3_000;
/** How often it is looked whether a run has started. */
const NEXT_MS = 5_000;

interface Page {
  bar: HTMLElement;
  draw: (doc: Document) => void;
  say: (text: string) => void;
}

/** Follows the run of this id; without one, the newest. */
export async function followRuns(id: string, { bar, draw, say }: Page): Promise<void> {
  bar.prepend(el('a', { href: './' }, '← All results'));
  const progress = progressBar();
  bar.append(progress.element);
  let now = id || (await newest(say));
  if (!id) remember(now);
  for (;;) {
    const doc = await shown(now, say);
    if (doc) {
      draw(doc);
      atTop(bar);
      document.title = `${doc.run.name}: ${doc.verdict} · Throng`;
      const isOver = !IN_PROGRESS.includes(doc.verdict);
      progress.show(isOver ? undefined : doc);
      if (isOver) {
        say('The run is over. This is its report. The next run is shown as soon as it starts.');
        now = await next(doc.run.started_unix_ms);
        remember(now);
        continue;
      }
      say('Running. The page shows what the run has recorded.');
    }
    await pause(CHECKPOINT_MS);
  }
}

/** The run's document; `undefined` if it cannot be read now. */
async function shown(id: string, say: Page['say']): Promise<RunDocument | undefined> {
  try {
    return JSON.parse(await request(`progress/${id}`)) as RunDocument;
  } catch (error) {
    say(`The run cannot be shown: ${(error as Error).message}.`);
    return undefined;
  }
}

/** The newest run: one in progress if there is any. */
async function newest(say: Page['say']): Promise<string> {
  for (;;) {
    const doc = await list();
    const runs = doc?.entries.filter(({ kind }) => kind === 'run') ?? [];
    const found = runs.find(({ state }) => state === 'running') ?? runs.find(isReadable);
    if (found) return found.id;
    if (doc) {
      page({ title: 'Results', verdict: 'No run', tone: 'plain', facts: [] }, [], doc.throng);
    }
    say('There is no run yet; the first one is shown as soon as it starts.');
    await pause(NEXT_MS);
  }
}

/** The newest run in progress that started later than this. */
async function next(started_unix_ms: number): Promise<string> {
  for (;;) {
    const isNext = ({ kind, state, started_unix_ms: at }: Entry) =>
      kind === 'run' && state === 'running' && (at ?? 0) > started_unix_ms;
    const found = (await list())?.entries.find(isNext);
    if (found) return found.id;
    await pause(NEXT_MS);
  }
}

function isReadable({ state }: Entry): boolean {
  return state !== 'damaged' && state !== 'unfinished';
}

async function list(): Promise<IndexDocument | undefined> {
  return request('list').then(
    (text) => JSON.parse(text) as IndexDocument,
    () => undefined,
  );
}

/** The address leads to the run that is shown. */
function remember(id: string): void {
  history.replaceState(null, '', `?live=${id}${location.hash}`);
}

/** Waits, and until somebody looks. */
async function pause(ms: number): Promise<void> {
  await new Promise((done) => setTimeout(done, ms));
  while (document.visibilityState !== 'visible') {
    await new Promise((done) =>
      document.addEventListener('visibilitychange', done, { once: true }),
    );
  }
}

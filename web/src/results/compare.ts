/** A comparison: requests it, waits for it, draws it. */

import type { Document } from '../document';
import { el } from '../dom';
import { request } from './request';

/** The time between two queries of its progress. */
const AGAIN_MS = 300;

type Stage =
  | { stage: 'waiting'; before: number }
  | { stage: 'working'; what: string; done: number; total: number }
  | { stage: 'done'; document: Document }
  | { stage: 'failed'; why: string };

interface Output {
  /** Shows a status message. */
  say: (text: string) => void;
  /** Adds an element beside the message. */
  offer: (element: HTMLElement) => void;
  show: (doc: Document) => void;
}

export async function compare(wanted: URLSearchParams, output: Output): Promise<void> {
  const { say, offer, show } = output;
  say('Requesting the comparison.');
  try {
    const query = ['runs', 'baseline', 'force']
      .filter((name) => wanted.get(name))
      .map((name) => `${name}=${wanted.get(name)}`)
      .join('&');
    const reply = await request(`compare?${query}`, { method: 'POST' });
    const { number } = JSON.parse(reply) as { number: number };
    for (;;) {
      const now = JSON.parse(await request(`comparison/${number}`)) as Stage;
      if (now.stage === 'done') {
        say('The comparison is ready.');
        show(now.document);
        const file = `comparison/${number}/report.html`;
        offer(el('a', { href: file, download: 'comparison.html' }, 'Save comparison.html'));
        return;
      }
      if (now.stage === 'failed') {
        say(`The runs cannot be compared: ${now.why}.`);
        if (now.why.includes('--force')) offer(forced(wanted));
        return;
      }
      say(progress(now));
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  } catch (error) {
    say(`The runs cannot be compared: ${(error as Error).message}.`);
  }
}

function progress(now: Exclude<Stage, { stage: 'done' | 'failed' }>): string {
  if (now.stage === 'waiting') {
    return `Waiting for ${now.before} other ${now.before === 1 ? 'comparison' : 'comparisons'}.`;
  }
  return now.total > 0 ? `Comparing: ${now.what}, ${now.done + 1} of ${now.total}.` : 'Comparing.';
}

/** A link that compares what the runs have in common, although they differ. */
function forced(wanted: URLSearchParams): HTMLElement {
  const also = new URLSearchParams(wanted);
  also.set('force', '1');
  return el('a', { href: `?${decodeURIComponent(also.toString())}` }, 'Compare anyway');
}

/** A comparison: asked for, waited for, drawn. */

import type { Document } from '../document';
import { el } from '../dom';
import { ask } from './ask';

/** Between two questions how far it is. */
const AGAIN_MS = 300;

type Stage =
  | { stage: 'waiting'; before: number }
  | { stage: 'working'; what: string; done: number; total: number }
  | { stage: 'done'; document: Document }
  | { stage: 'failed'; why: string };

interface Place {
  say: (words: string) => void;
  /** Puts something beside what is said. */
  offer: (element: HTMLElement) => void;
  show: (doc: Document) => void;
}

export async function compare(wanted: URLSearchParams, place: Place): Promise<void> {
  const { say, offer, show } = place;
  say('Asking for the comparison.');
  try {
    const query = ['runs', 'baseline', 'force']
      .filter((name) => wanted.get(name))
      .map((name) => `${name}=${wanted.get(name)}`)
      .join('&');
    const asked = await ask(`compare?${query}`, { method: 'POST' });
    const { number } = JSON.parse(asked) as { number: number };
    for (;;) {
      const now = JSON.parse(await ask(`comparison/${number}`)) as Stage;
      if (now.stage === 'done') {
        say('The comparison is made.');
        show(now.document);
        const file = `comparison/${number}/report.html`;
        offer(el('a', { href: file, download: 'comparison.html' }, 'Save comparison.html'));
        return;
      }
      if (now.stage === 'failed') {
        say(`They cannot be compared: ${now.why}.`);
        if (now.why.includes('--force')) offer(forced(wanted));
        return;
      }
      say(progress(now));
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  } catch (error) {
    say(`They cannot be compared: ${(error as Error).message}.`);
  }
}

function progress(now: Exclude<Stage, { stage: 'done' | 'failed' }>): string {
  if (now.stage === 'waiting') {
    return `Waiting for ${now.before} other ${now.before === 1 ? 'comparison' : 'comparisons'}.`;
  }
  return now.total > 0 ? `Comparing: ${now.what}, ${now.done + 1} of ${now.total}.` : 'Comparing.';
}

/** What runs of different scenarios have in common can be compared where somebody wants it. */
function forced(wanted: URLSearchParams): HTMLElement {
  const also = new URLSearchParams(wanted);
  also.set('force', '1');
  return el('a', { href: `?${decodeURIComponent(also.toString())}` }, 'Compare them anyway');
}

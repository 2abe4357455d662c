/**
 * The page of results. The query of its address says what it shows: the filters of the list, the runs of a
 * comparison, or a run as it runs. So the address can be saved and shared.
 */

import type { Document } from './document';
import type { IndexDocument } from './document/results';
import { el } from './dom';
import { request } from './results/request';
import { compare } from './results/compare';
import { followRuns } from './results/follow';
import { list } from './results/list';
import { atTop, page } from './shell';

/** How often a visible list is refreshed. */
const REFRESH_MS = 5_000;

export function results(draw: (doc: Document) => void): void {
  const wanted = new URLSearchParams(location.search);
  if (wanted.has('token')) {
    // The token is in a cookie now; remove it from the address, which people copy.
    wanted.delete('token');
    history.replaceState(null, '', location.pathname);
  }
  const status = el('p', { role: 'status' }, 'Loading the list.');
  const bar = el('div', { class: 'live' }, status);
  document.body.append(bar);
  const say = (text: string) => {
    if (status.textContent !== text) status.textContent = text;
    bar.hidden = text === '';
  };
  if (wanted.has('live')) void followRuns(wanted.get('live') ?? '', { bar, draw, say });
  else if (wanted.has('runs')) void comparison(wanted, draw, bar, say);
  else void follow(bar, say);
}

/** Shows the list and refreshes it. */
async function follow(bar: HTMLElement, say: (text: string) => void): Promise<void> {
  let shown = '';
  const look = async () => {
    try {
      const text = await request('list');
      if (text !== shown) {
        const doc = JSON.parse(text) as IndexDocument;
        list(doc);
        atTop(bar);
        document.title = `${doc.root}: results · Throng`;
        shown = text;
      }
      say('');
    } catch (error) {
      say(`The list cannot be loaded: ${(error as Error).message}.`);
    }
  };
  const again = () => {
    if (document.visibilityState === 'visible') void look();
  };
  document.addEventListener('visibilitychange', again);
  setInterval(again, REFRESH_MS);
  await look();
}

async function comparison(
  wanted: URLSearchParams,
  draw: (doc: Document) => void,
  bar: HTMLElement,
  say: (text: string) => void,
): Promise<void> {
  bar.prepend(el('a', { href: './' }, '← All results'));
  document.title = 'Comparison · Throng';
  const known = await request('list').then(
    (text) => JSON.parse(text) as IndexDocument,
    () => undefined,
  );
  const names = (ids: string | null) =>
    (ids ?? '')
      .split(',')
      .filter(Boolean)
      .map((id) => known?.entries.find((entry) => entry.id === id)?.path ?? id)
      .join(', ');
  const baseline = names(wanted.get('baseline'));
  const facts = [names(wanted.get('runs')), ...(baseline ? [`against ${baseline}`] : [])];
  page(
    { title: 'Comparison', verdict: 'In progress', tone: 'plain', facts },
    [],
    known?.throng ?? '',
  );
  atTop(bar);
  await compare(wanted, {
    say,
    offer: (element) => bar.append(element),
    show: (doc) => {
      draw(doc);
      atTop(bar);
    },
  });
}

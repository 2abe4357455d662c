/**
 * The page that browses results. What it shows stands behind the `?` of its address, so that it can be
 * kept and handed on: the filters of the list, or the runs of a comparison.
 */

import type { Document } from './document';
import type { ShelfDocument } from './document/shelf';
import { el } from './dom';
import { ask } from './shelf/ask';
import { compare } from './shelf/compare';
import { list } from './shelf/list';
import { atTop, page } from './shell';

/** The list is looked at again so often while somebody sees it. */
const AGAIN_MS = 5_000;

export function shelf(draw: (doc: Document) => void): void {
  const wanted = new URLSearchParams(location.search);
  if (wanted.has('token')) {
    // The token is in a cookie now, and needs no longer stand where people copy addresses from.
    wanted.delete('token');
    history.replaceState(null, '', location.pathname);
  }
  const status = el('p', { role: 'status' }, 'Reading the list.');
  const bar = el('div', { class: 'live' }, status);
  document.body.append(bar);
  const say = (words: string) => {
    if (status.textContent !== words) status.textContent = words;
    bar.hidden = words === '';
  };
  if (wanted.has('runs')) void comparison(wanted, draw, bar, say);
  else void follow(bar, say);
}

/** The list, again and again. */
async function follow(bar: HTMLElement, say: (words: string) => void): Promise<void> {
  let known = '';
  const look = async () => {
    try {
      const text = await ask('list');
      if (text !== known) {
        const doc = JSON.parse(text) as ShelfDocument;
        list(doc);
        atTop(bar);
        document.title = `${doc.root}: results · Throng`;
        known = text;
      }
      say('');
    } catch (error) {
      say(`The list cannot be read: ${(error as Error).message}.`);
    }
  };
  const again = () => {
    if (document.visibilityState === 'visible') void look();
  };
  document.addEventListener('visibilitychange', again);
  setInterval(again, AGAIN_MS);
  await look();
}

async function comparison(
  wanted: URLSearchParams,
  draw: (doc: Document) => void,
  bar: HTMLElement,
  say: (words: string) => void,
): Promise<void> {
  bar.prepend(el('a', { href: './' }, '← All results'));
  document.title = 'Comparison · Throng';
  const known = await ask('list').then(
    (text) => JSON.parse(text) as ShelfDocument,
    () => undefined,
  );
  const names = (ids: string | null) =>
    (ids ?? '')
      .split(',')
      .filter(Boolean)
      .map((id) => known?.items.find((item) => item.id === id)?.place ?? id)
      .join(', ');
  const baseline = names(wanted.get('baseline'));
  const facts = [names(wanted.get('runs')), ...(baseline ? [`against ${baseline}`] : [])];
  page(
    { title: 'Comparison', verdict: 'To be made', tone: 'plain', facts },
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

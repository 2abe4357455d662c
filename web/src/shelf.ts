/**
 * The page that browses results. What it shows stands behind the `#` of its address, so that it can be
 * kept and handed on: the filters of the list, or the runs of a comparison.
 */

import type { Document } from './document';
import type { ShelfDocument } from './document/shelf';
import { el } from './dom';
import { ask } from './shelf/ask';
import { compare } from './shelf/compare';
import { list } from './shelf/list';
import { atTop } from './shell';

/** The list is looked at again so often while somebody sees it. */
const AGAIN_MS = 5_000;

export function shelf(draw: (doc: Document) => void): void {
  // The token is in a cookie now, and needs no longer stand where people copy addresses from.
  history.replaceState(null, '', location.pathname + location.hash);
  const status = el('p', { role: 'status' });
  const bar = el('div', { class: 'live' }, status);
  document.body.append(bar);
  const say = (words: string) => {
    if (status.textContent !== words) status.textContent = words;
    bar.hidden = words === '' && bar.childElementCount === 1;
  };

  let told: { text: string; doc: ShelfDocument } | undefined;
  /** Each change of the address begins anew; what was asked for before it is passed over. */
  let turn = 0;
  const show = () => {
    if (!told) return;
    list(told.doc);
    atTop(bar);
    document.title = `${told.doc.root}: results · Throng`;
  };
  const look = async () => {
    const asked = turn;
    const text = await ask('list').catch((error: Error) => {
      if (asked === turn) say(`The list cannot be read: ${error.message}`);
      return undefined;
    });
    if (text === undefined || asked !== turn) return;
    if (told?.text !== text) {
      told = { text, doc: JSON.parse(text) as ShelfDocument };
      show();
    }
    say('');
  };
  const route = () => {
    turn += 1;
    const asked = turn;
    bar.replaceChildren(status);
    const wanted = new URLSearchParams(location.hash.slice(1));
    if (!wanted.has('runs')) {
      say(told ? '' : 'Reading the list.');
      show();
      void look();
      return;
    }
    bar.prepend(el('a', { href: '#' }, '← All results'));
    void compare(wanted, {
      say,
      isWanted: () => asked === turn,
      offer: (element) => bar.append(element),
      show: (doc) => {
        draw(doc);
        atTop(bar);
        window.scrollTo({ top: 0 });
        document.title = 'Comparison · Throng';
      },
    });
  };
  window.addEventListener('hashchange', route);
  const again = () => {
    const isList = !new URLSearchParams(location.hash.slice(1)).has('runs');
    if (document.visibilityState === 'visible' && isList) void look();
  };
  document.addEventListener('visibilitychange', again);
  setInterval(again, AGAIN_MS);
  route();
}

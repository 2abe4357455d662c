/** What all pages have: a head, a way to each section, a foot. */

import { append, type Child, el, slug } from './dom';
import { follow } from './figure';
import { lookButton } from './look';

export interface Head {
  title: string;
  /** What it comes to, in a word or two; `tone` colours it. */
  verdict: string;
  tone: 'good' | 'bad' | 'plain';
  /** What was done, a phrase each. */
  facts: string[];
}

export interface Section {
  title: string;
  id?: string;
  content: Child[];
}

/** Fills the page. Sections without content are left out. */
export function page(head: Head, sections: Section[], throng: string): void {
  const main = el('main', { id: 'main' });
  const links = el('ul');
  for (const { title, id = slug(title), content } of sections) {
    if (!content.some(Boolean)) continue;
    append(links, el('li', {}, el('a', { href: `#${id}` }, title)));
    const heading = el('h2', { id: `${id}-heading` }, title);
    append(main, el('section', { id, 'aria-labelledby': `${id}-heading` }, heading, ...content));
  }
  append(
    document.body,
    el('a', { class: 'skip', href: '#main' }, 'To the content'),
    el(
      'header',
      {},
      el(
        'div',
        { class: 'title' },
        el('h1', {}, head.title),
        el('span', { class: `verdict ${head.tone}` }, head.verdict),
        lookButton(),
      ),
      el('ul', { class: 'facts' }, ...head.facts.map((fact) => el('li', {}, fact))),
      el('nav', { 'aria-label': 'Sections' }, links),
    ),
    main,
    el('footer', {}, `Made by Throng ${throng}.`),
  );
  follow();
}

/** Terms and what they are, for what is neither a figure nor a table. */
export function terms(pairs: [string, string][]): HTMLElement {
  const list = el('dl', { class: 'terms' });
  for (const [term, value] of pairs) {
    append(list, el('div', {}, el('dt', {}, term), el('dd', {}, value)));
  }
  return list;
}

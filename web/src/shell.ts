/** The frame of all pages: a head, links to the sections, a foot. */

import { zoomBar } from './brush';
import { append, type Child, el, slug } from './dom';
import { follow } from './figure';
import { fullReport, openWanted } from './full';
import { lookButton } from './look';

export interface Head {
  title: string;
  /** The verdict in a word or two; `tone` colours it. */
  verdict: string;
  tone: 'good' | 'bad' | 'plain';
  /** Facts, a phrase each. */
  facts: string[];
}

export interface Section {
  title: string;
  id?: string;
  content: Child[];
  /** It belongs to the full report, one click away. */
  isMore?: boolean;
}

/** Fills the page, reusing existing elements. Sections without content are left out. */
export function page(head: Head, sections: Section[], throng: string): void {
  const { header, links, main } = frame(throng);
  header.replaceChildren(
    el('h1', {}, head.title),
    el('span', { class: `verdict ${head.tone}` }, head.verdict),
    el('ul', { class: 'facts' }, ...head.facts.map((fact) => el('li', {}, fact))),
  );
  const all = sections
    .map((section) => ({ id: slug(section.title), ...section }))
    .filter(({ content }) => content.some(Boolean));
  settle(
    links,
    all.map(({ id, title }) => el('li', {}, el('a', { href: `#${id}` }, title))),
  );
  const focused = document.activeElement?.id;
  const first = all.filter(({ isMore }) => !isMore).map((one) => drawSection(main, one));
  const more = all.filter(({ isMore }) => isMore);
  if (more.length === 0) {
    settle(main, first);
    return;
  }
  const { element, content } = fullReport();
  settle(
    content,
    more.map((one) => drawSection(content, one)),
  );
  const isNew = !element.isConnected;
  settle(main, [...first, element]);
  if (isNew) openWanted();
  // Restore the focus in what was drawn again.
  if (focused && !document.activeElement?.id) document.getElementById(focused)?.focus();
}

/** A section within its parent, a new one or the existing one. */
function drawSection(
  parent: HTMLElement,
  { id, title, content }: Section & { id: string },
): Element {
  const found = parent.querySelector(`:scope > #${CSS.escape(id)}`);
  const section = found ?? el('section', { id, 'aria-labelledby': `${id}-heading` });
  const heading = section.querySelector('h2') ?? el('h2', { id: `${id}-heading` });
  heading.textContent = title;
  settle(section, [heading, ...content.filter((child) => child instanceof Node)]);
  return section;
}

/** What paper does not have. */
const ON_PAPER =
  ' The page has more: the numbers of figures, evidence, samples of failures, and figures by phase.';

/** The frame, made once. */
let made: { header: HTMLElement; links: HTMLElement; main: HTMLElement } | undefined;

function frame(throng: string) {
  if (made) return made;
  const header = el('div', { class: 'title' });
  const links = el('ul');
  const main = el('main', { id: 'main' });
  append(
    document.body,
    el('a', { class: 'skip', href: '#main' }, 'Skip to the content'),
    el(
      'header',
      {},
      el('div', { class: 'top' }, header, lookButton()),
      el('nav', { 'aria-label': 'Sections' }, links),
    ),
    main,
    el('footer', {}, `Made by Throng ${throng}.`, el('span', { class: 'on-paper' }, ON_PAPER)),
    zoomBar(),
  );
  // On paper the full report is opened before its figures are drawn.
  fullReport();
  follow();
  made = { header, links, main };
  return made;
}

/** Places an element between the head of the page and its content. */
export function atTop(element: HTMLElement): void {
  const main = made?.main;
  if (main && main.previousSibling !== element) main.before(element);
}

/** Sets the children of an element. A child already in place is not touched, so that it keeps its focus and state. */
function settle(parent: Element, wanted: Node[]): void {
  wanted.forEach((child, index) => {
    const found = parent.childNodes[index];
    if (found === child) return;
    if (found && !wanted.includes(found)) found.replaceWith(child);
    else parent.insertBefore(child, found ?? null);
  });
  while (parent.childNodes.length > wanted.length) parent.lastChild?.remove();
}

/** A list of terms and values. */
export function terms(pairs: [string, string][]): HTMLElement {
  const list = el('dl', { class: 'terms' });
  for (const [term, value] of pairs) {
    append(list, el('div', {}, el('dt', {}, term), el('dd', {}, value)));
  }
  return list;
}

/**
 * The full report: what a page shows one click away. The address remembers that it is open: `#full`, or the id of
 * something in it. On paper it is always there.
 */

import { el } from './dom';
import { fitAll } from './figure';

const ID = 'full';

let made: { element: HTMLDetailsElement; content: HTMLElement } | undefined;
/** Whether it was open before it was printed; `undefined` while nothing is printed. */
let before: boolean | undefined;

/** The part of the page, made once, and where its sections belong. */
export function fullReport(): { element: HTMLDetailsElement; content: HTMLElement } {
  if (made) return made;
  const content = el('div');
  const element = el(
    'details',
    { id: ID, class: 'full', ontoggle: () => toggled() },
    el('summary', {}, 'Full report'),
    content,
  );
  made = { element, content };
  window.addEventListener('hashchange', () => openWanted());
  window.addEventListener('beforeprint', () => {
    before ??= element.open;
    element.open = true;
  });
  window.addEventListener('afterprint', () => {
    if (before !== undefined) element.open = before;
    before = undefined;
  });
  return made;
}

/** Opens it if the address leads into it. */
export function openWanted(): void {
  const target = wanted();
  if (!made || !target) return;
  made.element.open = true;
  if (target !== made.element) target.scrollIntoView();
}

/** What the address leads to, if that is in the full report. */
function wanted(): HTMLElement | undefined {
  const target = document.getElementById(location.hash.slice(1));
  return target && made?.element.contains(target) ? target : undefined;
}

function toggled(): void {
  if (!made || before !== undefined) return;
  const { open } = made.element;
  if (open) fitAll();
  if (open === (wanted() !== undefined)) return;
  try {
    history.replaceState(null, '', open ? `#${ID}` : location.pathname + location.search);
  } catch {
    // A report in a sandbox may not change its address.
  }
}

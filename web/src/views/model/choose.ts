/** A selector that keeps its place, and its focus, while the page is drawn again around it. */

import { append, el } from '../../dom';

interface Chooser {
  line: HTMLElement;
  select: HTMLSelectElement;
  names: string;
  again: () => void;
}

const choosers = new Map<string, Chooser>();

/** Which of these somebody chose, the first at first; and the selector, where there are several. */
export function choose(
  id: string,
  words: string,
  names: string[],
  again: () => void,
): [chosen: number, line: HTMLElement | null] {
  let known = choosers.get(id);
  if (!known) {
    const select = el('select', { id, onchange: () => choosers.get(id)?.again() });
    const line = el('p', { class: 'choose' }, el('label', { for: id }, `${words} `), select);
    known = { line, select, names: '', again };
    choosers.set(id, known);
  }
  known.again = again;
  const { select } = known;
  if (known.names !== names.join('\n')) {
    known.names = names.join('\n');
    const chosen = select.value;
    select.replaceChildren();
    append(select, ...names.map((name) => el('option', { value: name }, name)));
    if (names.includes(chosen)) select.value = chosen;
  }
  return [Math.max(0, select.selectedIndex), names.length > 1 ? known.line : null];
}

/** Tiles: the few figures that a page shows first. */

import { append, el } from './dom';

export interface Tile {
  /** What the figure is, in a word or two. */
  name: string;
  value: string;
  /** A phrase below the value. */
  note?: string;
  tone?: 'good' | 'bad' | 'plain';
}

/** Tiles in a row, as wide as they have to be. */
export function tiles(all: Tile[]): HTMLElement {
  const list = el('dl', { class: 'tiles' });
  for (const { name, value, note, tone } of all) {
    append(
      list,
      el(
        'div',
        { class: tone ? `tile is-${tone}` : 'tile' },
        el('dt', {}, name),
        el('dd', { class: 'value' }, value),
        note && el('dd', { class: 'note' }, note),
      ),
    );
  }
  return list;
}

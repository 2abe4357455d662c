/** Tiles: the few figures that a page shows first. */

import { append, el } from './dom';
import { unbroken } from './quantity';

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
        note && el('dd', { class: 'note' }, ...unbroken(note)),
      ),
    );
  }
  return list;
}

/** Tiles of one thing, which is named once below them. */
export interface TileGroup {
  name: string;
  tiles: Tile[];
}

/** Tiles, and beside them those of one thing, if there is room. */
export function tilesBeside(all: Tile[], group: TileGroup | null): HTMLElement {
  if (!group) return tiles(all);
  const of = el(
    'div',
    { class: 'tile-group' },
    tiles(group.tiles),
    el('p', { class: 'note' }, ...unbroken(group.name)),
  );
  return el('div', { class: 'tiles-beside' }, tiles(all), of);
}

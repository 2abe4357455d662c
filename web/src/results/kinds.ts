/** Kinds of results, and how many of each there are. */

import type { Entry, EntryKind } from '../document/results';
import { count, counted } from '../format';

export const KINDS: Record<EntryKind, string> = {
  run: 'run',
  experiment: 'experiment',
  duet: 'duet',
  search: 'search',
  model: 'model',
  page: 'page',
};

/** What the table lists, by kind: `12 of 40 results: 10 runs, 2 experiments.` */
export function summary(entries: Pick<Entry, 'kind'>[], of: number): string {
  const kinds = Object.entries(KINDS).map(([kind, name]): [number, string] => [
    entries.filter((entry) => entry.kind === kind).length,
    name,
  ]);
  const parts = kinds.filter(([n]) => n > 0).map(([n, name]) => counted(n, name));
  const all = entries.length === of ? '' : `${count(entries.length)} of `;
  return `${all}${counted(of, 'result')}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}.`;
}

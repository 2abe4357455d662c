/** The runs that were picked to be compared. */

import type { Item } from '../document/shelf';
import { append, el } from '../dom';

/** A baseline is what the others are held against. */
const picked = new Map<string, { item: Item; baseline: boolean }>();
/** Somebody has said which run is the baseline; until then it is the older one of two. */
let isChosen = false;

const panel = el('div', { class: 'picks', role: 'region', 'aria-label': 'Runs to compare' });

export function isPicked(item: Item): boolean {
  return picked.has(item.id);
}

export function pick(item: Item, wanted: boolean): void {
  if (wanted) picked.set(item.id, { item, baseline: false });
  else picked.delete(item.id);
  if (picked.size < 2) isChosen = false;
  if (!isChosen) propose();
  drawPicks();
}

/** Of two runs the older one is the baseline. */
function propose(): void {
  const all = [...picked.values()];
  const oldest = Math.min(...all.map(({ item }) => item.started_unix_ms ?? 0));
  for (const one of all) {
    one.baseline = all.length === 2 && (one.item.started_unix_ms ?? 0) === oldest;
  }
  // Begun in the same moment: they are compared with each other.
  if (all.every((one) => one.baseline)) for (const one of all) one.baseline = false;
}

/** The panel, which stays the same element. */
export function picks(): HTMLElement {
  drawPicks();
  return panel;
}

function drawPicks(): void {
  const all = [...picked.values()];
  const ids = (baseline: boolean) =>
    all.filter((one) => one.baseline === baseline).map(({ item }) => item.id);
  const [runs, baseline] = [ids(false), ids(true)];
  const enough = all.length >= 2 && runs.length > 0;
  const words = !enough
    ? 'Pick two runs or more in the table to compare them.'
    : baseline.length > 0
      ? `${count(runs.length)} held against ${count(baseline.length)} as the baseline.`
      : `${count(all.length)} compared with each other.`;
  const rows = all.map((one) => {
    const box = el('input', {
      type: 'checkbox',
      id: `baseline-${one.item.id}`,
      checked: one.baseline,
      onchange: () => {
        isChosen = true;
        one.baseline = box.checked;
        drawPicks();
        document.getElementById(`baseline-${one.item.id}`)?.focus();
      },
    });
    return el(
      'li',
      {},
      el('span', {}, `${one.item.name} `),
      el('span', { class: 'note' }, one.item.place),
      el('label', { for: box.id }, box, ' baseline'),
    );
  });
  const address =
    `?runs=${runs.join(',')}` + (baseline.length > 0 ? `&baseline=${baseline.join(',')}` : '');
  panel.replaceChildren(el('p', { role: 'status' }, words));
  if (rows.length > 0) append(panel, el('ul', {}, ...rows));
  if (enough) append(panel, el('a', { class: 'go', href: address }, 'Compare them'));
}

function count(n: number): string {
  return n === 1 ? '1 run' : `${n} runs`;
}

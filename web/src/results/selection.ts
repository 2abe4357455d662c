/** The runs that are selected for a comparison. */

import type { Entry } from '../document/results';
import { append, el } from '../dom';

/** Selected runs by id; the others are compared with the baseline runs. */
const selected = new Map<string, { entry: Entry; baseline: boolean }>();
/** The user has chosen the baseline; until then it is the older one of two runs. */
let isChosen = false;

const panel = el('div', { class: 'selection', role: 'region', 'aria-label': 'Runs to compare' });

export function isSelected(entry: Entry): boolean {
  return selected.has(entry.id);
}

export function select(entry: Entry, wanted: boolean): void {
  if (wanted) selected.set(entry.id, { entry, baseline: false });
  else selected.delete(entry.id);
  if (selected.size < 2) isChosen = false;
  if (!isChosen) propose();
  drawSelection();
}

/** Of two runs the older one is the baseline. */
function propose(): void {
  const all = [...selected.values()];
  const oldest = Math.min(...all.map(({ entry }) => entry.started_unix_ms ?? 0));
  for (const one of all) {
    one.baseline = all.length === 2 && (one.entry.started_unix_ms ?? 0) === oldest;
  }
  // Two runs of the same time are compared with each other.
  if (all.every((one) => one.baseline)) for (const one of all) one.baseline = false;
}

/** The panel, always the same element. */
export function selection(): HTMLElement {
  drawSelection();
  return panel;
}

function drawSelection(): void {
  const all = [...selected.values()];
  const ids = (baseline: boolean) =>
    all.filter((one) => one.baseline === baseline).map(({ entry }) => entry.id);
  const [runs, baseline] = [ids(false), ids(true)];
  const enough = all.length >= 2 && runs.length > 0;
  const text = !enough
    ? 'Select two or more runs in the table to compare them.'
    : baseline.length > 0
      ? `${count(runs.length)} compared with ${count(baseline.length)} as the baseline.`
      : `${count(all.length)} compared with each other.`;
  const rows = all.map((one) => {
    const box = el('input', {
      type: 'checkbox',
      id: `baseline-${one.entry.id}`,
      checked: one.baseline,
      onchange: () => {
        isChosen = true;
        one.baseline = box.checked;
        drawSelection();
        document.getElementById(`baseline-${one.entry.id}`)?.focus();
      },
    });
    return el(
      'li',
      {},
      el('span', {}, `${one.entry.name} `),
      el('span', { class: 'note' }, one.entry.path),
      el('label', { for: box.id }, box, ' baseline'),
    );
  });
  const address =
    `?runs=${runs.join(',')}` + (baseline.length > 0 ? `&baseline=${baseline.join(',')}` : '');
  panel.replaceChildren(el('p', { role: 'status' }, text));
  if (rows.length > 0) append(panel, el('ul', {}, ...rows));
  if (enough) append(panel, el('a', { class: 'go', href: address }, 'Compare runs'));
}

function count(n: number): string {
  return n === 1 ? '1 run' : `${n} runs`;
}

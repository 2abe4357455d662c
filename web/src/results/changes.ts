/** What trends are of, and what changed in them. */

import type { Entry } from '../document/results';
import type { TrendDocument, TrendFigure } from '../document/trend';
import { formatUnit } from '../format';

/** Fewer runs are no trend. */
const RUNS_MIN = 2;

/** The newest run of each scenario with several runs of its own, by name, the newest first. */
export function repeated(entries: Entry[]): Map<string, Entry> {
  const runs = entries.filter(
    ({ kind, parent, state }) =>
      kind === 'run' && parent === null && ['measured', 'passed', 'failed'].includes(state),
  );
  const counts = new Map<string, number>();
  for (const { name } of runs) counts.set(name, (counts.get(name) ?? 0) + 1);
  const found = new Map<string, Entry>();
  for (const run of runs) {
    if ((counts.get(run.name) ?? 0) >= RUNS_MIN && !found.has(run.name)) found.set(run.name, run);
  }
  return found;
}

/** A sentence for each change, beside the run that it begins with. */
export function changesOf(doc: TrendDocument, one: TrendFigure) {
  return one.parts.slice(1).flatMap((part, n) => {
    const before = one.parts[n];
    const run = doc.runs[part.from];
    if (!before || !run) return [];
    const values = [before.median, part.median].map((value) => formatUnit(value, one.unit));
    const change = part.change === null ? '' : ` (${formatUnit(part.change, 'change')})`;
    const text = `${one.name}: ${values.join(' → ')}${change}`;
    return [{ text, id: run.id, path: run.path, note: run.note }];
  });
}

const DAY_MS = 86_400_000;

/** The starts of runs as labels: days; times if there are several runs a day; seconds if there are several a minute. */
export function startLabels(started: number[]): string[] {
  const span = (started.at(-1) ?? 0) - (started[0] ?? 0);
  const texts = started.map((ms) => new Date(ms).toISOString());
  const isDaily = span >= DAY_MS * Math.max(1, started.length - 2);
  if (isDaily) return texts.map((text) => text.slice(5, 10));
  const isOneDay = new Set(texts.map((text) => text.slice(0, 10))).size === 1;
  const hasMinutes = new Set(texts.map((text) => text.slice(0, 16))).size === texts.length;
  return texts.map((text) => text.slice(isOneDay ? 11 : 5, hasMinutes ? 16 : 19).replace('T', ' '));
}

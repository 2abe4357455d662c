/** The server side: a figure for each metric of a role, a line for each source. */

import type { ProbeLine, RunDocument } from '../../document/run';
import { type Child, el } from '../../dom';
import { timeline } from '../timeline';

/** Most figures, and most lines in each: more would be unreadable. */
const FIGURES_MAX = 60;
const LINES_MAX = 12;

export function probes(doc: RunDocument): Child[] {
  const { lines, left_out } = doc.course.probes;
  const groups = new Map<string, ProbeLine[]>();
  for (const line of lines) {
    const key = JSON.stringify([line.role, line.metric, line.unit]);
    groups.set(key, [...(groups.get(key) ?? []), line]);
  }
  const all = [...groups.values()];
  const cut = all.slice(FIGURES_MAX).flat().length + left_out;
  return [
    cut > 0 && el('p', { class: 'note' }, `${cut} more probes are in probes.parquet.`),
    ...all.slice(0, FIGURES_MAX).map((group, place) => figure(doc, group, place)),
  ];
}

function figure(doc: RunDocument, group: ProbeLine[], place: number): HTMLElement {
  const first = group[0];
  const { role = '', metric = '', unit = '' } = first ?? {};
  const left = group.length - LINES_MAX;
  return timeline(doc, {
    title: role ? `${role}: ${metric}` : metric,
    id: `probe-${place}`,
    note: left > 0 ? `${LINES_MAX} of ${group.length} sources.` : undefined,
    unit: known(unit),
    yName: unit === '1' ? '' : unit,
    series: group.slice(0, LINES_MAX).map((line) => ({
      name: [line.source, line.region].filter(Boolean).join(', ') || metric,
      unit: known(unit),
      at_s: line.at_s,
      mean: line.mean,
      min: line.min,
      max: line.max,
    })),
  });
}

/** The page's name for a unit of the record. */
function known(unit: string): string {
  // A probe's value in seconds is not a time of the run.
  return unit === '1' ? '' : unit === 's' ? 'seconds' : unit;
}

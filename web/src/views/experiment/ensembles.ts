/** The modes of each combination: their histograms, medians and runs. */

import { type Line, lines } from '../../chart/lines';
import type {
  ExperimentDocument,
  ShownEnsemble,
  ShownMeasure,
  Mode,
} from '../../document/experiment';
import { type Child, el } from '../../dom';
import { type FigureSpec, figure } from '../../figure';
import { duration } from '../../format';
import { column, each } from '../../frame';
import { table } from '../../table';

type Tested = ShownMeasure['tested'][number];

export function ensembles(doc: ExperimentDocument): Child[] {
  if (doc.ensembles.length === 0) return [];
  const left = doc.ensembles_left_out;
  return [
    el(
      'p',
      { class: 'note' },
      `The runs of each combination, compared in pairs. A mode is a group of runs that are all alike by a test; a run may be in several modes.${left > 0 ? ` ${left} more combinations are in analysis.json.` : ''}`,
    ),
    ...doc.ensembles.flatMap((ensemble, place) => combination(ensemble, place)),
  ];
}

function combination(ensemble: ShownEnsemble, place: number): Child[] {
  const name = ensemble.levels.join(', ');
  const left = ensemble.measures_left_out;
  return [
    el('h3', { class: 'apart' }, name),
    ensemble.why !== null && el('p', {}, `Not compared: ${ensemble.why}.`),
    left > 0 && el('p', { class: 'note' }, `${left} more measures are in analysis.json.`),
    ...ensemble.measures.flatMap((measure, n) =>
      ofMeasure(ensemble, measure, `${measure.name} of ${name}`, `${place}-${n}`),
    ),
  ];
}

function ofMeasure(
  ensemble: ShownEnsemble,
  measure: ShownMeasure,
  name: string,
  id: string,
): Child[] {
  const { tested } = measure;
  const first = tested[0];
  if (!first) return [];
  const select: HTMLSelectElement = el(
    'select',
    {
      'aria-label': `Test for the modes of ${name}`,
      onchange: () => show(tested[select.selectedIndex] ?? first),
    },
    ...tested.map((one) => el('option', {}, one.tests.join(', '))),
  );
  const controls = tested.length > 1 ? [select] : [];
  // A figure with this id is updated, not added.
  const show = (one: Tested) => figure({ ...histograms(measure, one, name, id), controls });
  return [show(first), modes(measure, name), runs(ensemble, measure, name)];
}

/** `{5 12}`. */
function label(mode: Mode): string {
  return `{${mode.runs.join(' ')}}`;
}

function histograms(measure: ShownMeasure, tested: Tested, name: string, id: string): FigureSpec {
  const { modes: all, modes_left_out: left } = tested;
  const edges = measure.edges_ns;
  const share = (mode: Mode, bin: number) =>
    (mode.histogram.counts[bin] ?? 0) / Math.max(1, mode.count);
  const drawn = all.map((mode, style): Line => ({
    name: label(mode),
    unit: 'share',
    style,
    step: true,
    // The last point repeats the last bin, to draw its width.
    points: edges.map((edge, n) => [edge, share(mode, Math.min(n, edges.length - 2))]),
  }));
  return {
    title: `Modes: ${name}`,
    id: `modes-${id}`,
    note: `The share of a mode’s operations in each bin, by ${tested.tests.join(', ')}. Bins from ${duration(edges[0] ?? 0)} to ${duration(edges.at(-1) ?? 0)}, equally wide on the logarithmic axis; values beyond them are in the outermost bins.${left > 0 ? ` ${left} more modes are in analysis.json.` : ''}`,
    height: 280,
    legend: drawn.map((line, style) => ({ name: line.name, style })),
    frame: () => [
      column('from', 'ns', edges.slice(0, -1)),
      column('to', 'ns', edges.slice(1)),
      ...all.map((mode) => column(label(mode), 'count', mode.histogram.counts)),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: { unit: 'ns', name: 'response', log: true, min: edges[0], max: edges.at(-1) },
          y: { unit: 'share', name: 'share of operations' },
          lines: drawn.filter((line) => !hidden.has(line.name)),
        },
        theme,
      ),
  };
}

function modes(measure: ShownMeasure, name: string): HTMLElement {
  const all = measure.tested.flatMap(({ tests, modes: found }) =>
    found.map((mode) => ({ test: tests.join(', '), mode })),
  );
  return table({
    title: `Modes of ${name}`,
    frame: [
      each(all, 'test', '', (one) => one.test),
      each(all, 'mode', '', (one) => label(one.mode)),
      each(all, 'runs', 'count', (one) => one.mode.runs.length),
      each(all, 'operations', 'count', (one) => one.mode.count),
      each(all, 'median', 'ns', (one) => one.mode.median_ns),
    ],
  });
}

function runs(ensemble: ShownEnsemble, measure: ShownMeasure, name: string): HTMLElement {
  return el(
    'details',
    { class: 'phase' },
    el('summary', {}, 'Runs'),
    table({
      title: `Runs of ${name}`,
      frame: [
        each(ensemble.runs, 'run', 'count', (run) => run),
        each(ensemble.runs, 'operations', 'count', (_, n) => measure.counts[n] ?? null),
        each(ensemble.runs, 'median', 'ns', (_, n) => measure.medians_ns[n] ?? null),
      ],
    }),
  );
}

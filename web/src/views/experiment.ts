/** An experiment: the effects of its factors on each response. */

import type { ExperimentDocument, Response } from '../document/experiment';
import type { Finding } from '../document/run';
import { type Child, el } from '../dom';
import { findings } from '../findings';
import { counted } from '../format';
import { each, eachBound } from '../frame';
import { page, type Section } from '../shell';
import { table } from '../table';
import { interactions, mainEffects } from './experiment/effects';
import { ensembles } from './experiment/ensembles';
import { claims, means } from './experiment/means';
import { effects, residuals, variation } from './experiment/terms';

export function experiment(doc: ExperimentDocument): void {
  const left = doc.responses_left_out;
  const lines = el('div');
  page(
    {
      title: doc.name,
      verdict: 'Experiment',
      tone: 'plain',
      facts: [
        counted(doc.factors.length, 'factor'),
        counted(doc.observations, 'observation'),
        counted(doc.responses.length + left, 'response'),
        `confidence ${Number((100 * doc.confidence).toFixed(3))} %`,
      ],
    },
    [
      {
        title: 'Findings',
        content: [
          lines,
          left > 0 && el('p', { class: 'note' }, `${left} more responses are in analysis.json.`),
        ],
      },
      { title: 'Factors', content: [factors(doc)] },
      ...doc.responses.map((response, place) => section(doc, response, place)),
      { title: 'Ensembles', content: ensembles(doc) },
      { title: 'Missing', content: missing(doc) },
    ],
    doc.throng,
  );
  // Findings link to the sections of their responses, so they come last.
  lines.append(
    findings(all(doc), (_, text) => {
      const place = doc.responses.findIndex((one) => text.startsWith(`${one.name}: `));
      return place < 0 ? undefined : `response-${place}`;
    }),
  );
}

/** The findings of the experiment, then those of its responses, which begin with the name of theirs. */
export function all(doc: Pick<ExperimentDocument, 'findings' | 'responses'>): Finding[] {
  const named = ({ name, findings: own }: Response) =>
    own.map((finding) => ({ ...finding, text: `${name}: ${finding.text}` }));
  return [...doc.findings, ...doc.responses.flatMap(named)];
}

function factors(doc: ExperimentDocument): HTMLElement {
  return table({
    title: 'Factors',
    frame: [
      each(doc.factors, 'letter', '', (one) => one.letter),
      each(doc.factors, 'factor', '', (one) => one.name),
      each(doc.factors, 'levels', '', (one) => one.levels.join(', ')),
    ],
  });
}

function section(doc: ExperimentDocument, response: Response, place: number): Section {
  const { fit } = response;
  const model =
    response.model === 'multiplicative'
      ? 'Effects are multiplicative: they are factors, and means are geometric.'
      : 'Effects are additive: they are differences.';
  return {
    title: response.name,
    id: `response-${place}`,
    content: [
      el('p', { class: 'note' }, fit ? model : 'No model was fitted; the findings say why.'),
      means(doc, response, place),
      ...claims(doc, response),
      ...(fit ? [effects(doc, response, place), variation(response, place)] : []),
      fit && mainEffects(doc, response, place),
      ...(fit ? interactions(doc, response, place) : []),
      fit && residuals(response, place),
      cells(doc, response),
    ],
  };
}

function cells(doc: ExperimentDocument, response: Response): HTMLElement {
  const all = response.cells;
  const left = response.cells_left_out;
  return el(
    'details',
    { class: 'phase' },
    el('summary', {}, 'Values by combination'),
    left > 0 && el('p', { class: 'note' }, `${left} more combinations are in analysis.json.`),
    table({
      title: `Values of ${response.name} by combination`,
      frame: [
        ...doc.factors.map((factor, n) =>
          each(all, factor.name, '', (cell) => factor.levels[cell.levels[n] ?? -1] ?? ''),
        ),
        each(all, 'runs', 'count', (cell) => cell.values.length),
        ...(all.some((cell) => cell.bounds)
          ? [each(all, 'only lower bounds', 'count', (cell) => cell.bounds ?? 0)]
          : []),
        eachBound(
          all,
          'mean',
          response.unit,
          (cell) => cell.mean,
          (cell) => (cell.bounds ?? 0) > 0,
        ),
        each(all, 'standard deviation', response.unit, (cell) => cell.deviation),
      ],
    }),
  );
}

function missing(doc: ExperimentDocument): Child[] {
  const { missing: cells_, left_out } = doc;
  return [
    cells_.length > 0 &&
      table({
        title: 'Combinations with too few runs',
        frame: [
          ...doc.factors.map((factor, n) =>
            each(cells_, factor.name, '', (cell) => cell.levels[n] ?? ''),
          ),
          each(cells_, 'planned', 'count', (cell) => cell.planned),
          each(cells_, 'found', 'count', (cell) => cell.found),
        ],
      }),
    left_out.length > 0 &&
      table({
        title: 'Excluded runs',
        frame: [
          each(left_out, 'run', '', (one) => one.run),
          each(left_out, 'reason', '', (one) => one.why),
        ],
      }),
  ];
}

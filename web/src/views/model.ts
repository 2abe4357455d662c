/** A model: what is said of it, then how users arrive and what they do, with the fits over the data. */

import type { ModelDocument } from '../document/model';
import { type Child, el } from '../dom';
import { findings } from '../findings';
import { count, significant, span } from '../format';
import { each } from '../frame';
import { page } from '../shell';
import { table } from '../table';
import { arrivals } from './model/arrivals';
import { behaviour, classes } from './model/behaviour';
import { sessions } from './model/sessions';

/** Which figure shows what a finding tells of, by the beginning of its code. */
const FIGURES: [string, string][] = [
  ['lines-', 'bad-lines'],
  ['file-', 'the-log'],
  ['arrivals-', 'arrivals-over-time'],
  ['law-refused', 'arrivals-over-time'],
  ['rescaled', 'arrivals-over-time'],
  ['silences', 'arrivals-over-time'],
  ['poisson', 'counts-0'],
  ['cycle', 'cycle'],
  ['day-moved', 'cycle'],
  ['self-similar', 'hurst'],
  ['hurst', 'hurst'],
  ['segment-', 'sessions'],
  ['sessions', 'gap'],
  ['no-sessions', 'lengths'],
  ['sequences-', 'lengths'],
  ['thinks', 'thinks-distribution'],
];

export function model(doc: ModelDocument): void {
  const warnings = doc.findings.filter((one) => one.severity === 'warning').length;
  const sessionCount = doc.segments.reduce((sum, one) => sum + one.sessions, 0);
  const lines = el('div');
  const again = () => model(doc);
  page(
    {
      title: doc.name,
      verdict: warnings > 0 ? `${count(warnings)} to mind` : 'Model',
      tone: warnings > 0 ? 'bad' : 'plain',
      facts: [
        `${count(doc.log.requests)} requests`,
        `${count(sessionCount)} sessions`,
        `${count(doc.users)} users`,
        span(doc.arrivals[0]?.span_s ?? 0),
        `times in steps of ${significant(doc.log.step_s)} s`,
      ],
    },
    [
      { title: 'Findings', content: [lines] },
      { title: 'The check', content: check(doc) },
      { title: 'How users arrive', content: arrivals(doc, again) },
      { title: 'Sessions', content: sessions(doc) },
      { title: 'What users do', content: [classes(doc), ...behaviour(doc, again)] },
      { title: 'The log', id: 'the-log', content: log(doc) },
    ],
    doc.throng,
  );
  // Links lead to figures that are there, so these come last.
  lines.append(
    findings(doc.findings, (code) => FIGURES.find(([start]) => code.startsWith(start))?.[1]),
  );
}

/** The model's own log against the first one. */
function check(doc: ModelDocument): Child[] {
  const { check: told } = doc;
  if (!told) return [];
  const refused = told.tests.filter((test) => test.refused).length;
  const left = told.tests_left_out;
  return [
    el(
      'p',
      {},
      `${told.holds ? 'The model makes a log like this one' : 'The model does not make a log like this one'}: ` +
        `${count(refused)} of ${count(told.tests.length + left)} tests refuse, at ${100 * told.level} % for all together ` +
        `(${count(told.sessions[1])} simulated sessions against ${count(told.sessions[0])}).`,
    ),
    table({
      title: 'Tests of the model’s own log against the first',
      frame: [
        each(told.tests, 'test of', '', (one) => one.of),
        each(told.tests, 'what', '', (one) => one.what),
        each(told.tests, 'furthest apart', 'share', (one) => one.distance),
        each(told.tests, 'p', 'p', (one) => one.p),
        each(told.tests, 'p, corrected', 'p', (one) => one.p_adjusted),
        each(told.tests, 'told', '', (one) => (one.refused ? '✗ unlike' : '✓ not refused')),
      ],
      rowClass: (row) => (told.tests[row]?.refused ? 'bad' : ''),
    }),
    left > 0 && el('p', { class: 'note' }, `${count(left)} more tests are in check.json.`),
  ];
}

function log(doc: ModelDocument): Child[] {
  const { files, faults, files_left_out: left } = doc.log;
  const examples = faults.flatMap((fault) => fault.examples.map((one) => ({ fault, one })));
  return [
    table({
      title: 'Files',
      frame: [
        each(files, 'file', '', (one) => one.name),
        each(files, 'format', '', (one) => one.format),
        each(files, 'lines', 'count', (one) => one.lines),
        each(files, 'cut off', '', (one) => one.cut_off),
      ],
    }),
    left > 0 && el('p', { class: 'note' }, `${count(left)} more files are in model.json.`),
    faults.length > 0 &&
      el(
        'div',
        { id: 'bad-lines' },
        el('h3', { class: 'apart' }, 'Bad and odd lines'),
        table({
          title: 'Bad and odd lines',
          frame: [
            each(faults, 'they', '', (one) => one.text),
            each(faults, 'lines', 'count', (one) => one.lines),
            each(faults, 'were', '', (one) => (one.is_bad ? 'left out' : 'kept')),
          ],
          rowClass: (row) => (faults[row]?.is_bad ? 'bad' : ''),
        }),
        table({
          title: 'The first of each kind',
          frame: [
            each(examples, 'line', '', ({ one }) => one[0]),
            each(examples, 'what is wrong', '', ({ fault }) => fault.text),
            each(examples, 'text', '', ({ one }) => one[1]),
          ],
        }),
      ),
  ];
}

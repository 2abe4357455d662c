/** A model: findings, then how users arrive and what they do, with the fits over the data. */

import type { ModelDocument } from '../document/model';
import { type Child, el } from '../dom';
import { findings } from '../findings';
import { count, span } from '../format';
import { each } from '../frame';
import { page } from '../shell';
import { table } from '../table';
import { arrivals } from './model/arrivals';
import { behaviour, classes } from './model/behaviour';
import { sessions } from './model/sessions';

/** The figure that shows a finding, by the beginning of its code. */
const FIGURES: [string, string][] = [
  ['lines-', 'bad-lines'],
  ['file-', 'the-log'],
  ['arrivals-', 'arrivals-over-time'],
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
      verdict: warnings > 0 ? `${count(warnings)} warning${warnings === 1 ? '' : 's'}` : 'Model',
      tone: warnings > 0 ? 'bad' : 'plain',
      facts: [
        `${count(doc.log.requests)} requests`,
        `${count(sessionCount)} sessions`,
        `${count(doc.users)} users`,
        span(doc.arrivals[0]?.span_s ?? 0),
        `times in steps of ${span(doc.log.step_s)}`,
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
  const { check: found } = doc;
  if (!found) return [];
  const rejected = found.tests.filter((test) => test.rejected).length;
  const left = found.tests_left_out;
  return [
    el(
      'p',
      {},
      `${found.holds ? 'The simulated log matches the log' : 'The simulated log differs from the log'}: ` +
        `${count(rejected)} of ${count(found.tests.length + left)} tests reject, at ${100 * found.level} % for all together ` +
        `(${count(found.sessions[1])} simulated sessions against ${count(found.sessions[0])}).`,
    ),
    table({
      title: 'Tests of the simulated log against the log',
      frame: [
        each(found.tests, 'test of', '', (one) => one.quantity),
        each(found.tests, 'what', '', (one) => one.what),
        each(found.tests, 'difference', 'share', (one) => one.distance),
        each(found.tests, 'p', 'p', (one) => one.p),
        each(found.tests, 'p, adjusted', 'p', (one) => one.p_adjusted),
        each(found.tests, 'result', '', (one) => (one.rejected ? '✗ differs' : '✓ not rejected')),
      ],
      rowClass: (row) => (found.tests[row]?.rejected ? 'bad' : ''),
    }),
    left > 0 && el('p', { class: 'note' }, `${count(left)} more tests are in check.json.`),
  ];
}

function log(doc: ModelDocument): Child[] {
  const { files, problems, files_left_out: left } = doc.log;
  const examples = problems.flatMap((problem) => problem.examples.map((one) => ({ problem, one })));
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
    problems.length > 0 &&
      el(
        'div',
        { id: 'bad-lines' },
        el('h3', { class: 'apart' }, 'Bad and odd lines'),
        table({
          title: 'Bad and odd lines',
          frame: [
            each(problems, 'problem', '', (one) => one.text),
            each(problems, 'lines', 'count', (one) => one.lines),
            each(problems, 'were', '', (one) => (one.is_bad ? 'left out' : 'kept')),
          ],
          rowClass: (row) => (problems[row]?.is_bad ? 'bad' : ''),
        }),
        table({
          title: 'The first of each kind',
          frame: [
            each(examples, 'line', '', ({ one }) => one[0]),
            each(examples, 'what is wrong', '', ({ problem }) => problem.text),
            each(examples, 'text', '', ({ one }) => one[1]),
          ],
        }),
      ),
  ];
}

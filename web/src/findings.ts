/** Findings: sentences, with their evidence one click away. */

import type { Finding, Severity } from './document/run';
import { append, el } from './dom';
import { evidence } from './format';
import { unbroken } from './quantity';

const MARKS: Record<Severity, [mark: string, word: string]> = {
  good: ['✓', 'good'],
  note: ['·', 'note'],
  warning: ['!', 'warning'],
  fatal: ['✗', 'fatal'],
};

/** `figure` returns the id of the figure that shows a finding, by its code and text. */
export function findings(
  all: Finding[],
  figure: (code: string, text: string) => string | undefined,
): HTMLElement {
  const list = el('ul', { class: 'findings' });
  for (const finding of all) {
    const [mark, word] = MARKS[finding.severity];
    const item = el(
      'li',
      { class: `is-${finding.severity}` },
      el('span', { class: 'mark', 'aria-hidden': 'true' }, mark),
      el(
        'span',
        { class: 'sentence' },
        el('strong', { class: 'word' }, `${word[0]?.toUpperCase()}${word.slice(1)}: `),
        ...unbroken(finding.text),
      ),
    );
    const more = el('span', { class: 'evidence' });
    const id = figure(finding.code, finding.text);
    if (id && document.getElementById(id)) append(more, el('a', { href: `#${id}` }, 'Figure'));
    const behind = Object.entries(finding.evidence);
    if (behind.length > 0) append(more, figures(behind));
    if (more.childElementCount > 0) append(item, more);
    append(list, item);
  }
  return list;
}

function figures(behind: [string, number][]): HTMLElement {
  const values = el('dl');
  for (const [name, value] of behind) {
    append(values, el('div', {}, el('dt', {}, words(name)), el('dd', {}, evidence(name, value))));
  }
  return el('details', {}, el('summary', {}, 'Evidence'), values);
}

/** The name of a figure in words, without its unit. */
export function words(name: string): string {
  if (name === 'per_s') return 'rate';
  return name.replace(/(_per)?_s$|_(ns|bytes)$/, '').replaceAll('_', ' ');
}

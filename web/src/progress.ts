/** How far a run in progress has come, by its plan. */

import type { Phase, RunDocument } from './document/run';
import { el } from './dom';
import { span } from './format';

export interface Progress {
  /** Seconds since the start, and of the plan. */
  now_s: number;
  planned_s: number;
  /** Of the plan, 0 to 1. */
  share: number;
  text: string;
}

/** The progress of a run; `undefined` if its plan has no end. */
export function progressOf(doc: RunDocument): Progress | undefined {
  const planned_s = doc.phases.at(-1)?.end_s;
  if (planned_s === undefined || !Number.isFinite(planned_s) || planned_s <= 0) return undefined;
  const now_s = Math.max(0, doc.run.ended_s);
  const left_s = planned_s - now_s;
  const of = `${span(now_s)} of ${span(planned_s)}`;
  const share = Math.min(1, now_s / planned_s);
  if (left_s <= 0) {
    return { now_s, planned_s, share, text: `${of}: the last phase is over, users may finish` };
  }
  return { now_s, planned_s, share, text: `${of}, ${span(Math.ceil(left_s))} left` };
}

/** A bar with the phases of the plan, and the time left. */
export function progressBar() {
  const done = el('div', { class: 'done' });
  const phases = el('div', { class: 'phases', 'aria-hidden': 'true' });
  const text = el('p', {});
  const bar = el(
    'div',
    {
      class: 'bar',
      role: 'progressbar',
      'aria-label': 'Progress of the run',
      'aria-valuemin': '0',
      'aria-valuemax': '100',
    },
    done,
    phases,
  );
  const element = el('div', { class: 'progress', hidden: true }, bar, text);
  let drawn = '';
  const show = (doc: RunDocument | undefined) => {
    const progress = doc && progressOf(doc);
    element.hidden = !progress;
    if (!doc || !progress) return;
    const percent = Math.floor(100 * progress.share);
    bar.setAttribute('aria-valuenow', String(percent));
    bar.setAttribute('aria-valuetext', progress.text);
    done.style.width = `${100 * progress.share}%`;
    text.textContent = progress.text;
    const names = JSON.stringify(doc.phases.map(({ name, end_s }) => [name, end_s]));
    if (names === drawn) return;
    drawn = names;
    phases.replaceChildren(...doc.phases.map((phase) => part(phase, progress.planned_s)));
  };
  return { element, show };
}

/** The part of the bar that a phase takes. */
function part({ name, start_s, end_s }: Phase, planned_s: number): HTMLElement {
  const element = el('span', { title: name }, name);
  element.style.width = `${(100 * (end_s - start_s)) / planned_s}%`;
  return element;
}

/** How users arrive: over time, by the clock, by counts at several scales, and from one to the next. */

import { bars } from '../../chart/bars';
import { lines } from '../../chart/lines';
import type { ShownArrivals, ModelDocument, Scale } from '../../document/model';
import { type Child, el } from '../../dom';
import { figure } from '../../figure';
import { count, probability, significant, span } from '../../format';
import { column, each } from '../../frame';
import { table } from '../../table';
import { choose } from './choose';
import { fits } from './fits';

const PROCESSES: Record<ShownArrivals['process'], string> = {
  poisson: 'a Poisson process of one rate',
  cycle: 'a Poisson process whose rate follows the clock',
  trace: 'as recorded',
};
const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

export function arrivals(doc: ModelDocument, again: () => void): Child[] {
  const names = doc.arrivals.map((one) => one.name);
  const [chosen, chooser] = choose('arrivals-of', 'Arrivals of', names, again);
  const of = doc.arrivals[chosen];
  if (!of) return [];
  const requested = of.process_requested ? ', as requested' : '';
  const rejected = of.process_fits ? '' : '; the log rejects that';
  return [
    chooser,
    el(
      'p',
      {},
      `${count(of.users)} users, ${significant(of.rate_per_s, 4)} a second ` +
        `(95 %: ${significant(of.rate_low, 4)} to ${significant(of.rate_high, 4)}, for a Poisson process). ` +
        `In the scenario: ${PROCESSES[of.process]}${requested}${rejected}.`,
    ),
    overTime(of),
    byClock(of),
    of.scales.length > 0 && el('h3', { class: 'apart' }, 'Counts at several scales'),
    scaleTable(of),
    ...of.scales.map((scale, n) => counts(of, scale, n)),
    of.scales.length > 0 && el('h3', { class: 'apart' }, 'The same recording at each scale'),
    of.scales.length > 0 &&
      el(
        'p',
        { class: 'note' },
        'Counts around the moment when half of the users have come. If they look alike at all scales, arrivals are self-similar; for a Poisson process, longer windows look smoother.',
      ),
    of.scales.length > 0 && el('div', { class: 'pair' }, ...of.scales.map(picture)),
    hurst(of),
    octaves(of),
    ...(of.between ? fits(of.between, 'between', 'Times between arrivals') : []),
  ];
}

function overTime(of: ShownArrivals): Child {
  const { slot_s, users, expected } = of.pictures;
  if (users.length === 0) return null;
  const per = (values: number[]) =>
    values.map((value, n) => {
      // The last slot may be shorter than the others.
      const length = n === values.length - 1 ? of.span_s - n * slot_s : slot_s;
      return value / (length > 0 ? length : slot_s);
    });
  const all = [
    { name: 'recorded', values: per(users) },
    ...(expected.length > 0 ? [{ name: 'the process', values: per(expected) }] : []),
  ];
  return figure({
    title: 'Arrivals over time',
    note: `Users a second; each point covers ${span(slot_s)}${expected.length > 0 ? '. The line is the rate of the process' : '. The scenario repeats the recorded arrivals, so there is no process to draw'}.`,
    legend: all.map(({ name }, style) => ({ name, style })),
    frame: () => [
      each(users, 'time', 's', (_, n) => n * slot_s),
      ...all.map(({ name, values }) => column(name, '1/s', values)),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: { unit: 's', name: 'time since the first request', min: 0, max: of.span_s },
          y: { unit: '1/s', name: 'users a second', min: 0 },
          lines: all
            .map(({ name, values }, style) => ({
              name,
              unit: '1/s',
              style,
              step: style > 0,
              points: values.map((value, n): [number, number | null] => [n * slot_s, value]),
            }))
            .filter((line) => !hidden.has(line.name)),
        },
        theme,
      ),
  });
}

/** The day, and the week where it matters. */
function byClock(of: ShownArrivals): Child {
  const hours = Array.from({ length: 24 }, (_, hour) => hour);
  const name = (hour: number) => `${String(hour).padStart(2, '0')}:00`;
  if (!of.cycle) {
    return figure({
      title: 'Users by the hour of the day',
      id: 'cycle',
      note: 'By the clock of the log. There is no significant cycle of the day, or the log is too short for one.',
      frame: () => [
        each(hours, 'hour', '', name),
        each(of.by_hour, 'users', 'count', (users) => users),
      ],
      option: (theme) =>
        bars(
          {
            x: { unit: '', name: 'hour', categories: hours.map(name), ordered: true },
            y: { unit: 'count', name: 'users', min: 0 },
            bars: of.by_hour.map((users, hour) => [hour - 0.4, hour + 0.4, users]),
            names: hours.map(name),
            unit: 'count',
          },
          theme,
        ),
    });
  }
  const { rates } = of.cycle;
  const days = rates.length > 24 ? DAYS : ['every day'];
  return figure({
    title: days.length > 1 ? 'The week' : 'The day',
    id: 'cycle',
    note: 'Users a second by the hour of the log’s clock: the rates of the cycle.',
    legend: days.map((day, style) => ({ name: day, style })),
    frame: () => [
      each(hours, 'hour', '', name),
      ...days.map((day, n) => column(day, '1/s', rates.slice(24 * n, 24 * n + 24))),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: { unit: '', name: 'hour', categories: hours.map(name), ordered: true },
          y: { unit: '1/s', name: 'users a second', min: 0 },
          lines: days
            .map((day, n) => ({
              name: day,
              unit: '1/s',
              style: n,
              marked: true,
              points: hours.map((hour): [number, number | null] => [
                hour,
                rates[24 * n + hour] ?? null,
              ]),
            }))
            .filter((line) => !hidden.has(line.name)),
        },
        theme,
      ),
  });
}

function scaleTable(of: ShownArrivals): Child {
  const all = of.scales;
  if (all.length === 0) return null;
  return table({
    title: 'Counts against Poisson and against independence',
    frame: [
      each(all, 'window', 's', (one) => one.window_s),
      each(all, 'windows', 'count', (one) => one.windows),
      each(all, 'mean', '', (one) => one.mean),
      each(all, 'variance over mean', '', (one) => one.index),
      each(all, 'p, Poisson', 'p', (one) => one.p_dispersion),
      each(all, 'correlations outside', 'count', (one) => one.outside),
      each(all, 'p, independent', 'p', (one) => one.p_dependence),
    ],
  });
}

function counts(of: ShownArrivals, scale: Scale, n: number): Child {
  const picture = of.pictures.counts.find((one) => one.window_s === scale.window_s);
  const seconds = `${count(scale.window_s)} s`;
  const lags = scale.autocorrelation.slice(1);
  const correlation = figure({
    title: `Autocorrelation of counts in ${seconds}`,
    id: `correlation-${n}`,
    note: `${count(scale.outside)} of ${lags.length} are outside the band that has 95 % of the correlations of independent counts; p ${probability(scale.p_dependence)}.`,
    frame: () => [
      each(lags, 'lag', 'count', (_, lag) => lag + 1),
      column('correlation', '', lags),
      each(lags, 'band', '', () => scale.band),
    ],
    option: (theme) =>
      lines(
        {
          x: { unit: '', name: `lag in windows of ${seconds}`, min: 0, max: lags.length + 1 },
          y: { unit: '', name: 'correlation' },
          lines: [
            {
              name: 'correlation',
              unit: '',
              dots: true,
              points: lags.map((value, lag): [number, number | null] => [lag + 1, value]),
              intervals: lags.map((value, lag): [number, number, number] => [
                lag + 1,
                Math.min(0, value),
                Math.max(0, value),
              ]),
            },
          ],
          limits: [
            { at: scale.band, name: '' },
            { at: -scale.band, name: '' },
          ],
        },
        theme,
      ),
  });
  if (!picture) return correlation;
  const all = picture.bars;
  const histogram = figure({
    title: `Counts in ${seconds} against Poisson`,
    id: `counts-${n}`,
    note: `The number of windows by their users; the line is a Poisson process of one rate. Variance over mean ${significant(scale.index)}, p ${probability(scale.p_dispersion)}.`,
    frame: () => [
      each(all, 'from', 'count', (bar) => bar.from),
      each(all, 'to', 'count', (bar) => bar.upto),
      each(all, 'windows', 'count', (bar) => bar.windows),
      each(all, 'Poisson', '', (bar) => bar.poisson),
    ],
    option: (theme) =>
      bars(
        {
          x: {
            unit: '',
            name: 'users in a window',
            whole: true,
            free: true,
            min: (all[0]?.from ?? 0) - 0.5,
            max: (all.at(-1)?.upto ?? 0) + 0.5,
          },
          y: { unit: '', name: 'windows', min: 0 },
          bars: all.map((bar) => [bar.from - 0.5, bar.upto + 0.5, bar.windows]),
          names: all.map((bar) =>
            bar.from === bar.upto ? `${bar.from}` : `${bar.from} to ${bar.upto}`,
          ),
          unit: 'count',
          over: [{ name: 'Poisson', style: 1, values: all.map((bar) => bar.poisson) }],
        },
        theme,
      ),
  });
  return el('div', { class: 'pair' }, histogram, correlation);
}

function picture(scale: Scale, n: number): HTMLElement {
  const { picture: all, window_s } = scale;
  return figure({
    title: `In windows of ${count(window_s)} s`,
    id: `picture-${n}`,
    height: 190,
    frame: () => [
      each(all, 'from', 's', (_, window) => window * window_s),
      column('users', 'count', all),
    ],
    option: (theme) =>
      bars(
        {
          x: { unit: 's', name: 'time', min: 0, max: all.length * window_s },
          y: { unit: 'count', name: 'users', min: 0 },
          bars: all.map((users, window) => [window * window_s, (window + 1) * window_s, users]),
          unit: 'count',
        },
        theme,
      ),
  });
}

function hurst(of: ShownArrivals): Child {
  const all = of.hurst?.estimates ?? [];
  if (all.length === 0) return null;
  const name = (one: (typeof all)[number]) =>
    `${one.method}${one.about_cycle ? ', without cycle' : ''}`;
  return figure({
    title: 'Self-similarity: Hurst’s H',
    id: 'hurst',
    height: 320,
    note: 'Each estimate with its 95 % interval, if its method has one. H near 0.5 is a load without memory; the nearer to 1, the longer bursts last. A cycle biases estimates of the counts upwards.',
    frame: () => [
      each(all, 'method', '', (one) => one.method),
      each(all, 'of', '', (one) => (one.about_cycle ? 'counts without the cycle' : 'counts')),
      each(all, 'scales from', 's', (one) => one.from_s),
      each(all, 'scales to', 's', (one) => one.upto_s),
      each(all, 'H', '', (one) => one.h),
      each(all, 'low', '', (one) => one.low),
      each(all, 'high', '', (one) => one.high),
      each(all, 'p, straight', 'p', (one) => one.p_straight),
    ],
    option: (theme) =>
      lines(
        {
          x: { unit: '', name: 'method', categories: all.map(name) },
          y: { unit: '', name: 'H', free: true },
          lines: [
            {
              name: 'H',
              unit: '',
              dots: true,
              points: all.map((one, n): [number, number | null] => [n, one.h]),
              intervals: all.map((one, n): [number, number | null, number | null] => [
                n,
                one.low,
                one.high,
              ]),
            },
          ],
          limits: [{ at: 0.5, name: 'no memory' }],
        },
        theme,
      ),
  });
}

function octaves(of: ShownArrivals): Child {
  const all = of.hurst?.octaves ?? [];
  if (all.length < 2) return null;
  return figure({
    title: 'Energy of the wavelet’s octaves',
    id: 'octaves',
    note: 'The binary logarithm of the energy at each scale, with standard errors. A straight line: H is the same at all scales. A level line: no memory.',
    frame: () => [
      each(all, 'scale', 's', ([at]) => at),
      each(all, 'log₂ energy', '', ([, energy]) => energy),
      each(all, 'standard error', '', ([, , error]) => error),
    ],
    option: (theme) =>
      lines(
        {
          x: {
            unit: 'ns',
            name: 'scale',
            log: true,
            min: (all[0]?.[0] ?? 1) * 0.8e9,
            max: (all.at(-1)?.[0] ?? 1) * 1.25e9,
          },
          y: { unit: '', name: 'log₂ energy', free: true },
          lines: [
            {
              name: 'energy',
              unit: '',
              marked: true,
              points: all.map(([at, energy]): [number, number] => [at * 1e9, energy]),
              intervals: all.map(([at, energy, error]): [number, number, number] => [
                at * 1e9,
                energy - error,
                energy + error,
              ]),
            },
          ],
        },
        theme,
      ),
  });
}

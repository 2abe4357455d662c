/** A figure's way from side to side on one line: both means, and a mark for each run. Drawn by hand: many fit on a page. */

/** The size of the drawing; its height is fixed, the page stretches its width. */
export const DUMBBELL = { width: 300, height: 28 };

/** Room for the mark of a mean at either end. */
const MARGIN = 8;

export interface Places {
  /** Horizontal places of the runs, in pixels. */
  baseline: number[];
  candidate: number[];
  /** Places of the means. */
  from: number;
  to: number;
}

/** The places of both sides' values on one axis, which reaches from the least to the greatest; null without values. */
export function places(baseline: number[], candidate: number[]): Places | null {
  if (baseline.length === 0 || candidate.length === 0) return null;
  const all = [...baseline, ...candidate];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = DUMBBELL.width - 2 * MARGIN;
  const at = (value: number) => {
    const share = high === low ? 0.5 : (value - low) / (high - low);
    return Math.round(10 * (MARGIN + share * room)) / 10;
  };
  const mean = (values: number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
  return {
    baseline: baseline.map(at),
    candidate: candidate.map(at),
    from: at(mean(baseline)),
    to: at(mean(candidate)),
  };
}

/** The picture. The baseline's mean is a ring, the candidate's a dot; runs are strokes above and below. */
export function dumbbell({ baseline, candidate, from, to }: Places): SVGElement {
  const ns = 'http://www.w3.org/2000/svg';
  const { width, height } = DUMBBELL;
  const middle = height / 2;
  const svg = document.createElementNS(ns, 'svg');
  const add = (name: string, attributes: Record<string, string | number>) => {
    const element = document.createElementNS(ns, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    svg.append(element);
  };
  svg.setAttribute('class', 'dumbbell');
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  // The words beside it have the same figures.
  svg.setAttribute('aria-hidden', 'true');
  add('line', { class: 'rule', x1: 0, x2: width, y1: middle, y2: middle });
  const strokes = (side: number, all: number[], y1: number, y2: number) => {
    for (const x of all) add('line', { class: `stroke-${side} run`, x1: x, x2: x, y1, y2 });
  };
  strokes(0, baseline, 1, middle - 6);
  strokes(1, candidate, middle + 6, height - 1);
  add('line', { class: 'way', x1: from, x2: to, y1: middle, y2: middle });
  add('circle', { class: 'stroke-0 ring', cx: from, cy: middle, r: 4.5 });
  add('circle', { class: 'stroke-1 dot', cx: to, cy: middle, r: 4.5 });
  return svg;
}

/** Small charts without axes, drawn by hand: many fit on a page. */

/** The size of the drawing; the page stretches it. */
export const SPARK = { width: 300, height: 44 };

export interface Scale {
  from: number;
  to: number;
  log?: boolean;
}

/** The path of a line; a null, or a value that the scale cannot show, breaks it. */
export function path(points: [number, number | null][], x: Scale, y: Scale): string {
  let text = '';
  let isOpen = false;
  for (const [at, value] of points) {
    if (value === null || (y.log && value <= 0)) {
      isOpen = false;
      continue;
    }
    const left = place(x, at) * SPARK.width;
    // Lines at the edges are as wide as others.
    const top = 1.5 + (1 - place(y, value)) * (SPARK.height - 3);
    text += `${isOpen ? 'L' : 'M'}${round(left)} ${round(top)}`;
    // A point alone is a short line.
    if (!isOpen) text += 'h0.01';
    isOpen = true;
  }
  return text;
}

function place({ from, to, log }: Scale, value: number): number {
  const of = (x: number) => (log ? Math.log(x) : x);
  return of(to) === of(from) ? 0.5 : (of(value) - of(from)) / (of(to) - of(from));
}

function round(pixels: number): number {
  return Math.round(10 * pixels) / 10;
}

/** Lines by the index of their colour or by its name, vertical rules, and ranges that stand out. */
export function spark(
  paths: { style: number | 'bad'; d: string }[],
  rules: number[],
  x: Scale,
  bands: { from: number; to: number }[] = [],
): SVGElement {
  const ns = 'http://www.w3.org/2000/svg';
  const make = (name: string, attributes: Record<string, string>) => {
    const element = document.createElementNS(ns, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const svg = make('svg', {
    class: 'spark',
    viewBox: `0 0 ${SPARK.width} ${SPARK.height}`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  });
  for (const band of bands) {
    const [from, to] = [Math.max(band.from, x.from), Math.min(band.to, x.to)];
    if (to < from) continue;
    const left = round(place(x, from) * SPARK.width);
    // However short it was, it is seen.
    const width = String(Math.max(2, round(place(x, to) * SPARK.width) - left));
    const height = String(SPARK.height);
    svg.append(make('rect', { class: 'band', x: String(left), y: '0', width, height }));
  }
  for (const rule of rules) {
    const at = String(round(place(x, rule) * SPARK.width));
    svg.append(make('line', { class: 'rule', x1: at, x2: at, y1: '0', y2: String(SPARK.height) }));
  }
  for (const { style, d } of paths) svg.append(make('path', { class: `stroke-${style}`, d }));
  return svg;
}

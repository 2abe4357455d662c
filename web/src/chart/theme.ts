/** Colours of figures. Lines differ by dashes as well, never by colour alone. */

export interface Theme {
  /** Lines, in order: after Okabe and Ito (2008), made dark or light enough for 3:1 on the ground. */
  lines: string[];
  ink: string;
  faint: string;
  rule: string;
  ground: string;
  shade: string;
  bad: string;
  /** From few to many, one hue, rising in darkness (or in light, on a dark ground). */
  heat: string[];
  /** Pixels that a figure is wide. */
  width: number;
}

/** Where no figure says otherwise. */
const WIDTH = 1000;

export const LIGHT: Theme = {
  lines: ['#0063a3', '#b84300', '#00735a', '#97437e', '#8a6500', '#1f7fa8', '#5a5a5a'],
  ink: '#1c2126',
  faint: '#59626c',
  rule: '#dde1e5',
  ground: '#ffffff',
  shade: '#f3f5f7',
  bad: '#b3261e',
  heat: ['#dcebf7', '#a9cfe8', '#5fa3cf', '#2070b0', '#0b3d77', '#041f45'],
  width: WIDTH,
};

export const DARK: Theme = {
  lines: ['#5cb3f2', '#ff935c', '#45c9a0', '#e79bcb', '#e3bb4d', '#9adcf7', '#b9c0c7'],
  ink: '#e7eaee',
  faint: '#a3acb6',
  rule: '#333b44',
  ground: '#14181d',
  shade: '#1c2229',
  bad: '#ff8f85',
  heat: ['#16324d', '#1d5484', '#2f7fbb', '#66b0e3', '#b1dbf7', '#f1f9ff'],
  width: WIDTH,
};

/** Line `n`'s dashes in pixels. */
export const DASHES: ('solid' | number[])[] = [
  'solid',
  [7, 3],
  [2, 3],
  [9, 3, 2, 3],
  [12, 4],
  [4, 4],
];

export function lineColour(theme: Theme, n: number): string {
  return theme.lines[n % theme.lines.length] ?? theme.ink;
}

/** The lines of one colour differ by their dashes. */
export function lineDash(n: number): 'solid' | number[] {
  return DASHES[n % DASHES.length] ?? 'solid';
}

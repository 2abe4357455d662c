// Written by `UPDATE=1 cargo test -p report --features full`, from the types in Rust: do not edit.

import type { Finding } from './run';

export type DuetDocument = {
  /** The kind of result, which decides how it is drawn. */
  kind: 'duet';
  /** Version of the documents. */
  format: number;
  /** The version that made the page. */
  throng: string;
  verdict: string;
  /** Whether a continuous integration job accepts the verdict; `null`: it is undecided. */
  accepted: boolean | null;
  /** The decision in one sentence. */
  sentence: string;
  /** The probability of any false decision at any look. */
  alpha: number;
  /** The smallest relative difference that matters. */
  difference: number;
  interleave: string;
  /** The figure of each step that has enough operations for it. */
  figure: string;
  /** Pairs that count. */
  pairs: number;
  /** About how many pairs decide; `null` before the second. */
  pairs_expected: number | null;
  steps: Array<DuetPageStep>;
  steps_left_out: number;
  errors: DuetPageErrors;
  /** The old target against itself; empty if that was not tried. */
  noise: Array<DuetNoise>;
  findings: Array<Finding>;
  /** The runs in the order in which they were made. */
  runs: Array<DuetPageRun>;
  runs_left_out: number;
};

/** How a step of the old target differs from itself. */
export type DuetNoise = {
  name: string;
  /** Standard deviation of the relative differences. */
  scatter: number;
  /** By how much it is slower beside itself than alone; `null`: it did not run at once. */
  disturbance: number | null;
};

/** Failed operations. */
export type DuetPageErrors = {
  /** Share of the old target's operations. */
  old: number;
  /** Share of the new target's operations. */
  new: number;
  p: number;
  rose: boolean;
};

/** A run. */
export type DuetPageRun = {
  /** Number of its pair, from 1. */
  pair: number;
  side: string;
  directory: string;
  trusted: boolean;
};

/** A step. */
export type DuetPageStep = {
  name: string;
  verdict: string;
  /** As for the whole. */
  accepted: boolean | null;
  /** The verdict with its figures. */
  text: string;
  /** The figure that is compared. */
  figure: string;
  pairs: number;
  operations: number;
  /** Mean over pairs. */
  old_ns: number | null;
  /** Mean over pairs. */
  new_ns: number | null;
  /** The relative difference. */
  change: number | null;
  /** Its interval, valid at every look; `null` as long as a side of it is open. */
  interval: [number, number] | null;
  p: number;
  /** The relative difference in each pair. */
  differences: Array<number>;
};

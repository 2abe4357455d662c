// Written by `UPDATE=1 cargo test -p report --features full`, from the types in Rust: do not edit.

import type { Ending, Trial } from './capacity';

import type { Finding } from './run';

/** The value of greatest throughput. */
export type BestValue = {
  /** The value. */
  value: number;
  /** Geometric mean of its runs. */
  per_s: number;
  /** The lowest and the highest value that may be best (95 %, bootstrap); `null` without repetitions. */
  range: [number, number] | null;
  /** No higher value was tried. */
  is_highest: boolean;
  /** No lower value was tried. */
  is_lowest: boolean;
  /** The values beside the best, and their losses. */
  neighbours: Array<Neighbour>;
};

/** X(N) = λN/(1 + σ(N − 1) + κN(N − 1)). */
export type Law = {
  /** λ: throughput of a load of one. */
  lambda: [number, number, number | null];
  /** σ: contention. */
  sigma: [number, number, number | null];
  /** κ: coherency. */
  kappa: [number, number, number | null];
  /** Throughputs it was fitted to. */
  points: number;
  /** The highest load among them; beyond, the law is a guess. */
  load_max: number;
  /** Share of the throughputs' scatter that it explains. */
  r_squared: number;
  /** The load of greatest throughput; `null`: throughput never falls. */
  peak: number | null;
  /** Lower bound of the peak; `null`: throughput never falls. */
  peak_low: number | null;
  /** Upper bound; `null`: there is none. */
  peak_high: number | null;
  /** Throughput at the peak, or the one that is never passed; `null`: there is none. */
  limit_per_s: number | null;
};

/** A value beside the best, and its loss. */
export type Neighbour = {
  /** The value. */
  value: number;
  /** The share of the best throughput that it loses. */
  loss: number;
  /** Lower and upper bound (95 %); `null` without repetitions. */
  bounds: [number, number] | null;
};

export type SweepDocument = {
  /** The kind of result, which decides how it is drawn. */
  kind: 'sweep';
  /** Version of the documents. */
  format: number;
  /** The version that made the page. */
  throng: string;
  name: string;
  /** The values as text. */
  shown: Array<string>;
  /** The trials in the order of execution. */
  trials: Array<Trial>;
  /** The law: value, throughput by second. */
  law_curve: Array<[number, number]>;
  /** The setting that was varied, as `--set` knows it. */
  over: string;
  /** The unit behind its numbers. */
  unit: string;
  /** How the sweep ended. */
  ending: Ending;
  /** The value of greatest throughput; `null`: no value kept the thresholds. */
  best: BestValue | null;
  /** The most important first. */
  findings: Array<Finding>;
  /** All values that were tried, the lowest first. */
  values: Array<ValueFigures>;
  /** Throughput by the value; `null`: see `law_problem`. */
  law: Law | null;
  /** Why no law was fitted. */
  law_problem: string | null;
};

/** A value and what its trusted runs measured. */
export type ValueFigures = {
  /** The value. */
  value: number;
  /** Runs that kept the thresholds. */
  holds: number;
  /** Runs that did not. */
  breaks: number;
  /** Runs that could not be trusted. */
  untrusted: number;
  /** Whether most kept the thresholds; `null`: not known. */
  held: boolean | null;
  /** Geometric mean of the throughputs by second; `null`: nothing succeeded. */
  per_s: number | null;
  /** Lower and upper bound (95 %); `null` without repetitions. */
  bounds: [number, number] | null;
  /** Mean number in flight. */
  in_flight: number | null;
  /** Median of the runs' medians of all operations. */
  p50_ns: number | null;
  /** True if it is only known to be at least that, since operations were never answered. */
  p50_is_bound: boolean;
  /** Median of their 99th percentiles. */
  p99_ns: number | null;
  /** As `p50_is_bound`. */
  p99_is_bound: boolean;
  /** Mean of their shares of errors. */
  error_share: number | null;
};

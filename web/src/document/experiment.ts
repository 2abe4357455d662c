/** The document of an experiment: `crates/results/report/src/page/experiment.rs`. */

import type { Finding } from './run';

export interface Estimate {
  value: number;
  standard_error: number | null;
  low: number | null;
  high: number | null;
}

export interface Term {
  name: string;
  factors: number[];
  aliases: string[];
  effect: Estimate | null;
  levels: { level: string; mean: Estimate; effect: Estimate }[];
  df: number;
  ss: number;
  share: number;
  f: number | null;
  p: number | null;
}

/** The mean of one combination, of a multiplicative model the geometric one. */
export interface Bar {
  level: number;
  runs: number;
  mean: number;
  low: number | null;
  high: number | null;
  is_bound?: boolean;
  /** What others measured. */
  published?: number;
}

export type ClaimVerdict = 'holds' | 'not-measured' | 'not-separable' | 'does-not-hold';

export interface Claim {
  text: string;
  order: string;
  verdict: ClaimVerdict;
  places: { levels: (number | null)[]; verdict: ClaimVerdict; why: string }[];
  places_left_out: number;
}

export interface Response {
  name: string;
  /** `ns`, `1/s`, `share`, `count`, or nothing. */
  unit: string;
  model: 'additive' | 'multiplicative';
  cells: {
    levels: number[];
    values: number[];
    bounds?: number;
    mean: number;
    deviation: number | null;
  }[];
  cells_left_out: number;
  /** By the levels of one factor, for each combination of the others. */
  bars: {
    factor: number;
    groups: { levels: (number | null)[]; pooled: boolean; bars: Bar[] }[];
    groups_left_out: number;
  };
  findings: Finding[];
  fit: {
    mean: Estimate;
    mean_aliases: string[];
    terms: Term[];
    order_max: number;
    shares_add_up: boolean;
    error: { df: number; ss: number; share: number; deviation: number } | null;
    fitted: number[];
    residuals: number[];
    observations_left_out: number;
    interactions: { factors: [number, number]; means: (number | null)[][] }[];
  } | null;
  /** The same model of values that others measured, and what they claimed. */
  published?: {
    source: string;
    mean: number | null;
    terms: { name: string; effect: number | null; share: number }[];
    claims: Claim[];
  };
}

/** A group of runs that are all alike. */
export interface Mode {
  /** Numbers in the experiment. */
  runs: number[];
  count: number;
  median_ns: number;
  histogram: { counts: number[] };
}

/** Of the runs of one combination. */
export interface EnsembleMeasure {
  name: string;
  /** By run. */
  counts: number[];
  medians_ns: number[];
  /** Tests that find the same modes are grouped. */
  tested: { tests: string[]; modes: Mode[]; modes_left_out: number }[];
  /** One more than bins, equally far apart on a logarithmic axis. */
  edges_ns: number[];
}

export interface Ensemble {
  /** By factor. */
  levels: string[];
  /** Numbers in the experiment. */
  runs: number[];
  why: string | null;
  measures: EnsembleMeasure[];
  measures_left_out: number;
}

export interface ExperimentDocument {
  kind: 'experiment';
  format: number;
  throng: string;
  name: string;
  confidence: number;
  factors: { letter: string; name: string; levels: string[] }[];
  observations: number;
  confounded: string[];
  missing: { levels: string[]; planned: number; found: number }[];
  left_out: { run: string; why: string }[];
  findings: Finding[];
  responses: Response[];
  responses_left_out: number;
  ensembles: Ensemble[];
  ensembles_left_out: number;
}

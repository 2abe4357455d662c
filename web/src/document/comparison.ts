/** The document of a comparison: `crates/results/report/src/page/comparison.rs`. */

import type { Finding, Share } from './run';

export interface Test {
  statistic: number;
  p: number;
  p_adjusted: number;
}

export interface PairTest extends Test {
  p_effective: number;
  alike: boolean;
}

export interface Similarity {
  pairs: { a: number; b: number; ks: PairTest; ad: PairTest }[];
  pairs_left_out: number;
  ks_edges: [number, number][];
  ad_edges: [number, number][];
  ks_cliques: number[][];
  ad_cliques: number[][];
  cut_off: boolean;
}

export type Side = 'baseline' | 'candidate';

export interface ComparedMeasure {
  name: string;
  kind: string;
  verdict: string;
  text: string;
  error_bound: number;
  runs: {
    count: number;
    rate: number | null;
    error_rate: number | null;
    mean_ns: number | null;
    quantiles_ns: number[];
  }[];
  changes: {
    figure: string;
    baseline_shown: string | null;
    candidate_shown: string | null;
    difference: number;
    difference_shown: string;
    /** Of the difference. */
    interval_shown: string | null;
    relative: number | null;
    p: number;
    p_adjusted: number;
    seen: boolean;
    counts: boolean;
  }[];
  evidence: {
    ks: Test;
    ad: Test;
    mann_whitney: Test;
    shift_ns: number;
    shift_interval_ns: [number, number] | null;
    cliffs_delta: number;
    cliffs_delta_interval: [number, number];
  } | null;
  modes: { side: Side; peaks: { at_ns: number; share: number }[] }[];
  detect: { figure: string; scatter: number; runs: number | null; more: number | null }[];
  direct: Similarity | null;
  published: Similarity | null;
  curves: {
    runs: Share[][];
    sides: [Side, Share[]][];
    differences: { q: number; difference_ns: number; interval_ns: [number, number] | null }[];
    /** The baseline's quantiles that the differences are from. */
    baseline_ns: number[];
  } | null;
}

export interface ComparisonDocument {
  kind: 'comparison';
  format: number;
  throng: string;
  verdict: string;
  accepted: boolean;
  rule: 'permutation' | 'student' | 'windows' | null;
  time: string;
  alpha: number;
  tolerance: number;
  quantiles: number[];
  phase: string | null;
  findings: Finding[];
  runs: {
    label: string;
    side: Side;
    id: string;
    directory: string;
    target: string;
    started_unix_ns: number;
    seconds: number;
    timed: boolean;
    trusted: boolean;
  }[];
  measures: ComparedMeasure[];
  measures_left_out: number;
}

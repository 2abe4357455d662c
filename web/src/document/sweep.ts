/** The document of a sweep over values: `crates/results/report/src/page/capacity.rs`. */

import type { Bounded, Trial } from './capacity';
import type { Finding } from './run';

export interface SweepDocument {
  kind: 'sweep';
  format: number;
  throng: string;
  name: string;
  over: string;
  unit: string;
  ending: string;
  best: {
    value: number;
    per_s: number;
    /** The lowest and the highest value that may be best. */
    range: [number, number] | null;
    is_highest: boolean;
    is_lowest: boolean;
    neighbours: { value: number; loss: number; bounds: [number, number] | null }[];
  } | null;
  findings: Finding[];
  values: {
    value: number;
    holds: number;
    breaks: number;
    untrusted: number;
    held: boolean | null;
    per_s: number | null;
    bounds: [number, number] | null;
    in_flight: number | null;
    p50_ns: number | null;
    p50_is_bound: boolean;
    p99_ns: number | null;
    p99_is_bound: boolean;
    error_share: number | null;
  }[];
  /** The values as people write them. */
  shown: string[];
  law: {
    lambda: Bounded;
    sigma: Bounded;
    kappa: Bounded;
    points: number;
    load_max: number;
    r_squared: number;
    peak: number | null;
    peak_low: number | null;
    peak_high: number | null;
    limit_per_s: number | null;
  } | null;
  law_problem: string | null;
  trials: Trial[];
  /** Value, throughput by second. */
  law_curve: [number, number][];
}

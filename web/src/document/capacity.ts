/** The document of a search for capacity: `crates/results/report/src/page/capacity.rs`. */

import type { Finding } from './run';

export type Bounded = [value: number, low: number, high: number | null];

/** A run of a search or sweep. */
export interface Trial {
  load: number;
  outcome: 'holds' | 'breaks' | 'untrusted';
  run: string | null;
  why: string[];
  figures: {
    per_s: number;
    in_flight: number;
    service_ns: number;
    p50_ns: number;
    p50_is_bound?: boolean;
    p99_ns: number;
    p99_is_bound?: boolean;
    error_share: number;
  } | null;
}

export interface CapacityDocument {
  kind: 'capacity';
  format: number;
  throng: string;
  name: string;
  of: string;
  unit: string;
  ending: string;
  holds: number | null;
  breaks: number | null;
  /** Where the first threshold reaches its limit: estimate, lower and upper bound. */
  crossing: [number, number, number] | null;
  findings: Finding[];
  levels: {
    load: number;
    holds: number;
    breaks: number;
    untrusted: number;
    held: boolean | null;
    per_s: number | null;
    in_flight: number | null;
    p50_ns: number | null;
    p50_is_bound: boolean;
    p99_ns: number | null;
    p99_is_bound: boolean;
    error_share: number | null;
  }[];
  /** The loads as people write them, by level. */
  shown: string[];
  law: {
    lambda: Bounded;
    sigma: Bounded;
    kappa: Bounded;
    trials: number;
    in_flight_max: number;
    r_squared: number;
    peak_in_flight: Bounded | null;
    limit_per_s: number | null;
  } | null;
  law_problem: string | null;
  trials: Trial[];
  /** In flight, throughput by second, mean response in nanoseconds. */
  law_curve: [number, number, number][];
}

/** The document of meters: `crates/results/report/src/page/meters.rs`. */

export interface Extremes {
  worst: number;
  mean: number;
  best: number;
}

export interface MeterValue {
  name: string;
  published: Extremes;
  orders: [number, number];
  order_free: number;
  normalised: number | null;
  moments: number | null;
  inputs: {
    name: string;
    unit: string;
    radius: Extremes;
    elasticity: number | null;
    ratio: number | null;
    weight: number;
  }[];
}

export interface MetersDocument {
  kind: 'meters';
  format: number;
  throng: string;
  reference: string;
  runs: {
    name: string;
    meters: MeterValue[];
    ess: number | null;
    ess_ranges: number | null;
    esr: number | null;
    costs: string[];
  }[];
  runs_left_out: number;
}

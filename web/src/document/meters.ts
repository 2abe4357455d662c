// Written by `UPDATE=1 cargo test -p report --features full`, from the types in Rust: do not edit.

/**
 * Three values of one thing: where it was worst, on average, and best; least, mean and greatest for
 * meters that are computed at each moment.
 */
export type Extremes = {
  /** Worst, or least. */
  worst: number;
  /** On average. */
  mean: number;
  /** Best, or greatest. */
  best: number;
};

/** An input of a meter in one run. */
export type InputValue = {
  /** The name in the meters file. */
  name: string;
  /** The unit; may be empty. */
  unit: string;
  /** The value as it goes into the published form: scaled, and inverted where the meters file says so. */
  radius: Extremes;
  /** The change of the published mean in per cent when the input changes by one; `null` where that is 0. */
  elasticity: number | null;
  /** Times the reference's, turned so that more is better; `null` where the reference has none. */
  ratio: number | null;
  /** Share of the weights: the elasticity of the normalised form. */
  weight: number;
  /** How the values of its probes came to the moments at which they are compared; `null`: they were read at them. */
  joining: Joining | null;
};

/** How values came to moments at which their source was not read. */
export type Joining = 'carried' | 'interpolated' | 'mixed';

/** A meter of one run. */
export type MeterValue = {
  /** The meter's name. */
  name: string;
  /** The meter as published. */
  published: Extremes;
  /** The published mean, were its inputs in another order: least and greatest. */
  orders: [number, number];
  /** The mean of the published form over all orders. */
  order_free: number;
  /** 1 is the reference; `null` where an input has no ratio. */
  normalised: number | null;
  /** Number of the moments for which it was computed; `null`: for the run as a whole. */
  moments: number | null;
  /** The source at whose moments it was computed, where its sources were not read at the same ones. */
  moments_of: string | null;
  /** The inputs in the given order. */
  inputs: Array<InputValue>;
};

export type MetersDocument = {
  /** The kind of result, which decides how it is drawn. */
  kind: 'meters';
  /** Version of the documents. */
  format: number;
  /** The version that made the page. */
  throng: string;
  reference: string;
  runs: Array<Run>;
  runs_left_out: number;
};

export type Run = {
  /** Costs in sentences: decimal amounts of money, which are exact. */
  costs: Array<string>;
  /** The run's name. */
  name: string;
  /** The meters in the order of the meters file. */
  meters: Array<MeterValue>;
  /** ESS as published: \[SL/SLmin\]/\[SEC/SECmin\], the least over all runs. */
  ess: number | null;
  /** ESS by ranges, as the thesis of the market changed it (8.4.6): (SPMmax − SPMmin)/(SECmax − SECmin). */
  ess_ranges: number | null;
  /** ESR: SECmax − SECmin. */
  esr: number | null;
};

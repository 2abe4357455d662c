//! The command line of `throng serve worker`.

use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use stats::dist::Dist;

use super::serve::ListenArgs;
use crate::settings::{parse_distribution, parse_duration, parse_part, parse_share};

#[derive(Debug, ClapArgs)]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Serving threads; with --cpu burn there is one more for each unit of concurrency [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Name in answers [default: worker]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Region in answers [default: local]
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// Distribution of service times, as scenarios write it: 20ms, 10ms..30ms, 'exponential: 20ms',
    /// 'pareto: { scale: 5ms, shape: 1.5 }' [default: 20ms]
    #[arg(long, value_name = "DISTRIBUTION", value_parser = parse_distribution)]
    pub(crate) service_time: Option<Dist>,
    /// Burn the service time as CPU time of a thread, or wait for it to pass
    #[arg(long, value_enum, default_value_t = CpuArg::Wait)]
    pub(crate) cpu: CpuArg,
    /// Requests worked on at once [default: 4]
    #[arg(long, value_name = "N")]
    pub(crate) concurrency: Option<usize>,
    /// Requests that can wait; further ones get status 503 [default: 1000]
    #[arg(long, value_name = "N")]
    pub(crate) queue: Option<usize>,
    /// Divide service times by this factor [default: 1]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) speed: Option<f64>,
    /// Become slow this long after the start [default: never]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "slow_factor")]
    pub(crate) slow_from: Option<Duration>,
    /// By which factor service times grow then
    #[arg(long, value_name = "FACTOR", requires = "slow_from")]
    pub(crate) slow_factor: Option<f64>,
    /// Freeze this long after the start: nothing is answered [default: never]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "freeze_for")]
    pub(crate) freeze_from: Option<Duration>,
    /// For how long
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "freeze_from")]
    pub(crate) freeze_for: Option<Duration>,
    /// Share of requests that fail at once with status 500 [default: 0%]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) error_rate: Option<f64>,
    /// When failing begins, after the start [default: at once]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "error_rate")]
    pub(crate) errors_from: Option<Duration>,
    /// Time after the start in which the speed rises to its value [default: 0s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) warm_up: Option<Duration>,
    /// Share of the speed at the start of the warm-up [default: 10%]
    #[arg(long, value_name = "SHARE", value_parser = parse_part, requires = "warm_up")]
    pub(crate) cold_speed: Option<f64>,
    /// Random seed of service times and errors [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// What working on a request means.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum CpuArg {
    Burn,
    Wait,
}

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
    /// By which factor service times grow then, or by a signal
    #[arg(long, value_name = "FACTOR")]
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
    /// When failing begins, after the start [default: at once, or by a signal that has it]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "error_rate")]
    pub(crate) errors_from: Option<Duration>,
    /// Time after the start in which the speed rises to its value [default: 0s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) warm_up: Option<Duration>,
    /// Share of the speed at the start of the warm-up [default: 10%]
    #[arg(long, value_name = "SHARE", value_parser = parse_part, requires = "warm_up")]
    pub(crate) cold_speed: Option<f64>,
    /// Restart this long after the start: end as at a stop, and start cold [default: never]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) restart_from: Option<Duration>,
    /// How long a restart takes [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) restart_for: Option<Duration>,
    /// What SIGUSR1 begins and, sent again, ends [default: it ends the process]
    #[arg(long, value_enum, value_name = "FAULT")]
    pub(crate) on_usr1: Option<FaultArg>,
    /// What SIGUSR2 begins and, sent again, ends [default: it ends the process]
    #[arg(long, value_enum, value_name = "FAULT")]
    pub(crate) on_usr2: Option<FaultArg>,
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

/// What a signal does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FaultArg {
    /// Service times grow by --slow-factor
    Slow,
    /// Nothing is answered
    Freeze,
    /// Requests fail by --error-rate
    Errors,
    /// A restart
    Restart,
}

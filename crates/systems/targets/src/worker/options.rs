//! How a worker is run.

use std::time::Duration;

use server::{ServerError, ServerOptions, check_rules};
use stats::dist::Dist;

use super::pace::Pace;
use super::switches::Fault;

/// Most requests that are worked on at once.
const CONCURRENCY_MAX: usize = 10_000;
/// Most threads that burn CPU.
const BURNING_MAX: usize = 256;
/// Most requests that can wait.
const QUEUE_MAX: usize = 1_000_000;
/// Longest time of a restart.
const AWAY_MAX: Duration = Duration::from_secs(3600);
/// Longest name of a worker or region, in bytes.
const NAME_MAX: usize = 64;

/// Ways to work on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    /// The service time is CPU time of a thread: workers of one machine disturb each other.
    Burn,
    /// The service time passes on a timer.
    Wait,
}

/// How a worker is run. The default works 20 ms on each request by waiting, on 4 at once, with 1,000 places in
/// the queue.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WorkerOptions {
    /// The address to listen on and the threads that serve it. One thread by default.
    pub server: ServerOptions,
    /// Name in answers: letters, digits, `-`, `_` and `.`, at most 64 bytes.
    pub name: String,
    /// Region in answers, with the same characters as `name`.
    pub region: String,
    /// Distribution of service times at speed 1, in seconds. Negative draws are 0.
    pub service_time: Dist,
    /// Way to work on a request.
    pub cpu: Cpu,
    /// Requests worked on at once, 1 to 10,000; at most 256 if CPU is burned.
    pub concurrency: usize,
    /// Requests that can wait for their turn, at most 1,000,000; further ones get status 503.
    pub queue: usize,
    /// How the speed changes over time.
    pub pace: Pace,
    /// Share of requests that fail with status 500 without any work, 0 to 1.
    pub error_rate: f64,
    /// When that begins, since the start; [`Duration::MAX`]: only by a signal.
    pub errors_from: Duration,
    /// When it restarts, once: it ends as at a stop, and starts cold. Times since the start then begin again.
    pub restart_from: Option<Duration>,
    /// How long it is away in a restart, at most an hour.
    pub restart_for: Duration,
    /// Fault that SIGUSR1 begins and, sent again, ends; `None`, the default: the signal is not taken.
    pub on_usr1: Option<Fault>,
    /// Fault of SIGUSR2.
    pub on_usr2: Option<Fault>,
    /// Most connections at once; further ones are dropped.
    pub connections_max: usize,
    /// Seed of service times and errors.
    pub seed: u64,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        let mut server = ServerOptions::single_threaded();
        server.own_files = false;
        Self {
            server,
            name: "worker".to_owned(),
            region: "local".to_owned(),
            service_time: Dist::Constant(0.02),
            cpu: Cpu::Wait,
            concurrency: 4,
            queue: 1_000,
            pace: Pace::default(),
            error_rate: 0.0,
            errors_from: Duration::ZERO,
            restart_from: None,
            restart_for: Duration::from_secs(1),
            on_usr1: None,
            on_usr2: None,
            connections_max: 100_000,
            seed: 1,
        }
    }
}

impl WorkerOptions {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// On the first rule that does not hold.
    pub fn check(&self) -> Result<(), ServerError> {
        self.server.check()?;
        check_rules([
            (
                is_name(&self.name) && is_name(&self.region),
                "name and region must be 1 to 64 letters, digits, '-', '_' or '.'",
            ),
            ((1..=CONCURRENCY_MAX).contains(&self.concurrency), "concurrency must be 1 to 10,000"),
            (
                self.cpu == Cpu::Wait || self.concurrency <= BURNING_MAX,
                "concurrency must be at most 256 when CPU is burned",
            ),
            (self.queue <= QUEUE_MAX, "queue must be at most 1,000,000"),
            ((0.0..=1.0).contains(&self.error_rate), "error-rate must be 0 to 100%"),
            (
                !self.has_switch(Fault::Errors) || self.error_rate > 0.0,
                "errors by a signal need an error-rate",
            ),
            (
                !self.has_switch(Fault::Slow) || self.pace.slow_factor != 1.0,
                "slowness by a signal needs a slow-factor",
            ),
            (
                self.pace.slow_factor == 1.0
                    || self.pace.slow_from.is_some()
                    || self.has_switch(Fault::Slow),
                "slow-factor needs slow-from, or a signal: on-usr1 slow",
            ),
            (self.restart_for <= AWAY_MAX, "restart-for must be at most 1 h"),
            (self.connections_max >= 1, "at least one connection must be allowed"),
            (
                self.service_time.validate().is_ok(),
                "the distribution of service times has an invalid parameter",
            ),
        ])?;
        self.pace.check().map_err(ServerError::Options)
    }

    /// Whether a signal begins this fault.
    pub(super) fn has_switch(&self, fault: Fault) -> bool {
        [self.on_usr1, self.on_usr2].contains(&Some(fault))
    }

    /// Whether signals change it while it works.
    pub(super) fn is_switchable(&self) -> bool {
        self.on_usr1.is_some() || self.on_usr2.is_some()
    }
}

fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_options_are_named() {
        assert!(WorkerOptions::default().check().is_ok());
        let changes: [fn(&mut WorkerOptions); 9] = [
            |options| options.server.threads = 0,
            |options| options.name = "a b".to_owned(),
            |options| options.region = String::new(),
            |options| options.concurrency = 0,
            |options| (options.cpu, options.concurrency) = (Cpu::Burn, 257),
            |options| options.queue = QUEUE_MAX + 1,
            |options| options.error_rate = f64::NAN,
            |options| options.service_time = Dist::Exponential { mean: -1.0 },
            |options| options.pace.speed = 0.0,
        ];
        for change in changes {
            let mut options = WorkerOptions::default();
            change(&mut options);
            let refused = options.check();
            assert!(matches!(refused, Err(ServerError::Options(_))), "{options:?}");
        }
    }
}

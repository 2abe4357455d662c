//! Scenarios of k6 as arrivals.

use crate::options::{Executor, Scenario, Stage};

impl Scenario {
    /// The phases of its users, as a scenario lists them.
    pub(crate) fn arrivals(&self) -> Vec<String> {
        let mut phases = Vec::new();
        if self.start_ns > 0 {
            phases.push(format!("{{ hold: {} }}", time(self.start_ns)));
        }
        match &self.executor {
            Executor::SharedIterations { vus, iterations, at_most_ns } => phases.push(format!(
                "{{ users: {vus}, iterations: {iterations}, for: {} }}",
                time(*at_most_ns)
            )),
            Executor::PerVuIterations { vus, iterations, at_most_ns } => phases.push(format!(
                "{{ users: {vus}, iterations: {iterations} each, for: {} }}",
                time(*at_most_ns)
            )),
            Executor::ConstantVus { vus, duration_ns } => {
                phases.push(format!("{{ users: {vus}, for: {} }}", time(*duration_ns)));
            }
            Executor::RampingVus { start, stages } => {
                phases.extend(ramps(*start as f64, stages).into_iter().map(|ramp| {
                    let Ramp { from, to, duration_ns } = ramp;
                    let users = if from == to { format!("{to}") } else { format!("{from}..{to}") };
                    format!("{{ users: {users}, for: {} }}", time(duration_ns))
                }));
            }
            Executor::ConstantArrivalRate { rate, duration_ns, .. } => {
                phases.push(format!("{{ constant: {rate}/s, for: {} }}", time(*duration_ns)));
            }
            Executor::RampingArrivalRate { start, stages, .. } => {
                phases.extend(ramps(*start, stages).into_iter().map(|ramp| {
                    let Ramp { from, to, duration_ns } = ramp;
                    let rate = match (from == to, to > 0.0) {
                        (true, false) => return format!("{{ hold: {} }}", time(duration_ns)),
                        (true, true) => format!("constant: {to}/s"),
                        (false, _) => format!("ramp: {from}/s..{to}/s"),
                    };
                    format!("{{ {rate}, for: {} }}", time(duration_ns))
                }));
            }
        }
        phases
    }
}

/// A linear change.
struct Ramp {
    from: f64,
    to: f64,
    duration_ns: u64,
}

/// The ramps of stages; a stage that takes no time is a jump.
fn ramps(start: f64, stages: &[Stage]) -> Vec<Ramp> {
    let mut from = start;
    let mut ramps = Vec::new();
    for stage in stages {
        if stage.duration_ns > 0 {
            ramps.push(Ramp { from, to: stage.target, duration_ns: stage.duration_ns });
        }
        from = stage.target;
    }
    ramps
}

/// A duration, exactly.
pub(crate) fn time(ns: u64) -> String {
    match ns {
        ns if ns.is_multiple_of(1_000_000_000) => format!("{}s", ns / 1_000_000_000),
        ns if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
        ns => format!("{}us", ns.div_ceil(1000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(executor: Executor, start_ns: u64) -> Vec<String> {
        let scenario = Scenario {
            name: "s".to_owned(),
            exec: "default".to_owned(),
            executor,
            start_ns,
            graceful_stop_ns: 0,
        };
        scenario.arrivals()
    }

    #[test]
    fn stages_are_phases_one_after_the_other() {
        let second = 1_000_000_000;
        let stage = |seconds: u64, target: f64| Stage { duration_ns: seconds * second, target };
        let stages = vec![stage(5, 10.0), stage(0, 4.0), stage(3, 4.0)];
        let users = Executor::RampingVus { start: 1, stages: stages.clone() };
        let expected = ["{ hold: 2s }", "{ users: 1..10, for: 5s }", "{ users: 4, for: 3s }"];
        assert_eq!(arrivals(users, 2 * second), expected);
        let rates = Executor::RampingArrivalRate { start: 0.5, stages, vus_max: 9 };
        let expected = ["{ ramp: 0.5/s..10/s, for: 5s }", "{ constant: 4/s, for: 3s }"];
        assert_eq!(arrivals(rates, 0), expected);
        let each = Executor::PerVuIterations { vus: 2, iterations: 3, at_most_ns: 1_500_000_000 };
        assert_eq!(arrivals(each, 0), ["{ users: 2, iterations: 3 each, for: 1500ms }"]);
    }
}

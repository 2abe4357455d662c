//! How much of a time others had the cores: what the kernel counts as waiting for one, and what a hypervisor withheld.

use crate::clock::machine_monotonic_ns;
use crate::procfs;

/// Running totals since the machine started; what the kernel does not show is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contention {
    at_ns: u64,
    /// Time in which some task that could run waited for a core, microseconds.
    waited_us: Option<u64>,
    cores: Option<CoreTicks>,
}

/// The time of all cores in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CoreTicks {
    all: u64,
    stolen: u64,
}

/// Shares of a time, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ContentionShares {
    /// In which some task waited for a core: `some` of pressure stall information.
    pub pressure: Option<f64>,
    /// Of all cores that a hypervisor gave to others.
    pub steal: Option<f64>,
}

impl Contention {
    /// The totals now.
    pub fn now() -> Contention {
        let read = |name: &str| procfs::read(name).unwrap_or_default();
        Contention::parse(machine_monotonic_ns(), &read("pressure/cpu"), &read("stat"))
    }

    /// From the texts of `/proc/pressure/cpu` (Documentation/accounting/psi.rst of the kernel) and `/proc/stat`
    /// (proc_stat(5)).
    fn parse(at_ns: u64, pressure: &str, stat: &str) -> Contention {
        let some = pressure.lines().find(|line| line.starts_with("some "));
        let total = some.and_then(|line| line.rsplit_once("total="));
        let cores = stat.lines().find_map(|line| line.strip_prefix("cpu "));
        // The time of guests, which stands behind the first eight, is in the others.
        let ticks = cores.map(|line| -> Vec<u64> {
            let words = line.split_ascii_whitespace().take(8);
            words.filter_map(|word| word.parse().ok()).collect()
        });
        let cores = ticks.filter(|ticks| ticks.len() == 8);
        Contention {
            at_ns,
            waited_us: total.and_then(|(_, total)| total.trim().parse().ok()),
            cores: cores.map(|ticks| CoreTicks { all: ticks.iter().sum(), stolen: ticks[7] }),
        }
    }

    /// The shares of the time since `before`.
    pub fn since(&self, before: &Contention) -> ContentionShares {
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let waited_us = self.waited_us.zip(before.waited_us);
        let cores = self.cores.zip(before.cores);
        let pressure = waited_us.and_then(|(now, then)| {
            let waited_ns = now.saturating_sub(then).saturating_mul(1_000);
            share(waited_ns, self.at_ns.saturating_sub(before.at_ns))
        });
        let steal = cores.and_then(|(now, then)| {
            let stolen = now.stolen.saturating_sub(then.stolen);
            share(stolen, now.all.saturating_sub(then.all))
        });
        let bounded = |share: Option<f64>| share.map(|share| share.min(1.0));
        ContentionShares { pressure: bounded(pressure), steal: bounded(steal) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRESSURE: &str = "some avg10=1.00 avg60=2.00 avg300=3.00 total=";
    const FULL: &str = "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";

    #[test]
    fn shares_are_those_of_the_time_between() {
        let at = |at_ns: u64, waited_us: u64, idle: u64, stolen: u64| {
            let stat = format!("cpu  100 0 50 {idle} 0 0 0 {stolen} 7 7\ncpu0 1 2 3 4 5 6 7 8\n");
            Contention::parse(at_ns, &format!("{PRESSURE}{waited_us}\n{FULL}"), &stat)
        };
        // Two seconds, half a second of which something waited; 400 ticks of two cores, 40 of them stolen.
        let shares = at(3_000_000_000, 900_000, 860, 45).since(&at(1_000_000_000, 400_000, 500, 5));
        assert_eq!(shares, ContentionShares { pressure: Some(0.25), steal: Some(0.1) });
    }

    #[test]
    fn what_the_kernel_does_not_show_is_missing() {
        let none = Contention::parse(1, "", "");
        let shares = Contention::parse(2, "nonsense", "cpu  1 2 3\n").since(&none);
        assert_eq!(shares, ContentionShares::default());
        // The same moment has no shares.
        let now = Contention::now();
        assert_eq!(now.since(&now), ContentionShares::default());
    }
}

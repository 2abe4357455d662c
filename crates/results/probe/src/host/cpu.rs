//! CPU time by kind, from proc_stat(5).

use crate::reading::Reading;
use crate::source::ReadError;

/// The kinds, in the order of the file. `user` holds what guests use.
const KINDS: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
const IDLE: usize = 3;
const IOWAIT: usize = 4;

/// Times of all cores at the last reading.
#[derive(Debug, Default)]
pub(super) struct Cpu {
    all: [u64; 8],
    cores: Vec<[u64; 8]>,
}

impl Cpu {
    /// Shares of all cores' time since the last look, in percent.
    pub(super) fn read_into(&mut self, text: &str, reading: &mut Reading) -> Result<(), ReadError> {
        let mut all = None;
        let mut cores = Vec::new();
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("cpu") else {
                continue;
            };
            let (core, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            match core {
                "" => all = Some(ticks(rest)),
                _ => cores.push(ticks(rest)),
            }
        }
        let Some(all) = all else {
            let what = "/proc/stat has no line `cpu`";
            return Err(ReadError::Nonsense(what.to_owned()));
        };
        reading.gauge("cores", "1", cores.len() as f64);
        if let Some(spent) = spent(&all, &self.all) {
            reading.gauge("cpu_busy", "%", 100.0 * busy(&spent));
            for (kind, share) in KINDS.iter().zip(spent) {
                reading.gauge(&format!("cpu_{kind}"), "%", 100.0 * share);
            }
        }
        if cores.len() == self.cores.len() {
            let shares = cores.iter().zip(&self.cores);
            let shares = shares.filter_map(|(now, before)| Some(busy(&spent(now, before)?)));
            if let Some(most) = shares.reduce(f64::max) {
                reading.gauge("cpu_busiest_core", "%", 100.0 * most);
            }
        }
        (self.all, self.cores) = (all, cores);
        Ok(())
    }
}

fn ticks(text: &str) -> [u64; 8] {
    let mut ticks = [0; 8];
    for (tick, word) in ticks.iter_mut().zip(text.split_ascii_whitespace()) {
        *tick = word.parse().unwrap_or(0);
    }
    ticks
}

/// The share of each kind in the time between two readings; `None` for the first, and if no time passed.
/// Idle time and waiting may decrease (proc_stat(5) on `iowait`): then they count as 0.
fn spent(now: &[u64; 8], before: &[u64; 8]) -> Option<[f64; 8]> {
    if before.iter().all(|&ticks| ticks == 0) {
        return None;
    }
    let mut shares = [0.0; 8];
    for (share, (now, before)) in shares.iter_mut().zip(now.iter().zip(before)) {
        *share = now.saturating_sub(*before) as f64;
    }
    let total: f64 = shares.iter().sum();
    if total <= 0.0 {
        return None;
    }
    Some(shares.map(|share| share / total))
}

fn busy(shares: &[f64; 8]) -> f64 {
    (1.0 - shares[IDLE] - shares[IOWAIT]).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{Names, reading};

    #[test]
    fn shares_are_of_all_cores() {
        let mut reading = reading();
        let mut names = Names::new();
        let mut cpu = Cpu::default();
        let before = "cpu  100 0 50 800 50 0 0 0 9 9\ncpu0 50 0 25 400 25 0 0 0\ncpu1 50 0 25 400 \
                      25 0 0 0\nintr 1\n";
        cpu.read_into(before, &mut reading).unwrap();
        assert_eq!(names.lines(reading.take()), ["cores 1 2"]);
        // 200 ticks on: 60 user, 20 system, 10 softirq, 10 steal, 100 idle; iowait fell.
        let after = "cpu  160 0 70 900 45 0 10 10 9 9\ncpu0 110 0 45 405 25 0 10 5\ncpu1 50 0 25 \
                     495 20 0 0 5\nintr 1\n";
        cpu.read_into(after, &mut reading).unwrap();
        let lines = names.lines(reading.take());
        for line in [
            "cpu_busy % 50",
            "cpu_user % 30",
            "cpu_system % 10",
            "cpu_iowait % 0",
            "cpu_softirq % 5",
            "cpu_busiest_core % 95",
        ] {
            assert!(lines.iter().any(|found| found == line), "{line}: {lines:?}");
        }
        assert!(cpu.read_into("intr 1\n", &mut reading).is_err());
    }
}

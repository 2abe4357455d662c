//! The machine: CPU by kind, memory, disks, network, TCP.

mod cpu;
mod disk;
mod net;
mod tcp;

use machine::procfs::{field, read};

use crate::reading::Reading;
use crate::source::{ReadError, Source};

/// This machine.
#[derive(Debug)]
pub(crate) struct Host {
    cpu: cpu::Cpu,
    disks: disk::Disks,
    tcp: tcp::Tcp,
}

impl Host {
    pub(crate) fn new() -> Host {
        Host { cpu: cpu::Cpu::default(), disks: disk::Disks::find(), tcp: tcp::Tcp::default() }
    }
}

impl Source for Host {
    fn read(&mut self, reading: &mut Reading) -> Result<(), ReadError> {
        self.cpu.read_into(&read("stat")?, reading)?;
        load(&read("loadavg")?, reading);
        memory(&read("meminfo")?, reading)?;
        // In some containers there are none of these.
        match read("diskstats") {
            Ok(text) => self.disks.read_into(&text, reading),
            Err(error) => reading.remark(error.to_string()),
        }
        net::read_into(&read("net/dev")?, reading);
        self.tcp.read_into(reading)
    }
}

/// proc_loadavg(5).
fn load(text: &str, reading: &mut Reading) {
    let mean = text.split_ascii_whitespace().next();
    if let Some(mean) = mean.and_then(|word| word.parse().ok()) {
        reading.gauge("load_1m", "1", mean);
    }
}

/// proc_meminfo(5), whose kB are KiB.
fn memory(text: &str, reading: &mut Reading) -> Result<(), ReadError> {
    let bytes = |name: &str| field(text, name).map(|kib| kib as f64 * 1024.0);
    let (Some(total), Some(available)) = (bytes("MemTotal"), bytes("MemAvailable")) else {
        let what = "/proc/meminfo has no MemTotal or MemAvailable";
        return Err(ReadError::Nonsense(what.to_owned()));
    };
    reading.gauge("memory_total", "B", total);
    reading.gauge("memory_available", "B", available);
    reading.gauge("memory_used", "%", 100.0 * (total - available) / total.max(1.0));
    if let (Some(total), Some(free)) = (bytes("SwapTotal"), bytes("SwapFree")) {
        reading.gauge("swap_used", "B", total - free);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{Names, reading};

    #[test]
    fn memory_is_what_is_not_available() {
        let mut reading = reading();
        let mut names = Names::new();
        let text = "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\nSwapTotal: 8 kB\n\
                    SwapFree: 6 kB\n";
        memory(text, &mut reading).unwrap();
        load("0.52 0.58 0.59 1/1 1\n", &mut reading);
        let expected = [
            "memory_total B 1024000",
            "memory_available B 256000",
            "memory_used % 75",
            "swap_used B 2048",
            "load_1m 1 0.52",
        ];
        assert_eq!(names.lines(reading.take()), expected);
        assert!(memory("", &mut reading).is_err());
    }

    #[test]
    fn this_machine_reports() {
        let mut reading = reading();
        let mut names = Names::new();
        let mut host = Host::new();
        reading.begin(0);
        host.read(&mut reading).unwrap();
        names.lines(reading.take());
        reading.begin(1_000_000_000);
        host.read(&mut reading).unwrap();
        let lines = names.lines(reading.take());
        for metric in ["cores 1", "memory_used %", "net_loopback B/s", "tcp_established 1"] {
            assert!(
                lines.iter().any(|line| line.starts_with(metric)),
                "{metric} is not among {lines:?}"
            );
        }
    }
}

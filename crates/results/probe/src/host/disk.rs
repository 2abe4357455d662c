//! Disks, added up, from proc_diskstats(5).

use std::collections::HashMap;

use machine::procfs;

use crate::reading::Reading;

/// The kernel's sectors, whatever the device's are (`Documentation/block/stat.rst`).
const SECTOR_BYTES: f64 = 512.0;

/// The disks that count: real devices, not their partitions nor what is made of them.
#[derive(Debug)]
pub(super) struct Disks {
    names: Vec<String>,
    /// Milliseconds that each was busy, at the last look.
    busy_ms: HashMap<String, u64>,
}

impl Disks {
    /// Looks which there are.
    pub(super) fn find() -> Disks {
        Disks { names: procfs::disks(), busy_ms: HashMap::new() }
    }

    pub(super) fn read_into(&mut self, text: &str, reading: &mut Reading) {
        let mut sums = [0.0; 4];
        let mut disks_count = 0;
        let mut busiest_ms = None;
        for line in text.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let Some(name) = words.get(2).filter(|name| self.names.iter().any(|n| n == *name))
            else {
                continue;
            };
            let number = |place: usize| words.get(place).and_then(|w| w.parse::<u64>().ok());
            // Reads, sectors read, writes, sectors written.
            for (sum, place) in sums.iter_mut().zip([3, 5, 7, 9]) {
                *sum += number(place).unwrap_or(0) as f64;
            }
            disks_count += 1;
            let busy_ms = number(12).unwrap_or(0);
            if let Some(before) = self.busy_ms.insert((*name).to_owned(), busy_ms) {
                busiest_ms = busiest_ms.max(Some(busy_ms.saturating_sub(before)));
            }
        }
        if disks_count == 0 {
            reading.remark("no disk is known in /proc/diskstats".to_owned());
            return;
        }
        reading.counter("disk_reads", "1/s", sums[0]);
        reading.counter("disk_read", "B/s", sums[1] * SECTOR_BYTES);
        reading.counter("disk_writes", "1/s", sums[2]);
        reading.counter("disk_written", "B/s", sums[3] * SECTOR_BYTES);
        if let (Some(busy_ms), Some(passed_s)) = (busiest_ms, reading.passed_s()) {
            let share = busy_ms as f64 / 1e3 / passed_s;
            reading.gauge("disk_busy", "%", (100.0 * share).min(100.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{Names, reading};

    #[test]
    fn disks_are_added_up_and_the_busiest_is_recorded() {
        let mut reading = reading();
        let mut names = Names::new();
        let mut disks =
            Disks { names: vec!["sda".to_owned(), "vda".to_owned()], busy_ms: HashMap::new() };
        let text = |reads, busy| {
            format!(
                "8 0 sda {reads} 0 16 0 5 0 8 0 0 {busy} 0\n8 1 sda1 9 9 9 9 9 9 9 9 9 9 9\n\
                 253 0 vda 1 0 0 0 0 0 0 0 0 10 0\n"
            )
        };
        reading.begin(0);
        disks.read_into(&text(10, 100), &mut reading);
        names.lines(reading.take());
        reading.begin(2_000_000_000);
        disks.read_into(&text(30, 600), &mut reading);
        let expected = [
            "disk_reads 1/s 10",
            "disk_read B/s 0",
            "disk_writes 1/s 0",
            "disk_written B/s 0",
            "disk_busy % 25",
        ];
        assert_eq!(names.lines(reading.take()), expected);
    }
}

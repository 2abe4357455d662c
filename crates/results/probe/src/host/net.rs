//! Network interfaces, from proc_net_dev(5): loopback by itself, all others added up.

use crate::reading::Reading;

/// Columns after the interface's name: bytes, packets, errors, drops; received, then sent.
const COLUMNS: [(usize, &str, &str); 8] = [
    (0, "net_received", "B/s"),
    (1, "net_packets_in", "1/s"),
    (2, "net_errors_in", "1/s"),
    (3, "net_drops_in", "1/s"),
    (8, "net_sent", "B/s"),
    (9, "net_packets_out", "1/s"),
    (10, "net_errors_out", "1/s"),
    (11, "net_drops_out", "1/s"),
];

pub(super) fn read_into(text: &str, reading: &mut Reading) {
    let mut sums = [0.0; COLUMNS.len()];
    for line in text.lines() {
        // The two lines of the head have no colon.
        let Some((name, rest)) = line.split_once(':') else {
            continue;
        };
        let numbers: Vec<f64> =
            rest.split_ascii_whitespace().map(|word| word.parse().unwrap_or(0.0)).collect();
        let number = |place: usize| numbers.get(place).copied().unwrap_or(0.0);
        if name.trim() == "lo" {
            reading.counter("net_loopback", "B/s", number(0));
            continue;
        }
        for (sum, (place, ..)) in sums.iter_mut().zip(COLUMNS) {
            *sum += number(place);
        }
    }
    for (sum, (_, metric, unit)) in sums.into_iter().zip(COLUMNS) {
        reading.counter(metric, unit, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{Names, reading};

    #[test]
    fn loopback_stands_apart() {
        let mut reading = reading();
        let mut names = Names::new();
        let text = |lo, eth| {
            format!(
                "Inter-|   Receive\n face |bytes packets\n    lo: {lo} 1 0 0 0 0 0 0 {lo} 1 0 0 0 \
                 0 0 0\n  eth0:{eth} 2 0 3 0 0 0 0 7 1 0 0 0 0 0 0\n  eth1: 5 0 0 0 0 0 0 0 0 0 0 \
                 0 0 0 0 0\n"
            )
        };
        reading.begin(0);
        read_into(&text(100, 200), &mut reading);
        names.lines(reading.take());
        reading.begin(1_000_000_000);
        read_into(&text(150, 300), &mut reading);
        let lines = names.lines(reading.take());
        assert_eq!(lines[..2], ["net_loopback B/s 50", "net_received B/s 100"]);
        assert_eq!(lines.len(), 9);
    }
}

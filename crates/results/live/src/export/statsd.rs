//! A snapshot as StatsD datagrams: `name:value|g` and `name:step|c`, many lines in each.

use crate::export::snapshot::{Sample, Snapshot};

/// Most bytes of a datagram: what fits an Ethernet frame without fragmentation, as StatsD recommends.
const DATAGRAM_BYTES_MAX: usize = 1432;

/// The datagrams of a snapshot.
pub(crate) fn render(snapshot: &Snapshot) -> Vec<String> {
    let mut datagrams = vec![String::new()];
    for line in snapshot.samples.iter().map(line) {
        let is_full = datagrams.last().is_some_and(|last| {
            !last.is_empty() && last.len() + 1 + line.len() > DATAGRAM_BYTES_MAX
        });
        if is_full {
            datagrams.push(String::new());
        }
        if let Some(last) = datagrams.last_mut() {
            if !last.is_empty() {
                last.push('\n');
            }
            last.push_str(&line);
        }
    }
    datagrams.retain(|datagram| !datagram.is_empty() && datagram.len() <= DATAGRAM_BYTES_MAX);
    datagrams
}

/// `throng.measure_errors.GET_hello:3|c`: the name without its suffix, then its labels in order.
fn line(sample: &Sample) -> String {
    let name = sample.metric.name;
    let name = name.strip_prefix("throng_").unwrap_or(name);
    let name = name.strip_suffix("_total").unwrap_or(name);
    let mut path = format!("throng.{name}");
    // Empty regions and units are left out.
    for label in sample.labels.iter().filter(|label| !label.is_empty()) {
        path.push('.');
        path.extend(label.chars().map(plain));
    }
    match sample.is_counter() {
        true => format!("{path}:{}|c", sample.step),
        // A gauge with a sign would be changed by that amount.
        false if sample.value < 0.0 => format!("{path}:0|g\n{path}:{}|g", sample.value),
        false => format!("{path}:{}|g", sample.value),
    }
}

/// Dots separate levels; colons, bars and hashes are part of the format.
fn plain(c: char) -> char {
    match c.is_ascii_alphanumeric() || c == '-' {
        true => c,
        false => '_',
    }
}

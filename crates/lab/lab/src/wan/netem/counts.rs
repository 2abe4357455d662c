//! Counts of the disciplines of links, as `tc -s qdisc show` prints them.

use super::commands::place_of_class;

/// Counts of one link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LinkCounts {
    /// Packets that left.
    pub(super) packets: u64,
    /// Packets that it dropped.
    pub(super) dropped: u64,
}

/// The counts of all links, from place `a` to place `b` at `a` · places + `b`. What is not there has counted nothing.
pub(super) fn read(text: &str, places: usize) -> Vec<LinkCounts> {
    let mut sent = vec![LinkCounts::default(); places * places];
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((from, to)) = ends(line) else {
            continue;
        };
        let exists = from < places && to < places;
        let counts = lines.next().and_then(counts).filter(|_| exists);
        if let Some(counts) = counts {
            sent[from * places + to] = counts;
        }
    }
    sent
}

/// The places of `qdisc netem 3: dev out0 parent 1:2 …`.
fn ends(line: &str) -> Option<(usize, usize)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let behind = |word: &str| {
        let at = words.iter().position(|found| *found == word)?;
        words.get(at + 1).copied()
    };
    let is_qdisc = words.first() == Some(&"qdisc");
    let from = behind("dev").filter(|_| is_qdisc)?;
    let from = from.strip_prefix("out")?.parse().ok()?;
    Some((from, place_of_class(behind("parent")?)?))
}

/// The numbers of ` Sent 5040 bytes 12 pkt (dropped 3, overlimits 0 requeues 0)`.
fn counts(line: &str) -> Option<LinkCounts> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "pkt")?;
    let packets = words.get(at.checked_sub(1)?)?.parse().ok()?;
    let (_, dropped) = line.split_once("(dropped ")?;
    let dropped = dropped.split_once(',')?.0.parse().ok()?;
    Some(LinkCounts { packets, dropped })
}

#[cfg(test)]
mod tests;

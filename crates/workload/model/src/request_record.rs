//! A request in numbers, as it is sorted: 32 bytes.

use crate::sorter::Item;

/// A request in numbers. Sorted by user, then time, then order in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RequestRecord {
    /// Hash of the user's key.
    pub(crate) key: u64,
    /// Time since the Unix epoch.
    pub(crate) time_ns: i64,
    /// The line's place among all lines.
    pub(crate) order: u64,
    /// The number of its route.
    pub(crate) route: u32,
    /// The number of its segment; [`NO_SEGMENT`] if the line has none.
    pub(crate) segment: u16,
    /// 0: unknown.
    pub(crate) status: u16,
}

/// The segment of a line that has none.
pub(crate) const NO_SEGMENT: u16 = u16::MAX;

impl Item for RequestRecord {
    const BYTES: usize = 32;

    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.key.to_le_bytes());
        out.extend(self.time_ns.to_le_bytes());
        out.extend(self.order.to_le_bytes());
        out.extend(self.route.to_le_bytes());
        out.extend(self.segment.to_le_bytes());
        out.extend(self.status.to_le_bytes());
    }

    fn get(bytes: &[u8]) -> RequestRecord {
        let mut at = 0;
        let mut take = |count: usize| {
            let mut word = [0; 8];
            word[..count].copy_from_slice(&bytes[at..at + count]);
            at += count;
            u64::from_le_bytes(word)
        };
        RequestRecord {
            key: take(8),
            time_ns: take(8).cast_signed(),
            order: take(8),
            route: take(4) as u32,
            segment: take(2) as u16,
            status: take(2) as u16,
        }
    }
}

/// The start of a session, sorted by segment, then time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionStart {
    pub(crate) segment: u16,
    pub(crate) time_ns: i64,
}

impl Item for SessionStart {
    const BYTES: usize = 10;

    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.segment.to_le_bytes());
        out.extend(self.time_ns.to_le_bytes());
    }

    fn get(bytes: &[u8]) -> SessionStart {
        let (segment, time) = bytes.split_at(2);
        SessionStart {
            segment: u16::from_le_bytes([segment[0], segment[1]]),
            time_ns: i64::from_le_bytes(time.try_into().expect("items have ten bytes")),
        }
    }
}

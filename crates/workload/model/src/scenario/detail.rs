//! How much of a model fits into its scenario, whose bytes and values are limited.

use scenario::document::yaml::{NODES_MAX, TEXT_BYTES_MAX};

use super::{sequences_each, written};
use crate::Model;
use crate::durations::POINTS_MAX;

/// How often the number of values and sessions may be halved.
const HALVED_MAX: u32 = 5;

/// The parts of the model that its scenario has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Detail {
    /// Maximum number of values for think times without a fit.
    pub(crate) points: usize,
    /// Recorded sessions of each segment, at most.
    pub(crate) sequences: usize,
}

impl Detail {
    /// As much as there is room for; `None` where there is none for the least of it.
    pub(crate) fn largest_that_fits(model: &Model) -> Option<Detail> {
        let sequences = sequences_each(model);
        let mut rooms = (0..=HALVED_MAX).map(|halved| Detail {
            points: POINTS_MAX >> halved,
            sequences: (sequences >> halved).max(1),
        });
        rooms.find(|detail| fits(&written(model, *detail)))
    }
}

impl Default for Detail {
    fn default() -> Detail {
        Detail { points: POINTS_MAX >> HALVED_MAX, sequences: 1 }
    }
}

fn fits(text: &str) -> bool {
    text.len() <= TEXT_BYTES_MAX && values(text) <= NODES_MAX
}

/// Values of a scenario that was written here, keys among them.
fn values(text: &str) -> usize {
    let mut count = 1;
    // Brackets that are open, of lists and of mappings.
    let mut open: Vec<u8> = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        count += usize::from(line.starts_with("- "));
        let bytes = line.as_bytes();
        let mut quoted = false;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let ends = matches!(bytes.get(at + 1), None | Some(b' '));
            match byte {
                b'\\' if quoted => at += 1,
                b'"' => quoted = !quoted,
                _ if quoted => {}
                b'#' if at == 0 || bytes[at - 1] == b' ' => break,
                b':' if ends => count += 2,
                b'[' | b'{' => {
                    count += usize::from(byte == b'[');
                    open.push(byte);
                }
                b']' | b'}' => {
                    open.pop();
                }
                b',' => count += usize::from(open.last() == Some(&b'[')),
                _ => {}
            }
            at += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_values_and_items_are_counted() {
        for (text, count) in [
            ("a: 1\n", 3),
            ("# a: 1\na: { b: \"x: [ \\\" ]\", c: [1, 2] } # d: 1\n", 9),
            ("a:\n  - b: 1\n    c: 2\n  - { d: http://x, \"e\": 1 }\n", 13),
        ] {
            assert_eq!(values(text), count, "{text}");
        }
    }
}

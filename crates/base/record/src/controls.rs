//! Characters of texts from outside that no output shows as they are.

/// Whether a character controls a terminal, ends a line, or changes the direction of the text around it (Unicode Standard
/// Annex 9), which can make a text look like another.
pub fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_and_changes_what_is_is_a_control() {
        assert!(
            "\x1b\n\u{9b}\u{7f}\u{61c}\u{200f}\u{2029}\u{202e}\u{2069}".chars().all(is_control)
        );
        assert!(!"a ß漢\u{200d}\u{301}\u{a0}".chars().any(is_control));
    }
}

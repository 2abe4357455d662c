//! Records of a message: what servers put into one frame that are several messages.

/// The records of a message, each without the byte that ends it. The last one may lack that; empty ones are none.
pub(crate) fn records(message: &[u8], end: u8) -> impl Iterator<Item = &[u8]> {
    message.split(move |&byte| byte == end).filter(|record| !record.is_empty())
}

/// Ends the record that was appended to `out` since `start`, unless it ends already.
pub(crate) fn end_record(out: &mut Vec<u8>, start: usize, end: u8) {
    if out[start..].last() != Some(&end) {
        out.push(end);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn empty_records_are_none() {
        let found = |message: &'static [u8]| records(message, b'\n').collect::<Vec<_>>();
        assert_eq!(found(b""), [b""; 0]);
        assert_eq!(found(b"\n\n"), [b""; 0]);
        assert_eq!(found(b"a"), [b"a"]);
        assert_eq!(found(b"a\n"), [b"a"]);
        assert_eq!(found(b"\na\n\nb"), [b"a", b"b"]);
    }

    proptest! {
        /// Whatever a server writes, ended as we end it, is read as what it was.
        #[test]
        fn records_come_back(texts in prop::collection::vec("[a-c]{1,5}", 0..6), end in 0_u8..0x20) {
            let mut wire = Vec::new();
            for text in &texts {
                let start = wire.len();
                wire.extend_from_slice(text.as_bytes());
                end_record(&mut wire, start, end);
            }
            let read: Vec<_> = records(&wire, end).map(<[u8]>::to_vec).collect();
            let expected: Vec<_> = texts.into_iter().map(String::into_bytes).collect();
            prop_assert_eq!(read, expected);
        }
    }
}

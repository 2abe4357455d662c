//! Numbers, keys and fields as bytes (protobuf.dev, "Encoding").

/// Bytes of the longest number.
const VARINT_BYTES_MAX: usize = 10;

/// How the value behind a key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum WireType {
    /// Seven bits a byte.
    Varint = 0,
    /// Eight bytes, little endian.
    Eight = 1,
    /// A length and as many bytes.
    Length = 2,
    /// Fields up to the group's end.
    GroupStart = 3,
    /// The end of a group.
    GroupEnd = 4,
    /// Four bytes, little endian.
    Four = 5,
}

/// The value behind a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire<'a> {
    Varint(u64),
    Eight(u64),
    Four(u32),
    Length(&'a [u8]),
    Group,
}

/// Appends a number, seven bits a byte.
pub fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends what stands before a field's value.
pub fn write_key(number: u32, wire_type: WireType, out: &mut Vec<u8>) {
    write_varint(u64::from(number) << 3 | wire_type as u64, out);
}

/// A signed number as an unsigned one, small where its magnitude is.
pub(crate) fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

/// The reverse of [`zigzag`].
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// A number at the front of the bytes, which are cut by it; `None`: there is none.
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (at, &byte) in bytes.iter().take(VARINT_BYTES_MAX).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            // Of the tenth byte only one bit has room.
            if at + 1 == VARINT_BYTES_MAX && byte > 1 {
                return None;
            }
            *bytes = &bytes[at + 1..];
            return Some(number);
        }
    }
    None
}

pub(crate) fn take_four(bytes: &mut &[u8]) -> Option<u32> {
    let (four, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*four))
}

pub(crate) fn take_eight(bytes: &mut &[u8]) -> Option<u64> {
    let (eight, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*eight))
}

/// The next field's number and value; `None`: the bytes are no field. `depth` bounds groups within groups.
pub(crate) fn take_field<'a>(bytes: &mut &'a [u8], depth: u32) -> Option<(u32, Wire<'a>)> {
    let (number, wire_type) = take_key(bytes)?;
    let value = match wire_type {
        0 => Wire::Varint(take_varint(bytes)?),
        1 => Wire::Eight(take_eight(bytes)?),
        2 => {
            let len = usize::try_from(take_varint(bytes)?).ok()?;
            let (value, rest) = bytes.split_at_checked(len)?;
            *bytes = rest;
            Wire::Length(value)
        }
        3 => {
            skip_group(number, bytes, depth)?;
            Wire::Group
        }
        5 => Wire::Four(take_four(bytes)?),
        _ => return None,
    };
    Some((number, value))
}

fn take_key(bytes: &mut &[u8]) -> Option<(u32, u8)> {
    let key = u32::try_from(take_varint(bytes)?).ok()?;
    let number = key >> 3;
    let wire_type = (key & 7) as u8;
    (number > 0).then_some((number, wire_type))
}

/// Skips fields up to the group's end.
fn skip_group(number: u32, bytes: &mut &[u8], depth: u32) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    loop {
        let mut ahead = *bytes;
        let (next, wire_type) = take_key(&mut ahead)?;
        if wire_type == WireType::GroupEnd as u8 {
            *bytes = ahead;
            return (next == number).then_some(());
        }
        take_field(bytes, depth)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_documentation() {
        let written = |number| {
            let mut out = Vec::new();
            write_varint(number, &mut out);
            out
        };
        assert_eq!(written(150), [0x96, 0x01]);
        assert_eq!(written(0), [0]);
        assert_eq!(written(u64::MAX).len(), VARINT_BYTES_MAX);
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
        for number in [i64::MIN, -1, 0, 7, i64::MAX] {
            assert_eq!(unzigzag(zigzag(number)), number);
        }
    }

    #[test]
    fn numbers_that_do_not_end_or_do_not_fit_are_refused() {
        assert_eq!(take_varint(&mut &[0x80; 10][..]), None);
        assert_eq!(take_varint(&mut &[0xff; 11][..]), None);
        let largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(take_varint(&mut &largest[..]), Some(u64::MAX));
        let beyond = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert_eq!(take_varint(&mut &beyond[..]), None);
    }

    #[test]
    fn groups_are_skipped_whole() {
        // Field 1 is a group with a group in it, field 2 the number 7.
        let mut bytes = &[0x0b, 0x1b, 0x08, 1, 0x1c, 0x0c, 0x10, 7][..];
        assert_eq!(take_field(&mut bytes, 3), Some((1, Wire::Group)));
        assert_eq!(take_field(&mut bytes, 3), Some((2, Wire::Varint(7))));
        assert_eq!(take_field(&mut &[0x0b, 0x14][..], 3), None, "another's end");
        let deep = [0x0b; 50];
        assert_eq!(take_field(&mut &deep[..], 3), None);
    }
}

//! Bytes as hexadecimal digits.

use std::fmt::Write;

/// Two small digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of two digits each, small or capital; `None`: the text is something else.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_two_digits_each() {
        assert_eq!(hex(b""), "");
        assert_eq!(hex(&[0, 10, 0xff]), "000aff");
        assert_eq!(from_hex("000aFf"), Some(vec![0, 10, 0xff]));
        assert_eq!(from_hex(""), Some(Vec::new()));
        for text in ["0", "000", "0g", "0 ", "é", "١٢"] {
            assert_eq!(from_hex(text), None, "{text}");
        }
    }
}

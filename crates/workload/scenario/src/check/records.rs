//! Frames that carry several records.

use super::Checker;
use super::fields::Fields;

impl Checker<'_> {
    /// The byte that ends each record.
    pub(super) fn records(&mut self, fields: &Fields<'_>) -> Option<u8> {
        let word = self.word(fields.get("records")?, "the byte that ends each record")?;
        let byte = match word.text.as_bytes() {
            [byte] => Some(*byte),
            _ => units::from_hex(word.text.strip_prefix("0x").unwrap_or_default())
                .and_then(|bytes| <[u8; 1]>::try_from(bytes).ok())
                .map(|[byte]| byte),
        };
        if byte.is_none() {
            let message = format!("`{}` is not one byte", word.text);
            self.diagnostics
                .error("bad-records", &word.place, message)
                .hint("write \"\\n\" for lines, or a byte in hexadecimal: 0x1e");
        }
        byte
    }
}

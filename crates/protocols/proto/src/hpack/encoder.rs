//! Fields → header blocks, without a dynamic table.

use alloc::vec::Vec;

use super::{integer, statics};

/// Fields that no one on the way may keep in a table, since their values are secrets (RFC 7541 §7.1.3).
const SECRETS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];
/// A literal that is not added to the table, and one that nobody may add.
const NOT_ADDED: u8 = 0;
const NEVER_ADDED: u8 = 0x10;

/// Appends a field. `name` is in lower case.
pub fn encode_field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    let found = statics::find(name, value);
    if let Some((index, true)) = found {
        return integer::put(out, 0x80, 7, index);
    }
    let kind = match SECRETS.contains(&name) {
        true => NEVER_ADDED,
        false => NOT_ADDED,
    };
    match found {
        Some((index, _)) => integer::put(out, kind, 4, index),
        None => {
            out.push(kind);
            string(out, name.as_bytes());
        }
    }
    string(out, value);
}

/// Appends what says that the table is to count no more than this from now on (§6.3).
pub fn encode_table_size(out: &mut Vec<u8>, size_max: usize) {
    integer::put(out, 0x20, 5, size_max);
}

/// A string as it is: its Huffman code would save bytes but cost both sides time.
fn string(out: &mut Vec<u8>, text: &[u8]) {
    integer::put(out, 0, 7, text.len());
    out.extend_from_slice(text);
}

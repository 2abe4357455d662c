//! Fuzzing the heads of requests to the live page: each is read, refused or incomplete, and how its bytes were cut
//! changes nothing.

use httpd::Head;

/// Requests' heads.
pub(crate) fn heads(data: &[u8]) {
    let whole = Head::parse(data);
    for end in 0..data.len() {
        // What is complete, or refused, stays so.
        if let Ok(Some(head)) = Head::parse(&data[..end]) {
            assert!(matches!(&whole, Ok(Some(found)) if found.path == head.path));
        }
    }
}

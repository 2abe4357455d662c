//! Parts of the documents that tests write.

use std::fmt::Display;

use super::needs::root;

/// Compares blocks of a document with what the code says. Each is named, and stands between the lines `<!-- KIND: NAME -->`
/// and `<!-- end -->`. `UPDATE=1` writes them there; one test writes all that it does to a document in one call.
#[track_caller]
pub fn assert_blocks<N: Display>(
    document: &str,
    kind: &str,
    blocks: impl IntoIterator<Item = (N, String)>,
) {
    let path = root().join(document);
    let before = std::fs::read_to_string(&path).unwrap();
    let mut text = before.clone();
    for (name, block) in blocks {
        let begin = format!("<!-- {kind}: {name} -->\n");
        let Some(marker) = text.find(&begin) else { panic!("{document} has no place for {begin}") };
        let start = marker + begin.len();
        let length = text[start..].find("<!-- end -->").expect("each block has its end");
        text.replace_range(start..start + length, &block);
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    } else {
        assert!(text == before, "{document} is behind the code: run this test with UPDATE=1");
    }
}

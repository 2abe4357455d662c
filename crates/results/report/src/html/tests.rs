//! Files that hold a document and nothing of others.

use crate::page::tests::{HOSTILE, page};

#[test]
fn a_note_is_text_above_the_page() {
    let html = page().html();
    let noted = super::with_note(html.as_bytes(), HOSTILE);
    let noted = String::from_utf8(noted).unwrap();
    assert!(noted.contains("<body>\n<aside class=\"run-note\""));
    assert!(!noted.contains("<img"), "no markup of a note");
    assert_eq!(noted.matches("<script").count(), 2);
    assert_eq!(
        noted.len() - noted.find("<noscript>").unwrap(),
        html.len() - html.find("<noscript>").unwrap()
    );
    assert_eq!(super::with_note(b"as written", "a note"), b"as written");
}

#[test]
fn a_page_is_one_file_that_runs_nothing_else() {
    let html = page().html();
    assert_eq!(html.matches("</script").count(), 2, "the document's end and the script's");
    assert_eq!(html.matches("<script").count(), 2);
    assert!(!html.contains("<img"), "no markup of a string");
    // Nothing is loaded: not a picture, not a font.
    let head = html.split("<style>").next().unwrap();
    assert!(head.contains("default-src 'none'"), "{head}");
    assert!(!head.contains("unsafe"), "{head}");
    assert!(!head.contains("http:") && !head.contains("https:"), "{head}");
}

#[test]
fn the_policy_names_the_script_by_its_hash() {
    // `printf '' | sha256sum`, in base64: how CSP 3 writes it.
    assert_eq!(super::source(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

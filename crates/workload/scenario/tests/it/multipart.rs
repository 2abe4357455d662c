//! Bodies of several parts (RFC 7578).

use plan::expr::TemplatePart;
use plan::{HttpOp, Op};

use crate::{compile_with, plan, rendered, with_steps};

#[track_caller]
fn request(step: &str) -> HttpOp {
    let mut plan = plan(&with_steps(step));
    let op = plan.sessions[0].ops.pop();
    match op {
        Some(Op::Http(http)) => *http,
        other => panic!("{other:?}"),
    }
}

/// The body, with an expression as `$`, and the content type.
fn encoded(http: &HttpOp) -> (Vec<u8>, String) {
    let mut bytes = Vec::new();
    for part in &http.body.as_ref().expect("a body").parts {
        match part {
            TemplatePart::Text(text) => bytes.extend_from_slice(text.as_bytes()),
            TemplatePart::Bytes(file) => bytes.extend_from_slice(file),
            TemplatePart::Expr(..) => bytes.push(b'$'),
        }
    }
    let mut types = http.headers.iter().filter(|(name, _)| name == "content-type");
    let value = types.next().and_then(|(_, value)| value.as_static());
    (bytes, value.unwrap_or_default().to_owned())
}

#[test]
fn fields_and_files_are_parts() {
    let http = request(
        "- post: /upload
  multipart:
    title: \"About ${user}\"
    'a \"b\"': { value: '{}', type: application/json }
    photo:
      - { file: photo.jpg, type: image/jpeg }
      - { file: photo.jpg, name: 'x\"y.bin' }
",
    );
    let (body, content_type) = encoded(&http);
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").expect("a boundary");
    let part = |head: &str, content: &[u8]| {
        let head = format!("--{boundary}\r\ncontent-disposition: form-data; {head}\r\n\r\n");
        [head.as_bytes(), content, b"\r\n"].concat()
    };
    let photo = b"\xff\xd8\xff\x00";
    let expected = [
        part("name=\"title\"", b"About $"),
        part("name=\"a %22b%22\"\r\ncontent-type: application/json", b"{}"),
        part("name=\"photo\"; filename=\"photo.jpg\"\r\ncontent-type: image/jpeg", photo),
        part(
            "name=\"photo\"; filename=\"x%22y.bin\"\r\ncontent-type: application/octet-stream",
            photo,
        ),
        format!("--{boundary}--\r\n").into_bytes(),
    ]
    .concat();
    assert_eq!(String::from_utf8_lossy(&body), String::from_utf8_lossy(&expected));
}

#[test]
fn a_boundary_occurs_in_no_part() {
    let http = request("- { post: /, multipart: { a: \"----throng-part-0000000000000000\" } }\n");
    let (_, content_type) = encoded(&http);
    assert!(content_type.ends_with("----throng-part-0000000000000001"));
}

#[test]
fn wrong_parts_are_named() {
    for (parts, expected) in [
        ("{ a: { file: no.jpg } }", "`no.jpg` cannot be read: no such file"),
        ("{ a: { file: broken.jpg } }", "`broken.jpg` cannot be read"),
        ("{ a: { type: text/plain } }", "a part needs either `file` or `value`"),
        ("{ a: { file: photo.jpg, value: x } }", "a part needs either `file` or `value`"),
        ("{ a: { file: photo.jpg, type: \"a\\r\\nb: c\" } }", "line breaks"),
        ("[ a ]", "expected a mapping of names and values"),
        ("{ a: b }\n  json: { a: 1 }", "both `json` and `multipart`"),
    ] {
        let text = with_steps(&format!("- post: /\n  multipart: {parts}\n"));
        let (plan, diagnostics) = compile_with(&text, &[]);
        assert!(plan.is_none(), "{parts}");
        let shown = rendered(&text, &[]);
        assert!(shown.contains(expected), "{parts}: {shown} {diagnostics:?}");
    }
}

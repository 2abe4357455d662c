//! What is answered, with all that a browser needs to know to keep it safe.

use std::io::{self, Write};

/// What a page may do: load its own script and style from here, ask here, and nothing else (CSP 3).
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src data: blob:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
/// What a file that was found may do: run what it holds, within an origin of its own that is nobody's
/// (CSP 3, `sandbox`). It reaches neither this server nor what a browser keeps for it, and loads nothing.
pub(crate) const FILE_POLICY: &str = "sandbox allow-scripts allow-downloads; default-src 'none'; \
                                      script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                                      img-src data: blob:; base-uri 'none'; form-action 'none'; \
                                      frame-ancestors 'none'";

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply<'a> {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) policy: &'static str,
    pub(crate) body: &'a [u8],
    pub(crate) cookie: Option<String>,
}

impl<'a> Reply<'a> {
    pub(crate) fn text(status: u16, body: &'a str) -> Reply<'a> {
        Reply {
            status,
            kind: "text/plain; charset=utf-8",
            policy: POLICY,
            body: body.as_bytes(),
            cookie: None,
        }
    }

    pub(crate) fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut head = head_within(self.policy, self.status, self.kind);
        head += &format!("Content-Length: {}\r\n", self.body.len());
        if let Some(cookie) = &self.cookie {
            head += &format!("Set-Cookie: {cookie}\r\n");
        }
        head += "\r\n";
        to.write_all(head.as_bytes())?;
        to.write_all(self.body)
    }
}

/// The head of an answer, but for its last line.
pub(crate) fn head(status: u16, kind: &str) -> String {
    head_within(POLICY, status, kind)
}

fn head_within(policy: &str, status: u16, kind: &str) -> String {
    let reason = match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    // A page in a sandbox belongs to no origin that could keep openers out (HTML standard §7.1.3).
    let opener = match policy.starts_with("sandbox") {
        true => "",
        false => "Cross-Origin-Opener-Policy: same-origin\r\n",
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Security-Policy: {policy}\r\n\
         X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n{opener}\
         Referrer-Policy: no-referrer\r\nConnection: close\r\n"
    )
}

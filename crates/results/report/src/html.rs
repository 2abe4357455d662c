//! The HTML file around a document.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use record::controls::is_control;
use sha2::{Digest, Sha256};

use crate::page::Page;

/// A page that a server serves: its document comes later, its policy with the reply.
macro_rules! served {
    ($what:literal, $without_script:literal) => {
        concat!(
            "<!doctype html>\n<html lang=\"en\" data-",
            $what,
            ">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>Throng</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"page.css\">\n</head>\n\
             <body>\n<noscript>",
            $without_script,
            "</noscript>\n<script src=\"page.js\"></script>\n</body>\n</html>\n"
        )
    };
}

/// The page of a run in progress.
pub const LIVE_HTML: &str =
    served!("live", "This page needs its script to show the run, and scripts are disabled.");

/// The page that lists results.
pub const INDEX_HTML: &str =
    served!("index", "This page needs its script to list results, and scripts are disabled.");

/// The page's script, built from `web/`; `build.rs` checks that it exists.
pub const SCRIPT: &str = include_str!("../../../../web/dist/page.js");
/// The page's style, likewise.
pub const STYLE: &str = include_str!("../../../../web/dist/page.css");

impl Page {
    /// The complete file. It loads nothing, and its policy allows only its own script.
    pub fn html(&self) -> String {
        let title = escaped(&self.title);
        let sentences = self.sentences.iter();
        let sentences = sentences
            .fold(String::new(), |text, sentence| text + "<li>" + &escaped(sentence) + "</li>\n");
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; img-src data: blob:; \
             base-uri 'none'; form-action 'none'",
            source(SCRIPT),
            source(STYLE)
        );
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <noscript>\n<h1>{title}</h1>\n<ul>\n{sentences}</ul>\n\
             <p>This page needs its script to draw the figures, and scripts are disabled.</p>\n\
             </noscript>\n\
             <script type=\"application/json\" id=\"document\">{}</script>\n\
             <script>{SCRIPT}</script>\n</body>\n</html>\n",
            self.json
        )
    }
}

/// A report with the note on its run above it. What has no body is no page of ours, and is left as it is.
pub fn with_note(html: &[u8], note: &str) -> Vec<u8> {
    const BODY: &[u8] = b"<body>\n";
    let found = html.windows(BODY.len()).position(|part| part == BODY);
    let Some(at) = found.map(|at| at + BODY.len()) else {
        return html.to_vec();
    };
    let aside = format!(
        "<aside class=\"run-note\" aria-label=\"Note\">Note: <q>{}</q></aside>\n",
        escaped(note)
    );
    [&html[..at], aside.as_bytes(), &html[at..]].concat()
}

/// The source expression of a script or style in a policy (CSP 3, §2.3.1).
fn source(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// Text between tags.
fn escaped(text: &str) -> String {
    let shown = text.replace(is_control, "\u{fffd}");
    shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;

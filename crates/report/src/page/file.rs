//! The file around a document.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::Page;

/// A page that a server serves: what is drawn comes later, and its policy comes with it.
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

/// The page of a run that goes on.
pub const LIVE_HTML: &str = served!(
    "live",
    "A run is shown live by this page's own script, which is switched off here."
);

/// The page that lists results.
pub const INDEX_HTML: &str = served!(
    "index",
    "Results are listed by this page's own script, which is switched off here."
);

/// The page's script, built from `web/`; `build.rs` sees to it that they are there.
pub const SCRIPT: &str = include_str!("../../../../web/dist/page.js");
/// As [`SCRIPT`].
pub const STYLE: &str = include_str!("../../../../web/dist/page.css");

impl Page {
    /// The whole file. It loads nothing, and its policy lets nothing run but its own script.
    pub fn html(&self) -> String {
        let title = escaped(&self.title);
        let sentences = self.sentences.iter();
        let sentences = sentences.fold(String::new(), |text, sentence| {
            text + "<li>" + &escaped(sentence) + "</li>\n"
        });
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
             <p>The figures are drawn by this page's own script, which is switched off here.</p>\n\
             </noscript>\n\
             <script type=\"application/json\" id=\"document\">{}</script>\n\
             <script>{SCRIPT}</script>\n</body>\n</html>\n",
            self.json
        )
    }
}

/// How a policy names what may run (CSP 3, §2.3.1).
pub(super) fn source(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// Text between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

//! Targets at Unix sockets: `unix:/run/app.sock`, or with a base path `unix:/run/app.sock:/api`, as nginx writes them.

use std::path::Path;

use plan::{Endpoint, Via};

use super::Checker;
use crate::document::node::Place;

/// Bytes of a path that an address has room for (`sun_path` of unix(7), without the final zero).
const PATH_BYTES_MAX: usize = 107;
/// Beginning of a target that is a socket's path.
const SCHEME: &str = "unix:";

impl Checker<'_> {
    /// The endpoint of a target at a Unix socket; `None`: it is at another place. An error leaves no endpoint.
    pub(super) fn unix_target(&mut self, text: &str, place: &Place) -> Option<Option<Endpoint>> {
        let rest = text.strip_prefix(SCHEME)?;
        let (file, base_path) = rest.split_once(':').unwrap_or((rest, ""));
        Some(self.unix_endpoint(file, base_path, place))
    }

    fn unix_endpoint(&mut self, file: &str, base_path: &str, place: &Place) -> Option<Endpoint> {
        let form = "write unix:/run/app.sock, or unix:/run/app.sock:/api for paths below /api";
        // What some programs write after the scheme of a URL.
        if file.is_empty() || file.starts_with("//") || file.contains('\0') {
            self.diagnostics
                .error("bad-url", place, "the path of the Unix socket is missing")
                .hint(form);
            return None;
        }
        if !base_path.is_empty() && !base_path.starts_with('/') {
            let message = format!("`{base_path}` is not a path that requests can begin with");
            self.diagnostics.error("bad-url", place, message).hint(form);
            return None;
        }
        if base_path.contains(['?', '#']) {
            self.diagnostics
                .error("bad-url", place, "a target's URL has no query and no fragment")
                .hint("write them in the steps' paths");
            return None;
        }
        self.path_text(base_path, place)?;
        let path = self.folder.join(file);
        // What was text stays text.
        let path = path.to_string_lossy().into_owned();
        if path.len() > PATH_BYTES_MAX {
            let message = format!(
                "the path of the Unix socket has {} bytes, of at most {PATH_BYTES_MAX}",
                path.len()
            );
            self.diagnostics
                .error("bad-url", place, message)
                .hint("place the socket nearer to the root, or use a symbolic link");
            return None;
        }
        Some(Endpoint {
            tls: false,
            host: "localhost".to_owned(),
            port: 80,
            base_path: base_path.trim_end_matches('/').to_owned(),
            via: Via::Unix(path),
        })
    }
}

/// The folder that files of a scenario of this name are relative to.
pub(super) fn folder_of(source_name: &str) -> &Path {
    match source_name.contains("://") {
        true => Path::new(""),
        false => Path::new(source_name).parent().unwrap_or(Path::new("")),
    }
}

//! URLs that variables hold.

use plan::expr::{Escape, Value};

/// The path and query of a located request: the variable's URL without its scheme and host.
pub fn path_below(value: &Value, base_path: &str) -> Vec<u8> {
    let mut text = Vec::new();
    value.write_escaped(Escape::UrlRaw, &mut text);
    let text = String::from_utf8_lossy(&text);
    let path = match split(&text) {
        Some((_, authority)) => {
            let after = text.find("://").map_or(0, |at| at + 3) + authority.len();
            text[after..].to_owned()
        }
        None => format!("{base_path}{}{text}", slash_before(&text)),
    };
    format!("{}{path}", slash_before(&path)).into_bytes()
}

fn slash_before(path: &str) -> &'static str {
    if path.starts_with('/') { "" } else { "/" }
}

/// Whether a URL wants TLS, and its host and port as written; `None`: it is a path.
pub fn split(text: &str) -> Option<(bool, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let tls = match scheme {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    Some((tls, authority))
}

/// Host and port without the one that the scheme stands for.
pub fn without_default_port(tls: bool, authority: &str) -> &str {
    let port = if tls { ":443" } else { ":80" };
    authority.strip_suffix(port).unwrap_or(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_url_leaves_its_path() {
        let path = |text: &str| String::from_utf8(path_below(&Value::text(text), "/base")).unwrap();
        assert_eq!(path("/a%20b c"), "/base/a%20b%20c");
        assert_eq!(path("a"), "/base/a");
        assert_eq!(path("http://host:80/x?y=1"), "/x?y=1");
        assert_eq!(path("https://host"), "/");
        assert_eq!(path("https://host?q"), "/?q");
        assert_eq!(path("ftp://host/x"), "/base/ftp://host/x");
    }

    #[test]
    fn only_whole_urls_have_a_host() {
        assert_eq!(split("http://a:1/x"), Some((false, "a:1")));
        assert_eq!(split("https://a"), Some((true, "a")));
        assert_eq!(split("/x?u=http://a"), None);
        assert_eq!(split(""), None);
    }
}

//! Paths of files, as scripts write them.

/// A path without `.`, and `..` where it can be left out: `./a/../b.js` is `b.js`.
pub(crate) fn plain(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if !matches!(parts.last(), None | Some(&("" | ".."))) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The file that `written` means in the file `base`, relative to the script's folder. What is at another host may lie in a
/// folder of the host's name. The error says why it can be none.
pub(crate) fn resolve(base: &str, written: &str) -> Result<String, String> {
    let remote = ["https://", "http://"].iter().find_map(|scheme| written.strip_prefix(scheme));
    let base = if remote.is_some() { "" } else { base };
    let path = remote.or_else(|| written.strip_prefix("file://")).unwrap_or(written);
    if path.starts_with('/') {
        return Err(format!(
            "`{written}` is an absolute path: files have to lie in the script's folder"
        ));
    }
    let folder = base.rfind('/').map_or("", |end| &base[..=end]);
    let name = plain(&format!("{folder}{path}"));
    match name == ".." || name.starts_with("../") {
        true => Err(format!("`{written}` is outside of the script's folder")),
        false => Ok(name),
    }
}

/// A path within a folder, made plain; `None`: it leads elsewhere, or names no file.
pub(crate) fn inside(written: &str) -> Option<String> {
    let name = resolve("", written).ok()?;
    let is_file = !name.is_empty() && !written.ends_with('/') && !name.contains('\0');
    is_file.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_written_lie_in_a_folder() {
        assert_eq!(inside("./out/a.json").as_deref(), Some("out/a.json"));
        for outside in ["/tmp/a", "../a", "a/../../b", "", ".", "a/", "file:///tmp/a"] {
            assert_eq!(inside(outside), None, "{outside}");
        }
    }

    #[test]
    fn files_lie_in_the_scripts_folder() {
        assert_eq!(resolve("script.js", "./lib/../a.json").unwrap(), "a.json");
        assert_eq!(resolve("lib/b.js", "../a.js").unwrap(), "a.js");
        assert_eq!(resolve("lib/b.js", "c.js").unwrap(), "lib/c.js");
        assert!(resolve("lib/b.js", "../../a.js").unwrap_err().contains("outside"));
        assert!(resolve("b.js", "/etc/passwd").unwrap_err().contains("absolute"));
        let of_host = resolve("lib/b.js", "https://host.test/lib/../a.js").unwrap();
        assert_eq!(of_host, "host.test/a.js");
        for outside in
            ["https://../a.js", "https://host.test/../../a.js", "http://..", "file://../../a.js"]
        {
            assert!(resolve("lib/b.js", outside).unwrap_err().contains("outside"), "{outside}");
        }
        for absolute in ["https:///etc/passwd", "http:///etc/passwd", "file:///etc/passwd"] {
            assert!(resolve("b.js", absolute).unwrap_err().contains("absolute"), "{absolute}");
        }
    }
}

//! Sees to it that the page is there, which `web/` builds and the `web` feature takes in.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_WEB").is_none() {
        return;
    }
    let dist = Path::new("../../web/dist");
    for name in ["page.js", "page.css"] {
        let file = dist.join(name);
        println!("cargo::rerun-if-changed={}", file.display());
        let Ok(text) = std::fs::read_to_string(&file) else {
            println!(
                "cargo::error=web/dist/{name} is missing: build the page with scripts/web.sh (it takes \
                 Node), or build Throng without it by --no-default-features"
            );
            continue;
        };
        // Either would end its element in the middle.
        for end in ["</script", "</style"] {
            if text.to_ascii_lowercase().contains(end) {
                println!("cargo::error=web/dist/{name} holds {end:?} and cannot stand in a page");
            }
        }
    }
}

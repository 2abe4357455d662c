//! Sees to it that the page is there, which `web/` builds and the `pages` feature takes in.

use std::path::Path;
use std::time::Duration;

/// How long the page is waited for where it is built beside this: npm installs what it is made of.
const PAGE_WAIT: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(100);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_PAGES").is_none() {
        return;
    }
    wait_for_page();
    let dist = Path::new("../../../web/dist");
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

/// If `scripts/quick.sh` builds the page meanwhile, waits until that has succeeded or failed: then the file is there that
/// it names.
fn wait_for_page() {
    let Some(ended) = std::env::var_os("THRONG_PAGE_ENDED") else {
        return;
    };
    for _ in 0..PAGE_WAIT.as_millis() / POLL.as_millis() {
        if Path::new(&ended).exists() {
            return;
        }
        std::thread::park_timeout(POLL);
    }
}

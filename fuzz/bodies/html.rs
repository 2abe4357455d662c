//! Fuzzing selectors and the pages in which they look for elements: any text. Nothing panics.

use html::{Page, Selector};

/// A selector in the first line, and a page in the rest.
pub(crate) fn selectors(data: &[u8]) {
    let end = data.iter().position(|&byte| byte == b'\n');
    let (selector, page) = data.split_at(end.unwrap_or(data.len()));
    let selector = match Selector::parse(&String::from_utf8_lossy(selector)) {
        Ok(selector) => selector,
        Err(bad) => {
            assert!(!bad.message.is_empty());
            Selector::parse("*").expect("it is one")
        }
    };
    let Ok(page) = Page::parse(page) else { return };
    let mut found = 0;
    let each = page.each(&selector, None, |_| {
        found += 1;
        found < 100
    });
    if let (Ok(()), Ok(first)) = (each, page.first(&selector, None)) {
        assert_eq!(first.is_some(), found > 0);
    }
}

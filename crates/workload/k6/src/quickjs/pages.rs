//! HTML pages, as the module `k6/html` takes them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use html::{Page, Selector, What};
use serde_json::{Value, json};

/// Parsed pages that a loop keeps: a script that looks at one does it several times.
const PAGES_MAX: usize = 4;

/// The pages that were looked at last, the newest first.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    parsed: RefCell<VecDeque<(String, Rc<Page>)>>,
}

impl Pages {
    fn page(&self, text: &str) -> Result<Rc<Page>, String> {
        let mut parsed = self.parsed.borrow_mut();
        if let Some((_, page)) = parsed.iter().find(|(known, _)| known == text) {
            return Ok(Rc::clone(page));
        }
        let page = Page::parse(text.as_bytes()).map_err(|error| error.to_string())?;
        let page = Rc::new(page);
        parsed.truncate(PAGES_MAX - 1);
        parsed.push_front((text.to_owned(), Rc::clone(&page)));
        Ok(page)
    }

    /// All nodes of a page as JSON: `[parent, name, attributes]`, `[parent, text]` or `[parent]`. The error says why it is not
    /// read.
    pub(crate) fn outline(&self, text: &str) -> Result<String, String> {
        let page = self.page(text)?;
        let nodes = page.outline();
        let nodes = nodes.iter().map(|node| match &node.what {
            What::Element { name, attributes } => {
                let attributes: serde_json::Map<String, Value> = attributes
                    .iter()
                    .map(|&(name, value)| (name.to_owned(), value.into()))
                    .collect();
                json!([node.parent, name, attributes])
            }
            What::Text(text) => json!([node.parent, text]),
            What::Other => json!([node.parent]),
        });
        Ok(Value::Array(nodes.collect()).to_string())
    }

    /// The numbers of the elements that a selector names. The error says what is wrong with it.
    pub(crate) fn select(&self, text: &str, selector: &str) -> Result<Vec<u32>, String> {
        let parsed = Selector::parse(selector)
            .map_err(|error| format!("the selector {selector:?}: {error}; {}", error.hint))?;
        self.page(text)?.numbers(&parsed).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_parsed_once() {
        let pages = Pages::default();
        let text = "<p id='a'>x</p>";
        assert_eq!(
            pages.outline(text).unwrap(),
            r#"[[0],[0,"html",{}],[1,"head",{}],[1,"body",{}],[3,"p",{"id":"a"}],[4,"x"]]"#
        );
        assert_eq!(pages.select(text, "p").unwrap(), [4]);
        assert_eq!(pages.parsed.borrow().len(), 1);
        for number in 0..10 {
            pages.outline(&number.to_string()).unwrap();
        }
        assert_eq!(pages.parsed.borrow().len(), PAGES_MAX);
        let error = pages.select(text, "p:contains(x)").unwrap_err();
        assert!(error.contains("p:contains(x)"), "{error}");
    }
}

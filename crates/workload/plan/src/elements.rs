//! Elements of HTML pages that CSS selectors name.

use html::{Page, Selector, TooMuch};
use serde::{Serialize, Serializer};

use crate::expr::value::write_json_text;
use crate::expr::{LIST_BYTES_MAX, Value};

/// A selector of elements, and the value that is saved from them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Elements {
    #[serde(serialize_with = "selector_text")]
    pub selector: Selector,
    /// The value of this attribute, of elements that have it; `None`: an element's text.
    pub attribute: Option<String>,
    /// The values of all of them are saved, as a list in JSON text; otherwise that of the first
    /// one.
    pub all: bool,
}

fn selector_text<S: Serializer>(selector: &Selector, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(selector.text())
}

impl Elements {
    /// The value to save from a page; `None`: there is no such element, or the list would be too
    /// long.
    ///
    /// # Errors
    /// If the search takes too much work.
    pub fn value(&self, page: &Page) -> Result<Option<Value>, TooMuch> {
        let attribute = self.attribute.as_deref();
        if !self.all {
            let first = page.first(&self.selector, attribute)?;
            return Ok(first.map(|first| Value::text(&first)));
        }
        let mut list = b"[".to_vec();
        page.each(&self.selector, attribute, |value| {
            if list.len() > 1 {
                list.push(b',');
            }
            list.push(b'"');
            write_json_text(&value, &mut list);
            list.push(b'"');
            list.len() <= LIST_BYTES_MAX
        })?;
        if list.len() > LIST_BYTES_MAX {
            return Ok(None);
        }
        list.push(b']');
        Ok(String::from_utf8(list).ok().map(|list| Value::text(&list)))
    }

    /// Text of the error that the page has no such elements.
    pub(crate) fn missing(&self) -> String {
        let selector = self.selector.text();
        match (&self.attribute, self.all) {
            (_, true) => format!("no list of elements `{selector}`"),
            (Some(name), false) => format!("no element `{selector}` with the attribute `{name}`"),
            (None, false) => format!("no element `{selector}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(attribute: Option<&str>, all: bool) -> Elements {
        Elements {
            selector: Selector::parse("a.x").unwrap(),
            attribute: attribute.map(str::to_owned),
            all,
        }
    }

    #[test]
    fn the_first_element_is_a_text_and_all_are_a_list() {
        let page = Page::parse(b"<a class=x>1<a class=x href='/\"q'>2<a>3").unwrap();
        for (attribute, all, expected) in [
            (None, false, "1"),
            (Some("href"), false, "/\"q"),
            (None, true, r#"["1","2"]"#),
            (Some("href"), true, r#"["/\"q"]"#),
            (Some("id"), true, "[]"),
        ] {
            let value = elements(attribute, all).value(&page);
            assert_eq!(value, Ok(Some(Value::text(expected))));
        }
        assert_eq!(elements(Some("id"), false).value(&page), Ok(None));
    }

    #[test]
    fn a_list_that_is_too_long_is_none() {
        // Each element has the text of those inside of it.
        let html = format!("{}{}", "<div class=x>".repeat(200), "x".repeat(200_000));
        let page = Page::parse(html.as_bytes()).unwrap();
        let elements =
            Elements { selector: Selector::parse("div.x").unwrap(), attribute: None, all: true };
        assert_eq!(elements.value(&page), Ok(None));
    }

    #[test]
    fn many_elements_in_each_other_are_too_much_work() {
        let html = format!("{}{}", "<div class=x>".repeat(400), "<br>".repeat(60_000));
        let page = Page::parse(html.as_bytes()).unwrap();
        let of =
            |all| Elements { selector: Selector::parse("div.x").unwrap(), attribute: None, all };
        assert_eq!(of(true).value(&page), Err(TooMuch::Work));
        assert_eq!(of(false).value(&page), Ok(Some(Value::text(""))));
    }
}

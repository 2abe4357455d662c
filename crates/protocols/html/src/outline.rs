//! A page's nodes in the order of the document, for who walks through them itself.

use crate::find::Visit;
use crate::page::{DOCUMENT, Page, TooMuch};
use crate::selector::Selector;

/// A node of a page. Its number is its place in the outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlined<'p> {
    /// The number of its parent; that of the document is its own.
    pub parent: u32,
    pub what: What<'p>,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What<'p> {
    Element {
        name: &'p str,
        attributes: Vec<(&'p str, &'p str)>,
    },
    Text(&'p str),
    /// The document, or a comment.
    Other,
}

impl Page {
    /// All nodes, the document first, each before those inside of it.
    pub fn outline(&self) -> Vec<Outlined<'_>> {
        let mut all = Vec::new();
        self.walk(|node, parent| {
            let what = match (self.element(node), self.own_text(node)) {
                (Some(element), _) => What::Element {
                    name: element.name(),
                    attributes: element.attributes().collect(),
                },
                (None, Some(text)) => What::Text(text),
                (None, None) => What::Other,
            };
            all.push(Outlined { parent, what });
        });
        all
    }

    /// The numbers of the elements that the selector names.
    ///
    /// # Errors
    /// If the search takes too much work.
    pub fn numbers(&self, selector: &Selector) -> Result<Vec<u32>, TooMuch> {
        let mut numbers = std::collections::HashMap::new();
        let mut next = 0;
        self.walk(|node, _| {
            numbers.insert(node, next);
            next += 1;
        });
        let mut found = Vec::new();
        self.visit(selector, |Visit { node, .. }| {
            found.extend(numbers.get(&node).copied());
            true
        })?;
        Ok(found)
    }

    /// Calls with each node, and the number of its parent.
    fn walk(&self, mut each: impl FnMut(u32, u32)) {
        let mut next = Some((DOCUMENT, 0));
        // The nodes around the current one, with their numbers.
        let mut around: Vec<(u32, u32)> = Vec::new();
        let mut number = 0;
        while let Some((node, parent)) = next {
            each(node, parent);
            let own = number;
            number += 1;
            if let Some(inside) = self.first_child(node) {
                around.push((node, own));
                next = Some((inside, own));
                continue;
            }
            let mut last = node;
            next = None;
            while let Some(&(outer, outer_number)) = around.last() {
                if let Some(behind) = self.next(last) {
                    next = Some((behind, outer_number));
                    break;
                }
                around.pop();
                last = outer;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_in_the_documents_order() {
        let page = Page::parse(b"<p id=a>x<b>y</b></p><!-- c --><p>z").unwrap();
        let outline = page.outline();
        let shown: Vec<(u32, String)> = outline
            .iter()
            .map(|node| {
                let what = match &node.what {
                    What::Element { name, attributes } => format!("{name}{attributes:?}"),
                    What::Text(text) => format!("'{text}'"),
                    What::Other => "-".to_owned(),
                };
                (node.parent, what)
            })
            .collect();
        let expected = [
            (0, "-"),
            (0, "html[]"),
            (1, "head[]"),
            (1, "body[]"),
            (3, "p[(\"id\", \"a\")]"),
            (4, "'x'"),
            (4, "b[]"),
            (6, "'y'"),
            (3, "-"),
            (3, "p[]"),
            (9, "'z'"),
        ];
        let expected = expected.map(|(parent, what)| (parent, what.to_owned()));
        assert_eq!(shown, expected);
        let of = |selector: &str| page.numbers(&Selector::parse(selector).unwrap()).unwrap();
        assert_eq!(of("p b"), [6]);
        let paragraphs = of("p");
        assert_eq!(paragraphs[0], 4);
        assert_eq!(outline[paragraphs[1] as usize].parent, 3);
        assert!(of("i").is_empty());
    }
}

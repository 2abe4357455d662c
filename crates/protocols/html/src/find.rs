//! Elements of a page that a selector names.
//!
//! The page is walked through once, in document order. A number of 64 bits says which parts of the selector an element is
//! the last of; whether it is follows from the numbers of those around and before it. So the work is that of comparing
//! each element with each part, whatever the selector.

use crate::page::{DOCUMENT, Element, Page, TooMuch};
use crate::selector::{Compound, Holds, Relation, Selector, Test};

/// Most work of a search: attributes that are compared with tests, and nodes that are walked through for a text.
const WORK_MAX: usize = 1 << 24;

/// The elements around and before an element, as far as tests compare with them.
#[derive(Debug, Clone, Copy, Default)]
struct Around {
    /// Parts that its parent is, and any element around it.
    parent: u64,
    above: u64,
    /// Parts that the element before it is, and any of those before it.
    previous: u64,
    before: u64,
    /// Elements before it.
    place: u32,
}

/// An element that may match, with its place in the page.
struct Candidate<'p> {
    page: &'p Page,
    node: u32,
    element: &'p Element,
    /// From 1.
    place: u32,
}

/// An element that a selector names.
pub(crate) struct Visit<'v> {
    pub(crate) node: u32,
    pub(crate) element: &'v Element,
    /// The work of the search so far.
    pub(crate) work: &'v mut usize,
}

impl Page {
    /// The first value that [`Page::each`] finds.
    ///
    /// # Errors
    /// If the search takes too much work.
    pub fn first(
        &self,
        selector: &Selector,
        attribute: Option<&str>,
    ) -> Result<Option<String>, TooMuch> {
        let mut first = None;
        self.each(selector, attribute, |value| {
            first = Some(value);
            false
        })?;
        Ok(first)
    }

    /// Calls `found` with a value of each element that the selector names, in the page's order, until it returns false:
    /// with this attribute, if the element has it, or else with the element's text without the space around it.
    ///
    /// # Errors
    /// If the search takes too much work. What was found before has been passed on.
    pub fn each(
        &self,
        selector: &Selector,
        attribute: Option<&str>,
        mut found: impl FnMut(String) -> bool,
    ) -> Result<(), TooMuch> {
        self.visit(selector, |Visit { node, element, work }| {
            let value = self.value(node, element, attribute, work);
            value.is_none_or(&mut found)
        })
    }

    /// Calls `found` with each element that the selector names, until it returns false.
    pub(crate) fn visit(
        &self,
        selector: &Selector,
        mut found: impl FnMut(Visit<'_>) -> bool,
    ) -> Result<(), TooMuch> {
        let mut work = 0;
        let mut levels = vec![Around::default()];
        let mut next = self.first_child(DOCUMENT);
        let mut parent = DOCUMENT;
        while let Some(around) = levels.last_mut() {
            let Some(node) = next else {
                levels.pop();
                // Those behind the parent follow.
                next = self.next(parent);
                parent = self.parent(parent).unwrap_or(DOCUMENT);
                continue;
            };
            let Some(element) = self.element(node) else {
                next = self.next(node);
                continue;
            };
            // Each test may look at each attribute.
            work += selector.tests_count() * element.test_work();
            if work > WORK_MAX {
                return Err(TooMuch::Work);
            }
            around.place += 1;
            let place = around.place;
            let tested = Candidate { page: self, node, element, place };
            let is = parts(selector, around, &tested);
            if is & selector.last != 0 && !found(Visit { node, element, work: &mut work }) {
                return Ok(());
            }
            around.previous = is;
            around.before |= is;
            let inside = Around { parent: is, above: around.above | is, ..Around::default() };
            levels.push(inside);
            (parent, next) = (node, self.first_child(node));
        }
        Ok(())
    }

    fn value(
        &self,
        node: u32,
        element: &Element,
        attribute: Option<&str>,
        work: &mut usize,
    ) -> Option<String> {
        match attribute {
            Some(name) => element.attribute(name).map(str::to_owned),
            None => Some(self.text_inside(node, work)),
        }
    }

    /// All text inside of a node, without the space around it. An element that holds many others is walked through for
    /// its own text and for that of each element around it.
    fn text_inside(&self, top: u32, work: &mut usize) -> String {
        let mut text = String::new();
        let mut node = top;
        loop {
            *work += 1;
            text.push_str(self.own_text(node).unwrap_or_default());
            let mut next = self.first_child(node);
            while next.is_none() && node != top {
                next = self.next(node);
                if next.is_none() {
                    node = self.parent(node).unwrap_or(top);
                }
            }
            match next {
                Some(next) => node = next,
                None => return text.trim_ascii().to_owned(),
            }
        }
    }
}

/// The parts of the selector that an element is the last of.
fn parts(selector: &Selector, around: &Around, tested: &Candidate<'_>) -> u64 {
    let mut is = 0;
    for (place, part) in selector.parts.iter().enumerate() {
        let wanted = match part.relation {
            Relation::First => !0,
            Relation::Inside => around.above << 1,
            Relation::Child => around.parent << 1,
            Relation::Next => around.previous << 1,
            Relation::Later => around.before << 1,
        };
        let bit = 1 << place;
        if wanted & bit != 0 && tested.passes_all(&part.compound) {
            is |= bit;
        }
    }
    is
}

impl Candidate<'_> {
    fn passes_all(&self, compound: &Compound) -> bool {
        compound.tests.iter().all(|test| self.passes(test))
    }

    fn passes(&self, test: &Test) -> bool {
        match test {
            Test::Name(name) => self.element.name().eq_ignore_ascii_case(name),
            Test::Id(id) => self.element.attribute("id") == Some(id),
            Test::Class(class) => words(self.element.attribute("class")).any(|own| own == class),
            Test::Attribute { name, holds, any_case } => {
                let value = self.element.attribute(name);
                value.is_some_and(|value| match any_case {
                    true => held(holds, &value.to_ascii_lowercase()),
                    false => held(holds, value),
                })
            }
            Test::Place { a, b } => {
                let ahead = i64::from(self.place) - i64::from(*b);
                match i64::from(*a) {
                    0 => ahead == 0,
                    a => ahead % a == 0 && ahead / a >= 0,
                }
            }
            Test::LastChild => {
                let mut behind = self.page.from(self.page.next(self.node));
                behind.all(|node| self.page.element(node).is_none())
            }
            Test::Empty => {
                let mut inside = self.page.from(self.page.first_child(self.node));
                inside.all(|node| {
                    self.page.element(node).is_none()
                        && self.page.own_text(node).is_none_or(str::is_empty)
                })
            }
            Test::Root => self.page.parent(self.node) == Some(DOCUMENT),
            Test::Not(compounds) => !compounds.iter().any(|compound| self.passes_all(compound)),
        }
    }
}

fn words(value: Option<&str>) -> impl Iterator<Item = &str> {
    value.unwrap_or_default().split_ascii_whitespace()
}

/// Selectors Level 4 §6.1 and §6.2: an empty text is no part of any value.
fn held(holds: &Holds, value: &str) -> bool {
    match holds {
        Holds::Anything => true,
        Holds::Equal(text) => value == text,
        Holds::Word(text) => words(Some(value)).any(|word| word == text),
        Holds::Dash(text) => {
            let after = value.strip_prefix(text.as_str());
            after.is_some_and(|after| after.is_empty() || after.starts_with('-'))
        }
        Holds::Begin(text) => !text.is_empty() && value.starts_with(text),
        Holds::End(text) => !text.is_empty() && value.ends_with(text),
        Holds::Part(text) => !text.is_empty() && value.contains(text),
    }
}

#[cfg(test)]
mod tests;

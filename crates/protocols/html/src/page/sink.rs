//! Builds a page's tree as the parser says.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, QualName};

use super::{DOCUMENT, Element, Kind, NONE, Node, Page, some};

/// The elements that the parser opens again where they are misnested (HTML standard §13.2.4.3).
const FORMATTING: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];
/// Cost of opening one of them for each that is open, in steps: the parser compares them.
const COMPARED_STEPS: u64 = 8;

pub(super) struct Sink {
    pub(super) page: RefCell<Page>,
    /// Steps through open elements so far.
    pub(super) work: Cell<u64>,
}

impl Sink {
    fn work(&self, steps: u64) {
        self.work.set(self.work.get().saturating_add(steps));
    }

    /// How deep the node is nested that was created last.
    pub(super) fn depth(&self) -> usize {
        let page = self.page.borrow();
        let last = page.nodes.len().checked_sub(1).map(|last| last as u32);
        std::iter::successors(last, |&node| page.parent(node)).count()
    }

    fn create(&self, kind: Kind) -> u32 {
        let nodes = &mut self.page.borrow_mut().nodes;
        nodes.push(Node::alone(kind));
        (nodes.len() - 1) as u32
    }

    /// Charges for the comparisons that a formatting element inside of others is opened with.
    fn charge(&self, parent: u32, child: u32) {
        let page = &mut *self.page.borrow_mut();
        let around = page.element(parent).map_or(0, |element| element.formatting);
        if let Kind::Element(element) = &mut page.nodes[child as usize].kind {
            let is_formatting = FORMATTING.contains(&element.name());
            element.formatting = around + u32::from(is_formatting);
            let compared = COMPARED_STEPS + 4 * element.attributes.len() as u64;
            self.work(u64::from(is_formatting) * u64::from(around) * compared);
        }
    }

    fn insert(&self, parent: u32, before: u32, child: NodeOrText<u32>) {
        let child = match child {
            NodeOrText::AppendNode(child) => {
                self.charge(parent, child);
                self.page.borrow_mut().detach(child);
                child
            }
            NodeOrText::AppendText(text) => {
                if self.page.borrow_mut().extended(parent, before, &text) {
                    return;
                }
                self.create_text(&text)
            }
        };
        self.page.borrow_mut().attach(parent, before, child);
    }

    fn create_text(&self, text: &str) -> u32 {
        let (start, end) = self.page.borrow_mut().push_text(text);
        self.create(Kind::Text(start, end))
    }
}

impl Page {
    fn node(&mut self, node: u32) -> &mut Node {
        &mut self.nodes[node as usize]
    }

    /// Appends the text to that of the page: its beginning and its end there.
    fn push_text(&mut self, text: &str) -> (u32, u32) {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        (start, self.text.len() as u32)
    }

    /// Takes a node out of its parent, if it has one.
    fn detach(&mut self, child: u32) {
        let own = self.node(child);
        let parent = own.parent;
        let before = own.before;
        let after = own.after;
        (own.parent, own.before, own.after) = (NONE, NONE, NONE);
        let Some(parent) = some(parent) else { return };
        match some(before) {
            Some(before) => self.node(before).after = after,
            None => self.node(parent).first = after,
        }
        match some(after) {
            Some(after) => self.node(after).before = before,
            None => self.node(parent).last = before,
        }
    }

    /// Puts a node that has no parent before another one, or at the end.
    fn attach(&mut self, parent: u32, after: u32, child: u32) {
        let before = match some(after) {
            Some(after) => std::mem::replace(&mut self.node(after).before, child),
            None => std::mem::replace(&mut self.node(parent).last, child),
        };
        match some(before) {
            Some(before) => self.node(before).after = child,
            None => self.node(parent).first = child,
        }
        let own = self.node(child);
        (own.parent, own.before, own.after) = (parent, before, after);
    }

    /// Appends to the text that stands there, if it is the last of the page's.
    fn extended(&mut self, parent: u32, after: u32, text: &str) -> bool {
        let before = match some(after) {
            Some(after) => self.node(after).before,
            None => self.node(parent).last,
        };
        let length = self.text.len() as u32;
        let Some(before) = some(before) else {
            return false;
        };
        match &mut self.node(before).kind {
            Kind::Text(_, end) if *end == length => {
                *end += text.len() as u32;
                self.text.push_str(text);
                true
            }
            _ => false,
        }
    }
}

impl TreeSink for Sink {
    type Handle = u32;
    type Output = Sink;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Sink {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> u32 {
        DOCUMENT
    }

    fn elem_name<'a>(&'a self, target: &'a u32) -> Ref<'a, QualName> {
        self.work(1);
        Ref::map(self.page.borrow(), |page| match &page.nodes[*target as usize].kind {
            Kind::Element(element) => &element.name,
            kind => unreachable!("the parser wants the name of {kind:?}"),
        })
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> u32 {
        self.create(Kind::Element(Element { name, attributes, formatting: 0 }))
    }

    fn create_comment(&self, _: StrTendril) -> u32 {
        self.create(Kind::Other)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> u32 {
        self.create(Kind::Other)
    }

    fn append(&self, parent: &u32, child: NodeOrText<u32>) {
        self.insert(*parent, NONE, child);
    }

    fn append_based_on_parent_node(&self, element: &u32, previous: &u32, child: NodeOrText<u32>) {
        let parent = self.page.borrow().parent(*element);
        match parent {
            Some(parent) => self.insert(parent, *element, child),
            None => self.insert(*previous, NONE, child),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// The contents of a template are looked at like other elements.
    fn get_template_contents(&self, target: &u32) -> u32 {
        *target
    }

    fn same_node(&self, a: &u32, b: &u32) -> bool {
        self.work(1);
        a == b
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &u32, child: NodeOrText<u32>) {
        let parent = self.page.borrow().parent(*sibling);
        if let Some(parent) = parent {
            self.insert(parent, *sibling, child);
        }
    }

    fn add_attrs_if_missing(&self, target: &u32, attributes: Vec<Attribute>) {
        let page = &mut *self.page.borrow_mut();
        let Kind::Element(element) = &mut page.node(*target).kind else {
            return;
        };
        self.work((element.attributes.len() * attributes.len()) as u64);
        for attribute in attributes {
            if element.attribute(&attribute.name.local).is_none() {
                element.attributes.push(attribute);
            }
        }
    }

    fn remove_from_parent(&self, target: &u32) {
        self.page.borrow_mut().detach(*target);
    }

    fn reparent_children(&self, node: &u32, new_parent: &u32) {
        let page = &mut *self.page.borrow_mut();
        while let Some(child) = page.first_child(*node) {
            self.work(1);
            page.detach(child);
            page.attach(*new_parent, NONE, child);
        }
    }
}

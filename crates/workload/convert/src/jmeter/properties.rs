//! Elements of a test plan and their properties.

use std::ops::Range;

use roxmltree::Node;

/// An element's name in its start tag.
pub(super) fn opening(node: Node<'_, '_>) -> Range<usize> {
    let range = node.range();
    let end = range.start + 1 + node.tag_name().name().len();
    range.start..end.min(range.end)
}

/// The elements of a tree, each with the tree of what stands below it; those that are switched off are left out, as
/// JMeter leaves them out.
pub(super) fn children<'d, 'i: 'd>(
    tree: Node<'d, 'i>,
) -> impl Iterator<Item = (Node<'d, 'i>, Option<Node<'d, 'i>>)> {
    let elements = tree.children().filter(Node::is_element);
    let elements = elements.filter(|node| node.tag_name().name() != "hashTree");
    let with_tree = elements.map(|node| {
        let next = node.next_sibling_element();
        (node, next.filter(|next| next.tag_name().name() == "hashTree"))
    });
    with_tree.filter(|(node, _)| node.attribute("enabled") != Some("false"))
}

/// Whether neither an element nor one around it is switched off.
pub(super) fn is_on(node: Node<'_, '_>) -> bool {
    let is_off = |node: Node<'_, '_>| node.attribute("enabled") == Some("false");
    node.ancestors().all(|around| {
        let is_tree = around.tag_name().name() == "hashTree";
        let head = around.prev_sibling_element().filter(|_| is_tree);
        !is_off(around) && !head.is_some_and(is_off)
    })
}

/// What an element is: its tag; for the general ones its class.
pub(super) fn kind<'d>(node: Node<'d, '_>) -> &'d str {
    node.tag_name().name()
}

/// The name that people gave to an element.
pub(super) fn label(node: Node<'_, '_>) -> String {
    let name = node.attribute("testname").unwrap_or_default();
    name.chars().filter(|c| !c.is_control()).take(100).collect::<String>().trim().to_owned()
}

/// The property of this name.
pub(super) fn property<'d, 'i: 'd>(node: Node<'d, 'i>, name: &str) -> Option<Node<'d, 'i>> {
    node.children().find(|child| child.is_element() && child.attribute("name") == Some(name))
}

/// The text of a property; empty if there is none.
pub(super) fn text<'d, 'i: 'd>(node: Node<'d, 'i>, name: &str) -> &'d str {
    let property = property(node, name);
    property.and_then(|property| property.text()).unwrap_or_default()
}

/// Whether a property is `true`.
pub(super) fn flag(node: Node<'_, '_>, name: &str) -> bool {
    text(node, name).trim() == "true"
}

/// Where a property stands, else its element.
pub(super) fn place(node: Node<'_, '_>, name: &str) -> Range<usize> {
    property(node, name).map_or_else(|| opening(node), |property| opening(property))
}

/// The elements of a collection: `collectionProp`, or an `elementProp` around one.
pub(super) fn items<'d, 'i: 'd>(node: Node<'d, 'i>, name: &str) -> Vec<Node<'d, 'i>> {
    let collection = |node: Node<'d, 'i>| -> Vec<Node<'d, 'i>> {
        node.children().filter(Node::is_element).collect()
    };
    property(node, name).map_or_else(Vec::new, collection)
}

/// The arguments of an element: `Arguments.arguments`, in it or in an `elementProp` of this name.
pub(super) fn arguments<'d, 'i: 'd>(node: Node<'d, 'i>, name: &str) -> Vec<Node<'d, 'i>> {
    items(property(node, name).unwrap_or(node), "Arguments.arguments")
}

use proptest::prelude::*;

use super::*;
use crate::Selector;

fn texts(html: &str, selector: &str) -> Vec<String> {
    let page = Page::parse(html.as_bytes()).unwrap();
    let mut found = Vec::new();
    page.each(&Selector::parse(selector).unwrap(), None, |text| {
        found.push(text);
        true
    })
    .unwrap();
    found
}

/// What browsers make of it (HTML standard §13.2.10).
#[test]
fn misnested_tags_become_a_tree() {
    let html = "<p>1<b>2<i>3</b>4</i>5</p><b>1<p>2</b>3</p><table><b>x<tr><td>y</table>";
    assert_eq!(texts(html, "p > b > i"), ["3"]);
    assert_eq!(texts(html, "p > i"), ["4"]);
    assert_eq!(texts(html, "body > p"), ["12345", "23"]);
    assert_eq!(texts(html, "table td"), ["y"]);
    // It stands before the table.
    assert_eq!(texts(html, "body > b + table"), ["y"]);
}

#[test]
fn what_is_too_much_is_refused() {
    let many = |text: &str, count: usize| text.repeat(count);
    let names = |count: usize| (0..count).map(|n| format!(" a{n}")).collect::<String>();
    let opened = |count: usize| (0..count).map(|n| format!("<b id={n}>")).collect::<String>();
    let once = Page::parse(many("<p>x", 100_000).as_bytes());
    assert!(once.is_ok());
    for (html, expected) in [
        (many(" ", PAGE_BYTES_MAX + 1), TooMuch::Bytes),
        (many("<div>", 1_000), TooMuch::Depth),
        (format!("<p>{}</p>{}", opened(100), many("<p>x", 2_000)), TooMuch::Nodes),
        (format!("<a{}>", names(60_000)), TooMuch::Work),
        (format!("{}{}", opened(400), many("<b class=x></b>", 200_000)), TooMuch::Work),
        (format!("{}{}", many("<div>", 500), many("</x>", 1_000_000)), TooMuch::Work),
    ] {
        let refused = Page::parse(html.as_bytes()).err();
        assert_eq!(refused, Some(expected), "{}", &html[..40.min(html.len())]);
    }
}

/// Long texts, scripts and values are what pages are made of.
#[test]
fn what_is_long_is_read() {
    let words = r#"{"a": "b c"} "#.repeat(100_000);
    let html =
        format!("<script>{words}</script><p>{words}</p><i title='{}'>x</i>", "w ".repeat(10_000));
    assert_eq!(texts(&html, "i"), ["x"]);
    assert_eq!(texts(&html, "p")[0].len(), words.len() - 1);
}

/// The bound is worked out from the text alone, and what a page holds is counted.
#[test]
fn no_page_takes_more_memory_than_its_bound() {
    for html in [
        String::new(),
        "<a>".repeat(300),
        "<p>x".repeat(20_000),
        "<td>".repeat(10_000),
        format!("<a{}>", (0..300).map(|n| format!(" b{n}")).collect::<String>()),
        (0..5_000).map(|n| format!("<i a b=1 c='2'>{n}</i>")).collect(),
    ] {
        let page = Page::parse(html.as_bytes()).unwrap();
        let attributes: usize = (0..page.nodes.len())
            .filter_map(|node| page.element(node as u32))
            .map(|element| element.attributes.capacity() * size_of::<Attribute>())
            .sum();
        let nodes = page.nodes.capacity() * size_of::<Node>();
        let held = nodes + attributes + page.text.capacity();
        assert!(held <= page_bytes(html.as_bytes()), "{held}");
    }
}

proptest! {
    /// Whatever tags come, in whatever order: a tree in which all is found that is reached by links.
    #[test]
    fn any_page_is_a_tree(
        tags in proptest::collection::vec(
            proptest::sample::select(vec![
                "<p>", "</p>", "<b id=x>", "</b>", "<a>", "</a>", "<table>", "<tr>", "<td>", "</td>", "</table>", "x",
                "<select>", "<option>", "</select>", "<svg>", "<title>", "</svg>", "<template>", "</template>", "<form>",
                "</form>", "<!--c-->", "<script>", "</script>", "<frameset>", "<li>", "<body class=y>", "<caption>", "&amp;",
                "<noscript>", "<math>", "<mi>", "</br>", "<hr>", "<plaintext>", "<col>", "<textarea>", "</textarea>", "\0",
            ]),
            0..60,
        ),
    ) {
        let page = Page::parse(tags.concat().as_bytes()).unwrap();
        let mut reached = vec![DOCUMENT];
        let mut at = 0;
        while let Some(&node) = reached.get(at) {
            let children: Vec<u32> = page.from(page.first_child(node)).collect();
            for &child in &children {
                prop_assert_eq!(page.parent(child), Some(node));
            }
            let own = &page.nodes[node as usize];
            prop_assert_eq!(some(own.last), children.last().copied());
            reached.extend(children);
            at += 1;
            prop_assert!(reached.len() <= page.nodes.len());
        }
        let elements = reached.iter().filter(|&&node| page.element(node).is_some()).count();
        let mut found = 0;
        page.each(&Selector::parse("*").unwrap(), None, |_| {
            found += 1;
            true
        })
        .unwrap();
        prop_assert_eq!(found, elements);
    }
}

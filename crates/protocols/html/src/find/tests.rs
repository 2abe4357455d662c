use super::*;

const PAGE: &str = r##"<!doctype html>
<title>Shop</title>
<form id=login class="box wide" action="/login">
  <input type="hidden" name="_csrf" value="a&amp;b">
  <input type=text name=user><input type=password name=pass>
</form>
<ul class=items lang=en-GB>
  <!-- none yet -->
  <li class="item first" data-id=1>One <b>bold</b>
  <li class=item data-id=2>Two
  <li class=item data-id=3><a href="/next?page=2" rel="Next">Three</a>
</ul>
<table><tr><td>1<td>2</table>
<p></p><p> </p><script id=state>{"a":"<b>"}</script>
<svg><linearGradient id=g /></svg><template><i>t</i></template><noscript><img src=n></noscript>"##;

fn all(selector: &str, attribute: Option<&str>) -> Vec<String> {
    let selector = Selector::parse(selector).unwrap();
    let page = Page::parse(PAGE.as_bytes()).unwrap();
    let mut found = Vec::new();
    page.each(&selector, attribute, |value| {
        found.push(value);
        true
    })
    .unwrap();
    assert_eq!(page.first(&selector, attribute).unwrap().as_ref(), found.first());
    found
}

#[test]
fn attributes_of_elements_are_found() {
    for (selector, attribute, expected) in [
        ("input[name=_csrf]", "value", &["a&b"][..]),
        ("input", "value", &["a&b"]),
        ("INPUT[NAME='user']", "type", &["text"]),
        ("form > input", "name", &["_csrf", "user", "pass"]),
        ("form>input+input", "name", &["user", "pass"]),
        ("#login input:nth-child(2n+1)", "name", &["_csrf", "pass"]),
        ("input:nth-child(-n+2)", "name", &["_csrf", "user"]),
        ("form.box.wide", "action", &["/login"]),
        ("form.box.tall", "action", &[]),
        ("li:first-child", "data-id", &["1"]),
        ("li:last-child", "data-id", &["3"]),
        ("li:not(:first-child)", "data-id", &["2", "3"]),
        ("li:not(.first, :last-child)", "data-id", &["2"]),
        ("li.first ~ li", "data-id", &["2", "3"]),
        ("ul li a, form", "href", &["/next?page=2"]),
        ("a[href^='/next']", "href", &["/next?page=2"]),
        ("a[href$='=2']", "href", &["/next?page=2"]),
        ("a[href*=page]", "href", &["/next?page=2"]),
        ("a[href*='']", "href", &[]),
        ("a[rel=next]", "href", &[]),
        ("a[rel=next i]", "href", &["/next?page=2"]),
        ("a[rel='next' s]", "href", &[]),
        ("[class~=first]", "data-id", &["1"]),
        ("[lang|=en]", "class", &["items"]),
        ("[lang|=en-G]", "class", &[]),
        ("lineargradient", "id", &["g"]),
        ("noscript img", "src", &["n"]),
        ("img", "alt", &[]),
        (":root > body > form", "id", &["login"]),
        ("a:only-child", "href", &["/next?page=2"]),
    ] {
        assert_eq!(all(selector, Some(attribute)), expected, "{selector}");
    }
}

#[test]
fn text_of_elements_is_found() {
    for (selector, expected) in [
        ("title", &["Shop"][..]),
        ("li", &["One bold", "Two", "Three"]),
        ("li > b, li > a", &["bold", "Three"]),
        ("script#state", &[r#"{"a":"<b>"}"#]),
        ("p", &["", ""]),
        ("p:empty", &[""]),
        ("template i", &["t"]),
        // As browsers add it.
        ("table > tbody > tr > td", &["1", "2"]),
        ("table > tr", &[]),
        ("html body form p", &[]),
        ("ul ul", &[]),
    ] {
        assert_eq!(all(selector, None), expected, "{selector}");
    }
}

/// An element may be what it stands in, too: none of the ways to reach it may hide another.
#[test]
fn all_ways_to_an_element_count() {
    let page = Page::parse(b"<div><div class=a><div><p>x</p></div></div></div>").unwrap();
    for (selector, found) in [
        ("div > div > div > p", true),
        ("div.a div p", true),
        ("div div div p", true),
        ("div div div div p", false),
        ("body > div > .a > p", false),
        (".a > div > p", true),
    ] {
        let selector = Selector::parse(selector).unwrap();
        assert_eq!(page.first(&selector, None).unwrap().is_some(), found, "{selector:?}");
    }
}

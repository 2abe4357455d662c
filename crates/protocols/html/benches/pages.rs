//! What a selector costs on a page: parsing it, and finding an element in it.

use divan::Bencher;
use html::{Page, Selector};

fn main() {
    divan::main();
}

/// A page with a form behind this number of rows of a table, of about 100 bytes each.
fn page(rows: usize) -> String {
    let row = |n: usize| {
        format!(
            "<tr class=\"row\"><td class=\"name\"><a href=\"/items/{n}\">Item {n}</a></td><td>{n}.00</td></tr>\n"
        )
    };
    let rows: String = (0..rows).map(row).collect();
    format!(
        "<!doctype html><title>Items</title><table>{rows}</table>\
         <form><input type=hidden name=_csrf value=abc></form>"
    )
}

#[divan::bench(args = [10, 100, 1_000])]
fn parse(bencher: Bencher<'_, '_>, rows: usize) {
    let html = page(rows);
    bencher
        .counter(divan::counter::BytesCount::new(html.len()))
        .bench_local(|| Page::parse(html.as_bytes()));
}

#[divan::bench(args = [10, 100, 1_000])]
fn find(bencher: Bencher<'_, '_>, rows: usize) {
    let page = Page::parse(page(rows).as_bytes()).expect("it is small");
    let selector = Selector::parse("form input[name=_csrf]").expect("it is right");
    bencher.bench_local(|| page.first(&selector, Some("value")));
}

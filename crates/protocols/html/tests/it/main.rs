//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../../fuzz/bodies/html.rs"]
mod bodies;

mod corpus {
    use testkit::replay::replay;

    use super::bodies;

    #[test]
    fn no_page_panics() {
        replay("selectors", 300, bodies::selectors);
    }
}

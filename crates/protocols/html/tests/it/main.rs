//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../../fuzz/bodies/html.rs"]
mod bodies;
#[path = "../../../../../fuzz/replay.rs"]
mod replay;

mod corpus {
    use super::{bodies, replay::replay};

    #[test]
    fn no_page_panics() {
        replay("selectors", 300, bodies::selectors);
    }
}

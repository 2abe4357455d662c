//! Starts on a database that is held or silent, and stops.

use queue::{Fill, Index};

use crate::support::{Queue, address, database, number, small};

#[test]
fn a_process_of_several_leaves_the_database_as_it_is() {
    let Some(url) = database() else { return };
    let mut options = small();
    options.store = Some(address(&url));
    options.fill = Some(Fill {
        without: Some(Index::Sender),
        ..Fill::default()
    });
    drop(Queue::start(options.clone()));
    options.fill = None;
    options.server.shared_port = true;
    let queue = Queue::start(options.clone());
    let indexes = "SELECT count(*) FROM pg_indexes WHERE tablename = 'message'";
    assert_eq!(number(&url, indexes), 3);
    drop(queue);
    options.server.shared_port = false;
    let _queue = Queue::start(options);
    assert_eq!(number(&url, indexes), 4);
}

use super::*;

fn read(store: &Store) -> Vec<(String, u64, String)> {
    let mut all = Vec::new();
    let each = |stored: StoredMessage| {
        all.push((stored.room, stored.id, stored.said.message));
        Ok::<_, StoreError>(())
    };
    store.read(each).unwrap();
    all
}

fn stored(room: &str, id: u64) -> StoredMessage {
    StoredMessage {
        room: room.into(),
        id,
        said: Utterance { message: format!("{room}{id}"), from: String::new() },
        sent_at_ms: 0.5,
    }
}

#[test]
fn what_was_written_is_read_again_and_old_messages_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.sqlite");
    let mut store = Store::open(&path).unwrap();
    let batch: Vec<_> = (1..=3).map(|id| stored("b", id)).collect();
    store.write(&batch, 2).unwrap();
    store.write(&[stored("a", 1)], 2).unwrap();
    // A number is given once.
    assert!(store.write(&[stored("b", 4), stored("a", 1)], 2).is_err());
    drop(store);
    let found = read(&Store::open(&path).unwrap());
    let expected = [("a", 1, "a1"), ("b", 2, "b2"), ("b", 3, "b3")];
    let expected = expected.map(|(room, id, text)| (room.to_owned(), id, text.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn files_of_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "not a database, and long enough to be looked at").unwrap();
    assert!(matches!(Store::open(&text), Err(StoreError::Sqlite(_))));

    let other = folder.path().join("other.sqlite");
    let connection = Connection::open(&other).unwrap();
    connection.execute_batch("CREATE TABLE a (b)").unwrap();
    drop(connection);
    assert!(matches!(Store::open(&other), Err(StoreError::NotOurs)));

    let newer = folder.path().join("newer.sqlite");
    drop(Store::open(&newer).unwrap());
    let connection = Connection::open(&newer).unwrap();
    connection.execute_batch("PRAGMA user_version = 9").unwrap();
    drop(connection);
    let found = Store::open(&newer).err();
    assert!(matches!(found, Some(StoreError::Version { found: 9 })));
}

#[test]
fn a_store_is_for_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.sqlite");
    let _first = Store::open(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Sqlite(_))));
}

#[test]
fn what_cannot_be_stored_is_not_published() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("chat.sqlite")).unwrap();
    // The number that is next in a room that knows nothing of it.
    store.write(&[stored("lobby", 1)], 9).unwrap();
    let room = Arc::new(Room::new(0, "lobby", 9));
    let failing = Arc::new(AtomicBool::new(false));
    let (writer, thread) = store.start(9, Arc::clone(&failing), || ()).unwrap();
    let said = stored("lobby", 1).said;
    let number = writer.speak(Arc::clone(&room), said.clone()).unwrap();
    assert_eq!(number.blocking_recv().unwrap(), Err(RequestError::Store));
    assert_eq!((room.head(), failing.load(Ordering::Relaxed)), (0, true));
    // Others are not held up.
    let other = Arc::new(Room::new(1, "other", 9));
    let number = writer.speak(Arc::clone(&other), said.clone()).unwrap();
    assert_eq!(number.blocking_recv().unwrap(), Ok(1));
    assert_eq!((other.head(), failing.load(Ordering::Relaxed)), (1, false));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(writer.end());
    thread.join().unwrap();
    assert_eq!(writer.speak(other, said).err(), Some(RequestError::Busy));
}

//! What is kept, what is taken over, and what is removed.

use super::*;
use crate::testing::private_directory;

fn owner() -> Owner {
    Owner { server: "h:1".to_owned(), run: "r".to_owned(), agent: "a".to_owned() }
}

/// Everything from the oldest byte on.
fn contents(spool: &Spool) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let piece = spool.read(spool.start() + all.len() as u64, 7 << 20).unwrap();
        if piece.is_empty() {
            return all;
        }
        all.extend(piece);
    }
}

#[test]
fn what_was_left_behind_is_read_from_the_beginning_by_one_process() {
    let root = private_directory();
    let mut spool = Spool::create(root.path(), &owner(), 1 << 30).unwrap();
    let frame: Vec<u8> = (0..5_u32 << 20).map(|n| n as u8).collect();
    for _ in 0..5 {
        spool.append(&frame).unwrap();
    }
    assert_eq!(spool.segments.len(), 2);
    assert!(Spool::left_behind(root.path(), |_| true).is_empty(), "it is in use");
    let all = contents(&spool);
    let end = spool.end();
    assert_eq!((all.len() as u64, end), (25 << 20, 25 << 20));
    assert!(all == frame.repeat(5));
    drop(spool);
    let left = Spool::left_behind(root.path(), |_| true);
    let [(found, spool)] = &left[..] else {
        panic!("{left:?}");
    };
    assert_eq!((found, spool.end()), (&owner(), end));
    assert!(contents(spool) == all);
    assert!(Spool::left_behind(root.path(), |_| true).is_empty(), "it was taken");
    spool.remove();
    drop(left);
    assert!(Spool::left_behind(root.path(), |_| true).is_empty(), "it is gone");
}

#[test]
fn above_the_bound_what_was_stored_goes_and_the_rest_stays() {
    let root = private_directory();
    let mut spool = Spool::create(root.path(), &owner(), 20 << 20).unwrap();
    let frame = vec![1; 16 << 20];
    spool.append(&frame).unwrap();
    assert!(!spool.is_full());
    spool.append(&frame).unwrap();
    assert!(spool.is_full(), "nothing was stored");
    assert_eq!(spool.start(), 0);
    spool.mark_stored(17 << 20);
    assert!(!spool.is_full());
    spool.append(&frame).unwrap();
    // The first file is whole before the stored position; the second is not.
    assert_eq!((spool.start(), spool.end()), (16 << 20, 48 << 20));
    assert!(spool.is_full());
    spool.mark_stored(u64::MAX);
    assert!(!spool.is_full(), "no more than there is was stored");
}

/// Lets everything of a spool be this old.
fn set_age(directory: &Path, file: &str, age: Duration) {
    let file = File::options().write(true).open(directory.join(file));
    let file = file.unwrap();
    // It was made just now.
    let made = file.metadata().unwrap().modified().unwrap();
    file.set_modified(made - age).unwrap();
}

#[test]
fn a_spool_is_as_old_as_its_last_byte() {
    let root = private_directory();
    let mut spool = Spool::create(root.path(), &owner(), 1 << 30).unwrap();
    spool.append(b"bytes").unwrap();
    let directory = owner().directory(root.path());
    drop(spool);
    // A run of more than a day whose worker wrote until now.
    set_age(&directory, LOCK, 2 * AGE_MAX);
    let left = Spool::left_behind(root.path(), |_| true);
    assert_eq!(left.len(), 1);
    assert!(left[0].1.age() < AGE_MAX);
    drop(left);
    set_age(&directory, "00000000000000000000.spool", 2 * AGE_MAX);
    let (_, own) = Spool::find(root.path(), &owner()).expect("an agent's own, of just now");
    assert!(own.age() > AGE_MAX);
    assert!(Spool::left_behind(root.path(), |_| true).is_empty(), "in use");
    assert!(directory.exists());
    drop(own);
    // That of another agent is not taken, and does not stay for ever.
    assert!(Spool::left_behind(root.path(), |_| false).is_empty());
    assert!(!directory.exists());
}

#[test]
fn a_spool_that_others_may_have_made_is_not_taken() {
    let root = private_directory();
    let open_to_all = root.path().join("tmp");
    std::fs::create_dir(&open_to_all).unwrap();
    let set = |path: &Path, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).unwrap();
    };
    set(&open_to_all, 0o1777);
    let spools = open_to_all.join("spools");
    prepare_root(&spools, OPTION).unwrap();
    assert!(is_private(&spools));
    drop(Spool::create(&spools, &owner(), 1).unwrap());
    assert_eq!(Spool::left_behind(&spools, |_| true).len(), 1);
    set(&owner().directory(&spools), 0o755);
    assert!(Spool::left_behind(&spools, |_| true).is_empty());
    set(&spools, 0o755);
    let error = prepare_root(&spools, OPTION).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let link = open_to_all.join("link");
    std::os::unix::fs::symlink(root.path(), &link).unwrap();
    assert!(prepare_root(&link, OPTION).is_err());
    // Where others cannot create files it is up to the user.
    let own = root.path().join("own");
    std::fs::create_dir(&own).unwrap();
    set(&own, 0o755);
    prepare_root(&own, OPTION).unwrap();
}

#[test]
fn an_owner_whose_names_are_none_is_not_taken() {
    let root = private_directory();
    let spool = Spool::create(root.path(), &owner(), 1).unwrap();
    drop(spool);
    let named = Owner { run: "r.>".to_owned(), ..owner() };
    let text = serde_json::to_vec(&named).unwrap();
    std::fs::write(owner().directory(root.path()).join(OWNER), text).unwrap();
    assert!(Spool::left_behind(root.path(), |_| true).is_empty());
}

#[test]
fn what_is_no_spool_is_left_alone() {
    let root = private_directory();
    assert!(Spool::left_behind(&root.path().join("none"), |_| true).is_empty());
    let odd = root.path().join("odd");
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join(OWNER), b"{").unwrap();
    assert!(Spool::left_behind(root.path(), |_| true).is_empty());
    // Files of somebody who chose a directory with others in it, however old.
    let other = root.path().join("my.files");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("letter"), b"x").unwrap();
    assert!(!is_spool(&other) && !is_spool(&odd));
    let spool = Spool::create(root.path(), &owner(), 1).unwrap();
    let again = Spool::create(root.path(), &owner(), 1).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::AlreadyExists);
    drop(spool);
}

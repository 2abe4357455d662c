//! Requests that have to be there at the same time.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::{Answer, Request, json, refused};

/// Resources of a page.
const RESOURCES: u32 = 3;
/// How long one of them waits for the others.
const WAIT: Duration = Duration::from_secs(20);

/// Those that are there, by user.
static THERE: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
static ANOTHER: Condvar = Condvar::new();

/// Answered when all resources of the user are requested, refused if they are not at once.
pub(super) fn resource(request: &Request) -> Answer {
    let user = request.path.split('/').nth(2).unwrap_or_default();
    let mut there = THERE.lock().unwrap();
    *there.entry(user.to_owned()).or_default() += 1;
    ANOTHER.notify_all();
    let lacks = |there: &mut BTreeMap<String, u32>| there[user] < RESOURCES;
    let waited = ANOTHER.wait_timeout_while(there, WAIT, lacks).unwrap().1;
    match waited.timed_out() {
        true => refused("one resource after the other"),
        false => json(200, "{\"version\": 7}"),
    }
}

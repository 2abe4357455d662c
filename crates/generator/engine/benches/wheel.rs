//! The timer wheel with as many users as a loop has: rearming a timer, and firing one.

use divan::Bencher;
use engine::schedule::wheel::Wheel;

/// Think times are spread over this, in nanoseconds.
const SPREAD_NS: u64 = 10_000_000_000;

fn main() {
    divan::main();
}

/// Where the timer of `key` is due, after `now_ns`.
fn due_ns(key: u32, now_ns: u64) -> u64 {
    now_ns + u64::from(key.wrapping_mul(2_654_435_761)) % SPREAD_NS
}

fn armed(users: u32) -> Wheel {
    let mut wheel = Wheel::with_capacity(users as usize);
    (0..users).for_each(|key| wheel.arm(key, due_ns(key, 0)));
    wheel
}

#[divan::bench(args = [1_000, 100_000])]
fn arm_again(bencher: Bencher<'_, '_>, users: u32) {
    let mut wheel = armed(users);
    let mut key = 0;
    bencher.bench_local(|| {
        key = (key + 1) % users;
        wheel.arm(key, due_ns(key, u64::from(key)));
    });
}

/// Fires the next timer and arms it again: a user that thinks.
#[divan::bench(args = [1_000, 100_000])]
fn fire_and_arm(bencher: Bencher<'_, '_>, users: u32) {
    let mut wheel = armed(users);
    let mut now_ns = 0;
    bencher.bench_local(|| {
        loop {
            if let Some(key) = wheel.pop(now_ns) {
                wheel.arm(key, due_ns(key, now_ns) + 1);
                break;
            }
            now_ns = wheel.next_ns();
        }
    });
}

use super::*;
use crate::wan::link::Jitter;

fn lacking() -> Result<(), WanError> {
    Err(WanError::NoNetem("unknown kind".to_owned()))
}

fn jittery() -> Link {
    Link { jitter: Jitter::Normal { sd_ns: 5 }, ..Link::new(10) }
}

#[test]
fn without_a_wish_it_is_the_forwarder_and_the_kernel_is_not_tried() {
    let tried = || panic!("the kernel was tried");
    let choice = choose_with(EmulatorRequest::default(), &[Link::new(1)], tried).unwrap();
    assert_eq!((choice.emulator, choice.why), (Emulator::Forwarder, None));
}

#[test]
fn auto_is_netem_where_it_is_there_and_exact() {
    let auto = |links: &[Link], available: fn() -> _| {
        choose_with(EmulatorRequest::Auto, links, available).unwrap()
    };
    let exact = auto(&[Link::new(1)], || Ok(()));
    assert_eq!((exact.emulator, exact.why), (Emulator::Netem, None));
    for (links, available, reason) in [
        (vec![Link::new(1)], lacking as fn() -> _, "unknown kind"),
        (vec![jittery()], || Ok(()), "wait for each other"),
        (vec![Link::new(1).through(&Link::new(1))], || Ok(()), "access"),
    ] {
        let choice = auto(&links, available);
        assert_eq!(choice.emulator, Emulator::Forwarder);
        let why = choice.why.unwrap();
        assert!(why.contains(reason), "{why}");
    }
}

#[test]
fn netem_that_is_wanted_says_how_it_differs_or_why_it_cannot() {
    let netem = |links: &[Link], available: fn() -> _| {
        choose_with(EmulatorRequest::Netem, links, available)
    };
    let choice = netem(&[jittery()], || Ok(())).unwrap();
    assert_eq!(choice.emulator, Emulator::Netem);
    assert!(choice.why.unwrap().contains("wait for each other"));
    assert_eq!(netem(&[Link::new(1)], || Ok(())).unwrap().why, None);
    let missing = netem(&[Link::new(1)], lacking).unwrap_err();
    assert!(matches!(missing, WanError::NoNetem(_)), "{missing}");
    let access = netem(&[Link::new(1).through(&Link::new(1))], || Ok(())).unwrap_err();
    assert!(matches!(access, WanError::NotByNetem(_)), "{access}");
}

/// This kernel has it or has not: the choice and the error say which.
#[test]
fn the_choice_follows_this_kernel() {
    let auto = choose(EmulatorRequest::Auto, &[Link::new(1)]).unwrap();
    let wanted = choose(EmulatorRequest::Netem, &[Link::new(1)]);
    match (auto.emulator, wanted) {
        (Emulator::Netem, Ok(choice)) => assert_eq!(choice.emulator, Emulator::Netem),
        (Emulator::Forwarder, Err(error)) => assert_eq!(auto.why, Some(error.to_string())),
        other => panic!("{other:?}"),
    }
}

use super::*;
use crate::memory::Place;

const GIB: u64 = 1 << 30;

/// A machine of two cores and 24 GiB as it comes.
fn facts() -> Facts {
    Facts {
        cores: 2,
        files_per_table: 20_000,
        files_machine: Some(2_466_170),
        files_in_use: Some(1_000),
        files_per_table_max: Some(1_048_576),
        ports: Some((32_768, 60_999)),
        ports_reserved: Some(String::new()),
        accept_queue: Some(4_096),
        syn_queue: Some(2_048),
        netdev_queue: Some(1_000),
        time_wait_max: Some(131_072),
        orphans_max: Some(131_072),
        tracked: Some((0, 262_144)),
        threads_max: Some(192_730),
        pid_max: Some(32_768),
        maps_max: Some(65_530),
        tcp_pages: Some([287_901, 383_868, 575_802]),
        memory: Some(Place {
            total_bytes: 24 * GIB,
            left_bytes: 23 * GIB,
        }),
        ..Facts::default()
    }
}

/// The same after all that two million users need was set.
fn mended() -> Facts {
    Facts {
        files_machine: Some(5_000_000),
        accept_queue: Some(65_535),
        syn_queue: Some(65_535),
        netdev_queue: Some(100_000),
        tcp_pages: Some([1_000_000, 2_000_000, 4_000_000]),
        ..facts()
    }
}

fn here(users: u64) -> Demand {
    Demand {
        users,
        target_here: true,
        sources: Sources::Loopback,
    }
}

fn elsewhere(users: u64, pairs: u64) -> Demand {
    Demand {
        users,
        target_here: false,
        sources: Sources::Pairs(pairs),
    }
}

fn first(found: Option<(u64, &Limit)>) -> (u64, &'static str) {
    let (users, limit) = found.expect("the facts set a number");
    (users, limit.name)
}

#[test]
fn two_million_fit_on_24_gib_once_the_settings_are_raised() {
    let capacity = Capacity::of(&facts(), here(2_000_000));
    let commands = [
        "sysctl -w fs.file-max=5000000",
        "sysctl -w net.ipv4.tcp_mem='1000000 2000000 4000000'",
        "sysctl -w net.core.somaxconn=65535",
        "sysctl -w net.ipv4.tcp_max_syn_backlog=65535",
        "sysctl -w net.core.netdev_max_backlog=100000",
    ];
    assert_eq!(capacity.commands(), commands);
    assert_eq!(first(capacity.now()), (575_802, "net.ipv4.tcp_mem"));
    let (users, limit) = first(capacity.mended());
    assert_eq!(limit, "memory");
    assert!(users >= 2_000_000, "{users}");
    assert!(!capacity.suffices());
    assert_eq!(first(capacity.shortage()), (575_802, "net.ipv4.tcp_mem"));
}

#[test]
fn what_the_commands_set_suffices() {
    let capacity = Capacity::of(&mended(), here(2_000_000));
    assert_eq!(capacity.commands(), Vec::<String>::new());
    assert!(capacity.suffices());
    assert_eq!(capacity.shortage(), None);
}

#[test]
fn commands_never_lower_what_is_there() {
    let generous = Facts {
        tcp_pages: Some([2_000_000, 2_500_000, 2_600_000]),
        accept_queue: Some(1_000_000),
        ..facts()
    };
    let capacity = Capacity::of(&generous, here(3_000_000));
    for setting in capacity.settings() {
        for (now, wanted) in setting.now.iter().zip(&setting.wanted) {
            assert!(wanted >= now, "{}", setting.command());
        }
    }
    assert!(
        !capacity
            .settings()
            .any(|setting| setting.key == "net.core.somaxconn")
    );
}

#[test]
fn a_machine_without_the_memory_never_can() {
    let small = Facts {
        memory: Some(Place {
            total_bytes: 8 * GIB,
            left_bytes: 6 * GIB,
        }),
        ..mended()
    };
    let capacity = Capacity::of(&small, here(2_000_000));
    let spare = 6 * GIB - 512 * (1 << 20);
    let holds = spare / bytes_per_user(true);
    assert_eq!(first(capacity.now()), (holds, "memory"));
    assert_eq!(first(capacity.mended()), (holds, "memory"));
    assert!(!capacity.suffices());
    assert_eq!(capacity.commands(), Vec::<String>::new());
}

#[test]
fn tcp_never_gets_more_than_its_share_of_memory() {
    let small = Facts {
        memory: Some(Place {
            total_bytes: 4 * GIB,
            left_bytes: 4 * GIB,
        }),
        ..facts()
    };
    let capacity = Capacity::of(&small, here(2_000_000));
    let tcp = capacity
        .settings()
        .find(|setting| setting.key == "net.ipv4.tcp_mem")
        .expect("it is too low");
    assert_eq!(tcp.wanted, [786_432, 786_432, 786_432]);
}

#[test]
fn a_target_elsewhere_takes_half_and_needs_ports() {
    let capacity = Capacity::of(&mended(), elsewhere(20_000, 1));
    assert!(capacity.suffices(), "{:?}", capacity.commands());
    let names: Vec<_> = capacity.limits.iter().map(|limit| limit.name).collect();
    assert!(!names.contains(&"net.core.somaxconn"), "the listener's own");

    let capacity = Capacity::of(&mended(), elsewhere(50_000, 1));
    let widen = "sysctl -w net.ipv4.ip_local_port_range='10000 65535'";
    assert_eq!(capacity.commands(), [widen]);
    assert_eq!(first(capacity.now()).0, 28_232);
    assert_eq!(first(capacity.mended()).0, 55_536);

    let capacity = Capacity::of(&mended(), elsewhere(2_000_000, 1));
    assert_eq!(capacity.commands(), Vec::<String>::new());
    let (users, limit) = capacity.mended().expect("ports set a number");
    assert_eq!(users, 28_232);
    let Mend::Advice(advice) = &limit.mend else {
        panic!("{:?}", limit.mend)
    };
    assert!(advice.starts_with("71 own addresses"), "{advice}");
    assert!(Capacity::of(&mended(), elsewhere(2_000_000, 71)).suffices());
}

#[test]
fn few_files_in_a_table_take_more_loops_until_there_are_none() {
    let few = Facts {
        files_per_table: 1_024,
        ..mended()
    };
    assert!(Capacity::of(&few, here(400_000)).suffices());
    let capacity = Capacity::of(&few, here(2_000_000));
    assert_eq!(capacity.commands(), ["ulimit -n 20000"]);
    assert_eq!(
        capacity.shortage(),
        None,
        "the user's own limit, not the machine's"
    );
    let capacity = Capacity::of(
        &Facts {
            files_per_table_max: Some(10_000),
            ..few
        },
        here(2_000_000),
    );
    let both = "sysctl -w fs.nr_open=20000 && ulimit -n 20000";
    assert_eq!(capacity.commands(), [both]);
}

#[test]
fn connections_that_netfilter_follows_count() {
    let followed = Facts {
        tracked: Some((10, 262_144)),
        ..mended()
    };
    let capacity = Capacity::of(&followed, here(2_000_000));
    assert_eq!(
        capacity.commands(),
        ["sysctl -w net.netfilter.nf_conntrack_max=2500000"]
    );
    assert_eq!(first(capacity.now()).0, 262_134);
}

#[test]
fn a_small_run_needs_nothing_of_a_machine_as_it_comes() {
    let capacity = Capacity::of(&facts(), here(1_000));
    assert_eq!(capacity.commands(), Vec::<String>::new());
    assert!(capacity.suffices());
}

#[test]
fn what_cannot_be_read_sets_no_limit() {
    let unknown = Facts {
        files_per_table: 20_000,
        ..Facts::default()
    };
    let capacity = Capacity::of(&unknown, here(2_000_000));
    let names: Vec<_> = capacity.limits.iter().map(|limit| limit.name).collect();
    assert_eq!(names, ["files of a loop"]);
    assert!(capacity.suffices());
}

#[test]
fn no_number_of_users_is_too_large_to_be_refused() {
    for demand in [here(u64::MAX), elsewhere(u64::MAX, u64::MAX)] {
        let capacity = Capacity::of(&facts(), demand);
        assert_eq!(capacity.demand.users, USERS_MAX);
        assert!(capacity.shortage().is_some());
    }
}

#[test]
fn numbers_of_users_have_three_digits() {
    assert_eq!(about(1_234_567), "1,230,000");
    assert_eq!(about(999), "999");
    assert_eq!(about(7), "7");
    assert_eq!(about(0), "0");
}

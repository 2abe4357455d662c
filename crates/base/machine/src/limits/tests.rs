use super::*;
use crate::memory::Memory;

const GIB: u64 = 1 << 30;

/// A machine with two cores, 24 GiB and default settings.
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
        memory: Some(Memory { total_bytes: 24 * GIB, available_bytes: 23 * GIB }),
        ..Facts::default()
    }
}

/// The same after every setting was raised for two million users.
fn raised() -> Facts {
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
    Demand { users, target_here: true, sources: Sources::Loopback }
}

fn elsewhere(users: u64, pairs: u64) -> Demand {
    Demand { users, target_here: false, sources: Sources::Pairs(pairs) }
}

fn first(found: Option<(u64, &Limit)>) -> (u64, &'static str) {
    let (users, limit) = found.expect("the facts set a number");
    (users, limit.name)
}

#[test]
fn two_million_fit_on_24_gib_once_the_settings_are_raised() {
    let limits = MachineLimits::compute(&facts(), here(2_000_000));
    let commands = [
        "sysctl -w fs.file-max=5000000",
        "sysctl -w net.ipv4.tcp_mem='1000000 2000000 4000000'",
        "sysctl -w net.core.somaxconn=65535",
        "sysctl -w net.ipv4.tcp_max_syn_backlog=65535",
        "sysctl -w net.core.netdev_max_backlog=100000",
    ];
    assert_eq!(limits.commands(), commands);
    assert_eq!(first(limits.users_now()), (575_802, "net.ipv4.tcp_mem"));
    let (users, limit) = first(limits.users_fixed());
    assert_eq!(limit, "memory");
    assert!(users >= 2_000_000, "{users}");
    assert!(!limits.suffices());
    assert_eq!(first(limits.shortage()), (575_802, "net.ipv4.tcp_mem"));
}

#[test]
fn the_commands_raise_every_limit_that_is_too_low() {
    let limits = MachineLimits::compute(&raised(), here(2_000_000));
    assert_eq!(limits.commands(), Vec::<String>::new());
    assert!(limits.suffices());
    assert_eq!(limits.shortage(), None);
}

#[test]
fn commands_never_lower_a_setting() {
    let generous = Facts {
        tcp_pages: Some([2_000_000, 2_500_000, 2_600_000]),
        accept_queue: Some(1_000_000),
        ..facts()
    };
    let limits = MachineLimits::compute(&generous, here(3_000_000));
    for setting in limits.settings() {
        for (now, wanted) in setting.now.iter().zip(&setting.wanted) {
            assert!(wanted >= now, "{}", setting.command());
        }
    }
    assert!(!limits.settings().any(|setting| setting.key == "net.core.somaxconn"));
}

#[test]
fn no_command_raises_memory() {
    let small = Facts {
        memory: Some(Memory { total_bytes: 8 * GIB, available_bytes: 6 * GIB }),
        ..raised()
    };
    let limits = MachineLimits::compute(&small, here(2_000_000));
    let spare = 6 * GIB - 512 * (1 << 20);
    let holds = spare / bytes_per_user(true);
    assert_eq!(first(limits.users_now()), (holds, "memory"));
    assert_eq!(first(limits.users_fixed()), (holds, "memory"));
    assert!(!limits.suffices());
    assert_eq!(limits.commands(), Vec::<String>::new());
}

#[test]
fn tcp_never_gets_more_than_its_share_of_memory() {
    let small = Facts {
        memory: Some(Memory { total_bytes: 4 * GIB, available_bytes: 4 * GIB }),
        ..facts()
    };
    let limits = MachineLimits::compute(&small, here(2_000_000));
    let tcp =
        limits.settings().find(|setting| setting.key == "net.ipv4.tcp_mem").expect("it is too low");
    assert_eq!(tcp.wanted, [786_432, 786_432, 786_432]);
}

#[test]
fn a_remote_target_takes_half_and_needs_ports() {
    let limits = MachineLimits::compute(&raised(), elsewhere(20_000, 1));
    assert!(limits.suffices(), "{:?}", limits.commands());
    let names: Vec<_> = limits.limits.iter().map(|limit| limit.name).collect();
    assert!(!names.contains(&"net.core.somaxconn"), "the listener's own");

    let limits = MachineLimits::compute(&raised(), elsewhere(50_000, 1));
    let widen = "sysctl -w net.ipv4.ip_local_port_range='10000 65535'";
    assert_eq!(limits.commands(), [widen]);
    assert_eq!(first(limits.users_now()).0, 28_232);
    assert_eq!(first(limits.users_fixed()).0, 55_536);

    let limits = MachineLimits::compute(&raised(), elsewhere(2_000_000, 1));
    assert_eq!(limits.commands(), Vec::<String>::new());
    let (users, limit) = limits.users_fixed().expect("ports set a number");
    assert_eq!(users, 28_232);
    let Fix::Advice(advice) = &limit.fix else { panic!("{:?}", limit.fix) };
    assert!(advice.starts_with("set 71 addresses"), "{advice}");
    assert!(MachineLimits::compute(&raised(), elsewhere(2_000_000, 71)).suffices());
}

#[test]
fn small_file_tables_take_more_loops_up_to_the_maximum() {
    let few = Facts { files_per_table: 1_024, ..raised() };
    assert!(MachineLimits::compute(&few, here(400_000)).suffices());
    let limits = MachineLimits::compute(&few, here(2_000_000));
    assert_eq!(limits.commands(), ["ulimit -n 20000"]);
    assert_eq!(limits.shortage(), None, "the user's own limit, not the machine's");
    let limits = MachineLimits::compute(
        &Facts { files_per_table_max: Some(10_000), ..few },
        here(2_000_000),
    );
    let both = "sysctl -w fs.nr_open=20000 && ulimit -n 20000";
    assert_eq!(limits.commands(), [both]);
}

#[test]
fn connections_that_netfilter_tracks_count() {
    let tracking = Facts { tracked: Some((10, 262_144)), ..raised() };
    let limits = MachineLimits::compute(&tracking, here(2_000_000));
    assert_eq!(limits.commands(), ["sysctl -w net.netfilter.nf_conntrack_max=2500000"]);
    assert_eq!(first(limits.users_now()).0, 262_134);
}

#[test]
fn a_small_run_needs_no_change_of_a_default_machine() {
    let limits = MachineLimits::compute(&facts(), here(1_000));
    assert_eq!(limits.commands(), Vec::<String>::new());
    assert!(limits.suffices());
}

#[test]
fn unreadable_facts_set_no_limit() {
    let unknown = Facts { files_per_table: 20_000, ..Facts::default() };
    let limits = MachineLimits::compute(&unknown, here(2_000_000));
    let names: Vec<_> = limits.limits.iter().map(|limit| limit.name).collect();
    assert_eq!(names, ["files of a loop"]);
    assert!(limits.suffices());
}

#[test]
fn huge_demands_are_refused_without_overflow() {
    for demand in [here(u64::MAX), elsewhere(u64::MAX, u64::MAX)] {
        let limits = MachineLimits::compute(&facts(), demand);
        assert_eq!(limits.demand.users, USERS_MAX);
        assert!(limits.shortage().is_some());
    }
}

#[test]
fn users_are_rounded_down_to_three_digits() {
    assert_eq!(about(1_234_567), "1,230,000");
    assert_eq!(about(999), "999");
    assert_eq!(about(7), "7");
    assert_eq!(about(0), "0");
}

/// As in a container whose seccomp filter refuses tables of their own.
#[test]
fn one_table_for_all_loops_bounds_the_users() {
    let one = Facts { files_per_table: 20_000, one_table: true, ..raised() };
    let limits = MachineLimits::compute(&one, here(18_000));
    assert!(limits.shortage().is_none());
    let limits = MachineLimits::compute(&one, here(100_000));
    let shortage = limits.shortage().map(|(users, limit)| (users, limit.name));
    assert_eq!(shortage, Some((18_992, "files of all loops")));
    assert_eq!(limits.commands(), ["ulimit -n 110008"]);
}

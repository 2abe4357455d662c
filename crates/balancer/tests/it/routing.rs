//! Regions, and weights that are learned, over sockets.

use std::time::Duration;

use balancer::fleet::Locality;
use balancer::policy::Kind;
use balancer::{LearnOptions, Source};
use stats::dist::Dist;

use crate::http::{get, soon};
use crate::support::{Act, Backend, Running, worker};

#[tokio::test]
async fn a_region_spills_over_at_its_load() {
    let own = Backend::scripted(|head| match head.starts_with("GET /wait") {
        true => Act::Wait,
        false => Act::ok("own"),
    })
    .await;
    let other = Backend::start(Act::ok("other")).await;
    let balancer = Running::start(&[own.address, other.address], |options| {
        let listed = [format!("http://{} region=us weight=2", own.address)];
        let others = [format!("http://{} region=asia", other.address)];
        options.backends = Source::Listed([listed, others].concat());
        options.locality = Some(Locality {
            region: "us".to_owned(),
            spill_at: 1.0,
        });
    })
    .await;
    let mut waiting = Vec::new();
    for in_flight in 0..4 {
        // Its weight is 2, so it takes two.
        let expected = if in_flight < 2 { "own" } else { "other" };
        if in_flight < 3 {
            assert_eq!(get(balancer.address, "/").await.1, expected);
        }
        let address = balancer.address;
        if in_flight < 2 {
            waiting.push(tokio::spawn(async move { get(address, "/wait").await }));
            balancer
                .until_metric("in_flight", f64::from(in_flight + 1))
                .await;
        }
    }
    assert_eq!(balancer.metric("requests_spilled_total").await, 1.0);
    let (_, states) = get(balancer.metrics, "/backends").await;
    assert!(states.contains(r#""region":"asia""#), "{states}");
}

#[tokio::test]
async fn a_region_without_backends_is_refused() {
    let mut options = balancer::BalancerOptions::new(Source::Listed(vec![
        "http://127.0.0.1:1 region=us".to_owned(),
    ]));
    options.locality = Some(Locality {
        region: "su".to_owned(),
        spill_at: f64::INFINITY,
    });
    let error = balancer::serve(options, &|_| {}, std::future::pending());
    let error = soon(error).await.unwrap_err().to_string();
    assert!(error.contains("no backend is in the region `su`") && error.ends_with("has us"));
}

#[tokio::test]
async fn weights_are_learned_from_reports() {
    let with_time =
        async |seconds| worker(move |options| options.service_time = Dist::Constant(seconds)).await;
    let (fast, slow) = (with_time(0.002).await, with_time(0.04).await);
    let balancer = Running::start(&[fast, slow], |options| {
        options.policy = Kind::WeightedRoundRobin;
        let mut learn = LearnOptions::default();
        learn.every = Duration::from_millis(10);
        learn.blackout = Duration::from_millis(50);
        options.learn = Some(learn);
    })
    .await;
    // As listed, both get the same; twenty times faster is what the first one is.
    let learned = async {
        loop {
            get(balancer.address, "/work").await;
            let (_, states) = get(balancer.metrics, "/backends").await;
            let states: serde_json::Value = serde_json::from_str(&states).unwrap();
            let weight = |at: usize| states["backends"][at]["weight"].as_f64().unwrap();
            if weight(0) > 3.0 * weight(1) {
                return weight(0) + weight(1);
            }
        }
    };
    let sum = soon(learned).await;
    assert!(
        (sum - 2.0).abs() < 1e-9,
        "the mean stays that of the list: {sum}"
    );
    assert!(balancer.metric("reports_total").await > 0.0);
}

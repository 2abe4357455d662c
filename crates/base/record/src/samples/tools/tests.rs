//! Each form, as its tool writes it.

use super::*;
use crate::Outcome;
use crate::samples::{Measurements, Unit};

fn read_text(text: &str) -> Result<ToolResults, ResultsError> {
    read(text.as_bytes(), &ReadOptions::default())
}

/// Operations as `start_ns time_ns outcome status detail measure`.
fn shown(text: &str) -> Vec<String> {
    let results = read_text(text).unwrap();
    let Measurements::Operations(all) = &results.measured else { panic!("{results:?}") };
    let shown = all.iter().map(|one| {
        let detail = match one.detail {
            0 => "-",
            place => &results.details[usize::from(place) - 1],
        };
        let measure = &results.measures[usize::from(one.measure)].name;
        format!(
            "{} {} {} {} {detail} {measure}",
            one.start_ns,
            one.time_ns,
            one.outcome.name(),
            one.status
        )
    });
    shown.collect()
}

#[track_caller]
fn refused(text: &str) -> String {
    read_text(text).unwrap_err().to_string()
}

const JMETER: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,\
    bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect\n\
    1675412206263,213,Test,502,\"Bad, Gateway\",Thread Group 1-1,text,false,\"Test failed: text expected to contain /ok/\n\
    **See log file for further details.\",500,120,1,1,http://x/,210,0,3\n\
    1675412206500,13,Test,200,OK,Thread Group 1-1,text,true,,500,120,1,1,http://x/,10,0,3\n\
    1675412206600,15,Other,200,\"say \"\"hi\"\"\",Thread Group 1-1,text,false,\"no /ok/\",500,120,1,1,\"http://x/?a=1,2\",10,0,3\n\
    1675412206700,1,Other,Non HTTP response code: java.net.ConnectException,Connection refused,Thread Group 1-1,text,\
    false,,0,0,1,1,null,0,0,1\n";

const JMETER_SHOWN: [&str; 4] = [
    "1675412206263000000 213000000 status 502 502 Test",
    "1675412206500000000 13000000 ok 200 - Test",
    "1675412206600000000 15000000 check 200 no /ok/ Other",
    "1675412206700000000 1000000 refused 0 java.net.ConnectException Other",
];

#[test]
fn jmeters_csv_has_line_breaks_in_quotes_and_no_names_at_will() {
    assert_eq!(shown(JMETER), JMETER_SHOWN);
    let (_, plain) = JMETER.split_once('\n').unwrap();
    assert_eq!(shown(plain), JMETER_SHOWN);
    // Another separator, a formatted time, and a second run behind the first.
    let text = "timeStamp;elapsed;label;responseCode;success\n\
                2023/02/03 08:16:46.263;1;a;200;true\n\
                timeStamp;elapsed;label;responseCode;success\n\
                2023-02-03 08:16:47,263;2;b;404;\n";
    let expected =
        ["1675412206263000000 1000000 ok 200 - a", "1675412207263000000 2000000 status 404 404 b"];
    assert_eq!(shown(text), expected);
    let lacks = read_text(text).unwrap().absent;
    assert_eq!(lacks.len(), 2, "{lacks:?}");
    assert!(lacks[0].starts_with("the zone of the times"), "{lacks:?}");
    assert_eq!(lacks[1], "1 of names of columns within the file: no operations");
    let bytes = read_text(JMETER).unwrap();
    let Measurements::Operations(all) = &bytes.measured else { panic!("no operations") };
    assert_eq!((all[0].bytes_in, all[0].bytes_out), (500, 120));
}

#[test]
fn bad_lines_of_jmeter_are_named() {
    let table = |line: &str| format!("timeStamp,elapsed,label,success\n1,1,a,true\n{line}\n");
    for (line, expected) in [
        ("2,x,a,true", "line 3: elapsed: \"x\" is not a number"),
        ("2,-1,a,true", "line 3: elapsed: -1 is negative"),
        ("2,1,a,maybe", "line 3: success is neither true nor false"),
        ("noon,1,a,true", "line 3: timeStamp is neither a number of milliseconds"),
        ("2,1", "line 3: the line has 2 fields, and the first one 4"),
        ("2,1,\"a,true", "line 3: a quote is not closed"),
        ("2,99999999999,a,true", "line 3: an operation is longer than a day"),
    ] {
        let found = refused(&table(line));
        assert!(found.starts_with(expected), "{found}");
    }
    assert!(refused("timeStamp,elapsed\n").starts_with("JMeter, CSV: there are no operations"));
    let bytes = read(b"timeStamp,elapsed\n1,2\n\xff,3\n", &ReadOptions::default());
    assert!(bytes.unwrap_err().to_string().starts_with("line 3: not UTF-8"));
}

#[test]
fn jmeters_xml_has_samples_within_samples() {
    let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n\
        <httpSample t=\"213\" it=\"0\" lt=\"210\" ct=\"3\" ts=\"1675412206263\" s=\"false\" lb=\"Test &amp; more\" \
        rc=\"502\" rm=\"Bad\" tn=\"T 1-1\" dt=\"text\" by=\"500\" sby=\"120\" ng=\"1\" na=\"1\">\n\
        <httpSample t=\"9\" ts=\"1675412206300\" s=\"true\" lb=\"redirect\" rc=\"200\" rm=\"OK\"/>\n\
        <java.net.URL>http://x/</java.net.URL>\n</httpSample>\n\
        <sample t=\"20\" ts=\"1675412207000\" s=\"true\" lb=\"Checkout\" rc=\"200\" \
        rm=\"Number of samples in transaction : 1, number of failing samples : 0\">\n\
        <httpSample t=\"20\" ts=\"1675412207000\" s=\"true\" lb=\"Pay\" rc=\"200\" rm=\"OK\"></httpSample>\n\
        </sample>\n</testResults>\n";
    let expected = [
        "1675412206263000000 213000000 status 502 502 Test & more",
        "1675412207000000000 20000000 ok 200 - Checkout (transaction)",
        "1675412207000000000 20000000 ok 200 - Pay",
    ];
    assert_eq!(shown(text), expected);
    let lacks = read_text(text).unwrap().absent;
    assert_eq!(lacks, ["1 of samples within the sample of a request: no operations"]);
    assert!(refused("<testResults>\n<sample t=\"1\" ts=\"2\" lb=\"a").starts_with("line 2: a tag"));
}

#[test]
fn k6_mixes_durations_with_counts_and_bytes() {
    let json = "{\"type\":\"Metric\",\"data\":{\"name\":\"http_req_duration\",\"type\":\"trend\",\"contains\":\"time\",\
        \"thresholds\":[],\"submetrics\":null},\"metric\":\"http_req_duration\"}\n\
        {\"metric\":\"http_reqs\",\"type\":\"Point\",\"data\":{\"time\":\"2023-02-03T08:16:46.5Z\",\"value\":1,\"tags\":{}}}\n\
        {\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{\"time\":\"2023-02-03T09:16:46.5+01:00\",\
        \"value\":459.865729,\"tags\":{\"method\":\"GET\",\"name\":\"http://x/a?token=1\",\"status\":\"200\",\
        \"expected_response\":\"true\"}}}\n\
        {\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{\"time\":\"2023-02-03T08:16:47Z\",\"value\":5,\
        \"tags\":{\"method\":\"GET\",\"name\":\"http://x/a\",\"status\":\"503\",\"expected_response\":\"false\"}}}\n\
        {\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{\"time\":\"2023-02-03T08:16:48Z\",\"value\":0,\
        \"tags\":{\"method\":\"GET\",\"name\":\"login\",\"status\":\"0\",\"error\":\"dial: connection refused\",\
        \"expected_response\":\"false\"}}}\n\
        {\"metric\":\"data_sent\",\"type\":\"Point\",\"data\":{\"time\":\"2023-02-03T08:16:48Z\",\"value\":77,\"tags\":null}}\n";
    let expected = [
        "1675412206040134271 459865729 ok 200 - GET http://x/a",
        "1675412206995000000 5000000 status 503 503 GET http://x/a",
        "1675412208000000000 0 refused 0 dial: connection refused GET login",
    ];
    assert_eq!(shown(json), expected);
    let lacks = read_text(json).unwrap().absent;
    assert_eq!(lacks, ["1 of data_sent, 1 of http_reqs: no operations"]);
    let csv = "metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,proto,\
        scenario,service,status,subproto,tls_version,url,extra_tags\n\
        http_reqs,1675412206,1.000000,,,,true,,GET,http://x/a,HTTP/1.1,default,,200,,,http://x/a,\n\
        http_req_duration,1675412206,459.865729,,,,true,,GET,http://x/a,HTTP/1.1,default,,200,,,http://x/a,\n\
        data_received,1675412206,1000.000000,,,,,,,,,default,,,,,,\n\
        http_req_duration,1675412207,5.000000,,,1503,false,,GET,http://x/a,HTTP/1.1,default,,503,,,http://x/a,\n\
        grpc_req_duration,1675412208,2.500000,,,,,,,pkg.Svc/Call,,default,,14,,,pkg.Svc/Call,\n";
    let expected = [
        "1675412205540134271 459865729 ok 200 - GET http://x/a",
        "1675412206995000000 5000000 status 503 503 GET http://x/a",
        "1675412207997500000 2500000 grpc-unavailable 0 - pkg.Svc/Call",
    ];
    assert_eq!(shown(csv), expected);
    let lacks = read_text(csv).unwrap().absent;
    assert!(lacks[0].starts_with("when requests started, to less than a second"), "{lacks:?}");
    assert_eq!(lacks[1], "1 of data_received, 1 of http_reqs: no operations");
    let milli = csv.replace("1675412206,", "1675412206123,");
    assert_eq!(shown(&milli)[0], "1675412205663134271 459865729 ok 200 - GET http://x/a");
}

#[test]
fn gatlings_log_has_users_before_3_4() {
    let new = "ASSERTION\tAAEFAAI=\nRUN\tcomputer.Sim\tsim\t1675412206000\t \t3.9.5\n\
        USER\tScn\tSTART\t1675412206100\n\
        REQUEST\tshop,cart\tadd\t1675412206263\t1675412206476\tOK\t \n\
        REQUEST\t\tpay\t1675412206500\t1675412206505\tKO\tstatus.find.is(200), but actually found 503\n\
        REQUEST\t\tpay\t1675412206600\t1675412206700\tKO\ti.n.c.ConnectException: Connection refused\n\
        REQUEST\t\tpay\t1675412206800\t1675412206900\tKO\tjsonPath($.id).find.exists, found nothing\n\
        GROUP\tshop\t1675412206263\t1675412206476\t213\tOK\n";
    let expected = [
        "1675412206263000000 213000000 ok 0 - shop / cart / add",
        "1675412206500000000 5000000 status 503 503 pay",
        "1675412206600000000 100000000 refused 0 i.n.c.ConnectException: Connection refused pay",
        "1675412206800000000 100000000 check 0 jsonPath($.id).find.exists, found nothing pay",
    ];
    assert_eq!(shown(new), expected);
    let old = new.replace("REQUEST\t", "REQUEST\t17\t");
    assert_eq!(shown(&old), expected);
    let lacks = read_text(new).unwrap().absent;
    let expected = "1 of groups, whose requests have their names, 1 of starts and ends of users: no operations";
    assert_eq!(lacks, [expected]);
    let cut = "RUN\ta\tb\t1\t \t3.9\nREQUEST\t\tpay\t16754";
    assert!(refused(cut).starts_with("line 2: the record of a request has no OK or KO"));
    let back = "RUN\ta\tb\t1\t \t3.9\nREQUEST\t\tpay\t5\t4\tOK\t \n";
    assert!(refused(back).starts_with("line 2: the request ends before"));
}

#[test]
fn fortio_has_a_line_for_each_request() {
    let log = "{\"latency\":0.002130,\"timestamp\":1675412206263000001,\"thread\":0,\"iter\":0,\"ok\":true,\"details\":\"200\"}\n\
        {\"latency\":0.001000,\"timestamp\":1675412206500000000,\"thread\":1,\"iter\":0,\"ok\":false,\"details\":\"503\"}\n\
        {\"latency\":0.5,\"timestamp\":1675412206600000000,\"thread\":1,\"iter\":1,\"ok\":false,\"details\":\"connection refused\"}\n";
    let expected = [
        "1675412206263000001 2130000 ok 200 - request",
        "1675412206500000000 1000000 status 503 503 request",
        "1675412206600000000 500000000 refused 0 connection refused request",
    ];
    assert_eq!(shown(log), expected);
    let back = log.replace("0.002130", "-1");
    assert_eq!(refused(&back), "line 1: latency is no time of at most a day");
}

#[test]
fn ghz_says_when_calls_ended() {
    let report = "{\"count\":3,\"options\":{\"call\":\"a.B.C\"},\"rps\":9.5,\"statusCodeDistribution\":{\"OK\":2},\
        \"latencyDistribution\":[],\"details\":[\
        {\"timestamp\":\"2023-02-03T08:16:46.264Z\",\"latency\":1000000,\"error\":\"\",\"status\":\"OK\"},\
        {\"timestamp\":\"2023-02-03T09:16:47+01:00\",\"latency\":5,\"error\":\"rpc error: code = NotFound\",\"status\":\"NotFound\"}]}";
    let expected = [
        "1675412206263000000 1000000 ok 0 - a.B.C",
        "1675412206999999995 5 check 0 NotFound a.B.C",
    ];
    assert_eq!(shown(report), expected);
    let lacks = read_text(report).unwrap().absent;
    assert_eq!(lacks, ["1 calls of which ghz kept the number alone"]);
}

#[test]
fn tsung_says_when_requests_ended() {
    let dump = "#date;pid;id;http method;host;URL;HTTP status;size;duration;transaction;match;error;tag\n\
        1675412206.263;<0.112.0>;11;get;127.0.0.1;/a?x=1;b;200;91;13.5;tr_login;match;;tag\n\
        1675412206.5;<0.112.0>;12;post;127.0.0.1;/b;503;0;1;;;;\n\
        1675412206.6;<0.112.0>;12;post;127.0.0.1;/b;error_no_http_status;0;1;;;;\n";
    let expected = [
        "1675412206249500000 13500000 ok 200 - GET /a",
        "1675412206499000000 1000000 status 503 503 POST /b",
        "1675412206599000000 1000000 other 0 error_no_http_status POST /b",
    ];
    assert_eq!(shown(dump), expected);
    let cut = dump.replace(";;;;\n", "\n");
    assert!(refused(&cut).starts_with("line 3: the line has fewer than Tsung's 13 fields"));
}

#[test]
fn vegeta_has_json_and_csv_without_names() {
    let json = "{\"attack\":\"a\",\"seq\":0,\"code\":200,\"timestamp\":\"2023-02-03T08:16:46.263000001Z\",\
        \"latency\":213000001,\"bytes_out\":3,\"bytes_in\":500,\"error\":\"\",\"body\":\"eA==\",\"method\":\"GET\",\
        \"url\":\"http://x/a?b=c\",\"headers\":{}}\n\
        {\"attack\":\"\",\"seq\":1,\"code\":0,\"timestamp\":\"2023-02-03T08:16:47Z\",\"latency\":1000,\"bytes_out\":0,\
        \"bytes_in\":0,\"error\":\"Get \\\"http://x/\\\": dial tcp 1.2.3.4:5: connect: connection refused\",\"body\":null}\n";
    let expected = [
        "1675412206263000001 213000001 ok 200 - GET http://x/a",
        "1675412207000000000 1000 refused 0 Get \"http://x/\": dial tcp ….….….…:…: connect: connection refused request",
    ];
    assert_eq!(shown(json), expected);
    let csv = "1675412206263000001,200,213000001,3,500,,eA==,a,0,GET,http://x/a?b=c,WA==\n\
               1675412207000000000,503,1000,0,0,503 Service Unavailable,,a,1,GET,http://x/a,\n";
    let expected = [
        "1675412206263000001 213000001 ok 200 - GET http://x/a",
        "1675412207000000000 1000 status 503 503 GET http://x/a",
    ];
    assert_eq!(shown(csv), expected);
    let old = "1675412206263000001,200,213000001,3,500,,eA==,big,0\n";
    assert_eq!(shown(old), ["1675412206263000001 213000001 ok 200 - big"]);
    let bad = json.replace("\"latency\":1000", "\"latency\":-1");
    assert!(refused(&bad).starts_with("line 2: no result of vegeta: invalid value"));
}

#[test]
fn files_of_hey_oha_and_h2load_have_a_line_for_each_request() {
    let hey = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n\
               0.0087,0.0047,0.0042,0.0001,0.0019,0.0001,200,0.0016\n\
               0.0005,0.0047,0.0042,0.0001,0.0019,0.0001,503,0.1000\n";
    let expected = ["1600000 8700000 ok 200 - request", "100000000 500000 status 503 503 request"];
    assert_eq!(shown(hey), expected);
    assert!(read_text(hey).unwrap().absent[0].starts_with("requests without an answer"));
    let oldest =
        "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read\n0.5,0,0,0,0,0\n";
    let results = read_text(oldest).unwrap();
    assert!(!results.has_starts);
    assert_eq!(results.absent.len(), 2);
    let oha = "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n\
               0.002211678,0.000374078,0.001148565,0.002619327,0.002626127,11,200\n";
    assert_eq!(shown(oha), ["2211678 2626127 ok 200 - request"]);
    let h2load = "1675412206263000\t200\t213\n1675412206264000\t-1\t7\n1675412206265000\t404\t9\n";
    let expected = [
        "1675412206263000000 213000 ok 200 - request",
        "1675412206264000000 7000 other 0 failed stream request",
        "1675412206265000000 9000 status 404 404 request",
    ];
    assert_eq!(shown(h2load), expected);
}

#[test]
fn criterions_samples_are_sums_of_iterations() {
    let text = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n\
                algo,f,,,,5332271.0,ns,4\nalgo,f,,,,10387811.0,ns,8\nalgo,f,2,,,10591259.0,ns,12\n";
    let expected =
        ["0 1333068 ok 0 - algo/f", "0 1298476 ok 0 - algo/f", "0 882605 ok 0 - algo/f/2"];
    assert_eq!(shown(text), expected);
    let results = read_text(text).unwrap();
    assert!(!results.has_starts && results.absent[0].starts_with("times of single iterations"));
    for (from, to, expected) in [
        (",8\n", ",0\n", "line 3: an iteration takes no time"),
        (",8\n", ",x\n", "line 3: iteration_count is no number"),
        ("10387811.0,ns", "10387811.0,cycles", "line 3: the unit is none of time"),
    ] {
        let found = refused(&text.replace(from, to));
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn benchmarks_in_json_have_repetitions_and_rounds() {
    let google = "{\"context\":{\"date\":\"x\",\"num_cpus\":2},\"benchmarks\":[\
        {\"name\":\"BM_a/8\",\"run_name\":\"BM_a/8\",\"run_type\":\"iteration\",\"repetitions\":2,\"iterations\":1000,\
        \"real_time\":1.5,\"cpu_time\":1.4,\"time_unit\":\"us\"},\
        {\"name\":\"BM_a/8\",\"run_name\":\"BM_a/8\",\"run_type\":\"iteration\",\"error_occurred\":true,\
        \"error_message\":\"no file\",\"real_time\":0,\"time_unit\":\"us\"},\
        {\"name\":\"BM_a/8_mean\",\"run_name\":\"BM_a/8\",\"run_type\":\"aggregate\",\"aggregate_name\":\"mean\",\
        \"real_time\":1.5,\"time_unit\":\"us\"}]}";
    assert_eq!(shown(google), ["0 1500 ok 0 - BM_a/8", "0 0 check 0 no file BM_a/8"]);
    let lacks = read_text(google).unwrap().absent;
    assert_eq!(lacks[1], "1 of aggregates of repetitions: no operations");
    let pytest = "{\"machine_info\":{\"cpu\":{}},\"commit_info\":{},\"benchmarks\":[{\"name\":\"test_a\",\
        \"fullname\":\"t.py::test_a\",\"stats\":{\"min\":1e-6,\"iterations\":5,\"data\":[1.5e-6,2e-6]}}]}";
    assert_eq!(shown(pytest), ["0 1500 ok 0 - t.py::test_a", "0 2000 ok 0 - t.py::test_a"]);
    let saved = pytest.replace(",\"data\":[1.5e-6,2e-6]", "");
    assert!(refused(&saved).contains("not the time of any round; write rounds with"));
    let wrong = google.replace("\"real_time\":1.5,\"cpu_time\"", "\"real_time\":-1,\"cpu_time\"");
    assert!(refused(&wrong).starts_with("Google benchmark, JSON: \"BM_a/8\" has no real_time"));
}

#[test]
fn locusts_histograms_are_read_unless_failures_are_among_them() {
    let text = "[{\"name\":\"/a?x=1\",\"method\":\"GET\",\"last_request_timestamp\":1.5,\"start_time\":1.0,\
        \"num_requests\":4,\"num_none_requests\":0,\"num_failures\":0,\"total_response_time\":500,\
        \"max_response_time\":147,\"min_response_time\":12,\"total_content_length\":0,\
        \"response_times\":{\"12\":3,\"150.0\":1},\"num_reqs_per_sec\":{},\"num_fail_per_sec\":{}}]";
    let results = read_text(text).unwrap();
    let Measurements::Histograms(parts) = &results.measured else { panic!("{results:?}") };
    let times = &parts[0].times;
    assert_eq!((times.count(), times.min(), times.max()), (4, 12_000_000, 150_000_000));
    assert_eq!(results.measures[0].name, "GET /a");
    let failed = text.replace("\"num_failures\":0", "\"num_failures\":2");
    assert!(refused(&failed).starts_with("Locust, JSON: 2 requests failed, and their times"));
}

/// The log is that of the run directory itself, whose format is HdrHistogram's.
#[test]
fn interval_logs_are_read_in_the_unit_that_is_given() {
    use stats::hist::LogHistogram;

    use crate::latency::LatencyWriter;
    use crate::schema::{GeneratorInfo, RunInfo, RunStatus};

    let space = tempfile::tempdir().unwrap();
    let path = space.path().join("x.hlog");
    let info = RunInfo {
        format: 2,
        id: "x".to_owned(),
        name: "x".to_owned(),
        throng: "0.0.0".to_owned(),
        status: RunStatus::Complete,
        seed: 0,
        scenario_hash: String::new(),
        overrides: Vec::new(),
        target: String::new(),
        started_unix_ns: 1_675_412_206_000_000_000,
        ended_ns: 1,
        clock: "x".to_owned(),
        generator: GeneratorInfo::imported(),
        workers: Vec::new(),
        regions: Vec::new(),
        host: std::collections::BTreeMap::new(),
        measures: Vec::new(),
        metrics: Vec::new(),
        sessions: Vec::new(),
        steps: Vec::new(),
        phases: Vec::new(),
        expects_overload: false,
        tls_unverified: false,
    };
    let mut log = LatencyWriter::create(path.clone(), &info, crate::Durability::Process).unwrap();
    let mut hist = LogHistogram::new();
    hist.record_n(1_000, 9);
    hist.record(2_000);
    log.interval(0, 1_000_000_000, "", &hist).unwrap();
    log.interval(1_000_000_000, 1_000_000_000, "login", &hist).unwrap();
    log.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    for (unit, max) in [(None, 2_000), (Some(Unit::Us), 2_000_000)] {
        let options = ReadOptions { measure: None, unit };
        let results = read(text.as_bytes(), &options).unwrap();
        let Measurements::Histograms(parts) = &results.measured else { panic!("{results:?}") };
        let names: Vec<&str> = results.measures.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["latency", "login"]);
        assert_eq!(parts[1].start_ns, 1_675_412_207_000_000_000);
        assert_eq!((parts[0].times.count(), parts[0].times.max()), (10, max));
        assert_eq!(results.absent.iter().any(|what| what.contains("--unit")), unit.is_none());
    }
    let bad = text.replace("HISTFAAA", "!ISTFAAA");
    assert!(refused(&bad).starts_with("line "), "{}", refused(&bad));
}

#[test]
fn a_unit_beside_one_of_the_file_is_refused() {
    let options = ReadOptions { measure: None, unit: Some(Unit::Ms) };
    let error = read(JMETER.as_bytes(), &options).unwrap_err().to_string();
    assert!(error.starts_with("JMeter, CSV: the file states the unit of its times"), "{error}");
}

#[test]
fn one_name_may_stand_for_all_requests() {
    let options = ReadOptions { measure: Some("all".to_owned()), unit: None };
    let results = read(JMETER.as_bytes(), &options).unwrap();
    let names: Vec<&str> = results.measures.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["all"]);
    let Measurements::Operations(all) = &results.measured else { panic!("{results:?}") };
    let failed = all.iter().filter(|one| one.outcome != Outcome::Ok).count();
    assert_eq!((all.len(), failed), (4, 3));
}

/// A change of a text.
#[derive(Debug, Clone)]
enum Mutation {
    Cut(usize),
    Insert(usize, String),
    Remove(usize, usize),
    Repeat(usize, usize),
}

mod mutated {
    use proptest::prelude::*;

    use super::*;

    const FORMS: [&str; 12] = [
        JMETER,
        "<testResults>\n<sample t=\"1\" ts=\"2\" s=\"true\" lb=\"a\" rc=\"200\"><httpSample t=\"1\" lb=\"&amp;\"/></sample>",
        "{\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{\"time\":\"2023-02-03T08:16:47Z\",\"value\":5,\
         \"tags\":{\"status\":\"503\"}}}\n",
        "metric_name,timestamp,metric_value,name,status\nhttp_req_duration,1675412206,459.8,a,200\n",
        "RUN\ta\tb\t1675412206000\t \t3.9.5\nREQUEST\tg\tadd\t1675412206263\t1675412206476\tOK\t \n",
        "1675412206263000001,200,213000001,3,500,,eA==,a,0,GET,http://x/a,WA==\n",
        "group,function,value,sample_measured_value,unit,iteration_count\nalgo,f,,5332271.0,ns,4\n",
        "{\"latency\":0.002,\"timestamp\":1675412206263000001,\"thread\":0,\"iter\":0,\"ok\":true,\"details\":\"200\"}\n",
        "{\"count\":1,\"rps\":1,\"statusCodeDistribution\":{},\"latencyDistribution\":[],\"details\":[{\"timestamp\":\
         \"2023-02-03T08:16:46Z\",\"latency\":5,\"status\":\"OK\"}]}",
        "#date;pid;id;http method\n1675412206.5;<0.1.0>;12;post;127.0.0.1;/b;503;0;1;;;;\n",
        "[{\"name\":\"a\",\"num_requests\":4,\"num_failures\":0,\"response_times\":{\"12\":3}}]",
        "#[Histogram log format version 1.3]\n#[BaseTime: 1.5 (x)]\n0.127,1.007,2.769,HISTFAAAAEV42pNpmSzMwMCgyAABTBDKT4GBgdnNYMcCBvsPEBEJISEuATEZMQ4uASkhIR4nrxg9v2lMaxhvMekILGZkKmcCAEf2CsI=\n",
    ];

    fn mutation() -> impl Strategy<Value = Mutation> {
        let place = 0..400_usize;
        prop_oneof![
            place.clone().prop_map(Mutation::Cut),
            (place.clone(), "[\"',;\t\n\r<>&{}\\[\\]0-9eE.+-]{1,6}")
                .prop_map(|(at, text)| Mutation::Insert(at, text)),
            (place.clone(), 1..20_usize).prop_map(|(at, length)| Mutation::Remove(at, length)),
            (place, 1..40_usize).prop_map(|(at, length)| Mutation::Repeat(at, length)),
        ]
    }

    fn apply(text: &str, mutation: &Mutation) -> String {
        let place = |at: usize| {
            let at = at % (text.len() + 1);
            (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
        };
        match mutation {
            Mutation::Cut(at) => text[..place(*at)].to_owned(),
            Mutation::Insert(at, new) => {
                let at = place(*at);
                format!("{}{new}{}", &text[..at], &text[at..])
            }
            Mutation::Remove(at, length) => {
                let begin = place(*at);
                let end = place(begin + length).max(begin);
                format!("{}{}", &text[..begin], &text[end..])
            }
            Mutation::Repeat(at, length) => {
                let begin = place(*at);
                let end = place(begin + length).max(begin);
                format!("{}{}{}", &text[..end], &text[begin..end], &text[end..])
            }
        }
    }

    proptest! {
        #[test]
        fn mutated_files_are_read_or_refused(
            form in 0..FORMS.len(),
            mutations in prop::collection::vec(mutation(), 1..6),
        ) {
            let text = mutations.iter().fold(FORMS[form].to_owned(), |text, one| apply(&text, one));
            if let Ok(results) = read_text(&text) {
                let measures = results.measures.len();
                match &results.measured {
                    Measurements::Operations(all) => {
                        prop_assert!(!all.is_empty());
                        for one in all {
                            prop_assert!(usize::from(one.measure) < measures);
                            prop_assert!(usize::from(one.detail) <= results.details.len());
                            prop_assert!(one.start_ns <= i64::MAX as u64);
                        }
                    }
                    Measurements::Histograms(parts) => {
                        prop_assert!(parts.iter().all(|part| !part.times.is_empty()));
                    }
                }
            }
        }

        #[test]
        fn no_content_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes, &ReadOptions::default());
        }
    }
}

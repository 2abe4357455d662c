//! Test plans of JMeter.

use convert::{Leniency, jmeter};
use scenario::{Source, render};

fn files(name: &str) -> Result<String, String> {
    match name {
        "users.csv" => Ok("ann;secret\nbob;hidden\n".to_owned()),
        "body.json" => Ok("{}".to_owned()),
        _ => Err("no such file".to_owned()),
    }
}

fn convert(text: &str, leniency: Leniency) -> (Option<String>, String) {
    let source = Source { name: "shop.jmx", text };
    let (converted, diagnostics) =
        jmeter::convert(source, &jmeter::Settings { leniency, files: &files });
    (converted.map(|converted| converted.text), render(&diagnostics, source))
}

/// A plan with these elements beside the groups, and these in a group of this kind.
fn plan(beside: &str, group: &str, inner: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3">
<hashTree>
<TestPlan testname="Shop"><elementProp name="TestPlan.user_defined_variables" elementType="Arguments">
<collectionProp name="Arguments.arguments">
<elementProp name="host" elementType="Argument"><stringProp name="Argument.name">host</stringProp><stringProp name="Argument.value">${{__P(host,shop.test)}}</stringProp></elementProp>
<elementProp name="size" elementType="Argument"><stringProp name="Argument.name">size</stringProp><stringProp name="Argument.value">20</stringProp></elementProp>
</collectionProp></elementProp></TestPlan>
<hashTree>
<ConfigTestElement guiclass="HttpDefaultsGui" testname="Defaults"><stringProp name="HTTPSampler.domain">${{host}}</stringProp><stringProp name="HTTPSampler.protocol">https</stringProp></ConfigTestElement>
<hashTree/>
{beside}
{group}
<hashTree>
{inner}
</hashTree>
</hashTree></hashTree></jmeterTestPlan>
"#
    )
}

const THREADS: &str = r#"<ThreadGroup testname="Buyers">
<stringProp name="ThreadGroup.num_threads">10</stringProp><stringProp name="ThreadGroup.ramp_time">5</stringProp>
<boolProp name="ThreadGroup.scheduler">true</boolProp><stringProp name="ThreadGroup.duration">60</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController"><stringProp name="LoopController.loops">-1</stringProp></elementProp>
</ThreadGroup>"#;

fn prop(name: &str, value: &str) -> String {
    format!("<stringProp name=\"{name}\">{value}</stringProp>")
}

/// A sampler of this name; `more`: further properties, and what stands below it.
fn sampler(name: &str, method: &str, path: &str, more: &str, below: &str) -> String {
    let method = prop("HTTPSampler.method", method);
    let path = prop("HTTPSampler.path", path);
    format!(
        "<HTTPSamplerProxy testname=\"{name}\">{method}{path}<boolProp name=\"HTTPSampler.follow_redirects\">true</boolProp>{more}\
         </HTTPSamplerProxy>\n<hashTree>{below}</hashTree>\n"
    )
}

fn argument(name: &str, value: &str) -> String {
    format!(
        "<elementProp name=\"{name}\" elementType=\"HTTPArgument\"><boolProp name=\"HTTPArgument.always_encode\">true</boolProp>{}{}\
         </elementProp>",
        prop("Argument.name", name),
        prop("Argument.value", value)
    )
}

fn with_arguments(arguments: &[String]) -> String {
    format!(
        "<elementProp name=\"HTTPsampler.Arguments\" elementType=\"Arguments\"><collectionProp name=\"Arguments.arguments\">{}\
         </collectionProp></elementProp>",
        arguments.concat()
    )
}

/// A plan with what such plans hold.
pub(crate) fn shop() -> String {
    let csv = format!(
        "<CSVDataSet testname=\"Users\">{}{}{}</CSVDataSet><hashTree/>",
        prop("filename", "users.csv"),
        prop("variableNames", "login,password"),
        prop("delimiter", ";")
    );
    let beside = format!(
        "<CookieManager testname=\"Cookies\"/><hashTree/>{csv}\
         <HeaderManager testname=\"Headers\"><collectionProp name=\"HeaderManager.headers\">\
         <elementProp name=\"\" elementType=\"Header\">{}{}</elementProp></collectionProp></HeaderManager><hashTree/>\
         <ResultCollector testname=\"Tree\"/><hashTree/>",
        prop("Header.name", "Accept"),
        prop("Header.value", "application/json")
    );
    let token = format!(
        "<JSONPostProcessor testname=\"Token\">{}{}{}{}</JSONPostProcessor><hashTree/>",
        prop("JSONPostProcessor.referenceNames", "token"),
        prop("JSONPostProcessor.jsonPathExprs", "$.auth.token"),
        prop("JSONPostProcessor.match_numbers", "1"),
        prop("JSONPostProcessor.defaultValues", "none")
    );
    let code = format!(
        "<ResponseAssertion testname=\"Code\"><collectionProp name=\"Asserion.test_strings\"><stringProp name=\"49586\">200</stringProp>\
         </collectionProp>{}<intProp name=\"Assertion.test_type\">8</intProp></ResponseAssertion><hashTree/>",
        prop("Assertion.test_field", "Assertion.response_code")
    );
    let timer = format!(
        "<UniformRandomTimer testname=\"Pause\">{}{}</UniformRandomTimer><hashTree/>",
        prop("ConstantTimer.delay", "1000"),
        prop("RandomTimer.range", "2000.0")
    );
    let login = sampler(
        "Log in",
        "POST",
        "/login",
        &with_arguments(&[argument("user", "${login}"), argument("password", "${password}")]),
        &format!("{token}{code}"),
    );
    let list = sampler(
        "List",
        "GET",
        "items",
        &with_arguments(&[
            argument("size", "${size}"),
            argument("q", "a b"),
            argument("n", "${__Random(1,9)}"),
        ]),
        &timer,
    );
    let paid = format!(
        "<IfController testname=\"Paid\">{}</IfController><hashTree>{}</hashTree>",
        prop("IfController.condition", "${__jexl3(&quot;${token}&quot; != &quot;none&quot;)}"),
        sampler("Pay", "PUT", "/pay/${token}", "", "")
    );
    let looped = format!(
        "<TransactionController testname=\"Shopping\"/><hashTree><LoopController testname=\"Twice\">{}</LoopController>\
         <hashTree>{list}</hashTree>{paid}</hashTree>",
        prop("LoopController.loops", "2")
    );
    let once = format!("<OnceOnlyController testname=\"Once\"/><hashTree>{login}</hashTree>");
    plan(&beside, THREADS, &format!("{once}{looped}"))
}

#[test]
fn a_plan_becomes_a_session() {
    let (converted, said) = convert(&shop(), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(
        converted,
        r#"# Converted from JMeter's shop.jmx; see docs/importing.md.
name: shop
target: "https://shop.test"
params:
  size: "20"
options:
  cookies: true
  accept_encoding: none
data:
  users_csv:
    file: users.csv
    separator: ";"
    columns:
      - column_1
      - column_2
    end: wrap
sessions:
  Buyers:
    steps:
      - set:
          login: ""
          password: ""
          token: ""
      - set:
          once: 0
      - forever:
          - feed: users_csv
            as:
              login: column_1
              password: column_2
          - if: once == 0
            then:
              - set:
                  once: 1
              - post: /login
                as: Log in
                headers:
                  accept: application/json
                form:
                  user: "${login}"
                  password: "${password}"
                redirects: 20
                status: 200
                save:
                  token:
                    pointer: "$.auth.token"
                    default: none
          - transaction: Shopping (transaction)
            steps:
              - loop: 2
                steps:
                  - think: 1000ms..3000ms
                  - get: "/items?size=${size}&q=a%20b&n=${random(1, 9)}"
                    as: List
                    headers:
                      accept: application/json
                    redirects: 20
              - if: token != 'none'
                then:
                  - put: "/pay/${raw(token)}"
                    as: Pay
                    headers:
                      accept: application/json
                    redirects: 20
arrivals:
  - constant: 2/s
    for: 5.25s
    users_max: 10
    session: Buyers
  - hold: 54.75s
thresholds:
  # What must hold for a run to pass: edit it.
  - error_rate < 1%
"#
    );
    for part in ["user n begins with line n", "listeners are not needed"] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn groups_run_side_by_side() {
    let group = |name: &str, more: &str| {
        format!(
            "<ThreadGroup testname=\"{name}\">{}<elementProp name=\"ThreadGroup.main_controller\" elementType=\"LoopController\">{}</elementProp>{more}\
             </ThreadGroup><hashTree>{}</hashTree>",
            prop("ThreadGroup.num_threads", "2"),
            prop("LoopController.loops", "3"),
            sampler(name, "GET", "/", "", "")
        )
    };
    let text = plan(
        &group("a", ""),
        &THREADS.replace("10<", "${__P(users,4)}<"),
        &sampler("b", "GET", "/b", "", ""),
    );
    let (converted, said) = convert(&text, Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    for part in [
        "setup:\n  - set:\n      run_begin: \"${now()}\"\n",
        "      - loop: 3\n        steps:\n          - get: /\n",
        "      - while: now() - run_begin < 60000\n        steps:\n          - get: /b\n",
        "  - together:\n      - constant: 20/s\n        for: 0.125s\n        users_max: 2\n        session: a\n",
        "        users_max: 4\n        session: Buyers\n",
        "    until: done\n",
    ] {
        assert!(converted.contains(part), "{part}\n{converted}");
    }
}

#[test]
fn groups_of_plugins_are_populations_and_arrivals() {
    let row = |cells: [&str; 5]| {
        let cells: String = cells.iter().map(|cell| prop("0", cell)).collect();
        format!("<collectionProp name=\"row\">{cells}</collectionProp>")
    };
    let ultimate = format!(
        "<kg.apc.jmeter.threads.UltimateThreadGroup testname=\"u\"><collectionProp name=\"ultimatethreadgroupdata\">{}{}</collectionProp>\
         </kg.apc.jmeter.threads.UltimateThreadGroup>",
        row(["10", "0", "10", "30", "10"]),
        row(["10", "20", "10", "10", "10"])
    );
    let inner = sampler("a", "GET", "/", "", "");
    let (converted, said) = convert(&plan("", &ultimate, &inner), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    for part in [
        "  - users: 0..10\n    for: 10s\n    session: u\n",
        "  - users: 10\n    for: 10s\n",
        "  - users: 10..20\n    for: 10s\n",
        "  - users: 20..0\n    for: 10s\n",
    ] {
        assert!(converted.contains(part), "{part}\n{converted}");
    }
    let open = format!(
        "<OpenModelThreadGroup testname=\"o\">{}</OpenModelThreadGroup>",
        prop(
            "OpenModelThreadGroup.schedule",
            "rate(0/s) random_arrivals(1 min) rate(5/s) even_arrivals(30 s) pause(2 s)"
        )
    );
    let (converted, said) = convert(&plan("", &open, &inner), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(
        converted.contains(
            "  - ramp: 0/s..5/s\n    for: 60s\n    spacing: poisson\n    session: o\n  - constant: 5/s\n    for: 30s\n    session: o\n  - hold: 2s\n"
        ),
        "{converted}"
    );
    let shaper = format!(
        "<kg.apc.jmeter.timers.VariableThroughputTimer testname=\"s\"><collectionProp name=\"load_profile\"><collectionProp name=\"1\">{}{}{}\
         </collectionProp></collectionProp></kg.apc.jmeter.timers.VariableThroughputTimer><hashTree/>",
        prop("1", "2"),
        prop("2", "20"),
        prop("3", "60")
    );
    let inner = format!("{shaper}{inner}{}", sampler("b", "GET", "/b", "", ""));
    let (converted, said) = convert(&plan("", THREADS, &inner), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(
        converted.contains("  - ramp: 1/s..10/s\n    for: 60s\n    session: Buyers\n"),
        "{converted}"
    );
    assert!(!converted.contains("forever"), "{converted}");
}

/// Groups of other kinds than plain threads cannot be phases side by side.
#[test]
fn groups_whose_threads_rise_and_fall_are_populations_beside_others() {
    let cells = ["10", "0", "10", "30", "10"].map(|cell| prop("0", cell)).concat();
    let inner = sampler("a", "GET", "/", "", "");
    let ultimate = format!(
        "<kg.apc.jmeter.threads.UltimateThreadGroup testname=\"rise, and fall\"><collectionProp name=\"ultimatethreadgroupdata\">\
         <collectionProp name=\"row\">{cells}</collectionProp></collectionProp></kg.apc.jmeter.threads.UltimateThreadGroup>\
         <hashTree>{inner}</hashTree>"
    );
    let text = plan(&ultimate, THREADS, &sampler("b", "GET", "/b", "", ""));
    let (converted, said) = convert(&text, Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    for part in [
        "populations:\n  rise and fall:\n    arrivals:\n      - users: 0..10\n        for: 10s\n",
        "      - users: 10..0\n        for: 10s\n",
        "  Buyers:\n    arrivals:\n      - constant: 2/s\n",
        "        until: done\n",
    ] {
        assert!(converted.contains(part), "{part}\n{converted}");
    }
    assert!(!converted.contains("\narrivals:"), "{converted}");
}

#[test]
fn websockets_are_spoken() {
    let element = |name: &str, properties: &str| {
        let name = format!("eu.luminis.jmeter.wssampler.{name}");
        format!(
            "<{name} testname=\"{}\">{properties}</{name}><hashTree/>",
            name.rsplit('.').next().unwrap()
        )
    };
    let connection = format!(
        "{}{}{}",
        prop("server", "ws.test"),
        prop("port", "8080"),
        prop("path", "chat?x=${size}")
    );
    let inner = [
        element("OpenWebSocketSampler", &connection),
        element(
            "RequestResponseWebSocketSampler",
            &format!(
                "{}{}",
                prop("requestData", "{&quot;n&quot;: ${__threadNum}}"),
                prop("readTimeout", "6000")
            ),
        ),
        element("SingleReadWebSocketSampler", ""),
        element("CloseWebSocketSampler", &prop("statusCode", "1000")),
    ];
    let (converted, said) = convert(&plan("", THREADS, &inner.concat()), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    for part in [
        "target: \"ws://ws.test:8080\"\n",
        "- ws: \"/chat?x=${raw(size)}\"\n",
        "- send: \"{\\\"n\\\": ${user + 1}}\"\n            reply:\n              within: 6000ms\n",
        "- expect:\n              as: SingleReadWebSocketSampler\n",
        "- close: 1000\n",
    ] {
        assert!(converted.contains(part), "{part}\n{converted}");
    }
}

/// What stands below a sampler and has no counterpart is not only silent there.
#[test]
fn elements_below_samplers_are_named() {
    let below = "<SizeAssertion testname=\"Size\"/><hashTree/><ResultCollector testname=\"Tree\"/><hashTree/>";
    let text = plan("", THREADS, &sampler("a", "GET", "/", "", below));
    let (converted, said) = convert(&text, Leniency::Strict);
    assert!(converted.is_none() && said.contains("`Size` (SizeAssertion) is not"), "{said}");
    let (converted, said) = convert(&text, Leniency::Lenient);
    assert!(converted.is_some() && said.contains("listeners are not needed"), "{said}");
}

#[test]
fn paths_of_xpath_become_selectors() {
    let extractor = |kind: &str, property: &str, path: &str| {
        format!(
            "<{kind} testname=\"X\">{}{}{}</{kind}><hashTree/>",
            prop(&format!("{property}.refname"), "token"),
            prop(&format!("{property}.xpathQuery"), path),
            prop(&format!("{property}.default"), "none")
        )
    };
    let below = [
        extractor("XPathExtractor", "XPathExtractor", "//input[@name='csrf']/@value"),
        extractor("XPath2Extractor", "XPathExtractor2", "/Reply/Token/text()"),
        format!(
            "<XPathAssertion testname=\"Y\">{}</XPathAssertion><hashTree/>",
            prop("XPath.xpath", "//form")
        ),
    ];
    for (below, part) in [
        (
            &below[0],
            "token:\n                css: \"input[name=\\\"csrf\\\"]\"\n                attr: value\n                default: none\n",
        ),
        (&below[1], "token:\n                css: reply > token\n                default: none\n"),
        (&below[2], "found:\n                css: form\n                default: null\n"),
    ] {
        let text = plan("", THREADS, &sampler("a", "GET", "/", "", below));
        let (converted, said) = convert(&text, Leniency::Strict);
        let converted = converted.unwrap_or_else(|| panic!("{said}"));
        assert!(converted.contains(part), "{part}\n{converted}");
        assert_eq!(converted.contains("found != null"), part.starts_with("found"), "{converted}");
    }
    // Its number of a match is -1 unless somebody has changed it; a list is what a controller goes through.
    let numbered = format!(
        "<XPathExtractor testname=\"X\">{}{}{}</XPathExtractor><hashTree/>",
        prop("XPathExtractor.refname", "token"),
        prop("XPathExtractor.xpathQuery", "//a"),
        prop("XPathExtractor.matchNumber", "-1")
    );
    let each = format!(
        "<ForeachController testname=\"Each\">{}{}</ForeachController><hashTree>{}</hashTree>",
        prop("ForeachController.inputVal", "token"),
        prop("ForeachController.returnVal", "one"),
        sampler("b", "GET", "/${one}", "", "")
    );
    for (each, is_list) in [("", false), (each.as_str(), true)] {
        let inner = format!("{}{each}", sampler("a", "GET", "/", "", &numbered));
        let (converted, said) = convert(&plan("", THREADS, &inner), Leniency::Strict);
        let converted = converted.unwrap_or_else(|| panic!("{said}"));
        assert_eq!(converted.contains("all: true\n"), is_list, "{converted}");
        assert_eq!(converted.contains("- foreach: token\n"), is_list, "{converted}");
    }
    let text = plan(
        "",
        THREADS,
        &sampler("a", "GET", "/", "", &extractor("XPathExtractor", "XPathExtractor", "count(//a)")),
    );
    let (converted, said) = convert(&text, Leniency::Strict);
    assert!(converted.is_none() && said.contains("`count(//a)`: a selector of CSS"), "{said}");
}

#[test]
fn connections_and_statuses_are_those_of_the_plan() {
    let closes = "<boolProp name=\"HTTPSampler.use_keepalive\">false</boolProp>";
    let assertion = format!(
        "<ResponseAssertion testname=\"Text\"><collectionProp name=\"Asserion.test_strings\"><stringProp name=\"1\">gone</stringProp>\
         </collectionProp>{}<boolProp name=\"Assertion.assume_success\">true</boolProp><intProp name=\"Assertion.test_type\">16</intProp>\
         </ResponseAssertion><hashTree/>",
        prop("Assertion.test_field", "Assertion.response_data")
    );
    let text = plan("", THREADS, &sampler("a", "GET", "/", closes, &assertion));
    let (converted, said) = convert(&text, Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    for part in ["              connection: close\n", "            status: 100..599\n"] {
        assert!(converted.contains(part), "{part}\n{converted}");
    }
    // Another assertion on the code has the last word.
    let code = format!(
        "<ResponseAssertion testname=\"Code\"><collectionProp name=\"Asserion.test_strings\"><stringProp name=\"1\">410</stringProp>\
         </collectionProp>{}<intProp name=\"Assertion.test_type\">8</intProp></ResponseAssertion><hashTree/>",
        prop("Assertion.test_field", "Assertion.response_code")
    );
    let text = plan("", THREADS, &sampler("a", "GET", "/", "", &format!("{assertion}{code}")));
    let (converted, said) = convert(&text, Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(converted.contains("            status: 410\n"), "{converted}");
}

/// As JMeter merges them.
#[test]
fn parameters_of_the_defaults_follow_those_of_a_request() {
    let more = with_arguments(&[argument("lang", "en")]);
    let defaults = format!(
        "<ConfigTestElement guiclass=\"HttpDefaultsGui\" testname=\"More\">{more}</ConfigTestElement><hashTree/>"
    );
    let own = with_arguments(&[argument("a", "1")]);
    let inner = format!(
        "{defaults}{}{}",
        sampler("get", "GET", "/g", &own, ""),
        sampler("post", "POST", "/p", &own, "")
    );
    let (converted, said) = convert(&plan("", THREADS, &inner), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    for part in [
        "- get: /g?a=1&lang=en\n",
        "            form:\n              a: \"1\"\n              lang: en\n",
    ] {
        assert!(converted.contains(part), "{part}\n{converted}");
    }
}

/// JMeter waits for the timers of samplers that send nothing.
#[test]
fn timers_of_pauses_are_waited_for() {
    let timer = format!(
        "<UniformRandomTimer testname=\"t\">{}{}</UniformRandomTimer><hashTree/>",
        prop("ConstantTimer.delay", "1000"),
        prop("RandomTimer.range", "100.0")
    );
    let pause = format!(
        "<TestAction testname=\"Think\"><intProp name=\"ActionProcessor.action\">1</intProp>{}</TestAction><hashTree>{timer}</hashTree>",
        prop("ActionProcessor.duration", "0")
    );
    let inner = format!("{pause}{}", sampler("a", "GET", "/", "", ""));
    let (converted, said) = convert(&plan("", THREADS, &inner), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(converted.matches("- think: 1000ms..1100ms\n").count(), 1, "{converted}");
}

/// Such a request fails in JMeter.
#[test]
fn requests_without_a_host_are_left_out_if_that_is_wanted() {
    let text = plan("", THREADS, &sampler("a", "GET", "/", "", ""));
    let text = text.replace(">${host}<", "><");
    let other = sampler("b", "GET", "http://b.test/", "", "");
    let text = text.replace(
        "</hashTree>\n</hashTree></hashTree>",
        &format!("{other}</hashTree>\n</hashTree></hashTree>"),
    );
    let (converted, said) = convert(&text, Leniency::Strict);
    assert!(converted.is_none() && said.contains("this request has no host"), "{said}");
    let (converted, said) = convert(&text, Leniency::Lenient);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(
        converted.contains("target: \"http://b.test\"") && !converted.contains("as: a\n"),
        "{converted}"
    );
}

#[test]
fn handshakes_write_their_own_headers() {
    let header = |name: &str| {
        format!(
            "<elementProp name=\"\" elementType=\"Header\">{}{}</elementProp>",
            prop("Header.name", name),
            prop("Header.value", "x")
        )
    };
    let headers = format!(
        "<HeaderManager testname=\"h\"><collectionProp name=\"HeaderManager.headers\">{}{}</collectionProp></HeaderManager><hashTree/>",
        header("Sec-WebSocket-Extensions"),
        header("X-Own")
    );
    let open = "eu.luminis.jmeter.wssampler.OpenWebSocketSampler";
    let inner = format!(
        "{headers}<{open} testname=\"o\">{}{}</{open}><hashTree/>",
        prop("server", "ws.test"),
        prop("path", "/")
    );
    let (converted, said) = convert(&plan("", THREADS, &inner), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(converted.contains("x-own: x") && !converted.contains("extensions"), "{converted}");
    assert!(said.contains("a WebSocket's handshake writes its own headers"), "{said}");
}

#[test]
fn handshakes_have_the_cookies_of_the_plan() {
    let cookie = format!(
        "<CookieManager testname=\"c\"><collectionProp name=\"CookieManager.cookies\">\
         <elementProp name=\"a\" elementType=\"Cookie\">{}</elementProp><elementProp name=\"b\" elementType=\"Cookie\">{}\
         </elementProp></collectionProp></CookieManager><hashTree/>",
        prop("Cookie.value", "1"),
        prop("Cookie.value", "${size}")
    );
    let open = "eu.luminis.jmeter.wssampler.OpenWebSocketSampler";
    let inner =
        format!("{cookie}<{open} testname=\"o\">{}</{open}><hashTree/>", prop("server", "ws.test"));
    let (converted, said) = convert(&plan("", THREADS, &inner), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(converted.contains("cookie: \"a=1; b=${size}\""), "{converted}");
}

#[test]
fn what_no_request_needs_is_named() {
    let empty = "<IfController testname=\"If\"/><hashTree><DurationAssertion testname=\"Time\"/><hashTree/></hashTree>\
                 <ConfigTestElement guiclass=\"HttpDefaultsGui\" testname=\"None\"/><hashTree/>";
    let inner = format!("{empty}{}", sampler("a", "GET", "/", "", ""));
    let (_, said) = convert(&plan("", THREADS, &inner), Leniency::Lenient);
    for part in ["`If` has no sampler", "left out: Time", "`None` are empty", "left out: size"] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn what_is_not_carried_over_is_named_with_its_line() {
    let request = sampler("a", "GET", "/${__groovy(x.y())}/${gone}", "", "");
    let (converted, said) = convert(&plan("", THREADS, &request), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(
        converted.contains("  # groovy stands for ${__groovy(x.y())}\n  groovy: \"\"\n"),
        "{converted}"
    );
    assert!(converted.contains("- get: \"/${raw(groovy)}/${raw(env('GONE'))}\"\n"), "{converted}");
    assert!(said.contains("no element sets `gone`"), "{said}");
    let script = format!(
        "<JSR223Sampler testname=\"Code\">{}</JSR223Sampler><hashTree/>{request}",
        prop("script", "log.info(1)")
    );
    let (converted, said) = convert(&plan("", THREADS, &script), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(converted.contains("# script: log.info(1)\n"), "{converted}");
    for (inner, expected) in [
        (
            "<JDBCSampler testname=\"Query\"/><hashTree/>",
            "`Query` (JDBCSampler) is not carried over",
        ),
        (
            "<IncludeController testname=\"Part\"/><hashTree/>",
            "`Part` stands for elements of another place",
        ),
        (
            "<JDBCPreProcessor testname=\"X\"/><hashTree/>",
            "`X` (JDBCPreProcessor) is not carried over",
        ),
        (
            "<IfController testname=\"If\"><stringProp name=\"IfController.condition\">a(b)</stringProp></IfController><hashTree/>",
            "the condition `a(b)` is none of the common forms",
        ),
    ] {
        let text = plan("", THREADS, &format!("{inner}{}", sampler("a", "GET", "/", "", "")));
        let (converted, said) = convert(&text, Leniency::Strict);
        assert!(converted.is_none() && said.contains(expected), "{inner}\n{said}");
        assert!(said.contains("shop.jmx:19:"), "{said}");
        let is_empty = said.contains("has no sampler");
        assert!(!is_empty || inner.contains("<If"), "{said}");
        let (converted, said) = convert(&text, Leniency::Lenient);
        assert!(converted.is_some() && said.contains("left out"), "{inner}\n{said}");
    }
    for (text, expected) in [
        ("<tsung/>", "the document is a `tsung`"),
        ("<jmeterTestPlan><hashTree/></jmeterTestPlan>", "the file has no test plan"),
        ("<jmeterTestPlan", "this is not XML"),
    ] {
        let (converted, said) = convert(text, Leniency::Strict);
        assert!(converted.is_none() && said.contains(expected), "{text}\n{said}");
    }
}

/// A plan that is changed anywhere.
pub(crate) fn assert_sound(text: &str) {
    for leniency in [Leniency::Strict, Leniency::Lenient] {
        let source = Source { name: "x.jmx", text };
        let settings = jmeter::Settings { leniency, files: &|_| Ok("a;b\n1;2\n".to_owned()) };
        if let (Some(converted), _) = jmeter::convert(source, &settings) {
            let any = |_: &str| -> Result<String, String> { Ok("a;b\n1;2\n".to_owned()) };
            let env = |_: &str| Some("value".to_owned());
            let url = |_: &str| Some("http://value.test".to_owned());
            let is_sound = convert::problems(&converted, &any, &env).is_empty()
                || convert::problems(&converted, &any, &url).is_empty();
            assert!(is_sound, "{}", converted.text);
        }
    }
}

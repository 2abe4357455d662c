use super::*;

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
/// 30 August 2015, 12:36:00 UTC.
const SUITE_S: i64 = 1_440_938_160;

fn suite(session_token: Option<&str>) -> AwsSigner<'_> {
    AwsSigner {
        service: "service",
        region: "us-east-1",
        access_key: "AKIDEXAMPLE",
        secret_key: SECRET,
        session_token,
        signs_body: true,
    }
}

#[track_caller]
fn lines(request: &str, signing: &AwsSigner<'_>, unix_s: i64) -> String {
    let lines = Keys::default().lines(request.as_bytes(), signing, unix_s);
    lines.expect("the request can be signed")
}

fn signature(lines: &str) -> &str {
    let (_, signature) = lines.split_once("Signature=").unwrap_or_default();
    signature.trim_end()
}

const VANILLA: &str = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
const POST: &str = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b";

/// The AWS Signature Version 4 test suite: name, request line, headers, body, signature.
#[test]
fn requests_are_signed_as_in_the_test_suite() {
    const UNRESERVED: &str = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let unreserved = format!("GET /{UNRESERVED}");
    let unreserved_query = format!("GET /?{UNRESERVED}={UNRESERVED}");
    for (name, line, headers, body, expected) in [
        ("get-vanilla", "GET /", "", "", VANILLA),
        ("get-slash", "GET //", "", "", VANILLA),
        ("get-slash-dot-slash", "GET /./", "", "", VANILLA),
        ("get-relative", "GET /example/..", "", "", VANILLA),
        ("get-relative-relative", "GET /example1/example2/../..", "", "", VANILLA),
        (
            "get-slash-pointless-dot",
            "GET /./example",
            "",
            "",
            "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
        ),
        (
            "get-slashes",
            "GET //example//",
            "",
            "",
            "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
        ),
        (
            "get-space",
            "GET /example space/",
            "",
            "",
            "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
        ),
        (
            "get-utf8",
            "GET /\u{1234}",
            "",
            "",
            "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
        ),
        (
            "get-unreserved",
            &unreserved,
            "",
            "",
            "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
        ),
        (
            "get-vanilla-query-unreserved",
            &unreserved_query,
            "",
            "",
            "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
        ),
        (
            "get-vanilla-empty-query-key",
            "GET /?Param1=value1",
            "",
            "",
            "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
        ),
        (
            "get-vanilla-query-order-key-case",
            "GET /?Param2=value2&Param1=value1",
            "",
            "",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "get-vanilla-query-order-encoded",
            "GET /?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
            "",
            "",
            "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
        ),
        (
            "get-vanilla-utf8-query",
            "GET /?\u{1234}=bar",
            "",
            "",
            "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
        ),
        (
            "get-header-key-duplicate",
            "GET /",
            "My-Header1:value2\r\nMy-Header1:value2\r\nMy-Header1:value1\r\n",
            "",
            "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
        ),
        (
            "get-header-value-trim",
            "GET /",
            "My-Header1: value1\r\nMy-Header2: \"a   b   c\"\r\n",
            "",
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
        ),
        ("post-vanilla", "POST /", "", "", POST),
        (
            "post-vanilla-query",
            "POST /?Param1=value1",
            "",
            "",
            "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
        ),
        (
            "post-header-key-sort",
            "POST /",
            "My-Header1:value1\r\n",
            "",
            "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
        ),
        (
            "post-header-value-case",
            "POST /",
            "My-Header1:VALUE1\r\n",
            "",
            "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
        ),
        (
            "post-x-www-form-urlencoded",
            "POST /",
            "Content-Type:application/x-www-form-urlencoded\r\n",
            "Param1=value1",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ] {
        let request =
            format!("{line} HTTP/1.1\r\nHost: example.amazonaws.com\r\n{headers}\r\n{body}");
        let found = lines(&request, &suite(None), SUITE_S);
        assert_eq!(signature(&found), expected, "{name}");
    }
}

#[test]
fn a_session_token_is_signed_as_in_the_test_suite() {
    let token = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";
    let request = "GET / HTTP/1.1\r\nhost: example.amazonaws.com\r\n\r\n";
    let found = lines(request, &suite(Some(token)), SUITE_S);
    assert_eq!(
        found,
        format!(
            "x-amz-date: 20150830T123600Z\r\nx-amz-security-token: {token}\r\n\
             authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
             SignedHeaders=host;x-amz-date;x-amz-security-token, \
             Signature=07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8\r\n"
        )
    );
}

/// Amazon S3 API Reference, "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk".
#[test]
fn requests_of_s3_are_signed_as_in_its_reference() {
    let signing = AwsSigner {
        service: "s3",
        access_key: "AKIAIOSFODNN7EXAMPLE",
        secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ..suite(None)
    };
    let put = "date: Fri, 24 May 2013 00:00:00 GMT\r\nx-amz-storage-class: REDUCED_REDUNDANCY\r\n\
               content-length: 21\r\nuser-agent: any\r\n";
    for (line, headers, body, expected) in [
        (
            "GET /test.txt",
            "Range: bytes=0-9\r\n",
            "",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT /test$file.text",
            put,
            "Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            "PUT /test%24file.text",
            put,
            "Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            "GET /?lifecycle",
            "",
            "",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "GET /?max-keys=2&prefix=J",
            "",
            "",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ] {
        let request = format!(
            "{line} HTTP/1.1\r\nhost: examplebucket.s3.amazonaws.com\r\n{headers}\r\n{body}"
        );
        // 24 May 2013.
        let found = lines(&request, &signing, 1_369_353_600);
        assert_eq!(signature(&found), expected, "{line}");
    }
}

#[test]
fn an_unsigned_body_says_so_and_does_not_change_the_signature() {
    let signing = AwsSigner { service: "s3", signs_body: false, ..suite(None) };
    let put = |body: &str| {
        let request = format!("PUT /a//../b HTTP/1.1\r\nhost: a.test\r\n\r\n{body}");
        lines(&request, &signing, SUITE_S)
    };
    assert!(put("one").contains("x-amz-content-sha256: UNSIGNED-PAYLOAD\r\n"));
    assert_eq!(put("one"), put("two"));
}

#[test]
fn own_dates_and_hashes_are_used() {
    let request = |date: &str| {
        format!("GET / HTTP/1.1\r\nHost:example.amazonaws.com\r\nX-Amz-Date:{date}\r\n\r\n")
    };
    let found = lines(&request("20150830T123600Z"), &suite(None), 0);
    assert!(found.starts_with("authorization: "), "{found}");
    assert_eq!(signature(&found), VANILLA);
    let mut keys = Keys::default();
    let wrong = keys.lines(request("yesterday").as_bytes(), &suite(None), 0);
    assert_eq!(wrong, Err(AwsError::Date));
}

#[test]
fn what_would_end_a_header_line_is_refused() {
    let request = b"GET / HTTP/1.1\r\nhost: a.test\r\n\r\n";
    for (signing, what) in [
        (suite(Some("a\r\nb: c")), "the session token"),
        (AwsSigner { access_key: "a b", ..suite(None) }, "the access key"),
        (AwsSigner { region: "", ..suite(None) }, "the region"),
        (AwsSigner { service: "s\n3", ..suite(None) }, "the service"),
    ] {
        let found = Keys::default().lines(request, &signing, 0);
        assert_eq!(found, Err(AwsError::Characters(what)));
    }
}

#[test]
fn keys_are_derived_once_a_day_and_never_mixed_up() {
    let mut keys = Keys::default();
    let request = b"GET / HTTP/1.1\r\nhost: example.amazonaws.com\r\n\r\n";
    let other = AwsSigner { secret_key: "another secret", ..suite(None) };
    for round in 0..40 {
        let days_s = 86_400 * (round % 20);
        let first = keys.lines(request, &suite(None), SUITE_S + days_s).unwrap();
        let second = keys.lines(request, &other, SUITE_S + days_s).unwrap();
        assert_eq!(first, lines_of(request, &suite(None), SUITE_S + days_s));
        assert_eq!(second, lines_of(request, &other, SUITE_S + days_s));
        assert!(keys.0.len() <= KEPT_MAX);
    }
}

fn lines_of(request: &[u8], signing: &AwsSigner<'_>, unix_s: i64) -> String {
    Keys::default().lines(request, signing, unix_s).unwrap()
}

#[test]
fn dates_follow_the_calendar() {
    for (unix_s, expected) in [
        (0, "19700101T000000Z"),
        (951_782_400, "20000229T000000Z"),
        (1_709_164_800, "20240229T000000Z"),
        (1_735_689_599, "20241231T235959Z"),
        (SUITE_S, "20150830T123600Z"),
    ] {
        assert_eq!(date_of(unix_s), expected);
    }
}

//! What the reader accepts, refuses, and says about it.

#![expect(clippy::expect_used, reason = "a test stops at a surprise")]

use stave_canon::{
    DuplicateKeys, MAX_DEPTH, Number, ParseOptions, Value, compact_utf8, parse, parse_bytes, parse_untrusted,
    parse_untrusted_bytes, parse_with,
};

fn number(text: &str) -> Number {
    let value = parse(text).ok();
    value.as_ref().and_then(Value::as_number).expect(text).clone()
}

#[test]
fn integers_and_doubles_keep_the_kind_they_were_written_in() {
    assert_eq!(number("0"), Number::Int(0));
    assert_eq!(number("-0"), Number::Int(0));
    assert_eq!(number("-0.0"), Number::Float(-0.0));
    assert_ne!(number("-0.0"), Number::Float(0.0));
    assert_eq!(number("1.0"), Number::Float(1.0));
    assert_eq!(number("3E3"), Number::Float(3000.0));
    assert_eq!(number("-0e-5"), Number::Float(-0.0));
    assert_eq!(number("1e-400"), Number::Float(0.0));
    assert_eq!(number("9223372036854775807"), Number::Int(i64::MAX));
    assert_eq!(number("-9223372036854775808"), Number::Int(i64::MIN));
    assert_eq!(number("9223372036854775808"), Number::Big("9223372036854775808".into()));
}

#[test]
fn integers_are_exact_at_any_length() {
    for length in [19, 20, 4300, 4301, 100_000] {
        for sign in ["", "-"] {
            let text = format!("{sign}1{}", "234567890".repeat(length / 9 + 1));
            assert_eq!(compact_utf8(&parse(&text).unwrap()), text);
            let inside = format!("[{text},{{\"k\":{text}}}]");
            assert_eq!(compact_utf8(&parse(&inside).unwrap()), inside);
        }
    }
}

#[test]
fn doubles_are_read_to_the_nearest_however_many_digits_they_have() {
    let long = format!("0.{}1", "0".repeat(5000));
    assert_eq!(number(&long), Number::Float(0.0));
    let half_way = "9007199254740993.0";
    assert_eq!(number(half_way), Number::Float(9007199254740992.0));
    assert_eq!(number(&format!("{half_way}{}1", "0".repeat(2000))), Number::Float(9007199254740994.0));
    assert_eq!(number(&format!("1{}.0e-4999", "0".repeat(4999))), Number::Float(1.0));
}

#[test]
fn non_finite_numbers_are_read_only_when_they_are_asked_for() {
    let options = ParseOptions { non_finite: true, ..ParseOptions::default() };
    for (text, value) in [
        ("NaN", f64::NAN),
        ("Infinity", f64::INFINITY),
        ("-Infinity", f64::NEG_INFINITY),
        ("1e400", f64::INFINITY),
        ("-1e400", f64::NEG_INFINITY),
    ] {
        assert!(parse(text).is_err());
        assert_eq!(parse_with(text, options), Ok(Value::from(value)));
    }
    for text in ["nan", "-NaN", "Inf", "+Infinity", "infinity"] {
        assert!(parse_with(text, options).is_err(), "{text}");
    }
}

#[test]
fn containers_nest_up_to_the_bound_and_no_further() {
    let nested = |depth: usize, inner: &str| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(parse(&nested(MAX_DEPTH, "")).unwrap().depth(), MAX_DEPTH);
    assert_eq!(parse(&nested(MAX_DEPTH, "1")).unwrap().depth(), MAX_DEPTH);
    assert_eq!(parse(&nested(MAX_DEPTH + 1, "")).unwrap_err().offset, MAX_DEPTH);
    assert_eq!(parse(&"[".repeat(1_000_000)).unwrap_err().message, "nested too deeply");
    assert_eq!(parse(&"{\"a\":".repeat(1_000_000)).unwrap_err().message, "nested too deeply");
}

#[test]
fn of_duplicate_keys_the_last_wins_unless_they_are_refused() {
    let text = r#"{"a": 1, "b": 2, "\u0061": 3}"#;
    assert_eq!(compact_utf8(&parse(text).unwrap()), r#"{"a":3,"b":2}"#);
    let options = ParseOptions { duplicate_keys: DuplicateKeys::Refuse, ..ParseOptions::default() };
    let error = parse_with(text, options).unwrap_err();
    assert_eq!(error.to_string(), "duplicate key \"a\" at line 1 column 18");
    assert_eq!(parse_untrusted(text).unwrap_err(), error);
    assert_eq!(parse_untrusted_bytes(text.as_bytes()).unwrap_err(), error);
    let nested = r#"{"a": [{"b": {"c": 1, "c": 1}}]}"#;
    assert!(parse(nested).is_ok() && parse_untrusted(nested).is_err());
}

#[test]
fn escapes_are_read_and_surrogate_pairs_joined() {
    let text = r#""\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\ude00\uffff""#;
    assert_eq!(parse(text), Ok("\"\\/\u{8}\u{c}\n\r\t\0é😀\u{ffff}".into()));
    assert_eq!(parse("\"\u{7f}\u{80}\u{2028}\""), Ok("\u{7f}\u{80}\u{2028}".into()));
}

#[test]
fn every_fault_has_its_place() {
    for (text, fault) in [
        ("", "expected a value, found the end of the text at line 1 column 1"),
        (" \n ", "expected a value, found the end of the text at line 2 column 2"),
        ("\u{feff}{}", "expected a value, found a byte order mark at line 1 column 1"),
        ("nul", "expected a value, found 'n' at line 1 column 1"),
        ("truefalse", "expected the end of the text, found 'f' at line 1 column 5"),
        ("{} {}", "expected the end of the text, found '{' at line 1 column 4"),
        ("[1,]", "expected a value, found ']' at line 1 column 4"),
        ("[1 2]", "expected `,` or `]`, found '2' at line 1 column 4"),
        ("[1", "expected `,` or `]`, found the end of the text at line 1 column 3"),
        ("{\"é\" 1}", "expected `:`, found '1' at line 1 column 6"),
        ("{\"a\": 1,\n}", "expected a key in double quotes, found '}' at line 2 column 1"),
        ("{a: 1}", "expected a key in double quotes, found 'a' at line 1 column 2"),
        ("{\"a\": 1 \"b\"", "expected `,` or `}`, found '\"' at line 1 column 9"),
        ("'a'", "expected a value, found '\\'' at line 1 column 1"),
        ("01", "a number cannot begin with 0 and continue with a digit at line 1 column 2"),
        ("-01", "a number cannot begin with 0 and continue with a digit at line 1 column 3"),
        ("-", "expected a digit, found the end of the text at line 1 column 2"),
        ("+1", "expected a value, found '+' at line 1 column 1"),
        ("1.", "expected a digit, found the end of the text at line 1 column 3"),
        (".5", "expected a value, found '.' at line 1 column 1"),
        ("1.e5", "expected a digit, found 'e' at line 1 column 3"),
        ("[1e+]", "expected a digit, found ']' at line 1 column 5"),
        ("[1, 1e400]", "the number is beyond the range of doubles at line 1 column 5"),
        ("[NaN]", "NaN and the infinities are not JSON at line 1 column 2"),
        ("\"a\nb\"", "control character U+000A in a string at line 1 column 3"),
        ("\"abc", "the string is not closed at line 1 column 5"),
        ("\"a\\", "a backslash must be followed by one of \" \\ / b f n r t u at line 1 column 3"),
        ("\"\\x\"", "a backslash must be followed by one of \" \\ / b f n r t u at line 1 column 2"),
        ("\"\\u12g4\"", "`\\u` must be followed by four hexadecimal digits at line 1 column 2"),
        ("\"\\u+123\"", "`\\u` must be followed by four hexadecimal digits at line 1 column 2"),
        ("\"\\u12é\"", "`\\u` must be followed by four hexadecimal digits at line 1 column 2"),
        ("{\"a\":\n \"é\\ud800\"}", "lone surrogate \\ud800 in a string at line 2 column 4"),
        ("\"\\udc00\"", "lone surrogate \\udc00 in a string at line 1 column 2"),
        ("\"\\ud800\\u0041\"", "lone surrogate \\ud800 in a string at line 1 column 2"),
        ("\"\\ud800\\ud800\"", "lone surrogate \\ud800 in a string at line 1 column 2"),
        ("\"\\udc00\\udc00\"", "lone surrogate \\udc00 in a string at line 1 column 2"),
        ("{\"\\ud800\": 1}", "lone surrogate \\ud800 in a string at line 1 column 3"),
        ("[1]\u{a0}", "expected the end of the text, found '\\u{a0}' at line 1 column 4"),
        ("// x\n1", "expected a value, found '/' at line 1 column 1"),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), fault, "{text:?}");
    }
    assert_eq!(parse_bytes(b"[\"\xff\"]").unwrap_err().to_string(), "invalid UTF-8 at line 1 column 3");
}

#[test]
fn numbers_compare_by_their_exact_value() {
    let ascending = [
        "-1e400",
        "-1e308",
        "-123456789012345678901",
        "-1e20",
        "-9223372036854775809",
        "-9223372036854775808",
        "-1.5",
        "-1",
        "-0.5",
        "0",
        "5e-324",
        "0.5",
        "1",
        "1.5",
        "9007199254740992.0",
        "9007199254740993",
        "9007199254740994.0",
        "9223372036854775807",
        "9223372036854775808",
        "9223372036854775809",
        "123456789012345678900",
        "1e21",
        "1e308",
        "1e400",
    ];
    let options = ParseOptions { non_finite: true, ..ParseOptions::default() };
    let value = |text: &str| parse_with(text, options).unwrap();
    for (left_index, left) in ascending.iter().enumerate() {
        for (right_index, right) in ascending.iter().enumerate() {
            let order = value(left).as_number().unwrap().compare(value(right).as_number().unwrap());
            assert_eq!(order, Some(left_index.cmp(&right_index)), "{left} against {right}");
        }
    }
    for (left, right) in [("1", "1.0"), ("0", "-0.0"), ("9223372036854775808", "9223372036854775808.0")] {
        let order = value(left).as_number().unwrap().compare(value(right).as_number().unwrap());
        assert_eq!(order, Some(std::cmp::Ordering::Equal));
        assert_ne!(value(left), value(right), "equal in size, but not the same value");
    }
    assert_eq!(Number::Int(0).compare(&Number::Float(f64::NAN)), None);
}

#[test]
fn pointers_follow_rfc_6901() {
    let value = parse(r#"{"":0,"a/b":1,"m~n":2,"~1":3,"list":[4,{"x":5}],"01":6}"#).unwrap();
    for (pointer, found) in [
        ("/", Some(0)),
        ("/a~1b", Some(1)),
        ("/m~0n", Some(2)),
        ("/~01", Some(3)),
        ("/list/0", Some(4)),
        ("/list/1/x", Some(5)),
        ("/01", Some(6)),
        ("/list/01", None),
        ("/list/+1", None),
        ("/list/-", None),
        ("/list/2", None),
        ("list", None),
        ("/a/b", None),
    ] {
        assert_eq!(value.pointer(pointer).and_then(Value::as_i64), found, "{pointer}");
    }
    assert_eq!(value.pointer(""), Some(&value));
}

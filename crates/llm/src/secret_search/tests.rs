//! The forms that a host gives a secret, made apart from the code under test, and texts that only look like one.

use proptest::prelude::*;

use super::*;

const SECRET: &str = "tok/En+9~é-4711";

fn search() -> SecretSearch {
    SecretSearch::new([Secret::new(SECRET)])
}

/// Base64 as anyone would write it, made apart from the code under test.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut padded = [0; 3];
        padded[..group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// Base32 as anyone would write it.
fn base32(bytes: &[u8]) -> String {
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let mut text: String = bits
        .chunks(5)
        .map(|group| (0..5).fold(0, |number, place| number * 2 + group.get(place).copied().unwrap_or(0)))
        .map(|digit| char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[usize::from(digit)]))
        .collect();
    while !text.len().is_multiple_of(8) {
        text.push('=');
    }
    text
}

fn utf16(text: &str, bytes: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

/// The text inside a string of JSON.
fn quoted(text: &str) -> String {
    let quoted = stave_canon::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

fn forms(secret: &str) -> Vec<String> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![
        secret.to_owned(),
        secret.to_uppercase().replace('É', "é"),
        reversed(secret),
        percent(secret),
        percent(secret).to_lowercase(),
        percent(&reversed(secret)),
        hex.clone(),
        hex.to_uppercase(),
        base64(hex.as_bytes()),
        secret.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect(),
        secret.chars().map(|letter| format!("&#{};", u32::from(letter))).collect(),
        secret.chars().map(|letter| format!("&#x{:X};", u32::from(letter))).collect(),
        secret.chars().map(|letter| format!("&#{:05}", u32::from(letter))).collect::<String>() + " ",
        secret.chars().map(|letter| format!("\\u{{{:x}}}", u32::from(letter))).collect(),
        secret.bytes().map(|byte| format!("\\{byte:03o}")).collect(),
        percent(&percent(secret)),
        utf16(secret, u16::to_be_bytes)
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect::<Vec<_>>()
            .join("-"),
        secret.chars().map(|letter| format!("U+{:04X} ", u32::from(letter))).collect(),
        secret.bytes().map(|byte| format!("0x{byte:02x}, ")).collect(),
        secret.bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        secret.bytes().enumerate().map(|(at, byte)| format!("\"{at}\":{byte},")).collect(),
    ];
    for separator in [":", " ", "-", ", ", "\", \"", "\n"] {
        forms.push(secret.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(separator));
    }
    for separator in [",", ", ", " ", ";", ",\n        "] {
        forms.push(secret.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(separator) + "]");
    }
    for units in [utf16(secret, u16::to_le_bytes), utf16(secret, u16::to_be_bytes)] {
        forms.push(base64(&units));
        forms.push(base32(&units));
        forms.push(units.iter().map(ToString::to_string).collect::<Vec<_>>().join(",") + "]");
    }
    for byte_order in [["", "\\u0000"], ["\\u0000", ""], ["", "\0"], ["\0", ""]] {
        forms.push(
            secret.chars().map(|letter| letter.to_string()).collect::<Vec<_>>().join(&byte_order.concat()),
        );
    }
    for before in ["", "B", "Be", "Bearer ", "user:"] {
        for after in ["", "!", "!!"] {
            let text = format!("{before}{secret}{after}");
            let encoded = base64(text.as_bytes());
            forms.push(encoded.replace('+', "-").replace('/', "_"));
            forms.push(encoded.trim_end_matches('=').to_owned());
            forms.push(reversed(&encoded));
            forms.push(base64(encoded.as_bytes()));
            forms.push(base64(reversed(&text).as_bytes()));
            forms.push(percent(&encoded));
            forms.push(base32(text.as_bytes()));
            forms.push(base32(text.as_bytes()).to_lowercase());
            forms.push(reversed(&base32(text.as_bytes())));
            forms.push(base64(base32(text.as_bytes()).as_bytes()));
            forms.push(
                encoded.as_bytes().chunks(5).map(|line| String::from_utf8_lossy(line) + "\r\n").collect(),
            );
            forms.push(encoded);
        }
    }
    forms
}

#[test]
fn every_form_of_a_secret_is_found_wherever_it_is() {
    let search = search();
    for form in forms(SECRET) {
        for (before, after) in [("", ""), ("the key is ", "; more"), ("é%", "\\")] {
            let text = format!("{before}{form}{after}");
            let hidden = search.hide(&text).into_owned();
            assert!(hidden.contains(REPLACEMENT), "{form}");
            assert!(hidden.starts_with(before) && hidden.ends_with(after), "{form}: {hidden}");
            let third = form.chars().count() / 3;
            let middle: String = form.chars().skip(third).take(third).collect();
            assert!(!hidden.contains(&middle), "{form}: {hidden}");
        }
    }
}

#[test]
fn characters_without_width_and_other_digits_hide_nothing() {
    let search = search();
    let letters: Vec<String> = SECRET.chars().map(String::from).collect();
    for form in [
        letters.join("\u{200b}"),
        letters.join("\u{a0}"),
        letters.join("\\u200b"),
        SECRET.replace('4', "４").replace('-', "\u{2011}"),
    ] {
        assert_eq!(search.hide(&format!("is {form}!")), "is [secret]!", "{form}");
    }
}

#[test]
fn the_beginning_of_a_secret_is_held_in_every_form() {
    let (search, beginnings) = (search(), SecretBeginnings::new([Secret::new(SECRET)]));
    for form in forms(SECRET) {
        let whole = format!("{{\"a\": \"{form}");
        let end = search.find(whole.as_bytes()).last().expect("it is found").end;
        let start = search.find(whole.as_bytes())[0].start;
        // Whatever is cut off before its end is held from its beginning on.
        for cut in (start + 1..end).step_by(1 + (end - start) / 24) {
            let held = beginnings.held_from(&whole.as_bytes()[..cut], 1);
            assert!(held <= start, "{whole} at {cut}: {held} > {start}");
        }
    }
    for text in ["", "plain words }", "data: {\"content\":\"hello\"}\n\n", "fish & chips\"}\n\n"] {
        assert_eq!(beginnings.held_from(text.as_bytes(), 1), text.len(), "{text}");
    }
    assert!(SecretBeginnings::default().is_empty());
    assert_eq!(SecretBeginnings::default().held_from(b"abc", 1), 3);
}

#[test]
fn the_spaces_around_a_secret_stay() {
    assert_eq!(search().hide(&format!("is {SECRET} a key?")), "is [secret] a key?");
}

#[test]
fn other_texts_stay_as_they_are() {
    let text = "the token 4711 of En+9 is \\u0041 &amp; 100 % fine\n";
    assert!(matches!(search().hide(text), Cow::Borrowed(_)));
    let short = SecretSearch::new([Secret::new("abc"), Secret::new("test")]);
    assert_eq!(short.hide("abc Test te st test"), "abc Test te st [secret]");
    assert!(SecretSearch::default().is_empty());
}

#[test]
fn values_are_searched_in_texts_keys_and_numbers() {
    let search = SecretSearch::new([Secret::new("47114711"), Secret::new("tok-4711-abc")]);
    let mut value =
        stave_canon::parse(r#"{"tok-4711-abc": [47114711, 1, "x tok-4711-abc"], "password": "mine"}"#)
            .unwrap();
    search.hide_in(&mut value);
    assert_eq!(value.to_string(), r#"{"[secret]":["[secret]",1,"x [secret]"],"password":"mine"}"#);
}

#[test]
fn text_in_utf_16_is_searched_as_bytes() {
    for secret in [SECRET, "sk-upstream-1234", "test"] {
        let search = SecretSearch::new([Secret::new(secret)]);
        for units in [utf16(secret, u16::to_le_bytes), utf16(secret, u16::to_be_bytes)] {
            let text = [b"{\0".as_slice(), &units, b"}\0"].concat();
            let found = search.find(&text);
            let [found] = found.as_slice() else { panic!("{secret}: {found:?}") };
            assert!(found.start <= 3 && found.end + 3 >= text.len(), "{secret}: {found:?}");
        }
    }
}

#[test]
fn items_that_are_a_secret_together_are_replaced() {
    let search = SecretSearch::new([Secret::new("tok-4711-abc")]);
    for (text, hidden) in [
        (r#"[116,111,107,45,52,55,49,49,45,97,98,99,33]"#, r#"["[secret]"*12,33]"#),
        (
            r#"{"type":"Buffer","data":[116,111,107,45,52,55,49,49,45,97,98,99]}"#,
            r#"{"type":"Buffer","data":["[secret]"*12]}"#,
        ),
        (r#"["74","6f","6b","2d","34","37","31","31","2d","61","62","63"]"#, r#"["[secret]"*12]"#),
        (r#"["tok","-4711-","abc","d"]"#, r#"["[secret]"*3,"d"]"#),
        (r#"["tok",{},"-4711-","abc"]"#, r#"["tok",{},"-4711-","abc"]"#),
    ] {
        let mut value = stave_canon::parse(text).unwrap();
        search.hide_in(&mut value);
        let repeated = |count: usize| vec![r#""[secret]""#; count].join(",");
        let hidden =
            hidden.replace(r#""[secret]"*12"#, &repeated(12)).replace(r#""[secret]"*3"#, &repeated(3));
        assert_eq!(value.to_string(), hidden);
    }
    let mut bytes = stave_canon::parse(
        r#"{"0":116,"1":111,"2":107,"3":45,"4":52,"5":55,"6":49,"7":49,"8":45,"9":97,"10":98,"11":99}"#,
    )
    .unwrap();
    search.hide_in(&mut bytes);
    assert!(!bytes.to_string().contains("116"), "{bytes}");
}

#[test]
fn a_secret_that_looks_escaped_is_found_in_its_forms() {
    for secret in [r"a%41b\n&#65;c-4711", r"%2541\\u0041-4711"] {
        let search = SecretSearch::new([Secret::new(secret)]);
        for form in
            [secret.to_owned(), quoted(secret), quoted(&quoted(secret)), percent(secret), reversed(secret)]
        {
            assert!(search.is_in(form.as_bytes()), "{form}");
        }
    }
    // Nothing is left of it without its escapes that could be looked for.
    let search = SecretSearch::new([Secret::new("%41%41%41")]);
    assert_eq!(search.hide("AAA BBB"), "AAA BBB");
}

/// One step of a chain of encodings, in the order in which chains are found.
#[derive(Debug, Clone, Copy)]
enum Link {
    Reverse,
    Hex,
    Base64,
    UrlSafe,
    Base32,
    SpacedHex,
    ByteList,
    Percent,
    Json,
    UnicodeEscapes,
    References,
    HexReferences,
}

impl Link {
    fn apply(self, text: &str) -> String {
        let each = |write: &dyn Fn(char) -> String| text.chars().map(write).collect::<String>();
        let bytes = |write: &dyn Fn(u8) -> String, separator: &str| {
            text.bytes().map(write).collect::<Vec<_>>().join(separator)
        };
        match self {
            Link::Reverse => reversed(text),
            Link::Hex => bytes(&|byte| format!("{byte:02x}"), ""),
            Link::Base64 => base64(text.as_bytes()),
            Link::UrlSafe => base64(text.as_bytes()).replace('+', "-").replace('/', "_"),
            Link::Base32 => base32(text.as_bytes()),
            Link::SpacedHex => bytes(&|byte| format!("{byte:02X}"), ":"),
            Link::ByteList => format!("[{}]", bytes(&|byte| byte.to_string(), ", ")),
            Link::Percent => percent(text),
            Link::Json => quoted(text),
            Link::UnicodeEscapes => each(&|letter| format!("\\u{:04x}", u32::from(letter))),
            Link::References => each(&|letter| format!("&#{};", u32::from(letter))),
            Link::HexReferences => each(&|letter| format!("&#x{:x};", u32::from(letter))),
        }
    }
}

fn chains() -> impl Strategy<Value = Vec<Link>> {
    let encoding = || prop::sample::select(vec![Link::Hex, Link::Base64, Link::UrlSafe, Link::Base32]);
    let outer = prop::sample::select(vec![Link::Hex, Link::Base64, Link::UrlSafe]);
    let plain = prop_oneof![Just(vec![]), Just(vec![Link::Reverse])];
    let encodings = prop_oneof![
        Just(vec![]),
        encoding().prop_map(|one| vec![one]),
        (encoding(), outer).prop_map(|(one, two)| vec![one, two]),
    ];
    let one_encoding = prop_oneof![Just(vec![]), encoding().prop_map(|one| vec![one])];
    let numbers = prop_oneof![
        encodings.clone(),
        encodings.prop_map(|mut chain| {
            chain.push(Link::ByteList);
            chain
        }),
        one_encoding.prop_map(|mut chain| {
            chain.push(Link::SpacedHex);
            chain
        }),
    ];
    let escape = prop::sample::select(vec![
        Link::Percent,
        Link::Json,
        Link::UnicodeEscapes,
        Link::References,
        Link::HexReferences,
    ]);
    let escapes = prop::collection::vec(escape, 0..=3);
    (plain, numbers, escapes).prop_map(|(plain, numbers, escapes)| [plain, numbers, escapes].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_covered_chain_is_found_and_others_of_its_length_stay(
        secret in "[!-$'-\\[\\]-~]{8,20}",
        other in "[!-$'-\\[\\]-~]{20}",
        chain in chains(),
        cut in any::<prop::sample::Index>(),
    ) {
        let search = SecretSearch::new([Secret::new(secret.clone())]);
        let written = chain.iter().fold(secret.clone(), |text, link| link.apply(&text));
        let text = format!("(it is \"{written}\" here)");
        let found = search.find(text.as_bytes());
        prop_assert!(!found.is_empty(), "{chain:?}: {text}");
        let (start, end) = (found[0].start, found[found.len() - 1].end);
        // Where bytes are encoded in groups, the digits at both ends may stay.
        prop_assert!(end - start > written.len() / 3, "{chain:?}: {found:?} of {text}");
        let at = start + 1 + cut.index(end - start - 1);
        let beginnings = SecretBeginnings::new([Secret::new(secret.clone())]);
        if written.len() <= beginnings.most_held() {
            let held = beginnings.held_from(&text.as_bytes()[..at], 1);
            prop_assert!(held <= start, "{chain:?}: {held} > {start} in {}", &text[..at]);
        }
        let other = &other[..secret.len()];
        if !other.eq_ignore_ascii_case(&secret) {
            let harmless = chain.iter().fold(other.to_owned(), |text, link| link.apply(&text));
            let harmless = format!("(it is \"{harmless}\" here)");
            prop_assert!(matches!(search.hide(&harmless), Cow::Borrowed(_)), "{chain:?}: {harmless}");
        }
    }

    #[test]
    fn places_are_in_order_and_inside_of_any_text(
        bytes in prop::collection::vec(any::<u8>(), 0..200), secret in "[ -~]{4,12}", at in any::<prop::sample::Index>(),
    ) {
        let search = SecretSearch::new([Secret::new(secret.clone())]);
        let mut text = bytes;
        let place = at.index(text.len() + 1);
        text.splice(place..place, secret.bytes());
        let found = search.find(&text);
        prop_assert!(found.iter().all(|range| range.start < range.end && range.end <= text.len()));
        prop_assert!(found.windows(2).all(|pair| pair[0].end < pair[1].start));
        let beginnings = SecretBeginnings::new([Secret::new(secret)]);
        prop_assert!(beginnings.held_from(&text, 1) <= text.len());
    }

    #[test]
    fn nothing_is_left_of_a_secret_in_any_surroundings(
        before in any::<String>(), secret in "[ -~]{8,40}", after in any::<String>(),
    ) {
        let search = SecretSearch::new([Secret::new(secret.clone())]);
        let hidden = search.hide(&format!("{before}{secret}{after}")).into_owned();
        let left = hidden.replace(REPLACEMENT, "\n");
        prop_assert!(!left.contains(&secret));
        let encoded = base64(format!("{before}{secret}{after}").as_bytes());
        prop_assert!(search.is_in(encoded.as_bytes()));
    }
}

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
    ];
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
        for (before, after) in [("", ""), ("the key is ", " and more"), ("é%", "\\")] {
            let text = format!("{before}{form}{after}");
            let hidden = search.hide(&text).into_owned();
            assert!(hidden.contains(REPLACEMENT), "{form}");
            assert!(hidden.starts_with(before) && hidden.ends_with(after), "{hidden}");
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
        for cut in (start + 1..end).step_by(3) {
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

proptest! {
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

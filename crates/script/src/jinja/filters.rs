//! Filters and functions of Jinja2 that the engine does not bring along.

use minijinja::value::{ArgType, Kwargs};
use minijinja::{Environment, Error, ErrorKind};
use minijinja_contrib::{filters, globals};

/// As in Jinja2: a text may be this much too long before it is cut.
const LEEWAY: usize = 5;
/// The widest line that `center` makes.
const MAX_WIDTH: usize = 10_000;

pub(super) fn install(environment: &mut Environment<'_>) {
    environment.add_filter("center", center);
    environment.add_filter("filesizeformat", filters::filesizeformat);
    environment.add_filter("striptags", filters::striptags);
    environment.add_filter("truncate", truncate);
    environment.add_filter("wordcount", wordcount);
    environment.add_function("cycler", globals::cycler);
    environment.add_function("joiner", globals::joiner);
}

/// Puts a text in the middle of `width` columns.
#[expect(clippy::needless_pass_by_value, reason = "the engine hands keywords over")]
fn center(text: &str, width: Option<usize>, keywords: Kwargs) -> Result<String, Error> {
    let width = argument(width, &keywords, "width")?.unwrap_or(80);
    keywords.assert_all_used()?;
    if width > MAX_WIDTH {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("center is limited to {MAX_WIDTH} columns"),
        ));
    }
    let missing = width.saturating_sub(text.chars().count());
    // Python puts the odd column to the left when the width is odd, else to the right.
    let left = missing / 2 + (missing & width & 1);
    Ok(format!("{}{text}{}", " ".repeat(left), " ".repeat(missing - left)))
}

/// Cuts a text to `length` characters, the mark of the cut included, at a word's end unless `killwords`.
#[expect(clippy::needless_pass_by_value, reason = "the engine hands keywords over")]
fn truncate(
    text: &str,
    length: Option<usize>,
    killwords: Option<bool>,
    end: Option<String>,
    keywords: Kwargs,
) -> Result<String, Error> {
    let length = argument(length, &keywords, "length")?.unwrap_or(255);
    let killwords = argument(killwords, &keywords, "killwords")?.unwrap_or(false);
    let end: String = argument(end, &keywords, "end")?.unwrap_or_else(|| "...".to_owned());
    let leeway = keywords.get::<Option<usize>>("leeway")?.unwrap_or(LEEWAY);
    keywords.assert_all_used()?;
    let Some(kept) = length.checked_sub(end.chars().count()) else {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("truncate needs a length of at least {}", end.chars().count()),
        ));
    };
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(text.to_owned());
    }
    let cut: String = text.chars().take(kept).collect();
    let cut =
        if killwords { cut.as_str() } else { cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words) };
    Ok(format!("{cut}{end}"))
}

/// How many words a text has.
fn wordcount(text: &str) -> usize {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
        .count()
}

/// An argument that may be given by place or by name.
fn argument<'k, T>(by_place: Option<T>, keywords: &'k Kwargs, name: &'k str) -> Result<Option<T>, Error>
where
    Option<T>: ArgType<'k, Output = Option<T>>,
{
    if by_place.is_some() { Ok(by_place) } else { keywords.get::<Option<T>>(name) }
}

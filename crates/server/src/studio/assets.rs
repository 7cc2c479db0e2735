//! The studio's page and its files, which the program carries.
//!
//! Invariant: a page runs the studio's own scripts only, is shown in no frame of another page, and loads
//! nothing from elsewhere.

use http_body_util::{BodyExt, Full};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::message::Reply;
use crate::problem::Problem;

/// What the page may do. Scripts and style sheets are files of the studio, always: its editors adopt their sheets by
/// script, which this allows.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page itself.
const INDEX: &str = "index.html";

/// Files below this folder have a hash of their content in their name.
const HASHED: &str = "assets/";

/// A file of the studio.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path in the built folder.
    name: &'static str,
    plain: &'static [u8],
    /// The same with gzip, when that is shorter.
    compressed: Option<&'static [u8]>,
}

mod files {
    use super::File;

    include!(concat!(env!("OUT_DIR"), "/studio_files.rs"));
}

/// The file at a path; the page at the root. Paths are compared as they are, so none leads elsewhere.
pub(crate) fn find(path: &str) -> Option<&'static File> {
    let name = match path.strip_prefix('/')? {
        "" => INDEX,
        name => name,
    };
    files::FILES.iter().find(|file| file.name == name)
}

impl File {
    pub(crate) fn answer(&self, headers: &HeaderMap) -> Result<Reply, Problem> {
        let etag = format!("\"{}\"", stave_canon::sha256_hex(self.plain).get(..32).unwrap_or_default());
        let etag = HeaderValue::from_str(&etag).map_err(|_| {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "bad-file", "the file has no name")
        })?;
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let known = text(header::IF_NONE_MATCH)
            .is_some_and(|known| known.split(',').any(|one| one.trim().trim_start_matches("W/") == etag));
        let takes_gzip = text(header::ACCEPT_ENCODING).is_some_and(|encodings| takes(encodings, "gzip"));
        let compressed = self.compressed.filter(|_| takes_gzip);
        let body = if known { &[][..] } else { compressed.unwrap_or(self.plain) };
        let mut reply = Response::new(Full::new(body.into()).boxed_unsync());
        *reply.status_mut() = if known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
        let headers = reply.headers_mut();
        if compressed.is_some() && !known {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let keep =
            if self.name.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
        let fixed = [
            (header::CONTENT_TYPE, media_type(self.name)),
            (header::CACHE_CONTROL, keep),
            (header::VARY, "accept-encoding"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ];
        for (name, value) in fixed {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(header::ETAG, etag);
        Ok(reply)
    }
}

/// Whether a list of encodings takes one; a weight of zero refuses it.
fn takes(encodings: &str, wanted: &str) -> bool {
    encodings.split(',').any(|encoding| {
        let mut parts = encoding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        let refused =
            parts.filter_map(|part| part.strip_prefix("q=")).any(|weight| weight.parse() == Ok(0.0));
        named && !refused
    })
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("json" | "map" | "webmanifest") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: File =
        File { name: "assets/a-1.js", plain: b"console.log(1)", compressed: Some(b"\x1f\x8bzip") };

    fn asked(headers: &[(&'static str, &'static str)]) -> Reply {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        SAMPLE.answer(&headers.collect()).unwrap()
    }

    fn value<'r>(reply: &'r Reply, name: &str) -> &'r str {
        reply.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[test]
    fn a_file_is_compressed_for_those_who_take_it_and_kept_for_ever_when_its_name_has_a_hash() {
        let plain = asked(&[]);
        assert_eq!(value(&plain, "content-encoding"), "");
        assert_eq!(value(&asked(&[("accept-encoding", "br, gzip;q=0")]), "content-encoding"), "");
        let packed = asked(&[("accept-encoding", "br, gzip;q=0.5")]);
        assert_eq!(value(&packed, "content-encoding"), "gzip");
        assert!(value(&packed, "cache-control").contains("immutable"));
        let etag = value(&packed, "etag").to_owned();
        let headers = HeaderMap::from_iter([(header::IF_NONE_MATCH, etag.parse().unwrap())]);
        assert_eq!(SAMPLE.answer(&headers).unwrap().status(), StatusCode::NOT_MODIFIED);
        let other = HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static("\"x\""))]);
        assert_eq!(SAMPLE.answer(&other).unwrap().status(), StatusCode::OK);
    }

    #[test]
    fn a_page_may_run_its_own_scripts_only() {
        let policy = value(&asked(&[]), "content-security-policy").to_owned();
        let scripts = policy.split(';').map(str::trim).find(|rule| rule.starts_with("script-src")).unwrap();
        assert_eq!(scripts, "script-src 'self'");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert_eq!(value(&asked(&[]), "x-content-type-options"), "nosniff");
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_no_file() {
        for path in ["/../Cargo.toml", "//etc/passwd", "/assets/../index.html", "/assets", "assets", ""] {
            assert!(find(path).is_none(), "{path}");
        }
    }
}

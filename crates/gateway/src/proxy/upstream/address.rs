//! Where an upstream listens, and which path serves each of its interfaces.
//!
//! Invariant: every address comes from [`Target::url`], which the model steps of flows use as well.

use hyper::Uri;
use hyper::header::HeaderValue;
use stave_block::Surface;
use stave_llm::{Provider, Target};

use super::Outgoing;
use super::socket::Place;
use crate::config::UpstreamConfig;

#[derive(Debug)]
pub(super) struct Address {
    pub(super) place: Place,
    /// The value of `Host`.
    pub(super) host: HeaderValue,
    paths: Vec<(Surface, Path)>,
}

#[derive(Debug)]
enum Path {
    /// The path and query of every request.
    Fixed(String),
    /// Each model has a path of its own.
    ByModel(Target),
}

impl Address {
    /// The addresses of an upstream's interfaces; an error says what is wrong with the configuration.
    pub(super) fn new(config: &UpstreamConfig) -> Result<Address, String> {
        let mut paths = Vec::new();
        let mut place = None;
        for surface in config.surfaces() {
            let target = Target {
                provider: provider_of(config.provider, *surface),
                endpoint: config.endpoint.clone(),
                api_key: None,
                model: String::new(),
                api_version: config.api_version.clone(),
            };
            // The place is the same for every model.
            let url = target.url("model").map_err(|kind| kind.to_string())?;
            place = Some(Place {
                host: url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
                port: url.port_or_known_default().unwrap_or(80),
                is_encrypted: url.scheme() == "https",
            });
            place = place.filter(|place| !place.host.is_empty());
            let has_model = target.provider.has_model_in_path();
            let path = if has_model { Path::ByModel(target) } else { Path::Fixed(path_and_query(&url)) };
            paths.push((*surface, path));
        }
        let place = place.ok_or("the endpoint has no host")?;
        let usual = if place.is_encrypted { 443 } else { 80 };
        let name = if place.host.contains(':') { format!("[{}]", place.host) } else { place.host.clone() };
        let host = if place.port == usual { name } else { format!("{name}:{}", place.port) };
        let host = HeaderValue::from_str(&host).map_err(|_| "the host cannot be named")?;
        Ok(Address { place, host, paths })
    }

    /// The path and query of a request; `None` when the upstream cannot have a model of that name.
    pub(super) fn uri(&self, outgoing: &Outgoing, model: &str) -> Option<Uri> {
        let (_, path) = self.paths.iter().find(|(surface, _)| *surface == outgoing.surface)?;
        let of_model;
        let path = match path {
            Path::Fixed(path) => path,
            Path::ByModel(target) => {
                of_model = path_and_query(&target.url(model).ok()?);
                &of_model
            }
        };
        if !outgoing.counts_tokens && outgoing.query.is_none() {
            return Uri::try_from(path.as_str()).ok();
        }
        let (path, own) = path.split_once('?').map_or((path.as_str(), None), |(path, own)| (path, Some(own)));
        let mut text = path.to_owned();
        if outgoing.counts_tokens {
            text.push_str("/count_tokens");
        }
        for (index, query) in [own, outgoing.query.as_deref()].into_iter().flatten().enumerate() {
            text.push(if index == 0 { '?' } else { '&' });
            text.push_str(query);
        }
        Uri::try_from(text).ok()
    }
}

fn path_and_query(url: &url::Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

/// The provider whose paths serve an interface.
pub(super) fn provider_of(provider: Provider, surface: Surface) -> Provider {
    match (provider, surface) {
        (Provider::Azure, _) => Provider::Azure,
        (_, Surface::OpenAiResponses) => Provider::OpenAiResponses,
        (_, Surface::AnthropicMessages) => Provider::Anthropic,
        (_, Surface::OpenAiChat | Surface::GeminiGenerateContent) => Provider::OpenAi,
    }
}

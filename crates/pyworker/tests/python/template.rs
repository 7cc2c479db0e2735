//! Templates that would take everything end at a bound, and the pool serves the next one.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{object, pool};
use stave_canon::Object;
use stave_script::{JobLimits, TemplateRenderer};

#[path = "../../../../fuzz/generators/template_attack.rs"]
mod template_attack;

use template_attack::{CONTEXT, Choices};

const OUTPUT_BYTES: usize = 64 * 1024;

fn templates() -> TemplateRenderer {
    let limits = JobLimits {
        memory_bytes: 16 * 1024 * 1024,
        output_bytes: OUTPUT_BYTES,
        wall: Duration::from_secs(120),
        ..JobLimits::DEFAULT
    };
    TemplateRenderer::within(Arc::new(pool(2)), limits)
}

async fn rendered(templates: &TemplateRenderer, template: &str, context: &Object) -> Result<String, String> {
    let pieces = templates.render_pieces(template, context).await.map_err(|error| error.message)?;
    Ok(pieces.into_iter().map(|piece| piece.text).collect())
}

#[tokio::test]
async fn every_known_way_to_amplify_ends_with_an_error_within_its_bounds() {
    let templates = templates();
    let context = object(CONTEXT);
    for attack in [
        "{{ q|indent(999999999999999) }}",
        "{{ q|indent(999999999) }}",
        "{{ q|indent(9223372036854775807) }}",
        "{% set a = 'x' * 100000 %}{{ a|replace('x', a) }}",
        "{{ range(100000)|join('x' * 100000) }}",
        "{{ xs|slice(1000000000)|list }}",
        "{{ xs|batch(1000000000, 0)|list }}",
        "{{ '%0999999999d'|format(1) }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ 'x'.center(1000000000) }}",
        "{{ q.replace('', 'x' * 100000000) }}",
        "{{ 'x' * 100000000 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{{ rows|tojson(indent=999999999) }}",
        "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set q %}{% for a in range(100000) %}{% for b in range(10000) %}xxxxxxxx{% endfor %}{% endfor %}{% endset %}{{ q }}",
        "{% set ns = namespace(t='x') %}{% for a in range(64) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}{{ ns.t }}",
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{{ xs[1:5:-1] }}{{ 'x' * 99999999 }}",
    ] {
        let outcome = rendered(&templates, attack, &context).await;
        let message = outcome.expect_err(attack);
        assert!(message.len() < 1000, "{attack}: {message}");
        assert_eq!(rendered(&templates, "{{ 1 + n }}", &context).await.as_deref(), Ok("8"), "after {attack}");
    }
}

#[tokio::test]
async fn generated_attacks_give_a_bounded_text_or_an_error() {
    let templates = templates();
    let context = object(CONTEXT);
    let mut seed: u64 = 0x5741_5645;
    for _ in 0..150 {
        let bytes: Vec<u8> = (0..96)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                seed.to_be_bytes()[0]
            })
            .collect();
        let template = template_attack::template(&mut Choices::new(&bytes));
        match rendered(&templates, &template, &context).await {
            Ok(text) => assert!(text.len() <= OUTPUT_BYTES, "{template}"),
            Err(message) => assert!(message.len() < 1000, "{template}: {message}"),
        }
    }
    assert_eq!(rendered(&templates, "{{ 1 + n }}", &context).await.as_deref(), Ok("8"));
}

#[tokio::test]
async fn a_worker_renders_as_this_process_does() {
    let templates = templates();
    let context = object(CONTEXT);
    // A comment of the language makes no difference to the text; a call sends the template to a worker.
    for template in ["{{ q | upper }}", "{% for x in xs %}{{ x }},{% endfor %}", "{{ rows }}", "{{ n }}"] {
        let here = templates.render_pieces(template, &context).await.unwrap();
        let there =
            templates.render_pieces(&format!("{template}{{% if range(0) %}}{{% endif %}}"), &context).await;
        assert_eq!(here, there.unwrap(), "{template}");
    }
}

//! A document as a picture: its nodes, and arrows from what is needed to what needs it.

use stave_picture::{Arrow, Box, Diagram, Style, Tone};
use stave_system::{NodeKind, SystemDocument, strip};

use crate::args::{GraphFormat, SystemGraph};
use crate::exit::{Exit, Stop};
use crate::system_documents as documents;
use crate::terminal;

pub(super) fn graph(arguments: &SystemGraph) -> Result<Exit, Stop> {
    let diagram = diagram(&documents::load(&arguments.file)?);
    let text = match arguments.format {
        GraphFormat::Mermaid => stave_picture::mermaid(&diagram),
        GraphFormat::Dot => stave_picture::dot(&diagram),
        GraphFormat::Svg => stave_picture::svg(&diagram),
    };
    terminal::out(text.trim_end());
    Ok(Exit::Fine)
}

fn diagram(document: &SystemDocument) -> Diagram {
    let boxes = document.nodes.iter().map(|node| Box {
        id: strip(&node.id).to_owned(),
        title: strip(&node.name).to_owned(),
        subtitle: node.kind.word().to_owned(),
        tone: tone(node.kind),
    });
    let arrows = document.nodes.iter().flat_map(|node| {
        node.depends_on.iter().map(|needed| Arrow {
            from: strip(needed).to_owned(),
            to: strip(&node.id).to_owned(),
            label: String::new(),
            style: Style::Plain,
        })
    });
    Diagram {
        title: format!("{} / {}", strip(&document.tenant_id), strip(&document.repo_id)),
        boxes: boxes.collect(),
        arrows: arrows.collect(),
    }
}

fn tone(kind: NodeKind) -> Tone {
    match kind {
        NodeKind::Intent => Tone::Border,
        NodeKind::Workflow | NodeKind::Other => Tone::Step,
        NodeKind::Agent => Tone::Model,
        NodeKind::Service | NodeKind::Integration | NodeKind::Infrastructure => Tone::Outside,
        NodeKind::Entity | NodeKind::Knowledge => Tone::Memory,
        NodeKind::Policy => Tone::Guard,
    }
}

//! Arbitrary Unicode through everything that cuts text or counts places in it.

use std::sync::Arc;

use trefoil::{
    Document, DocumentFormat, Language,
    graph::{EntityExtractor, TitledText},
    ingest::Chunker,
    text::Analyzer,
};
use trefoil_text::{
    ApproximateTokens, ChunkSizes, Highlighter, ScriptAnalyzer, ScriptExtractor, StructuralChunker,
    language_of, normalize, normalize_name, sentences, split_particle, statements, variants,
};

/// The first line is a question and a heading, the rest a text.
pub(crate) fn text(bytes: &[u8]) {
    let all = String::from_utf8_lossy(bytes);
    let (asked, body) = all.split_once('\n').unwrap_or((&all, &all));
    let language = language_of(body);
    normalize(body);
    normalize_name(asked);
    split_particle(asked);
    variants(asked, language);
    let analyzer = ScriptAnalyzer::default();
    for language in Language::ALL {
        analyzer.analyze(body, language, &mut |token| {
            body.get(token.span.start..token.span.end).unwrap();
        });
        for span in sentences(body, language).into_iter().chain(statements(body, language)) {
            body.get(span.start..span.end).unwrap();
        }
    }
    highlight(&analyzer, asked, body, language);
    extract(asked, body, language);
    chunk(body);
}

fn highlight(analyzer: &ScriptAnalyzer, asked: &str, body: &str, language: Language) {
    let highlighter = Highlighter::new(analyzer, asked, language_of(asked));
    let Some(found) = highlighter.highlight("text", body, language, 150) else { return };
    for one in found.offsets {
        assert!(!found.fragment.get(one.start..one.end).unwrap().is_empty());
    }
}

fn extract(asked: &str, body: &str, language: Language) {
    let heading_path = [asked.to_owned()];
    let said = TitledText { title: asked, heading_path: &heading_path, text: body, language };
    for extraction in ScriptExtractor.extract(&[said]).unwrap() {
        let mentioned = extraction.mentions().iter().flat_map(|mention| &mention.spans);
        let related = extraction.relations().iter().flat_map(|relation| &relation.evidence);
        for span in mentioned.chain(related) {
            body.get(span.start..span.end).unwrap();
        }
    }
}

fn chunk(body: &str) {
    let chunker = StructuralChunker::new(Arc::new(ApproximateTokens), ChunkSizes::default());
    for format in [DocumentFormat::Text, DocumentFormat::Markdown, DocumentFormat::Records] {
        let document = Document::new("a.md", body).format(format);
        for chunk in chunker.chunk(&document) {
            body.get(chunk.bytes.start..chunk.bytes.end).unwrap();
        }
    }
}

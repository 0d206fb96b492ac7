//! What is found in the documents of a collection, and how fast.
//!
//! ```text
//! cargo run --release -p trefoil-text --example entities -- DATA/musique-mh [ja|ko] > found.jsonl
//! cargo run --release -p trefoil-text --example entities --features lindera -- \
//!     DATA/xreact-ja ja ~/.cache/trefoil/dictionaries/ipadic > found.jsonl
//! ```
//!
//! Writes one line a document, with its mentions and relations, and says at the end how
//! many chunks a second were read by one thread.

use std::{
    error::Error,
    fs::File,
    io::{BufRead, BufReader, Write},
    time::Instant,
};

use serde::Deserialize;
use serde_json::json;
use trefoil_core::{EntityExtractor, Language, TitledText};
use trefoil_text::ScriptExtractor;

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name the folder of a collection")?;
    let language = match arguments.next().as_deref() {
        Some("ja") => Language::Ja,
        Some("ko") => Language::Ko,
        _ => Language::En,
    };
    let lines = BufReader::new(File::open(format!("{folder}/corpus.jsonl"))?).lines();
    let documents: Vec<Document> = lines
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<Result<_, Box<dyn Error>>>()?;
    let texts: Vec<TitledText<'_>> = documents
        .iter()
        .map(|document| TitledText {
            title: &document.title,
            text: &document.text,
            language,
            ..TitledText::default()
        })
        .collect();
    let extractor = extractor(language, arguments.next().as_deref())?;
    let started = Instant::now();
    let extractions = extractor.extract(&texts)?;
    let seconds = started.elapsed().as_secs_f64();

    let mut out = std::io::BufWriter::new(std::io::stdout());
    for (document, extraction) in documents.iter().zip(&extractions) {
        let mentions: Vec<_> = extraction
            .mentions()
            .iter()
            .map(|m| {
                json!([
                    m.name,
                    m.normalized_name,
                    m.kind,
                    m.confidence,
                    m.spans,
                    m.target,
                    m.aliases,
                    m.entity_type
                ])
            })
            .collect();
        let relations: Vec<_> = extraction
            .relations()
            .iter()
            .map(|r| json!([r.source, r.relation_type, r.target, r.evidence]))
            .collect();
        let line = json!({ "_id": document.id, "mentions": mentions, "relations": relations });
        writeln!(out, "{line}")?;
    }
    let bytes: usize = texts.iter().map(|text| text.text.len()).sum();
    let count = texts.len() as f64;
    writeln!(
        std::io::stderr(),
        "{count} chunks, {:.0} a second, {:.1} MB a second",
        count / seconds,
        bytes as f64 / 1e6 / seconds
    )?;
    Ok(())
}

#[cfg(feature = "lindera")]
fn extractor(
    language: Language,
    dictionary: Option<&str>,
) -> Result<Box<dyn EntityExtractor>, Box<dyn Error>> {
    let Some(folder) = dictionary else { return Ok(Box::new(ScriptExtractor)) };
    let of = |wanted| (language == wanted).then_some(std::path::Path::new(folder));
    let extractor = trefoil_text::MorphologicalExtractor::open(of(Language::Ja), of(Language::Ko))?;
    Ok(Box::new(extractor))
}

#[cfg(not(feature = "lindera"))]
fn extractor(
    _: Language,
    dictionary: Option<&str>,
) -> Result<Box<dyn EntityExtractor>, Box<dyn Error>> {
    match dictionary {
        Some(_) => Err("dictionaries need the feature `lindera`".into()),
        None => Ok(Box::new(ScriptExtractor)),
    }
}

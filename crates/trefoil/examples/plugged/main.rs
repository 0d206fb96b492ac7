//! Four custom parts: a retriever with an index, one without, a fuser and
//! a loader. `cargo run --example plugged -- FOLDER QUESTION` indexes a folder with them and asks.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints its result")]

mod eml;
mod loudest;
mod names;
mod recency;

use std::{env, sync::Arc};

use trefoil::{Engine, EngineBuilder, Fusion, SearchQuery, Weight};

use crate::{eml::MailLoader, loudest::Loudest, names::NameRetriever, recency::Recency};

fn builder(dir: &str, recency: &Recency) -> trefoil::Result<EngineBuilder> {
    Ok(Engine::builder(dir)
        .retriever(NameRetriever::new()?, Weight::new(0.2)?)
        .retriever(recency.clone(), Weight::new(0.1)?)
        .fusion(Fusion::Custom(Arc::new(Loudest)))
        .loader("eml", Arc::new(MailLoader)))
}

fn main() -> trefoil::Result<()> {
    let mut args = env::args().skip(1);
    let (Some(folder), Some(question)) = (args.next(), args.next()) else {
        eprintln!("give a folder and a question");
        return Ok(());
    };
    let recency = Recency::new()?;
    let engine = builder("plugged.trefoil", &recency)?.open()?;
    engine.ingest_path(folder)?;
    recency.learn(&engine)?;
    let found = engine.search(&SearchQuery::new(&question)?.limit(5).explain(true))?;
    for hit in &found {
        println!("{:.2} {}:{} {}", hit.score, hit.path(), hit.line(), hit.title());
        for place in hit.explanation.iter().flat_map(|one| &one.retrievers) {
            println!("     {} ranks it {}", place.retriever, place.rank);
        }
    }
    Ok(())
}

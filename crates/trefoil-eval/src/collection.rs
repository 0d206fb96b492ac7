use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use trefoil::{Document, Language, Result};

use crate::{
    Qrels,
    lines::{check_id, read_json_lines},
    qrels,
};

/// A test collection: documents, questions and judgements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Name of its folder.
    pub name: String,
    /// What is searched, each under its id.
    pub documents: Vec<Document>,
    /// What is asked.
    pub queries: Vec<Query>,
    /// What would be right.
    pub qrels: Qrels,
    /// How many documents each language has.
    pub languages: BTreeMap<Language, usize>,
}

/// A question of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its id.
    pub id: String,
    /// The question.
    pub text: String,
    /// What language it is in: as the collection says, else told from its script.
    pub language: Language,
    /// What kind of question the collection says it is.
    pub kind: Option<String>,
}

impl Collection {
    /// Reads a folder in BEIR layout: `corpus.jsonl` with `_id`, `title`, `text`,
    /// `queries.jsonl` with `_id`, `text` and perhaps `metadata` with `language` and `type`
    /// (or `category`), and `qrels/test.tsv`, or the only file in `qrels`.
    ///
    /// # Errors
    /// [`Error::Io`](trefoil::Error::Io) and
    /// [`Error::MalformedLine`](trefoil::Error::MalformedLine), also for an id used twice.
    pub fn read(folder: impl AsRef<Path>, language_of: impl Fn(&str) -> Language) -> Result<Self> {
        let folder = folder.as_ref();
        let mut documents = Vec::new();
        let mut languages = BTreeMap::new();
        read_records(&folder.join("corpus.jsonl"), |record| {
            *languages.entry(language_of(&record.text)).or_default() += 1;
            let title = record.title.unwrap_or_default();
            documents.push(Document::new(record.id.0, record.text).title(title));
        })?;
        let mut queries = Vec::new();
        read_records(&folder.join("queries.jsonl"), |record| {
            queries.push(record.into_query(&language_of));
        })?;
        let qrels = qrels::find(&folder.join("qrels"))?;
        Ok(Self { name: name(folder), documents, queries, qrels, languages })
    }

    /// The questions that some document is relevant to.
    pub fn answerable(&self) -> impl Iterator<Item = &Query> {
        self.queries.iter().filter(|query| self.qrels.is_answerable(&query.id))
    }

    /// The questions for which nothing is judged to be right.
    pub fn unanswerable(&self) -> impl Iterator<Item = &Query> {
        self.queries.iter().filter(|query| !self.qrels.is_answerable(&query.id))
    }

    /// The language of most documents.
    pub fn language(&self) -> Language {
        let most = self.languages.iter().rev().max_by_key(|&(_, count)| count);
        most.map_or_else(Language::default, |(&language, _)| language)
    }

    /// SHA-256 of ids, titles and texts in their order, hexadecimal.
    pub fn content_hash(&self) -> String {
        let mut hasher = Sha256::new();
        for document in &self.documents {
            for part in [&document.path, &document.title, &document.body] {
                hasher.update((part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        let digits = hasher.finalize().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
        digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
    }
}

/// A line of either file.
#[derive(Deserialize)]
struct Record {
    #[serde(rename = "_id")]
    id: Id,
    #[serde(default)]
    title: Option<String>,
    text: String,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
}

/// Some collections number their documents.
struct Id(String);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(id) => Ok(Self(id)),
            Value::Number(id) => Ok(Self(id.to_string())),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                Err(serde::de::Error::custom("`_id` is neither text nor a number"))
            }
        }
    }
}

impl Record {
    fn into_query(self, language_of: impl Fn(&str) -> Language) -> Query {
        let metadata = self.metadata.unwrap_or_default();
        let label = |name| Some(metadata.get(name)?.as_str()?.to_owned());
        let stated = label("language").and_then(|code| code.parse().ok());
        Query {
            language: stated.unwrap_or_else(|| language_of(&self.text)),
            kind: label("type").or_else(|| label("category")),
            id: self.id.0,
            text: self.text,
        }
    }
}

fn read_records(path: &Path, mut take: impl FnMut(Record)) -> Result<()> {
    let mut seen = BTreeSet::new();
    read_json_lines(path, |record: Record| {
        check_id(&record.id.0)?;
        if !seen.insert(record.id.0.clone()) {
            return Err(format!("the id `{}` was used before", record.id.0));
        }
        take(record);
        Ok(())
    })
}

fn name(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use Language::{En, Ja, Ko};
    use trefoil::Error;

    use super::*;

    const CORPUS: &str = concat!(
        r#"{"_id": "d1", "title": "Owls", "text": "An owl sees at night.", "metadata": {}}"#,
        "\n",
        r#"{"_id": 2, "text": "梟は夜に見る。"}"#,
        "\n",
        r#"{"_id": "d3", "title": null, "text": ""}"#,
    );
    const QUERIES: &str = concat!(
        r#"{"_id": "q1", "text": "owl", "metadata": {"category": "animal", "answers": ["x"]}}"#,
        "\n",
        r#"{"_id": "q2", "text": "夜", "metadata": {"type": "time", "category": 3}}"#,
        "\n",
        r#"{"_id": "q3", "text": "夜", "metadata": {"language": "ko"}}"#,
        "\n",
        r#"{"_id": "q4", "text": "nothing", "metadata": {"language": "tlh"}}"#,
    );

    fn language_of(text: &str) -> Language {
        if text.contains('夜') { Language::Ja } else { Language::En }
    }

    fn read(corpus: &str, queries: &str) -> Result<Collection> {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("birds");
        std::fs::create_dir_all(folder.join("qrels")).unwrap();
        std::fs::write(folder.join("corpus.jsonl"), corpus).unwrap();
        std::fs::write(folder.join("queries.jsonl"), queries).unwrap();
        std::fs::write(folder.join("qrels/test.tsv"), "q1\td1\t1\nq2\t2\t2\nq4\td3\t0").unwrap();
        Collection::read(&folder, language_of)
    }

    #[test]
    fn documents_questions_and_labels_are_read() {
        let birds = read(CORPUS, QUERIES).unwrap();
        assert_eq!(birds.name, "birds");
        let documents: Vec<_> =
            birds.documents.iter().map(|one| (&*one.path, &*one.title)).collect();
        assert_eq!(documents, [("d1", "Owls"), ("2", ""), ("d3", "")]);
        assert_eq!(birds.languages, BTreeMap::from([(Language::En, 2), (Language::Ja, 1)]));
        assert_eq!(birds.language(), Language::En);
        let labels: Vec<_> =
            birds.queries.iter().map(|one| (one.language, one.kind.as_deref())).collect();
        assert_eq!(labels, [(En, Some("animal")), (Ja, Some("time")), (Ko, None), (En, None)]);
        assert_eq!(birds.answerable().map(|one| &*one.id).collect::<Vec<_>>(), ["q1", "q2"]);
    }

    #[test]
    fn the_hash_is_of_the_content() {
        let hash = |corpus: &str| read(corpus, QUERIES).unwrap().content_hash();
        let spelt_otherwise = CORPUS.replace(r#""title": "Owls", "#, r#"  "title" : "\u004fwls","#);
        assert_eq!(hash(CORPUS), hash(&spelt_otherwise));
        assert_ne!(hash(CORPUS), hash(&CORPUS.replace("Owls", "Owl")));
        // Where a title ends and a text begins is part of it.
        let shifted = CORPUS.replace(r#"Owls", "text": "An"#, r#"OwlsA", "text": "n"#);
        assert_ne!(hash(CORPUS), hash(&shifted));
    }

    #[test]
    fn what_is_wrong_names_file_and_line() {
        for (bad, line) in [
            ("{\"_id\": \"a\", \"text\": \"\"}\n{", 2),
            ("{\"_id\": \"a\", \"text\": \"\"}\n{\"_id\": \"a\", \"text\": \"b\"}", 2),
            ("{\"_id\": \"a\"}", 1),
            ("{\"_id\": [], \"text\": \"\"}", 1),
            ("{\"_id\": \"a\\tb\", \"text\": \"\"}", 1),
        ] {
            for (error, file) in
                [(read(bad, QUERIES), "corpus.jsonl"), (read(CORPUS, bad), "queries.jsonl")]
            {
                let error = error.unwrap_err();
                let found = matches!(&error, Error::MalformedLine { path, line: found, .. }
                    if *found == line && path.ends_with(file));
                assert!(found, "{bad}: {error}");
            }
        }
    }
}

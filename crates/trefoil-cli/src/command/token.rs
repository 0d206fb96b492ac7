use std::fmt::Write;

use jiff::Timestamp;
use serde_json::json;
use trefoil_memory::Boundary;
use trefoil_server::{Grant, NewToken, Scope, Tokens, living_server};

use super::Outcome;
use crate::{
    args::{CreateTokenArgs, TokenCommand},
    settings::Settings,
    show::printable,
};

/// Makes, lists and ends tokens.
pub(super) fn run(command: TokenCommand, settings: &Settings) -> anyhow::Result<Outcome> {
    let tokens = Tokens::open(settings.tokens())?;
    match command {
        TokenCommand::Create(args) => create(args, &tokens, settings),
        TokenCommand::List => list(&tokens, settings),
        TokenCommand::Revoke { id } => {
            let revoked = tokens.revoke(&id)?;
            settings.console.show(&json!({"revoked": revoked}), |_| {
                if revoked {
                    "revoked\n".to_owned()
                } else {
                    format!("there is no token {}\n", printable(&id))
                }
            })?;
            Ok(if revoked { Outcome::Found } else { Outcome::NothingFound })
        }
        TokenCommand::Show => show(settings),
    }
}

fn create(args: CreateTokenArgs, tokens: &Tokens, settings: &Settings) -> anyhow::Result<Outcome> {
    let CreateTokenArgs { name, scopes, indexes, classes, memory_scopes, allow, expires } = args;
    let mut boundary = Boundary::default();
    if !classes.is_empty() {
        boundary.boundary_classes = classes.into_iter().collect();
    }
    if !memory_scopes.is_empty() {
        boundary.scope = memory_scopes.into_iter().collect();
    }
    if !allow.is_empty() {
        boundary.allow = allow.into_iter().collect();
    }
    let grant = Grant {
        scopes: scopes.into_iter().collect(),
        indexes: (!indexes.is_empty()).then(|| indexes.into_iter().collect()),
        boundary,
    };
    let now = Timestamp::now();
    let NewToken { secret, token } =
        NewToken::new(&name, grant, now, expires.map(|lifetime| now + lifetime))?;
    let id = token.id.clone();
    tokens.add(token)?;
    settings.console.show(&json!({"id": id, "token": secret}), |_| format!("{secret}\n"))?;
    settings.console.status("it is not shown again");
    Ok(Outcome::Found)
}

fn list(tokens: &Tokens, settings: &Settings) -> anyhow::Result<Outcome> {
    let list = tokens.list();
    let shown: Vec<serde_json::Value> = list
        .iter()
        .map(|token| {
            json!({
                "id": token.id, "name": token.name, "scopes": token.grant.scopes,
                "indexes": token.grant.indexes, "created": token.created, "expires": token.expires,
            })
        })
        .collect();
    settings.console.show(&shown, |_| {
        let mut text = String::new();
        for token in list.iter() {
            let scopes: Vec<&str> = token.grant.scopes.iter().copied().map(Scope::name).collect();
            let expires = token.expires.map_or_else(|| "never".to_owned(), |at| at.to_string());
            _ = writeln!(
                text,
                "{}  {}  {}  expires {expires}",
                token.id,
                printable(&token.name),
                scopes.join(", "),
            );
        }
        text
    })?;
    Ok(if list.is_empty() { Outcome::NothingFound } else { Outcome::Found })
}

/// The token of the server that serves the index, as its owner alone may read.
fn show(settings: &Settings) -> anyhow::Result<Outcome> {
    let server = living_server(settings.index());
    let Some(token) = server.as_ref().and_then(|server| server.token.as_deref()) else {
        settings.console.note("no server with a token of its own serves this index");
        return Ok(Outcome::NothingFound);
    };
    settings.console.show(&json!({"token": token}), |_| format!("{token}\n"))?;
    Ok(Outcome::Found)
}

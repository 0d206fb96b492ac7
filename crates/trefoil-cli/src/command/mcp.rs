use std::path::Path;

use serde_json::json;
use trefoil_server::{IndexSettings, McpSettings, ToolSet, serve_stdio};

use super::Outcome;
use crate::{
    args::{McpArgs, McpClient},
    console::print,
    settings::Settings,
};

/// Answers a client over standard input and output, or tells how it starts this.
pub(super) fn run(args: McpArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    if let Some(client) = args.print_config {
        let command = std::env::current_exe()?;
        let index = std::path::absolute(settings.index())?;
        print(configuration(client, &command, &arguments(&args, &index)))?;
        return Ok(Outcome::Found);
    }
    let tools = if args.tools.is_empty() { ToolSet::DEFAULT.to_vec() } else { args.tools };
    serve_stdio(McpSettings {
        index: IndexSettings {
            name: settings.main_index().to_owned(),
            dir: settings.index().to_owned(),
            engine: settings.node(None)?,
        },
        tools,
        read_only: args.read_only,
        alone: args.alone,
        classes: args.classes,
    })?;
    Ok(Outcome::Found)
}

/// The arguments that start the same again from any folder.
fn arguments(args: &McpArgs, index: &Path) -> Vec<String> {
    let mut all = vec!["--index".to_owned(), index.display().to_string(), "mcp".to_owned()];
    if !args.tools.is_empty() {
        let sets: Vec<&str> = args.tools.iter().map(|set| set.name()).collect();
        all.extend(["--tools".to_owned(), sets.join(",")]);
    }
    for (flag, given) in [("--read-only", args.read_only), ("--alone", args.alone)] {
        all.extend(given.then(|| flag.to_owned()));
    }
    for class in &args.classes {
        all.extend(["--class".to_owned(), class.to_string()]);
    }
    all
}

/// What a client reads to start this.
fn configuration(client: McpClient, command: &Path, arguments: &[String]) -> String {
    let command = command.display().to_string();
    let (key, start) = match client {
        McpClient::ClaudeCode => {
            let words = std::iter::once(&command).chain(arguments).map(|word| quoted(word));
            let words: Vec<String> = words.collect();
            return format!("claude mcp add trefoil -- {}\n", words.join(" "));
        }
        McpClient::ClaudeDesktop | McpClient::Cursor => {
            ("mcpServers", json!({"command": command, "args": arguments}))
        }
        McpClient::Vscode => {
            ("servers", json!({"type": "stdio", "command": command, "args": arguments}))
        }
    };
    let mut text = format!("{:#}", json!({key: {"trefoil": start}}));
    text.push('\n');
    text
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-,=:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_client_is_told_how_to_start_the_same() {
        let command = Path::new("/usr/bin/trefoil");
        let arguments = ["--index", "/my notes/.trefoil", "mcp"].map(str::to_owned);
        let of = |client| configuration(client, command, &arguments);
        assert_eq!(
            of(McpClient::ClaudeCode),
            "claude mcp add trefoil -- /usr/bin/trefoil --index '/my notes/.trefoil' mcp\n"
        );
        for (client, key) in [
            (McpClient::ClaudeDesktop, "mcpServers"),
            (McpClient::Cursor, "mcpServers"),
            (McpClient::Vscode, "servers"),
        ] {
            let json: Value = serde_json::from_str(&of(client)).unwrap();
            let start = &json[key]["trefoil"];
            assert_eq!(start["command"], "/usr/bin/trefoil", "{client:?}");
            assert_eq!(start["args"], json!(arguments), "{client:?}");
        }
    }
}

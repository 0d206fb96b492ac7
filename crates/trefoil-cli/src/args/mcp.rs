//! What `mcp` understands.

use clap::{Args as ClapArgs, ValueEnum};
use trefoil::memory::BoundaryClass;
use trefoil_server::ToolSet;

#[derive(Debug, ClapArgs)]
pub(crate) struct McpArgs {
    /// Sets of tools: documents, memory, write, admin [default: documents,memory]
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    pub(crate) tools: Vec<ToolSet>,
    /// Give no tool that writes
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Open the index here even if a server has it open
    #[arg(long)]
    pub(crate) alone: bool,
    /// A class of memory that is seen: public or internal; repeat it [default: both]
    #[arg(long = "class", value_name = "CLASS")]
    pub(crate) classes: Vec<BoundaryClass>,
    /// Print what a client needs to start this, and end
    #[arg(long, value_name = "CLIENT")]
    pub(crate) print_config: Option<McpClient>,
}

/// A program that starts the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
}

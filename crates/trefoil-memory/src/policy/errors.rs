//! Walks a tree of values and collects all that is wrong in it.

use std::fmt::Display;

use serde_json::{Map, Value};

/// What is wrong, each with the key that it is at.
#[derive(Debug, Default)]
pub(super) struct PolicyErrors(pub(super) Vec<String>);

/// A value and the key that leads to it.
#[derive(Clone, Debug)]
pub(super) struct Node<'v> {
    path: String,
    value: &'v Value,
}

impl<'v> Node<'v> {
    pub(super) fn root(value: &'v Value) -> Self {
        Self { path: String::new(), value }
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.is_object()
    }
}

impl PolicyErrors {
    /// Says that a value is not allowed.
    pub(super) fn wrong(&mut self, node: &Node<'_>, allowed: impl Display) {
        let value = match node.value {
            Value::String(text) => format!("`{}`", text.chars().take(80).collect::<String>()),
            Value::Null => "empty".to_owned(),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "a table".to_owned(),
            Value::Bool(_) | Value::Number(_) => node.value.to_string(),
        };
        let path = if node.path.is_empty() { "the policy" } else { &node.path };
        self.0.push(format!("`{path}` is {value}; allowed: {allowed}"));
    }

    /// A table with no other keys than `keys`.
    pub(super) fn table<'v>(
        &mut self,
        node: &Node<'v>,
        keys: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let Some(table) = node.value.as_object() else {
            self.wrong(node, "a table");
            return None;
        };
        for key in table.keys().filter(|key| !keys.contains(&key.as_str())) {
            let path = below(&node.path, key);
            self.0.push(format!("`{path}` is unknown; allowed: {}", keys.join(", ")));
        }
        Some(table)
    }

    /// A value of a table; a mistake if it is not there.
    pub(super) fn need<'v>(&mut self, node: &Node<'v>, key: &str) -> Option<Node<'v>> {
        let found = optional(node, key);
        if found.is_none() && node.value.is_object() {
            self.0.push(format!("`{}` is missing", below(&node.path, key)));
        }
        found
    }

    /// The items of a list.
    pub(super) fn list<'v>(&mut self, node: &Node<'v>) -> Vec<Node<'v>> {
        let Some(items) = node.value.as_array() else {
            self.wrong(node, "a list");
            return Vec::new();
        };
        let item = |(at, value)| Node { path: format!("{}[{at}]", node.path), value };
        items.iter().enumerate().map(item).collect()
    }

    /// A string that is not blank.
    pub(super) fn text<'v>(&mut self, node: &Node<'v>) -> Option<&'v str> {
        let text = node.value.as_str().filter(|text| !text.trim().is_empty());
        if text.is_none() {
            self.wrong(node, "a text");
        }
        text
    }

    /// A text that reads as a `T`.
    pub(super) fn parsed<T>(
        &mut self,
        node: &Node<'_>,
        allowed: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let read = node.value.as_str().and_then(parse);
        if read.is_none() {
            self.wrong(node, allowed);
        }
        read
    }

    /// A number in a range, which `allowed` tells.
    pub(super) fn number(
        &mut self,
        node: &Node<'_>,
        allowed: &str,
        range: impl std::ops::RangeBounds<f64>,
    ) -> Option<f64> {
        let number = node.value.as_f64().filter(|number| range.contains(number));
        if number.is_none() {
            self.wrong(node, allowed);
        }
        number
    }

    /// A whole number of at least 1.
    pub(super) fn count(&mut self, node: &Node<'_>) -> Option<u32> {
        let count = node.value.as_u64().and_then(|count| u32::try_from(count).ok());
        let count = count.filter(|&count| count >= 1);
        if count.is_none() {
            self.wrong(node, "a whole number of at least 1");
        }
        count
    }

    pub(super) fn boolean(&mut self, node: &Node<'_>) -> Option<bool> {
        let boolean = node.value.as_bool();
        if boolean.is_none() {
            self.wrong(node, "true or false");
        }
        boolean
    }
}

/// A value of a table, if it is there.
pub(super) fn optional<'v>(node: &Node<'v>, key: &str) -> Option<Node<'v>> {
    let value = node.value.as_object()?.get(key)?;
    Some(Node { path: below(&node.path, key), value })
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

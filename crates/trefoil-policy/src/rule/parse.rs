//! Recursive descent over the text of a rule, bounded in depth and length.

use trefoil_core::{Error, Result};

use super::{Expression, Operator, PolicyRule};

/// Reads a whole rule.
pub(super) fn parse(text: &str) -> Result<Expression> {
    if text.len() > PolicyRule::MAX_BYTES {
        return Err(mistake(PolicyRule::MAX_BYTES, "the rule is longer than 4,096 bytes"));
    }
    let mut parser = Parser { text, at: 0, depth: 0 };
    let expression = parser.any()?;
    parser.space();
    if parser.rest().is_empty() {
        Ok(expression)
    } else {
        Err(mistake(parser.at, "an operator is missing here, or something is left over"))
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

/// Signs of comparison, longer ones first.
const SIGNS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterEqual),
    ("<=", Operator::LessEqual),
    (">", Operator::Greater),
    ("<", Operator::Less),
];

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Takes `sign` if it comes next.
    fn take(&mut self, sign: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    /// Takes the letters, digits, `_` and `.` that come next.
    fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
            .unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn take_word(&mut self, word: &str) -> bool {
        self.space();
        let before = self.at;
        let found = self.word() == word;
        if !found {
            self.at = before;
        }
        found
    }

    /// `all ( "||" all )*`
    fn any(&mut self) -> Result<Expression> {
        self.joined("||", Self::all, Expression::Any)
    }

    /// `comparison ( "&&" comparison )*`
    fn all(&mut self) -> Result<Expression> {
        self.joined("&&", Self::comparison, Expression::All)
    }

    /// `part ( sign part )*`, where one part stands for itself.
    fn joined(
        &mut self,
        sign: &str,
        part: impl Fn(&mut Self) -> Result<Expression>,
        many: fn(Vec<Expression>) -> Expression,
    ) -> Result<Expression> {
        let mut parts = vec![part(self)?];
        while self.take(sign) {
            parts.push(part(self)?);
        }
        Ok(<[Expression; 1]>::try_from(parts).map_or_else(many, |[only]| only))
    }

    /// `operand ( operator operand )?`
    fn comparison(&mut self) -> Result<Expression> {
        let left = self.operand()?;
        let Some(operator) = self.operator() else { return Ok(left) };
        let right = if matches!(operator, Operator::In | Operator::NotIn) && self.take("(") {
            self.deeper(Self::list)?
        } else {
            self.operand()?
        };
        Ok(Expression::Compare(Box::new(left), operator, Box::new(right)))
    }

    fn operator(&mut self) -> Option<Operator> {
        let words = [("in", Operator::In), ("notin", Operator::NotIn)];
        let word = words.into_iter().find(|(word, _)| self.take_word(word));
        word.or_else(|| SIGNS.into_iter().find(|(sign, _)| self.take(sign))).map(|(_, is)| is)
    }

    /// `"!" operand`, `"(" any ")"`, a list, a string, a number or a name.
    fn operand(&mut self) -> Result<Expression> {
        self.space();
        if !self.rest().starts_with("!=") && self.take("!") {
            return self.deeper(|parser| Ok(Expression::Not(Box::new(parser.operand()?))));
        }
        if self.take("(") {
            return self.deeper(|parser| {
                let first = parser.any()?;
                if parser.take(",") { parser.items(vec![first]) } else { parser.close(first) }
            });
        }
        match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => self.string(quote),
            Some(c) if c.is_ascii_digit() || c == '-' || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name(),
            Some(_) => Err(mistake(self.at, "a value cannot begin with this")),
            None => Err(mistake(self.at, "a value is missing")),
        }
    }

    /// What stands in the parentheses after `in`.
    fn list(&mut self) -> Result<Expression> {
        if self.take(")") { Ok(Expression::List(Vec::new())) } else { self.items(Vec::new()) }
    }

    /// `any ( "," any )* ")"`
    fn items(&mut self, mut items: Vec<Expression>) -> Result<Expression> {
        loop {
            items.push(self.any()?);
            if !self.take(",") {
                return self.close(Expression::List(items));
            }
        }
    }

    fn close(&mut self, inside: Expression) -> Result<Expression> {
        if self.take(")") { Ok(inside) } else { Err(mistake(self.at, "`)` is missing")) }
    }

    /// Reads something that stands one level deeper.
    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Result<Expression>) -> Result<Expression> {
        self.depth += 1;
        if self.depth > PolicyRule::MAX_DEPTH {
            return Err(mistake(self.at - 1, "more than 32 levels of parentheses and `!`"));
        }
        let inside = read(self)?;
        self.depth -= 1;
        Ok(inside)
    }

    fn string(&mut self, quote: char) -> Result<Expression> {
        let start = self.at;
        let mut string = String::new();
        let mut escaped = false;
        for (at, c) in self.rest().char_indices().skip(1) {
            if escaped {
                string.push(c);
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == quote {
                self.at += at + c.len_utf8();
                return Ok(Expression::Text(string));
            } else {
                string.push(c);
            }
        }
        Err(mistake(start, "the string has no end"))
    }

    fn number(&mut self) -> Result<Expression> {
        let start = self.at;
        let negative = self.take("-");
        let digits = self.word();
        let whole = digits.find('.').map_or(digits.len(), |point| point + 1);
        if let Some(second) = digits.get(whole..).and_then(|rest| rest.find('.')) {
            return Err(mistake(self.at - digits.len() + whole + second, "a second decimal point"));
        }
        let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let number: Option<f64> = digits.parse().ok().filter(|_| plain);
        let number = number.ok_or_else(|| mistake(start, "this is no number"))?;
        Ok(Expression::Number(if negative { -number } else { number }))
    }

    fn name(&mut self) -> Result<Expression> {
        let start = self.at;
        let name = self.word();
        let part_is_name =
            |part: &str| part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        match name {
            "true" => Ok(Expression::Bool(true)),
            "false" => Ok(Expression::Bool(false)),
            "in" | "notin" => Err(mistake(start, "a value is missing before this")),
            _ if name.split('.').all(part_is_name) => Ok(Expression::Name(name.to_owned())),
            _ => Err(mistake(self.at, "a part of the name is missing after `.`")),
        }
    }
}

fn mistake(at: usize, reason: &str) -> Error {
    Error::InvalidRule { at, reason: reason.to_owned() }
}

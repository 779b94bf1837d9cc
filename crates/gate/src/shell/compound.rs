//! Parses compound commands: groups, conditions, loops, functions and tests.

use super::parse::{Parsed, Parser};
use super::tree::{Block, Node, Script, Word, plain_text};
use bowline_words::message::ShellFault;
use std::rc::Rc;

impl Parser {
    pub(super) fn command(&mut self) -> Parsed<Node> {
        self.deeper(Self::command_inside)
    }

    fn command_inside(&mut self) -> Parsed<Node> {
        self.blanks();
        if self.looking_at("((") && self.arithmetic_ahead() {
            self.at += 2;
            let word = self.arithmetic()?;
            return self.block(Block {
                words: vec![word],
                ..Block::default()
            });
        }
        if self.take("(") {
            let script = self.list()?;
            if !self.take(")") {
                return self.fail(ShellFault::OpenBracket);
            }
            return self.block(Block {
                scripts: vec![script],
                scoped: true,
                ..Block::default()
            });
        }
        let keyword = self.keyword();
        match keyword.as_str() {
            "{" => {
                self.at += 1;
                let script = self.list()?;
                self.expect_keyword("}")?;
                self.block(Block {
                    scripts: vec![script],
                    ..Block::default()
                })
            }
            "[[" => {
                self.at += 2;
                let words = self.test()?;
                self.block(Block {
                    words,
                    ..Block::default()
                })
            }
            "if" => {
                self.at += 2;
                self.condition()
            }
            "while" | "until" => {
                self.at += 5;
                let test = self.list()?;
                let body = self.do_done()?;
                self.block(Block {
                    scripts: vec![test, body],
                    ..Block::default()
                })
            }
            "for" | "select" => {
                self.at += keyword.len();
                self.for_loop()
            }
            "case" => {
                self.at += 4;
                self.case()
            }
            "function" => {
                self.at += 8;
                self.blanks();
                let name = self.needed_word()?;
                self.blanks();
                if self.take("(") {
                    self.blanks();
                    if !self.take(")") {
                        return self.fail(ShellFault::OpenBracket);
                    }
                }
                self.function(&name)
            }
            "coproc" => {
                self.at += 6;
                self.coprocess()
            }
            "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "}" => {
                self.fail(ShellFault::StrayWord)
            }
            _ => self.simple(),
        }
    }

    /// Parses `coproc NAME { …; }` or `coproc COMMAND`.
    fn coprocess(&mut self) -> Parsed<Node> {
        self.blanks();
        let before = self.at;
        if self
            .peek()
            .is_some_and(|letter| letter.is_alphabetic() || letter == '_')
        {
            let name = self.needed_word()?;
            self.blanks();
            let compound = self.peek() == Some('(')
                || matches!(
                    self.keyword().as_str(),
                    "{" | "if" | "while" | "until" | "for" | "case" | "[["
                );
            if !compound || plain_text(&name).is_none() {
                self.at = before;
            }
        }
        self.command()
    }

    /// Parses the redirections after a compound command.
    fn block(&mut self, mut block: Block) -> Parsed<Node> {
        while let Some(redirect) = self.redirect()? {
            block.redirects.push(redirect);
        }
        Ok(Node::Block(block))
    }

    fn condition(&mut self) -> Parsed<Node> {
        let mut scripts = vec![self.list()?];
        self.expect_keyword("then")?;
        scripts.push(self.list()?);
        loop {
            if self.take_keyword("elif")? {
                scripts.push(self.list()?);
                self.expect_keyword("then")?;
                scripts.push(self.list()?);
            } else if self.take_keyword("else")? {
                scripts.push(self.list()?);
            } else {
                break;
            }
        }
        self.expect_keyword("fi")?;
        self.block(Block {
            scripts,
            ..Block::default()
        })
    }

    fn do_done(&mut self) -> Parsed<Script> {
        // Bash accepts a group in place of `do` and `done`.
        if self.take_keyword("{")? {
            let body = self.list()?;
            self.expect_keyword("}")?;
            return Ok(body);
        }
        self.expect_keyword("do")?;
        let body = self.list()?;
        self.expect_keyword("done")?;
        Ok(body)
    }

    fn for_loop(&mut self) -> Parsed<Node> {
        self.blanks();
        if self.take("((") {
            let word = self.arithmetic()?;
            self.space()?;
            self.take(";");
            let body = self.do_done()?;
            return self.block(Block {
                scripts: vec![body],
                words: vec![word],
                ..Block::default()
            });
        }
        let name = self.needed_word()?;
        let Some(variable) = plain_text(&name).map(str::to_owned) else {
            return self.fail(ShellFault::LoopWithoutVariable);
        };
        let mut words = None;
        if self.take_keyword("in")? {
            let mut list = Vec::new();
            loop {
                self.blanks();
                match self.peek() {
                    None | Some(';' | '\n' | '&') => break,
                    Some(_) => list.push(self.needed_word()?),
                }
            }
            words = Some(list);
        }
        self.space()?;
        self.take(";");
        let body = self.do_done()?;
        let Node::Block(block) = self.block(Block {
            scripts: vec![body],
            ..Block::default()
        })?
        else {
            return self.fail(ShellFault::BadLoop);
        };
        Ok(Node::Loop {
            variable,
            words,
            block,
        })
    }

    fn case(&mut self) -> Parsed<Node> {
        self.blanks();
        let mut words = vec![self.needed_word()?];
        self.expect_keyword("in")?;
        let mut scripts = Vec::new();
        loop {
            if self.take_keyword("esac")? {
                break;
            }
            self.take("(");
            loop {
                self.blanks();
                words.push(self.needed_word()?);
                self.blanks();
                if !self.take("|") {
                    break;
                }
            }
            if !self.take(")") {
                return self.fail(ShellFault::OpenPattern);
            }
            scripts.push(self.list()?);
            self.space()?;
            if !(self.take(";;&") || self.take(";;") || self.take(";&")) {
                self.expect_keyword("esac")?;
                break;
            }
        }
        self.block(Block {
            scripts,
            words,
            ..Block::default()
        })
    }

    pub(super) fn function(&mut self, name: &Word) -> Parsed<Node> {
        let Some(name) = plain_text(name).map(str::to_owned) else {
            return self.fail(ShellFault::FunctionWithoutName);
        };
        self.space()?;
        let body = Rc::new(self.command()?);
        Ok(Node::Function { name, body })
    }

    /// Parses `[[ … ]]` into its words; its operators do not matter here.
    fn test(&mut self) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.space()?;
            if self.keyword() == "]]" {
                self.at += 2;
                return Ok(words);
            }
            match self.peek() {
                None => return self.fail(ShellFault::OpenTest),
                Some('(' | ')' | '|' | '&' | ';') => self.at += 1,
                Some('<' | '>') if self.peek_at(1) != Some('(') => self.at += 1,
                Some(_) => words.push(self.needed_word()?),
            }
        }
    }
}

//! Parses compound commands: groups, conditions, loops, functions and tests.

use super::parse::{ParseResult, ShellParser};
use super::tree::{CommandBlock, CommandNode, Script, Word, plain_text};
use bowline_words::message::ShellFault;
use std::rc::Rc;

impl ShellParser {
    pub(super) fn parse_command(&mut self) -> ParseResult<CommandNode> {
        self.deeper(Self::parse_command_inside)
    }

    fn parse_command_inside(&mut self) -> ParseResult<CommandNode> {
        self.skip_blanks();
        if self.looking_at("((") && self.arithmetic_ahead() {
            self.at += 2;
            let word = self.parse_arithmetic()?;
            return self.parse_block(CommandBlock {
                words: vec![word],
                ..CommandBlock::default()
            });
        }
        if self.take_text("(") {
            let script = self.parse_list()?;
            if !self.take_text(")") {
                return self.fail(ShellFault::OpenBracket);
            }
            return self.parse_block(CommandBlock {
                scripts: vec![script],
                scoped: true,
                ..CommandBlock::default()
            });
        }
        let keyword = self.peek_keyword();
        match keyword.as_str() {
            "{" => {
                self.at += 1;
                let script = self.parse_list()?;
                self.expect_keyword("}")?;
                self.parse_block(CommandBlock {
                    scripts: vec![script],
                    ..CommandBlock::default()
                })
            }
            "[[" => {
                self.at += 2;
                let words = self.parse_test()?;
                self.parse_block(CommandBlock {
                    words,
                    ..CommandBlock::default()
                })
            }
            "if" => {
                self.at += 2;
                self.parse_condition()
            }
            "while" | "until" => {
                self.at += 5;
                let test = self.parse_list()?;
                let body = self.parse_loop_body()?;
                self.parse_block(CommandBlock {
                    scripts: vec![test, body],
                    ..CommandBlock::default()
                })
            }
            "for" | "select" => {
                self.at += keyword.len();
                self.parse_for_loop()
            }
            "case" => {
                self.at += 4;
                self.parse_case()
            }
            "function" => {
                self.at += 8;
                self.skip_blanks();
                let name = self.parse_needed_word()?;
                self.skip_blanks();
                if self.take_text("(") {
                    self.skip_blanks();
                    if !self.take_text(")") {
                        return self.fail(ShellFault::OpenBracket);
                    }
                }
                self.parse_function(&name)
            }
            "coproc" => {
                self.at += 6;
                self.parse_coprocess()
            }
            "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "}" => {
                self.fail(ShellFault::StrayWord)
            }
            _ => self.parse_simple(),
        }
    }

    /// Parses `coproc NAME { …; }` or `coproc COMMAND`.
    fn parse_coprocess(&mut self) -> ParseResult<CommandNode> {
        self.skip_blanks();
        let before = self.at;
        if self
            .peek()
            .is_some_and(|letter| letter.is_alphabetic() || letter == '_')
        {
            let name = self.parse_needed_word()?;
            self.skip_blanks();
            let compound = self.peek() == Some('(')
                || matches!(
                    self.peek_keyword().as_str(),
                    "{" | "if" | "while" | "until" | "for" | "case" | "[["
                );
            if !compound || plain_text(&name).is_none() {
                self.at = before;
            }
        }
        self.parse_command()
    }

    /// Parses the redirections after a compound command.
    fn parse_block(&mut self, mut block: CommandBlock) -> ParseResult<CommandNode> {
        while let Some(redirect) = self.parse_redirect()? {
            block.redirects.push(redirect);
        }
        Ok(CommandNode::Block(block))
    }

    fn parse_condition(&mut self) -> ParseResult<CommandNode> {
        let mut scripts = vec![self.parse_list()?];
        self.expect_keyword("then")?;
        scripts.push(self.parse_list()?);
        loop {
            if self.take_keyword("elif")? {
                scripts.push(self.parse_list()?);
                self.expect_keyword("then")?;
                scripts.push(self.parse_list()?);
            } else if self.take_keyword("else")? {
                scripts.push(self.parse_list()?);
            } else {
                break;
            }
        }
        self.expect_keyword("fi")?;
        self.parse_block(CommandBlock {
            scripts,
            ..CommandBlock::default()
        })
    }

    fn parse_loop_body(&mut self) -> ParseResult<Script> {
        // Bash accepts a group in place of `do` and `done`.
        if self.take_keyword("{")? {
            let body = self.parse_list()?;
            self.expect_keyword("}")?;
            return Ok(body);
        }
        self.expect_keyword("do")?;
        let body = self.parse_list()?;
        self.expect_keyword("done")?;
        Ok(body)
    }

    fn parse_for_loop(&mut self) -> ParseResult<CommandNode> {
        self.skip_blanks();
        if self.take_text("((") {
            let word = self.parse_arithmetic()?;
            self.skip_space()?;
            self.take_text(";");
            let body = self.parse_loop_body()?;
            return self.parse_block(CommandBlock {
                scripts: vec![body],
                words: vec![word],
                ..CommandBlock::default()
            });
        }
        let name = self.parse_needed_word()?;
        let Some(variable) = plain_text(&name).map(str::to_owned) else {
            return self.fail(ShellFault::LoopWithoutVariable);
        };
        let mut words = None;
        if self.take_keyword("in")? {
            let mut list = Vec::new();
            loop {
                self.skip_blanks();
                match self.peek() {
                    None | Some(';' | '\n' | '&') => break,
                    Some(_) => list.push(self.parse_needed_word()?),
                }
            }
            words = Some(list);
        }
        self.skip_space()?;
        self.take_text(";");
        let body = self.parse_loop_body()?;
        let CommandNode::Block(block) = self.parse_block(CommandBlock {
            scripts: vec![body],
            ..CommandBlock::default()
        })?
        else {
            return self.fail(ShellFault::BadLoop);
        };
        Ok(CommandNode::Loop {
            variable,
            words,
            block,
        })
    }

    fn parse_case(&mut self) -> ParseResult<CommandNode> {
        self.skip_blanks();
        let mut words = vec![self.parse_needed_word()?];
        self.expect_keyword("in")?;
        let mut scripts = Vec::new();
        loop {
            if self.take_keyword("esac")? {
                break;
            }
            self.take_text("(");
            loop {
                self.skip_blanks();
                words.push(self.parse_needed_word()?);
                self.skip_blanks();
                if !self.take_text("|") {
                    break;
                }
            }
            if !self.take_text(")") {
                return self.fail(ShellFault::OpenPattern);
            }
            scripts.push(self.parse_list()?);
            self.skip_space()?;
            if !(self.take_text(";;&") || self.take_text(";;") || self.take_text(";&")) {
                self.expect_keyword("esac")?;
                break;
            }
        }
        self.parse_block(CommandBlock {
            scripts,
            words,
            ..CommandBlock::default()
        })
    }

    pub(super) fn parse_function(&mut self, name: &Word) -> ParseResult<CommandNode> {
        let Some(name) = plain_text(name).map(str::to_owned) else {
            return self.fail(ShellFault::FunctionWithoutName);
        };
        self.skip_space()?;
        let body = Rc::new(self.parse_command()?);
        Ok(CommandNode::Function { name, body })
    }

    /// Parses `[[ … ]]` into its words; its operators do not matter here.
    fn parse_test(&mut self) -> ParseResult<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.skip_space()?;
            if self.peek_keyword() == "]]" {
                self.at += 2;
                return Ok(words);
            }
            match self.peek() {
                None => return self.fail(ShellFault::OpenTest),
                Some('(' | ')' | '|' | '&' | ';') => self.at += 1,
                Some('<' | '>') if self.peek_at(1) != Some('(') => self.at += 1,
                Some(_) => words.push(self.parse_needed_word()?),
            }
        }
    }
}

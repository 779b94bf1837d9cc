//! Disguises of a command line: quoting, chaining, nesting, aliasing and encoding, chosen by bytes.
//!
//! What bash would run stays the same; only a reader that does less than bash is fooled.

/// A source of choices: bytes of a fuzzer or a property test, and zeros when they are used up.
#[derive(Debug)]
pub struct ByteChoices<'a>(pub &'a [u8]);

impl ByteChoices<'_> {
    /// One of so many.
    fn index_below(&mut self, count: u8) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return count - 1;
        };
        self.0 = rest;
        first % count
    }

    /// One of these.
    fn pick_one<'t>(&mut self, these: &[&'t str]) -> &'t str {
        let count = u8::try_from(these.len()).unwrap_or(u8::MAX);
        these[usize::from(self.index_below(count))]
    }
}

/// Disguises nested in each other at the most.
const NESTING_MAX: usize = 5;

/// Commands that finish work; what git is asked to do.
pub const FINISHING: [&str; 6] = [
    "commit",
    "push",
    "merge",
    "update-ref",
    "cherry-pick",
    "rebase",
];

/// A command that finishes work, in disguise.
pub fn finishing_command(choices: &mut ByteChoices<'_>) -> String {
    let base = if choices.index_below(2) == 0 {
        git_by_variables(choices)
    } else {
        git_call(choices)
    };
    wrap_command(base, choices)
}

/// A command that writes `src/main.rs`, in disguise.
pub fn writing_command(choices: &mut ByteChoices<'_>) -> String {
    let target = choices.pick_one(&[
        "'src/main.rs'",
        "./src/main.rs",
        "\"$PWD\"/src/main.rs",
        "$(echo src/main.rs)",
        "src/ma\\in.rs",
        "src//main.rs",
        "src/../src/main.rs",
        "src/main.rs",
    ]);
    let base = match choices.index_below(24) {
        0 => format!("echo hello >> {target}"),
        1 => format!("> {target} echo hello"),
        2 => format!("cat <<< hello >| {target}"),
        3 => format!("echo hello | tee {target}"),
        4 => format!("cp Cargo.toml {target}"),
        5 => format!("sed -i s/a/b/ {target}"),
        6 => format!("f={target}; echo hello > \"$f\""),
        7 => format!("dd of={target} < Cargo.toml"),
        8 => "python3 -Ec 'f = open; f(\"src/main.rs\", \"w\")'".to_owned(),
        9 => {
            "python3 -c 'from pathlib import Path as P; P(\"src\", \"main.rs\").write_text(\"x\")'"
                .to_owned()
        }
        10 => "python3 -c 'import shutil as s; s.copy(\"Cargo.toml\", \"src/main.rs\")'".to_owned(),
        11 => "perl -wle 'open my $f, \">\", \"src/main.rs\"'".to_owned(),
        12 => "perl -e 'open F,\">src/main.rs\"'".to_owned(),
        13 => "node -e 'const {writeFileSync: w} = require(\"fs\"); w(\"src/main.rs\", \"\")'"
            .to_owned(),
        14 => "awk '{print $1 >> \"src/main.rs\"}' Cargo.toml".to_owned(),
        15 => "ruby -e 'File.write \"src/main.rs\", \"x\"'".to_owned(),
        16 => "apply_patch <<'P'\n*** Begin Patch\n*** Update File: src/main.rs\n*** End Patch\nP"
            .to_owned(),
        17 => "git stash".to_owned(),
        18 => "git clean -fd".to_owned(),
        19 => "git mv src/main.rs src/other.rs".to_owned(),
        20 => format!("cd /tmp; echo hello > \"$OLDPWD\"/{}", "src/main.rs"),
        21 => "echo hello > ~+/src/main.rs".to_owned(),
        22 => "find src -name '*.rs' -delete".to_owned(),
        _ => format!("echo hello > {target}"),
    };
    wrap_command(base, choices)
}

/// The same behind a program that would start it later, elsewhere or under its own eyes. For reading only: some of
/// these leave a process behind when they are really run.
pub fn behind_launcher(text: &str, choices: &mut ByteChoices<'_>) -> String {
    let word = single_quoted(text);
    let code = |before: &str, after: &str| {
        single_quoted(&format!("{before}{}{after}", string_literal(text)))
    };
    match choices.index_below(35) {
        0 => format!("valgrind bash -c {word}"),
        1 => format!("perf stat bash -c {word}"),
        2 => format!("rlwrap bash -c {word}"),
        3 => format!("asdf exec bash -c {word}"),
        4 => format!("mise exec -- bash -c {word}"),
        5 => format!("npx -c {word}"),
        6 => format!("npm exec -c {word}"),
        7 => format!("tmux new -d bash -c {word}"),
        8 => format!("screen -dm bash -c {word}"),
        9 => format!("parallel bash -c {} ::: a", single_quoted(&word)),
        10 => format!("parallel ::: {word}"),
        11 => format!("su -c {word}"),
        12 => format!("runuser -l me -c {word}"),
        13 => format!("systemd-run --user bash -c {word}"),
        14 => format!("at now <<< {word}"),
        15 => format!("batch <<'BATCH'\n{text}\nBATCH\n"),
        16 => format!("ls | entr bash -c {word}"),
        17 => format!("ssh me@localhost {word}"),
        18 => format!("watch {word}"),
        19 => format!("tcsh -c {word}"),
        20 => format!("busybox sh -c {word}"),
        21 => format!("git -c alias.x={} x", single_quoted(&format!("!{text}"))),
        22 => format!(
            "git config alias.x {}; git x",
            single_quoted(&format!("!{text}"))
        ),
        23 => format!("gh alias set --shell x {word}; gh x"),
        24 => format!(
            "node -pe {}",
            code("require(\"child_process\").execSync(", ")")
        ),
        25 => format!(
            "node -e {}",
            code(
                "const {execSync: e} = require(\"node:child_process\"); e(",
                ")"
            )
        ),
        26 => format!("lua -e {}", code("os.execute(", ")")),
        27 => format!(
            "python3 -Bc {}",
            code("from os import system as s; s(", ")")
        ),
        28 => format!("script -qc {word} /dev/null"),
        29 => format!("fd . -x bash -c {word}"),
        30 => format!("sudo -u me bash -c {word}"),
        31 => format!("dash -c {word}"),
        32 => format!(
            "deno eval {}",
            code("new Deno.Command(\"bash\", {args: [\"-c\", ", "]})")
        ),
        33 => format!("hash -p /bin/bash zz; zz -c {word}"),
        _ => format!("xargs -0I {{}} bash -c {word}"),
    }
}

/// A text as python, awk and scripts write it.
fn string_literal(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}

/// A word that the shell reads as the same word.
fn spell_word(word: &str, choices: &mut ByteChoices<'_>) -> String {
    match choices.index_below(10) {
        0 => return format!("'{word}'"),
        1 => return format!("\"{word}\""),
        2 => return format!("$'{word}'"),
        3 => return format!("$(echo {word})"),
        4 => return format!("`printf %s {word}`"),
        5 => return word.to_owned(),
        _ => {}
    }
    word.chars()
        .map(|letter| match choices.index_below(8) {
            0 => format!("\\{letter}"),
            1 => format!("'{letter}'"),
            2 => format!("\"{letter}\""),
            3 => format!("{letter}''"),
            4 => format!("$'\\x{:02x}'", u32::from(letter)),
            5 => format!("$'\\{:03o}'", u32::from(letter)),
            6 => format!("\\\n{letter}"),
            _ => letter.to_string(),
        })
        .collect()
}

/// git with words in between that do not matter.
fn git_call(choices: &mut ByteChoices<'_>) -> String {
    let before = choices.pick_one(&[
        "A=b ",
        "env ",
        "command ",
        "nice ",
        "> /dev/null ",
        "nohup ",
        "timeout 9 ",
        "",
    ]);
    let git = spell_word("git", choices);
    let options = choices.pick_one(&[
        "-c a.b=c ",
        "-C . ",
        "--no-pager ",
        "--git-dir=.git ",
        "-c a.b=c -C . ",
        "",
    ]);
    let command = choices.pick_one(&FINISHING);
    let command = spell_word(command, choices);
    format!("{before}{git} {options}{command} x")
}

/// git and its command by way of variables, functions and aliases.
fn git_by_variables(choices: &mut ByteChoices<'_>) -> String {
    let git = spell_word("git", choices);
    let push = spell_word("push", choices);
    match choices.index_below(12) {
        0 => format!("g={git}; $g {push}"),
        1 => format!("g={git} c={push}; \"$g\" $c"),
        2 => format!("c={push}; {git} \"${{c}}\""),
        3 => format!("a=({git} {push}); \"${{a[@]}}\""),
        4 => format!("g() {{ {git} \"$@\"; }}; g {push}"),
        5 => format!("set -- {git} {push}; \"$@\""),
        6 => format!("set -- x {git} {push}; shift; \"$@\""),
        7 => format!("x=; $x {git} {push}"),
        8 => format!("false && x=echo; $x {git} {push}"),
        9 => format!("for c in {push}; do {git} $c; done"),
        10 => format!("shopt -s expand_aliases; alias zz={git}\nzz {push}"),
        _ => format!("{git} {push}"),
    }
}

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The command inside of others.
fn wrap_command(base: String, choices: &mut ByteChoices<'_>) -> String {
    let depth = usize::from(choices.index_below(6)).min(NESTING_MAX);
    let mut text = base;
    for level in 0..depth {
        let way = choices.index_below(54);
        text = match way {
            0 => format!("true && {text}"),
            1 => format!("false || {text}"),
            2 => format!("true; {text}"),
            3 => format!("true\n{text}"),
            4 => format!("( {text}\n)"),
            5 => format!("{{ {text}\n}}"),
            6 => format!("bash -c {}", single_quoted(&text)),
            7 => format!("sh -c {}", single_quoted(&text)),
            8 => format!("eval {}", single_quoted(&text)),
            9 => format!("echo \"$( {text}\n)\""),
            10 => format!("if true; then {text}\nfi"),
            11 => format!("for i in 1; do {text}\ndone"),
            12 => format!("while true; do {text}\nbreak; done"),
            13 => format!("case x in x) {text}\n;; esac"),
            14 => format!("f() {{ {text}\n}}; f"),
            15 => format!("bash <<'END{level}'\n{text}\nEND{level}\n"),
            16 => format!("echo {} | bash", single_quoted(&text)),
            17 => format!("cat <( {text}\n) > /dev/null"),
            18 => format!("! {text}"),
            19 => format!("x={}; eval \"$x\"", single_quoted(&text)),
            20 => format!("env bash -c {}", single_quoted(&text)),
            21 => format!("timeout 5 bash -c {}", single_quoted(&text)),
            22 => format!("true | {{ {text}\n}}"),
            23 => format!("[[ a == a ]] && {text}"),
            24 => format!("bash -c 'eval \"$1\"' _ {}", single_quoted(&text)),
            25 => format!("command eval {}", single_quoted(&text)),
            26 => format!("set -- {}; eval \"$1\"", single_quoted(&text)),
            27 => format!("printf '%s' {} | sh", single_quoted(&text)),
            28 => format!("bash <<< {}", single_quoted(&text)),
            29 => format!("echo a # comment\n{text}"),
            30 => format!("a=({}); eval \"${{a[0]}}\"", single_quoted(&text)),
            31 => format!("nohup bash -c {} 2> /dev/null", single_quoted(&text)),
            32 => format!(". /dev/stdin <<< {}", single_quoted(&text)),
            33 => format!("trap {} EXIT; true", single_quoted(&text)),
            34 => format!(
                "printf '%s' {} | base64 | base64 -d | bash",
                single_quoted(&text)
            ),
            35 => format!("cd /tmp; cd \"$OLDPWD\"; {text}"),
            36 => format!("pushd /tmp; popd; {text}"),
            37 => format!("HOME=$PWD; cd /tmp; cd ~; {text}"),
            38 => format!("cd /tmp; cd ~-; {text}"),
            39 => format!("flock -n /dev/null bash -c {}", single_quoted(&text)),
            40 => format!("setsid -w dash -c {}", single_quoted(&text)),
            41 => format!(
                "find . -maxdepth 0 -exec bash -c {} \\;",
                single_quoted(&text)
            ),
            42 => format!("echo x | xargs -I@@ bash -c {}", single_quoted(&text)),
            43 => {
                let code = format!("import os; os.system({})", string_literal(&text));
                format!("python3 -Sc {}", single_quoted(&code))
            }
            44 => {
                let code = format!(
                    "import subprocess as s\ns.run([\"bash\", \"-c\", {}])",
                    string_literal(&text)
                );
                format!("python3 - <<'PY{level}'\n{code}\nPY{level}\n")
            }
            45 => {
                let text = text.replace('\\', "\\\\").replace('\'', "\\'");
                format!(
                    "perl -we {}",
                    single_quoted(&format!("system('bash', '-c', '{text}')"))
                )
            }
            46 => {
                let code = format!("BEGIN {{ system({}) }}", string_literal(&text));
                format!("awk {}", single_quoted(&code))
            }
            // Fed with nothing: a shell in it would wait for what nobody types.
            47 => format!("coproc {{ {text}\n}} < /dev/null; wait"),
            48 => format!("a[1]={}; eval \"${{a[1]}}\"", single_quoted(&text)),
            49 => format!("printf -v x %s {}; eval \"$x\"", single_quoted(&text)),
            50 => format!(
                "mapfile -t x <<< {}; eval \"${{x[*]}}\"",
                single_quoted(&text)
            ),
            51 => format!("declare -n r=x; x={}; eval \"$r\"", single_quoted(&text)),
            52 => format!("env -S bash\\ -c {}", single_quoted(&single_quoted(&text))),
            _ => format!("{{ {text}\n}} 2>&1 | cat"),
        };
    }
    text
}

//! The table of names of JavaScript and its runtimes.

use super::Use::{Anything, Eval, Open, Read, Run, Write};
use super::{Language, Module, wild};
use crate::shell::inline::lex::Kind;

pub(super) static SCRIPT: Language = Language {
    names: &["node", "nodejs", "bun", "deno", "tsx", "ts-node", "qjs"],
    kind: Kind::Script,
    words: &[
        ("eval", Eval),
        ("Function", Eval),
        ("globalThis", Anything),
        ("global", Anything),
        ("Reflect", Anything),
        ("Proxy", Anything),
        ("createRequire", Anything),
        ("importScripts", Anything),
        ("Worker", Anything),
    ],
    methods: &[
        ("constructor", Anything),
        ("mainModule", Anything),
        ("binding", Anything),
        ("dlopen", Anything),
        ("getBuiltinModule", Anything),
        ("writeFileSync", Write(0)),
        ("writeFile", Write(0)),
        ("appendFileSync", Write(0)),
        ("appendFile", Write(0)),
        ("createWriteStream", Write(0)),
        ("writeTextFile", Write(0)),
        ("writeTextFileSync", Write(0)),
        ("renameSync", Write(1)),
        ("copyFileSync", Write(1)),
        ("copyFile", Write(1)),
        ("cpSync", Write(1)),
        ("symlinkSync", Write(1)),
        ("linkSync", Write(1)),
        ("truncateSync", Write(0)),
        ("unlinkSync", Write(0)),
        ("rmSync", Write(0)),
        ("openSync", Open),
        ("execSync", Run),
        ("execFileSync", Run),
        ("spawnSync", Run),
        ("execFile", Run),
        ("spawn", Run),
    ],
    modules: &[
        Module {
            name: "fs",
            reads: "readFileSync readFile existsSync exists statSync stat lstat lstatSync readdirSync \
                readdir accessSync access createReadStream realpathSync realpath constants promises \
                readlink readlinkSync opendir opendirSync fstatSync fstat readSync read closeSync \
                close watch watchFile unwatchFile glob globSync Stats Dirent readJsonSync readJson \
                pathExists pathExistsSync statfs statfsSync mkdirSync mkdir mkdtempSync mkdtemp \
                default",
            uses: &[
                ("writeFileSync", Write(0)),
                ("writeFile", Write(0)),
                ("appendFileSync", Write(0)),
                ("appendFile", Write(0)),
                ("createWriteStream", Write(0)),
                ("rename", Write(1)),
                ("renameSync", Write(1)),
                ("copyFile", Write(1)),
                ("copyFileSync", Write(1)),
                ("cp", Write(1)),
                ("cpSync", Write(1)),
                ("symlink", Write(1)),
                ("symlinkSync", Write(1)),
                ("link", Write(1)),
                ("linkSync", Write(1)),
                ("truncate", Write(0)),
                ("truncateSync", Write(0)),
                ("unlink", Write(0)),
                ("unlinkSync", Write(0)),
                ("rm", Write(0)),
                ("rmSync", Write(0)),
                ("open", Open),
                ("openSync", Open),
                ("writeSync", Read),
            ],
            rest: Anything,
        },
        Module {
            name: "child_process",
            reads: "",
            uses: &[
                ("exec", Run),
                ("execSync", Run),
                ("execFile", Run),
                ("execFileSync", Run),
                ("spawn", Run),
                ("spawnSync", Run),
            ],
            rest: Anything,
        },
        Module {
            name: "process",
            reads: "argv env exit exitCode stdout stderr stdin cwd version versions platform arch \
                memoryUsage hrtime uptime pid ppid nextTick on once release execPath title cpuUsage \
                emitWarning features config argv0 execArgv resourceUsage kill getuid",
            uses: &[],
            rest: Anything,
        },
        Module {
            name: "Deno",
            reads: "readTextFile readTextFileSync readFile readFileSync readDir readDirSync stat \
                statSync lstat args env cwd exit version build stdin stdout stderr errors realPath \
                realPathSync mainModule inspect pid hostname memoryUsage",
            uses: &[
                ("writeTextFile", Write(0)),
                ("writeTextFileSync", Write(0)),
                ("writeFile", Write(0)),
                ("writeFileSync", Write(0)),
                ("rename", Write(1)),
                ("copyFile", Write(1)),
                ("Command", Run),
            ],
            rest: Anything,
        },
        Module {
            name: "Bun",
            reads: "file version env argv main sleep which inspect hash stdin stdout stderr semver \
                deepEquals escapeHTML nanoseconds",
            uses: &[("write", Write(0)), ("spawn", Run), ("spawnSync", Run)],
            rest: Anything,
        },
        wild("module"),
        wild("vm"),
        wild("worker_threads"),
        wild("cluster"),
        wild("repl"),
        wild("inspector"),
    ],
    given: true,
};

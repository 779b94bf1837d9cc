//! Why attempts of thinking, memory and develop fail is reported in the language of whoever watches; state files and `--json` keep their
//! English.

use super::*;

/// An agent that fails, and what is said of it.
struct Reason<'r> {
    agent: &'r str,
    settings: &'r str,
    english: &'r str,
    korean: &'r str,
}

/// Runs the same in both languages; each says its own sentence and not the other one.
#[track_caller]
fn told(line: &str, prepare: impl Fn(&TestEnvironment), reason: &Reason<'_>) {
    let Reason {
        english, korean, ..
    } = *reason;
    let sides = [("en", english, korean), ("ko", korean, english)];
    for (lang, own, other) in sides {
        let world = project(reason.agent, reason.settings);
        prepare(&world);
        let (text, _) = ran(&world, &format!("--lang {lang} {line}"));
        assert!(text.contains(own), "{own}\n{text}");
        assert!(!text.contains(other), "{other}\n{text}");
    }
}

/// Sleeps in its first attempt.
const ONCE: &str = "[ $BOWLINE_TRY = 1 ] && exec sleep 600; mkdir -p thinking/planning; echo x > thinking/planning/x";

#[test]
fn of_a_stage() {
    let line = "thinking --dir t run --stage planning";
    let new = |world: &TestEnvironment| {
        good(world, "thinking new --dir t t-1 --title T --goal G");
    };
    let world = project("echo 'no ink' >&2; exit 4", "");
    new(&world);
    let (body, _) = answer(&world, &format!("--lang ko --json {line}"));
    assert_eq!(
        body["failed"][0]["error"],
        "agent_failed: exit code 4: no ink"
    );
    let state = world.read_json("t/thinking_state.json");
    let kept = &state["stages"]["planning"]["error"];
    assert_eq!(kept["message"], "exit code 4: no ink");
    for reason in [
        Reason {
            agent: "echo 'no ink' >&2; exit 4",
            settings: "",
            english: "✗ planning failed: agent_failed: exit code 4: no ink",
            korean: "✗ planning 실패: 종료 코드 4 (agent_failed): no ink",
        },
        Reason {
            agent: "kill -9 $$",
            settings: "",
            english: "✗ planning failed: agent_failed: ended by a signal",
            korean: "✗ planning 실패: 시그널로 끝났습니다 (agent_failed)",
        },
        Reason {
            agent: ONCE,
            settings: "[limits]\nno_progress = 1\n",
            english: "✗ planning failed and is tried again: no_output: no output for 1 s",
            korean: "✗ planning 실패, 다시 시도합니다: 1초 동안 출력이 없었습니다 (no_output)",
        },
        Reason {
            agent: ONCE,
            settings: "[thinking]\nstage_timeout = 1\n",
            english: "✗ planning failed and is tried again: timeout: longer than 1 s",
            korean: "✗ planning 실패, 다시 시도합니다: 1초 안에 끝나지 않았습니다 (timeout)",
        },
        Reason {
            agent: "exec sleep 600",
            settings: "[limits]\nwall_time = 1\n",
            english: "failed and is tried again: breaker: 1 s of work",
            korean: "실패, 다시 시도합니다: 허용된 한도를 다 썼습니다: 작업 시간 1초",
        },
        Reason {
            agent: "echo FAIL:planning:",
            settings: "",
            english: "✗ planning failed: agent_failed: failed",
            korean: "✗ planning 실패: 까닭을 밝히지 않은 실패 (agent_failed)",
        },
        Reason {
            agent: "exit 0",
            settings: "",
            english: "✗ planning failed: outputs_missing: 'planning' lacks required outputs: at least one output",
            korean: "✗ planning 실패: 'planning' 단계의 필수 산출물이 없습니다: 산출물 1개 이상 (outputs_missing)",
        },
    ] {
        told(line, new, &reason);
    }
    let reason = Reason {
        agent: "",
        settings: "[agent.gone]\ncommand = [\"./nowhere/gone\"]\n",
        english: "✗ planning failed: agent_not_started: cannot run ./nowhere/gone: ",
        korean: "✗ planning 실패: 에이전트를 시작할 수 없습니다: 프로그램 './nowhere/gone': ",
    };
    told(&format!("{line} --agent gone"), new, &reason);
}

#[test]
fn of_a_step() {
    let new = |world: &TestEnvironment| {
        good(world, "memory task new One --step 'name=one,agent=one'");
    };
    for (agent, english, korean) in [
        (
            "[ $BOWLINE_TRY = 1 ] && exit 4; exit 0",
            "✗ 1 failed and is tried again: transient: exit code 4",
            "✗ 1 실패, 다시 시도합니다: 종료 코드 4 (transient)",
        ),
        (
            "[ $BOWLINE_TRY = 1 ] && echo '{\"share\": {\"version\": 9}}' > $BOWLINE_RESULT_FILE; exit 0",
            "✗ 1 failed and is tried again: validation: 'version' cannot be set",
            "✗ 1 실패, 다시 시도합니다: 'version'은 바꿀 수 없습니다 (validation)",
        ),
    ] {
        let reason = Reason {
            agent,
            settings: "",
            english,
            korean,
        };
        told("memory run", new, &reason);
    }
}

#[test]
fn of_a_checkpoint_and_of_a_review() {
    let world = |lang: &str| {
        let (agent, gates) = (develop::ALONE, develop::GATES);
        let world = develop::repository(agent, gates);
        std::fs::write(world.root().join("seen/design.md"), develop::DESIGN).unwrap();
        let said = format!("--lang {lang} develop run --auto 'Ferry times'");
        good(&world, &said)
    };
    let (english, korean) = (world("en"), world("ko"));
    for (own, other) in [
        (
            "✗ review_clean_pass failed and is tried again: the review found 1 blocking issue: no error cases",
            "✗ review_clean_pass 실패, 다시 시도합니다: 검토에서 진행을 막는 문제 1개를 찾았습니다: no error cases",
        ),
        (
            "✗ architect_verified failed and is tried again: 'test -f build.ok || { echo 'build.ok is missing'; false; }' ended with 1: build.ok is missing",
            "✗ architect_verified 실패, 다시 시도합니다: 'test -f build.ok || { echo 'build.ok is missing'; false; }'가 종료 코드 1로 끝났습니다: build.ok is missing",
        ),
    ] {
        assert!(english.contains(own), "{english}");
        assert!(korean.contains(other), "{korean}");
    }
    assert!(!korean.contains("ended with") && !korean.contains("blocking"));
}

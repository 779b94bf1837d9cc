//! Why tasks fail and phases do not land is reported in the language of whoever watches; the state file keeps its English.

use crate::orchestrate_run::{project, ran};
use serde_json::Value;

const PLAN: &str = "# TASKS: P\n## Phase 0: A\n### [ ] T0.1: 나루\n";

/// All that a Korean run says, and what its state file has.
#[track_caller]
fn told(agent: &str, settings: &str) -> (String, Value) {
    let world = project(PLAN, agent, settings);
    let output = ran(&world, "--lang ko orchestrate run");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let state = world.read(".claude/orchestrate-state.json");
    (said, serde_json::from_str(&state).unwrap())
}

#[test]
fn reasons_are_korean_on_the_screen_and_english_in_the_state_file() {
    let limits = "retry_limit = 1\n";
    for (agent, settings, korean, english) in [
        (
            "echo 'no ink' >&2; exit 4\n",
            limits.to_owned(),
            "✗ T0.1: 종료 코드 4: no ink",
            "exit code 4: no ink",
        ),
        (
            "kill -9 $$\n",
            limits.to_owned(),
            "✗ T0.1: 시그널로 끝났습니다",
            "ended by a signal",
        ),
        (
            "sleep 60\n",
            format!("{limits}[limits]\nno_progress = 1\n"),
            "✗ T0.1: 1초 동안 출력이 없었습니다",
            "no output for 1 s",
        ),
        (
            "while :; do echo .; sleep 0.1; done\n",
            format!("{limits}[limits]\nwall_time = 1\n"),
            "✗ T0.1: 허용된 한도를 다 썼습니다: 작업 시간 1초",
            "breaker: 1 s of work",
        ),
        (
            "echo DONE:T0.1\n",
            format!("{limits}evidence = [\"sh\", \"-c\", \"echo bent; exit 3\"]\n"),
            "✗ T0.1: 증거 명령이 실패했습니다: 'sh -c echo bent; exit 3', 종료 코드 3: bent",
            "the evidence command failed: sh -c echo bent; exit 3 ended with 3: bent",
        ),
    ] {
        let (said, state) = told(agent, &settings);
        assert!(said.contains(korean), "{said}");
        assert!(!said.contains(english), "{said}");
        let state = state.to_string();
        assert!(state.contains(english), "{state}");
    }
}

#[test]
fn why_a_phase_did_not_land_is_told_in_korean() {
    let settings = "checks = [[\"sh\", \"-c\", \"echo leak; exit 5\"]]\n";
    let (said, _) = told("echo x > a.txt; echo DONE:T0.1\n", settings);
    let why = "단계 0을 합치지 못했습니다: 단계의 검사가 실패했습니다: 'sh -c echo leak; exit 5', 종료 코드 5";
    assert_eq!(said.matches(why).count(), 2, "{said}");
    assert!(!said.contains("did not land"), "{said}");
}

#[test]
fn merge_commits_are_in_the_language_of_the_session() {
    let plan = "# TASKS: P\n## Phase 1: 나루\n### [ ] T1.1: 배\n";
    for (line, subject) in [
        ("--lang ko orchestrate run", "Phase 1 완료: 나루"),
        ("--lang en orchestrate run", "Phase 1 complete: 나루"),
    ] {
        let agent = "echo a > a.txt; echo DONE:$BOWLINE_TASK_ID\n";
        let world = project(plan, agent, "");
        let output = ran(&world, line);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(world.git(&["log", "-1", "--format=%s"]), subject);
    }
}

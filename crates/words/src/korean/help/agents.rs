//! `bowline init`, `hook`, `run-agent`, `attach`, `scripted`.

lines! {
    "init" => "에이전트 클라이언트와 git의 훅을 설치합니다. 바뀌는 것을 보여 주고, 있던 것은 그대로 둡니다";
    "init --agent" => "에이전트 클라이언트 (기본값: 여기서 쓰는 것, 없으면 claude)";
    "init --agent claude" => "Claude Code 클라이언트";
    "init --agent codex" => "Codex 클라이언트";
    "init --agent gemini" => "Gemini 클라이언트";
    "init --agent opencode" => "OpenCode 클라이언트";
    "init --uninstall" => "설치한 훅을 제거합니다";
    "hook" => "에이전트 클라이언트에 답합니다: 훅 메시지는 표준 입력으로 받고, 거부하면 종료 코드 2로 끝납니다";
    "hook <event>" => "pre-tool-use, post-tool-use, session-start, pre-compact, stop, user-prompt-submit 중 하나. 없으면 메시지에 적힌 것을 씁니다";
    "run-agent" => "이 명령이 끝나도 계속되는 에이전트를 실행하고 출력을 보여 줍니다";
    "run-agent --name" => "사람이 읽을 이름 (기본값: 프로그램 이름)";
    "run-agent --dir" => "에이전트가 일할 폴더 (기본값: 현재 폴더)";
    "run-agent --detach" => "시작하고 ID를 출력한 뒤 바로 끝냅니다";
    "run-agent --open-input" => "'attach ID --send'를 위해 표준 입력을 열어 둡니다";
    "run-agent --sandbox" => "시스템(읽기만)과 자기 폴더에만 접근하게 합니다";
    "run-agent --sandbox strict" => "커널이 모두 막아 줄 수 없으면 시작하지 않습니다";
    "run-agent --sandbox best-effort" => "커널이 막을 수 있는 것만 막습니다";
    "run-agent --read" => "샌드박스 안의 에이전트가 더 읽을 수 있는 경로";
    "run-agent --write" => "샌드박스 안의 에이전트가 더 쓸 수 있는 경로";
    "run-agent --connect" => "샌드박스 안의 에이전트가 연결할 수 있는 TCP 포트 (기본값: 모두)";
    "run-agent --listen" => "샌드박스 안의 에이전트가 연결을 받을 수 있는 TCP 포트 (기본값: 모두)";
    "run-agent --cgroup" => "에이전트에게 컨트롤 그룹을 따로 주어 통째로 멈추고, 끝내고, 제한합니다";
    "run-agent --cgroup auto" => "이 사용자가 만들 수 있으면 만듭니다";
    "run-agent --cgroup off" => "만들지 않습니다";
    "run-agent --cgroup require" => "만들 수 없으면 시작하지 않습니다";
    "run-agent --memory-max" => "모든 프로세스를 합친 메모리 한도, 예: 512M";
    "run-agent --pids-max" => "프로세스 수의 한도";
    "run-agent --cpu-max" => "모든 프로세스를 합친 프로세서 시간의 한도, 프로세서 하나에 대한 퍼센트";
    "run-agent --sandbox-report" => "이 커널이 무엇을 막는지, 명령을 적으면 무엇을 허용할지 알려 주고 아무것도 실행하지 않습니다";
    "run-agent <command>" => "프로그램과 그 인수";
    "attach" => "에이전트의 출력을 다시 보여 주거나 에이전트를 제어합니다. ID를 적지 않으면 모두 나열합니다";
    "attach <id>" => "에이전트 실행 ID의 앞부분. 적지 않으면 모두 나열합니다. check를 적으면 시작할 수 있는 에이전트를 보여 줍니다";
    "attach --from" => "이 바이트부터 출력을 보여 줍니다 (기본값: 마지막으로 보여 준 곳부터)";
    "attach --pause" => "모든 프로세스를 멈춥니다";
    "attach --resume" => "멈춘 프로세스를 계속하게 합니다";
    "attach --end" => "모든 프로세스를 끝냅니다. 잃은 에이전트 실행이면 남은 프로세스를 끝냅니다";
    "attach --interrupt" => "터미널의 Ctrl-C처럼 중단시킵니다";
    "attach --send" => "표준 입력에 한 줄을 씁니다";
    "attach --close-input" => "표준 입력을 닫습니다";
    "scripted" => "시나리오대로 에이전트처럼 움직입니다. 에이전트를 감독하는 쪽을 시험할 때 씁니다";
    "scripted <file>" => "시나리오";
    "scripted --turn" => "재개된 클라이언트처럼 N번째 기다림 뒤에서 시작합니다";
}

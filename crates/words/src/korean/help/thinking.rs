//! `bowline thinking`.

lines! {
    "thinking" => "사고 과정: 산출물, 재시도, 점수가 있는 네 가지 사고 단계";
    "thinking --dir" => "작업 폴더 (기본값: thinking_state.json이 있는 가장 가까운 상위 폴더)";
    "thinking <stage>" => "사고 단계";
    "thinking <stage> planning" => "발산: 아이디어를 찾습니다";
    "thinking <stage> selection" => "수렴: 하나를 고릅니다";
    "thinking <stage> creation" => "생성: 만듭니다";
    "thinking <stage> reflection" => "비판: 평가합니다";
    "thinking new" => "작업 폴더에 사고 과정을 새로 만듭니다";
    "thinking new <id>" => "작업 ID";
    "thinking new --title" => "사람이 읽을 제목 (기본값: ID)";
    "thinking new --goal" => "작업의 목표 (터미널에서는 물어봅니다)";
    "thinking start" => "사고 단계를 시작하거나 실패한 사고 단계를 다시 시도합니다";
    "thinking start --override" => "재시도를 다 쓴 사고 단계를 사람이 다시 여는 이유";
    "thinking output" => "사고 단계에서 지금까지 만든 파일을 기록합니다";
    "thinking output <paths>" => "작업 폴더 기준의 상대 경로";
    "thinking complete" => "사고 단계를 완료합니다. 산출물이 있어야 합니다";
    "thinking complete --output" => "추가 산출물, 작업 폴더 기준의 상대 경로 (반복 가능)";
    "thinking fail" => "사고 단계를 실패로 표시합니다";
    "thinking fail --code" => "프로그램이 읽을 오류 코드";
    "thinking fail --message" => "사람이 읽을 오류 메시지";
    "thinking evaluate" => "핵심 가치에 0에서 10까지 점수를 매깁니다";
    "thinking evaluate <scores>" => "이름=점수, 예: practicality=8";
    "thinking quality" => "0에서 1까지의 품질 지표를 기록합니다";
    "thinking quality <metrics>" => "이름=값, 예: completeness=0.75";
    "thinking feedback" => "결과를 기록하고 다른 작업의 교훈을 적용합니다";
    "thinking feedback record" => "작업의 결과를 기록합니다";
    "thinking feedback record --metric" => "측정한 이름=값, 예: engagement_rate=6.8%. --from과 함께 쓰면 이름만";
    "thinking feedback record --target" => "목표 값, 예: 5%";
    "thinking feedback record --from" => "측정값이 든 JSON 파일, 예: feedback/engagement.json";
    "thinking feedback record --learning" => "얻은 교훈 (반복 가능)";
    "thinking feedback record --improvement" => "다음 작업에서 개선할 점 (반복 가능)";
    "thinking feedback record --stage" => "교훈을 적용할 사고 단계 (반복 가능, 기본값: 모두)";
    "thinking --stage planning" => "발산: 아이디어를 찾습니다";
    "thinking --stage selection" => "수렴: 하나를 고릅니다";
    "thinking --stage creation" => "생성: 만듭니다";
    "thinking --stage reflection" => "비판: 평가합니다";
    "thinking feedback apply" => "다른 작업의 교훈을 적용합니다";
    "thinking feedback apply --from" => "다른 작업의 폴더";
    "thinking run" => "에이전트로 사고 단계를 차례로 진행합니다. 멈춘 곳에서 이어 갑니다";
    "thinking run --agent" => "모든 사고 단계의 에이전트 (기본값: 'defaults' 표의 'agent', 다음은 claude)";
    "thinking run --stage" => "이 사고 단계만 진행합니다";
    "thinking status" => "사고 과정의 현재 상태를 보여 줍니다";
    "thinking status --all" => "이 폴더와 그 아래의 모든 사고 과정을 한 줄씩 보여 줍니다";
}

/** A server that looks like a morning's work: tasks in every state, and workspaces of all four kinds. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as scenarios from './scenarios.mjs';
import { Server, until } from './world.mjs';

const phases = ['Planning', 'Design', 'Development', 'Testing'];

/** Writes the documents of its first phases and stops in the review of the second. */
const designing = `
[[step]]
raw = "\\u001b[1;34mStarting Phase 1: Planning\\u001b[0m\\n"
[[step]]
progress = { step = 1, of = 3, name = "01_idea" }
[[step]]
raw = "  reading docs/brief.md … \\u001b[32mok\\u001b[0m\\n  reading 14 pages of the old site … \\u001b[32mok\\u001b[0m\\n"
[[step]]
write = { path = "docs/idea.md", text = "# A timetable that fits in a pocket\\n\\nThe ferry sails twelve times a day. People ask three things: **when is the next one**, *is it on time*, and how much it costs.\\n\\n| Question | Answered on |\\n|---|---|\\n| Next departure | first screen |\\n| Delay | first screen, live |\\n| Price | one tap away |\\n\\n- [x] Interviews with 9 passengers\\n- [ ] Prices of the winter timetable\\n" }
[[step]]
progress = { step = 2, of = 3, name = "02_market" }
[[step]]
usage = { input = 18250, output = 4100 }
[[step]]
raw = "\\u001b[33mwarn\\u001b[0m 겨울 시간표의 요금이 아직 없습니다\\n  wrote docs/idea.md \\u001b[2m(612 characters)\\u001b[0m\\n"
[[step]]
write = { path = "docs/timetable.ts.md", text = "# Reading the timetable\\n\\nOne file a day, read at midnight.\\n" }
[[step]]
phase = { number = 1, name = "Planning", files = ["docs/idea.md", "docs/timetable.ts.md"] }
[[step]]
wait = ""
`;

const lines = Array.from({ length: 60 }, (_, at) =>
  at % 9 === 0
    ? `\\u001b[32m✓\\u001b[0m measured /trails/${at + 100} \\u001b[2m(${(at * 37) % 900} ms)\\u001b[0m`
    : at % 14 === 0
      ? `\\u001b[33mwarn\\u001b[0m 사진이 기준보다 큽니다: img/ridge-${at}.webp`
      : `  reading src/routes/trail_${at}.svelte … ok`,
);

/** At work, and says so. */
const working = `
[[step]]
progress = { step = 2, of = 5, name = "02_measure" }
[[step]]
raw = "\\u001b[1;34mStarting Phase 1: Planning\\u001b[0m\\n${lines.join('\\n')}\\n"
[[step]]
usage = { input = 41200, output = 5300 }
[[step]]
hold = true
`;

const asking = `
[[step]]
say = "I compared three providers."
[[step]]
ask = { question = "Which payment provider should the checkout use first?", category = "choice", options = ["Stripe", "Toss Payments", "Both"], default = "Toss Payments" }
[[step]]
wait = ""
`;

const needing = `
[[step]]
say = "The tests of the payment need a key."
[[step]]
need = { type = "api_key", name = "TOSS_SECRET_KEY", description = "Key of the test account, to run the payment tests" }
[[step]]
wait = ""
`;

const failing = `
[[step]]
fail = { message = "the picture store answers 403 for every request" }
`;

const finishing = `
[[step]]
write = { path = "docs/done.md", text = "# Done\\n" }
[[step]]
done = { summary = "Everything is in place." }
`;

const TASKS_MD = `# TASKS: ferry-times

## Phase 0: Ground

### [x] Phase 0, T0.1: 저장소와 도구
### [x] Phase 0, T0.2: Continuous integration
**의존성**: T0.1
### [x] Phase 0, T0.3: Design tokens
**의존성**: T0.1

## Phase 1: Timetable

### [x] Phase 1, T1.1: Parser of the timetable
### [x] Phase 1, T1.2: 정류장 자료
### [ ] Phase 1, T1.3: Search of stops
**의존성**: T1.2
### [ ] Phase 1, T1.4: 시간표 화면
**의존성**: T1.1, T1.2
### [ ] Phase 1, T1.5: Delays, live
**의존성**: T1.1
### [ ] Phase 1, T1.6: Offline copy
**의존성**: T1.4
### [ ] Phase 1, T1.7: First screen
**의존성**: T1.3, T1.4, T1.5

## Phase 2: Tickets

### [ ] Phase 2, T2.1: Prices
### [ ] Phase 2, T2.2: 결제
**의존성**: T2.1
### [ ] Phase 2, T2.3: Tickets in the pocket
**의존성**: T2.1
### [ ] Phase 2, T2.4: Refunds
**의존성**: T2.2, T2.3
`;

function bowline(folder, line, env) {
  execFileSync(process.env.BOWLINE, line, { cwd: folder, env: { PATH: process.env.PATH, HOME: path.dirname(folder), LANG: 'C.UTF-8', BOWLINE_ACTOR: 'person', ...env }, stdio: 'pipe' });
}

/** A folder in which all four kinds have been worked with, by the command line. */
function project() {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'bowline-shown-'));
  const folder = path.join(home, 'ferry-times');
  fs.mkdirSync(path.join(folder, 'thinking/planning'), { recursive: true });
  execFileSync('git', ['init', '--quiet', folder]);
  fs.writeFileSync(path.join(folder, 'TASKS.md'), TASKS_MD);
  fs.writeFileSync(path.join(folder, 'bowline.toml'), '[develop.gates.architect_verified]\nrun = "npm test"\n');
  fs.writeFileSync(path.join(folder, 'thinking/planning/ideas.json'), '{"ideas":[]}');
  const all = [
    ['thinking', 'new', 'newsletter-014', '--title', '겨울 산행 안내 뉴스레터', '--goal', '초보자가 안전하게 첫 겨울 산행을 준비하게 한다'],
    ['thinking', 'start', 'planning'],
    ['thinking', 'complete', 'planning', '--output', 'thinking/planning/ideas.json'],
    ['thinking', 'evaluate', 'practicality=9', 'trust=6', 'innovation=5'],
    ['thinking', 'quality', 'completeness=0.7', 'consistency=0.9'],
    ['memory', 'init'],
    ...[['Winter issue 1', 3], ['Winter issue 2', 2], ['Spring issue 1', 4], ['Spring issue 2', 3]].flatMap(([name, steps]) => [
      ['memory', 'task', 'new', name, '--goal', 'Readers find a walk for the weekend', ...Array.from({ length: steps }, (_, at) => ['--step', `name=Part ${at + 1},agent=writer`]).flat()],
      ...Array.from({ length: steps }, (_, at) => String(at + 1)).flatMap((step) => [['memory', 'step', 'start', step], ['memory', 'step', 'complete', step]]),
      ['memory', 'task', 'finish', '--summary', 'Sent to all readers', ...(steps === 4 ? ['--lesson', 'Ask the photographers a week before'] : [])],
    ]),
    ['memory', 'context', 'set', 'shared_data.current_topic', 'Walks in spring'],
    ['memory', 'context', 'set', 'shared_data.target_languages', 'ko, en'],
    ['memory', 'context', 'set', 'preferences.tone', 'short sentences, no slogans'],
    ['memory', 'task', 'new', 'Spring issue 3', '--goal', 'Readers find a walk for the weekend', '--step', 'name=Trails,agent=researcher', '--step', 'name=Pictures,agent=picker', '--step', 'name=Draft,agent=writer,deps=1', '--step', 'name=Edit,agent=editor,deps=2+3'],
    ['memory', 'step', 'start', '1'],
    ['memory', 'step', 'complete', '1'],
    ['memory', 'step', 'start', '3'],
    ['develop', 'start', 'Pictures in one go'],
    ['develop', 'review', '--checkpoint', 'cp-1', '--checkpoint', 'cp-2', '--checkpoint', 'cp-3'],
    ['develop', 'gate', 'pass', 'review_clean_pass', '--run', 'true'],
    ['develop', 'implement'],
    ['develop', 'checkpoint', 'start', 'cp-1'],
    ['develop', 'checkpoint', 'pass', 'cp-1', '--run', 'true'],
    ['develop', 'checkpoint', 'start', 'cp-2'],
    ['orchestrate', 'init'],
    ['orchestrate', 'start', 'T1.3'],
    ['orchestrate', 'start', 'T1.4'],
    ['orchestrate', 'start', 'T1.5'],
    ['orchestrate', 'fail', 'T1.5', '--reason', 'the live feed answers 403'],
    ['orchestrate', 'complete', 'T1.4'],
  ];
  // A morning's work: some minutes between any two of them, and the last one now.
  const gaps = all.map((_, at) => [2, 7, 3, 11, 4][at % 5] * 60_000);
  for (const [at, line] of all.entries()) {
    const ago = gaps.slice(at + 1).reduce((sum, gap) => sum + gap, 0);
    try {
      bowline(folder, line, { BOWLINE_CLOCK: new Date(Date.now() - ago).toISOString() });
    } catch (error) {
      console.error(`bowline ${line.join(' ')}: ${error.stderr}`);
    }
  }
  return { home, folder };
}

/** As it talks, for another price. */
const costing = (usd, input) => scenarios.talking.replace('usd = 0.87', `usd = ${usd}`).replace('input = 41200', `input = ${input}`);

export async function gallery() {
  const { home, folder } = project();
  const server = new Server({ busy: scenarios.busy, talking: scenarios.talking, brief: costing(0.31, 12400), long: costing(1.94, 98300), careful: scenarios.careful, limited: scenarios.limited, working, designing, asking, needing, failing, finishing }, { phases, workspaces: [folder], home, slots: 12, apps: { site: ['npm', 'start', '--', '--port', '{port}'] } });
  await server.start();
  const make = (title, agent, more) => server.newTask(title, agent, more);
  const done = await make('Move the newsletter to the new template', 'finishing', { type: 'custom', label: 'letters' });
  const failed = await make('Nightly import of pictures', 'failing', { label: 'harbour' });
  const review = await make('Ferry timetable: first version', 'designing', { type: 'site', priority: 'high', label: 'harbour', description: 'A timetable for people who stand on the pier: what sails next, is it late, what does it cost.' });
  const question = await make('결제 화면을 새로 만들기', 'asking', { priority: 'critical', label: 'shop', description: '장바구니에서 결제까지 세 번의 누름이면 충분하게 한다.' });
  const need = await make('Tests of the payment', 'needing', { label: 'shop' });
  const work = await make('산행 안내 페이지 성능 개선', 'working', { label: 'trails', priority: 'high', description: 'The page of a trail takes four seconds on a phone. One is the goal; the pictures are the first suspect.' });
  await make('Search by season', 'busy', { label: 'trails' });
  const talk = await make('Pictures of a trail: one first, the rest later', 'talking', { label: 'trails', description: 'The page of a trail loads all its pictures at once. The first one is enough to begin with.' });
  const permission = await make('Publish the map package', 'careful', { label: 'trails' });
  const limited = await make('Translate the trail notes', 'limited', { label: 'letters' });
  await make('Alternative texts for pictures', 'brief', { label: 'letters' });
  await make('사진 갤러리를 새 형식으로 옮기기', 'long', { label: 'trails' });
  await make('Weekly summary', 'busy', { label: 'letters', dependsOn: [work.id] });
  await make('검색 결과 정렬 기준 바꾸기', 'busy', { submit: false, label: 'trails' });
  await server.reaches(review.id, 'review');
  await server.reaches(failed.id, 'failed');
  await until('the question is asked', async () => (await server.api('GET', '/api/inbox')).items.length >= 7);
  await until('the custom task is over', async () => ['completed', 'failed'].includes((await server.task(done.id)).status));
  const { items } = await server.api('GET', '/api/workspaces');
  const capsule = path.join(home, 'timetable.capsule.json');
  bowline(folder, ['capsule', review.id, '--to', capsule, '--data', server.data]);
  const workspace = items[0].id;
  return {
    server,
    capsule,
    /** What is worth a picture. */
    pages: {
      board: '/',
      inbox: '/inbox',
      new: '/new',
      task: `/tasks/${work.id}`,
      question: `/tasks/${question.id}`,
      review: `/tasks/${review.id}/review`,
      conversation: `/tasks/${talk.id}/conversation`,
      history: `/tasks/${review.id}/history`,
      thinking: `/workspaces/${workspace}/thinking`,
      memory: `/workspaces/${workspace}/memory`,
      develop: `/workspaces/${workspace}/develop`,
      orchestrate: `/workspaces/${workspace}/orchestrate`,
      fleet: '/fleet',
      capsule: '/capsule',
    },
    /** What there is besides. */
    others: [
      '/workspaces',
      '/nowhere',
      ...['checkpoints', 'files'].map((tab) => `/tasks/${review.id}/${tab}`),
      ...[need, permission, limited, failed, done].map(({ id }) => `/tasks/${id}`),
    ],
    async close() {
      await server.close();
      fs.rmSync(home, { recursive: true, force: true });
    },
  };
}

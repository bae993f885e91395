// What the pages of searches say, in English and Chinese; and how they write numbers.
import { addWords } from "gs2/words.js";

addWords({
  "x.unreadable": ["This page cannot read the data: it must be “{format}”, version {version}.", "无法读取数据：应为“{format}”，版本 {version}。"],
  "x.player": ["player {n}", "玩家 {n}"], "x.acts": ["player {n} to act", "轮到玩家 {n}"], "x.chance": ["chance", "随机"], "x.end": ["end", "结束"],
  "x.by": ["{method} on {blueprint}", "{method}，蓝图 {blueprint}"], "x.byPlain": ["{method}", "{method}"],
  "x.blueprint": ["blueprint", "蓝图"], "x.refined": ["refined", "精化后"], "x.before": ["before", "之前"], "x.after": ["after", "之后"],
  "x.strategy": ["Strategy at this infoset", "此信息集的策略"],
  "x.strategyNote": ["The probability of each action before and after the search, and its value to the player if both then follow the blueprint.", "搜索前后各动作的概率，以及双方此后都按蓝图行动时它对该玩家的价值。"],
  "x.action": ["action", "动作"], "x.value": ["value", "价值"], "x.change": ["change", "变化"],
  "x.kept0": ["The blueprint is kept: nothing better was certified.", "保留蓝图：没有更好的策略通过验证。"],
  "x.anchored": ["Mixed: {share} of the subgame's strategy, the rest the blueprint's.", "混合比例 {share}：子博弈策略占此比例，其余为蓝图。"],
  "x.tileValue": ["Value against the blueprint", "对蓝图的价值"], "x.tileBest": ["Opponent's best response", "对手的最佳回应"],
  "x.tileExploit": ["Exploitability", "可利用度"],
  "x.alone": ["this decision alone", "仅此决策"], "x.inWhole": ["in the whole game", "整个博弈中"], "x.tileSubgame": ["Subgame", "子博弈"],
  "x.tileTime": ["Time", "用时"], "x.nodes": ["{n} {n:node|nodes}", "{n} 个节点"], "x.iterations": ["{n} {n:iteration|iterations}", "{n} 次迭代"],
  "x.histories": ["Histories", "历史"],
  "x.historiesCount": ["{considered} considered, {generated} generated, {kept} kept.", "考虑 {considered} 个，生成 {generated} 个，保留 {kept} 个。"],
  "x.historiesNote": ["Each dot is a history, placed by its value to the opponent (its alternative value). Filled dots are in the subgame, hollow ones were left out; larger dots are likelier.", "每个点是一个历史，位置是它对对手的价值（替代值）。实心点在子博弈中，空心点被舍弃；越大越可能。"],
  "x.listed": ["{n} of {of} are listed.", "列出 {of} 个中的 {n} 个。"], "x.history": ["history", "历史"], "x.reach": ["reach", "到达概率"],
  "x.theirs": ["opponent's part", "对手部分"], "x.alternative": ["alternative value", "替代值"],
  "x.mark": ["in the subgame", "在子博弈中"], "x.generated": ["generated", "被选中"], "x.completes": ["completes an infoset", "补全信息集"],
  "x.out": ["left out", "舍弃"],
  "x.frozen": ["frozen", "冻结"], "x.summary": ["in summary", "概括"], "x.own": ["of this infoset", "属于此信息集"],
  "x.other": ["of another infoset", "属于其他信息集"],
  "x.margins": ["Opponent infosets", "对手的信息集"],
  "x.marginsNote": ["The margin is the opponent's loss from the refined strategy at an infoset: its alternative value less its value in the subgame. A safe search leaves no margin below zero.", "裕度是对手因精化策略在该信息集损失的价值：替代值减去子博弈中所得。安全的搜索不会出现负值。"],
  "x.margin": ["margin", "裕度"], "x.solved": ["solved", "求解值"], "x.infoset": ["infoset", "信息集"],
  "x.notIn": ["not in the subgame", "不在子博弈中"], "x.least": ["Least margin: {value}.", "最小裕度：{value}。"],
  "x.whole": ["Whole game", "整个博弈"],
  "x.wholeNote": ["Value of best responses in the whole game of {histories} {histories:history|histories}; infosets refined: {replaced}. Less is better.", "整个博弈有 {histories} 个历史，精化了 {replaced} 个信息集；下列为最佳回应的所得，越小越好。"],
  "x.bestOf": ["best response of player {n}", "玩家 {n} 的最佳回应"], "x.exploitability": ["exploitability", "可利用度"],
  "x.noWhole": ["The game is too large to list here, so its best responses are not known.", "博弈太大，无法在此完整列出，因此整个博弈中的最佳回应未知。"],
  "x.sample": ["{histories} {histories:history|histories} of the infoset {histories:was|were} drawn (effective {effective}) at {opponents} opponent {opponents:infoset|infosets}, {drawn} {drawn:history|histories} of these.", "抽取了该信息集的 {histories} 个历史（有效 {effective}），对手信息集 {opponents} 个，共 {drawn} 个历史。"],
  "x.sampleAll": ["Every history was used: the answer is exact up to the depth and the leaves.", "用上了全部历史：除深度限制和叶节点估值外，答案是精确的。"],
  "x.tree": ["The game from here", "此后的博弈"], "x.view": ["View", "视图"], "x.seen": ["as the player sees it", "玩家所见"],
  "x.byHistory": ["history by history", "逐个历史"],
  "x.treeNote": ["Two bars a step: how likely it is before (striped) and after (filled). Arrow keys move and unfold; details of the step appear beside or below.", "每一步两条：之前（斜纹）与之后（实心）的概率。方向键移动和展开；所指之处的详情在旁边或下方。"],
  "x.treeCut": ["The {most} likeliest nodes are shown; {cut} of them could be unfolded further. Below these histories the game has {histories} {histories:node|nodes}.", "显示最可能的 {most} 个节点；其中 {cut} 个还可展开。这些历史之下共有 {histories} 个节点。"],
  "x.treeAll": ["Shown in full: {histories} {histories:history|histories} of the game in {n} {n:node|nodes}.", "已全部显示：{histories} 个历史，{n} 个节点。"],
  "x.rootsCut": ["Shown: {n} of the subgame's {of} {of:history|histories}.", "显示子博弈 {of} 个历史中的 {n} 个。"],
  "x.noTree": ["There is no tree to show: the histories were sampled.", "历史是抽样得到的，没有可显示的树。"],
  "x.more": ["not unfolded: {n} {n:step|steps}", "未展开：{n} 步"], "x.start": ["start", "起点"],
  "x.merged": ["{n} {n:history|histories} that look alike", "{n} 个看起来相同的历史"],
  "x.opponents": ["{n} {n:infoset|infosets} of the opponent", "对手的 {n} 个信息集"],
  "x.nodeValue": ["value to player {n}", "对玩家 {n} 的价值"], "x.replaced": ["refined by this search", "被此次搜索精化"],
  "x.not": ["as in the blueprint", "与蓝图相同"], "x.step": ["this step", "这一步"],
  "x.details": ["Details of the step", "此步详情"], "x.sameInfoset": ["Steps in the same infoset are marked.", "同一信息集的步骤已标出。"],
  "x.found": ["The search", "求解过程"],
  "x.size": ["{nodes} {nodes:node|nodes}, {decisions} {decisions:decision|decisions}, {infosets} {infosets:infoset|infosets}; {iterations} {iterations:iteration|iterations} of {variant}, gap {gap}", "{nodes} 个节点，{decisions} 个决策点，{infosets} 个信息集；{variant} 迭代 {iterations} 次，差距 {gap}"],
  "x.gadget": ["gadget", "辅助博弈"], "x.notes": ["Left out or cut short", "舍弃或提前结束之处"], "x.seconds": ["Milliseconds by stage", "各阶段毫秒数"],
  "x.config": ["Configuration", "配置"], "x.seed": ["seed", "种子"],
  "x.search": ["Search", "搜索"], "x.again": ["Search again", "重新搜索"], "x.searching": ["searching …", "搜索中……"], "x.cancel": ["Cancel", "取消"],
  "x.cancelled": ["Cancelled.", "已取消。"], "x.ready": ["Done in {ms} ms.", "用时 {ms} 毫秒。"],
  "x.game": ["Game", "博弈"], "x.method": ["Method", "方法"], "x.k": ["Histories kept (k)", "保留的历史数（k）"],
  "x.ownChoice": ["the method's own", "由方法决定"], "x.gadgetLabel": ["Gadget", "辅助博弈"], "x.depth": ["Depth limit", "深度限制"],
  "x.secondsLabel": ["Time limit, s", "时间限制（秒）"], "x.iterLabel": ["Iterations", "迭代次数"], "x.variant": ["Blueprint by", "蓝图算法"],
  "x.blueprintIter": ["Blueprint's iterations", "蓝图迭代次数"], "x.seedLabel": ["Seed", "种子"], "x.infosetLabel": ["Infoset", "信息集"],
  "x.options": ["More options", "更多选项"],
  "x.allRows": ["Show all {n}", "显示全部 {n} 个"], "x.fewRows": ["Show fewer", "收起"],
  "d.play": ["Play {move}", "出 {move}"], "d.usual": ["The blueprint would play {move}.", "蓝图会出 {move}。"], "d.hand": ["hand", "手牌"],
  "d.level": ["level", "级牌"], "d.beat": ["to beat", "要压过"], "d.lead": ["you lead", "由你领出"], "d.left": ["cards left", "剩余张数"],
  "d.moves": ["Moves", "出法"],
  "d.movesNote": ["Bars: how likely each move is by the blueprint (striped) and after search (filled). Gain: levels won over the blueprint's move, with one standard deviation.", "条形：蓝图（斜纹）与搜索后（实心）各出法的概率。收益：比蓝图出法多赢的级数，附一个标准差。"],
  "d.move": ["move", "出法"], "d.gain": ["gain", "收益"], "d.behind": ["behind", "落后"], "d.deals": ["Deals", "牌局"],
  "d.dealsNote": ["{n} {n:deal|deals}, {how}; those that matter most for the choice are shown.", "{n} 副牌，{how}；显示对选择影响最大的。"],
  "d.exact": ["all that are possible", "所有可能"], "d.sampled": ["sampled", "抽样"],
  "d.weight": ["share", "占比"], "d.worth": ["worth here", "此处价值"], "d.seat": ["seat", "座位"], "d.seat0": ["you", "你"],
  "d.seat1": ["next", "下家"], "d.seat2": ["partner", "对家"], "d.seat3": ["previous", "上家"],
  "d.rolled": ["in {n} {n:deal|deals}", "{n} 副牌中"],
  "d.expects": ["expects {alternative}, gets {solved}, margin {margin}", "预期 {alternative}，所得 {solved}，裕度 {margin}"],
});

/** Return a payoff in words, with its sign. */
export function signed(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const small = value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits;
  const text = small ? Math.abs(value).toExponential(1) : Math.abs(value).toFixed(digits);
  return (value < 0 ? "−" : "+") + text;
}

/** Return a number with so many digits behind the point, or in powers of ten where that would show nothing. */
export function plain(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits ? value.toExponential(1) : value.toFixed(digits);
}

/** Return a probability in percent. */
export function percent(value) {
  if (value === null || value === undefined) return "–";
  const shown = 100 * value;
  return `${shown > 0 && shown < 0.05 ? "<0.1" : shown < 100 && shown > 99.95 ? ">99.9" : shown.toFixed(1)} %`;
}

/** Return a whole number with separators. */
export function count(value) {
  return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en");
}

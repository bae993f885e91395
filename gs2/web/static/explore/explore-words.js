// What the pages of searches say, in English and Chinese; and how they write numbers.
import { addWords } from "gs2/words.js";

addWords({
  en: {
    "x.unreadable": "This page cannot read the data: it must be “{format}”, version {version}.",
    "x.player": "player {n}", "x.acts": "player {n} to act", "x.chance": "chance", "x.end": "end",
    "x.by": "{method} on {blueprint}", "x.byPlain": "{method}",
    "x.blueprint": "blueprint", "x.refined": "refined", "x.before": "before", "x.after": "after",
    "x.language": "中文", "x.strategy": "Strategy at this infoset",
    "x.strategyNote": "The probability of each action before and after the search, and its value to the player if both then follow the blueprint.",
    "x.action": "action", "x.value": "value", "x.change": "change",
    "x.kept0": "The blueprint is kept: nothing better was certified.",
    "x.anchored": "Mixed: {share} of the subgame's strategy, the rest the blueprint's.",
    "x.tileValue": "Value against the blueprint", "x.tileBest": "Opponent's best response", "x.tileExploit": "Exploitability",
    "x.alone": "this decision alone", "x.inWhole": "in the whole game", "x.tileSubgame": "Subgame", "x.tileTime": "Time", "x.nodes": "{n} {n:node|nodes}", "x.iterations": "{n} {n:iteration|iterations}",
    "x.histories": "Histories", "x.historiesCount": "{considered} considered, {generated} generated, {kept} kept.",
    "x.historiesNote": "Each dot is a history, placed by its value to the opponent (its alternative value). Filled dots are in the subgame, hollow ones were left out; larger dots are likelier.",
    "x.listed": "{n} of {of} are listed.", "x.history": "history", "x.reach": "reach", "x.theirs": "opponent's part", "x.alternative": "alternative value",
    "x.mark": "in the subgame", "x.generated": "generated", "x.completes": "completes an infoset", "x.out": "left out",
    "x.frozen": "frozen", "x.summary": "in summary", "x.own": "of this infoset", "x.other": "of another infoset",
    "x.margins": "Opponent infosets",
    "x.marginsNote": "The margin is the opponent's loss from the refined strategy at an infoset: its alternative value less its value in the subgame. A safe search leaves no margin below zero.",
    "x.margin": "margin", "x.solved": "solved", "x.infoset": "infoset", "x.notIn": "not in the subgame", "x.least": "Least margin: {value}.",
    "x.whole": "Whole game", "x.wholeNote": "Value of best responses in the whole game of {histories} {histories:history|histories}; infosets refined: {replaced}. Less is better.",
    "x.bestOf": "best response of player {n}", "x.exploitability": "exploitability",
    "x.noWhole": "The game is too large to list here, so its best responses are not known.",
    "x.sample": "{histories} {histories:history|histories} of the infoset {histories:was|were} drawn (effective {effective}) at {opponents} opponent {opponents:infoset|infosets}, {drawn} {drawn:history|histories} of these.",
    "x.sampleAll": "Every history was used: the answer is exact up to the depth and the leaves.",
    "x.tree": "The game from here", "x.view": "View", "x.seen": "as the player sees it", "x.byHistory": "history by history",
    "x.treeNote": "Two bars a step: how likely it is before (striped) and after (filled). Arrow keys move and unfold; details of the step appear beside or below.",
    "x.treeCut": "The {most} likeliest nodes are shown; {cut} of them could be unfolded further. Below these histories the game has {histories} {histories:node|nodes}.",
    "x.treeAll": "Shown in full: {histories} {histories:history|histories} of the game in {n} {n:node|nodes}.",
    "x.rootsCut": "Shown: {n} of the subgame's {of} {of:history|histories}.", "x.noTree": "There is no tree to show: the histories were sampled.",
    "x.more": "not unfolded: {n} {n:step|steps}", "x.start": "start", "x.merged": "{n} {n:history|histories} that look alike", "x.opponents": "{n} {n:infoset|infosets} of the opponent",
    "x.nodeValue": "value to player {n}", "x.replaced": "refined by this search", "x.not": "as in the blueprint", "x.step": "this step",
    "x.details": "Details of the step", "x.sameInfoset": "Steps in the same infoset are marked.",
    "x.found": "The search", "x.size": "{nodes} {nodes:node|nodes}, {decisions} {decisions:decision|decisions}, {infosets} {infosets:infoset|infosets}; {iterations} {iterations:iteration|iterations} of {variant}, gap {gap}",
    "x.gadget": "gadget", "x.notes": "Left out or cut short", "x.seconds": "Milliseconds by stage", "x.config": "Configuration", "x.seed": "seed",
    "x.search": "Search", "x.again": "Search again", "x.searching": "searching …", "x.cancel": "Cancel", "x.cancelled": "Cancelled.", "x.ready": "Done in {ms} ms.",
    "x.game": "Game", "x.method": "Method", "x.k": "Histories kept (k)", "x.ownChoice": "the method's own", "x.gadgetLabel": "Gadget", "x.depth": "Depth limit",
    "x.secondsLabel": "Time limit, s", "x.iterLabel": "Iterations", "x.variant": "Blueprint by", "x.blueprintIter": "Blueprint's iterations", "x.seedLabel": "Seed", "x.infosetLabel": "Infoset", "x.options": "More options",
    "x.allRows": "Show all {n}", "x.fewRows": "Show fewer",
    "d.play": "Play {move}", "d.usual": "The blueprint would play {move}.", "d.hand": "hand", "d.level": "level", "d.beat": "to beat", "d.lead": "you lead", "d.left": "cards left",
    "d.moves": "Moves", "d.movesNote": "Bars: how likely each move is by the blueprint (striped) and after search (filled). Gain: levels won over the blueprint's move, with one standard deviation.",
    "d.move": "move", "d.gain": "gain", "d.behind": "behind", "d.deals": "Deals", "d.dealsNote": "{n} {n:deal|deals}, {how}; those that matter most for the choice are shown.", "d.exact": "all that are possible", "d.sampled": "sampled",
    "d.weight": "share", "d.worth": "worth here", "d.seat": "seat", "d.seat0": "you", "d.seat1": "next", "d.seat2": "partner", "d.seat3": "previous", "d.SB": "small joker", "d.HR": "big joker",
    "d.rolled": "in {n} {n:deal|deals}", "d.expects": "expects {alternative}, gets {solved}, margin {margin}",
  },
  zh: {
    "x.unreadable": "无法读取数据：应为“{format}”，版本 {version}。",
    "x.player": "玩家 {n}", "x.acts": "轮到玩家 {n}", "x.chance": "随机", "x.end": "结束",
    "x.by": "{method}，蓝图 {blueprint}", "x.byPlain": "{method}",
    "x.blueprint": "蓝图", "x.refined": "精化后", "x.before": "之前", "x.after": "之后",
    "x.language": "English", "x.strategy": "此信息集的策略",
    "x.strategyNote": "搜索前后各动作的概率，以及双方此后都按蓝图行动时它对该玩家的价值。",
    "x.action": "动作", "x.value": "价值", "x.change": "变化",
    "x.kept0": "保留蓝图：没有更好的策略通过验证。",
    "x.anchored": "混合比例 {share}：子博弈策略占此比例，其余为蓝图。",
    "x.tileValue": "对蓝图的价值", "x.tileBest": "对手的最佳回应", "x.tileExploit": "可利用度",
    "x.alone": "仅此决策", "x.inWhole": "整个博弈中", "x.tileSubgame": "子博弈", "x.tileTime": "用时", "x.nodes": "{n} 个节点", "x.iterations": "{n} 次迭代",
    "x.histories": "历史", "x.historiesCount": "考虑 {considered} 个，生成 {generated} 个，保留 {kept} 个。",
    "x.historiesNote": "每个点是一个历史，位置是它对对手的价值（替代值）。实心点在子博弈中，空心点被舍弃；越大越可能。",
    "x.listed": "列出 {of} 个中的 {n} 个。", "x.history": "历史", "x.reach": "到达概率", "x.theirs": "对手部分", "x.alternative": "替代值",
    "x.mark": "在子博弈中", "x.generated": "被选中", "x.completes": "补全信息集", "x.out": "舍弃",
    "x.frozen": "冻结", "x.summary": "概括", "x.own": "属于此信息集", "x.other": "属于其他信息集",
    "x.margins": "对手的信息集",
    "x.marginsNote": "裕度是对手因精化策略在该信息集损失的价值：替代值减去子博弈中所得。安全的搜索不会出现负值。",
    "x.margin": "裕度", "x.solved": "求解值", "x.infoset": "信息集", "x.notIn": "不在子博弈中", "x.least": "最小裕度：{value}。",
    "x.whole": "整个博弈", "x.wholeNote": "整个博弈有 {histories} 个历史，精化了 {replaced} 个信息集；下列为最佳回应的所得，越小越好。",
    "x.bestOf": "玩家 {n} 的最佳回应", "x.exploitability": "可利用度",
    "x.noWhole": "博弈太大，无法在此完整列出，因此整个博弈中的最佳回应未知。",
    "x.sample": "抽取了该信息集的 {histories} 个历史（有效 {effective}），对手信息集 {opponents} 个，共 {drawn} 个历史。",
    "x.sampleAll": "用上了全部历史：除深度限制和叶节点估值外，答案是精确的。",
    "x.tree": "此后的博弈", "x.view": "视图", "x.seen": "玩家所见", "x.byHistory": "逐个历史",
    "x.treeNote": "每一步两条：之前（斜纹）与之后（实心）的概率。方向键移动和展开；所指之处的详情在旁边或下方。",
    "x.treeCut": "显示最可能的 {most} 个节点；其中 {cut} 个还可展开。这些历史之下共有 {histories} 个节点。",
    "x.treeAll": "已全部显示：{histories} 个历史，{n} 个节点。",
    "x.rootsCut": "显示子博弈 {of} 个历史中的 {n} 个。", "x.noTree": "历史是抽样得到的，没有可显示的树。",
    "x.more": "未展开：{n} 步", "x.start": "起点", "x.merged": "{n} 个看起来相同的历史", "x.opponents": "对手的 {n} 个信息集",
    "x.nodeValue": "对玩家 {n} 的价值", "x.replaced": "被此次搜索精化", "x.not": "与蓝图相同", "x.step": "这一步",
    "x.details": "此步详情", "x.sameInfoset": "同一信息集的步骤已标出。",
    "x.found": "求解过程", "x.size": "{nodes} 个节点，{decisions} 个决策点，{infosets} 个信息集；{variant} 迭代 {iterations} 次，差距 {gap}",
    "x.gadget": "辅助博弈", "x.notes": "舍弃或提前结束之处", "x.seconds": "各阶段毫秒数", "x.config": "配置", "x.seed": "种子",
    "x.search": "搜索", "x.again": "重新搜索", "x.searching": "搜索中……", "x.cancel": "取消", "x.cancelled": "已取消。", "x.ready": "用时 {ms} 毫秒。",
    "x.game": "博弈", "x.method": "方法", "x.k": "保留的历史数（k）", "x.ownChoice": "由方法决定", "x.gadgetLabel": "辅助博弈", "x.depth": "深度限制",
    "x.secondsLabel": "时间限制（秒）", "x.iterLabel": "迭代次数", "x.variant": "蓝图算法", "x.blueprintIter": "蓝图迭代次数", "x.seedLabel": "种子", "x.infosetLabel": "信息集", "x.options": "更多选项",
    "x.allRows": "显示全部 {n} 个", "x.fewRows": "收起",
    "d.play": "出 {move}", "d.usual": "蓝图会出 {move}。", "d.hand": "手牌", "d.level": "级牌", "d.beat": "要压过", "d.lead": "由你领出", "d.left": "剩余张数",
    "d.moves": "出法", "d.movesNote": "条形：蓝图（斜纹）与搜索后（实心）各出法的概率。收益：比蓝图出法多赢的级数，附一个标准差。",
    "d.move": "出法", "d.gain": "收益", "d.behind": "落后", "d.deals": "牌局", "d.dealsNote": "{n} 副牌，{how}；显示对选择影响最大的。", "d.exact": "所有可能", "d.sampled": "抽样",
    "d.weight": "占比", "d.worth": "此处价值", "d.seat": "座位", "d.seat0": "你", "d.seat1": "下家", "d.seat2": "对家", "d.seat3": "上家", "d.SB": "小王", "d.HR": "大王",
    "d.rolled": "{n} 副牌中", "d.expects": "预期 {alternative}，所得 {solved}，裕度 {margin}",
  },
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

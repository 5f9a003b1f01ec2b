// The page's own words in English.

type Part = string | number;

export const english = {
  language: "Language",
  loading: "The questions are being fetched …",
  retry: "Try again",
  preview: "Preview: nothing is kept, and nothing is sent.",
  about: "About this campaign",
  and: " and ",
  quoted: (text: Part) => `“${text}”`,

  // what is asked
  byWhom: "Collected by",
  id: "Campaign id",
  idNote: "If you came here by a poster or a letter, compare this id with the one printed there.",
  questions: "Questions",
  until: "Open",
  anytime: "until it is closed",
  days: (from: Part, to: Part) => `${from} to ${to}`,
  rounds: "Rounds",
  roundsDrawn: (n: Part, every: Part, part: Part) =>
    `${n}, one every ${every === 1 ? "day" : `${every} days`}; this device takes part in ` +
    `${part}, chosen at random.`,
  roundsOwn: (days: Part) => `Your rounds begin on: ${days}.`,
  sending: "Sending",
  sendWithin: (minutes: Part) =>
    `The campaign asks that reports are sent at a random moment within ${minutes} minutes. This ` +
    "version of the page sends at once.",
  kept: "Kept",
  keptFor: (n: Part) => `randomized reports are deleted ${n} days after the close`,
  keptForever: "randomized reports are kept until somebody deletes them",
  needed: "Minimum",
  shownFrom: (n: Part) => `nothing is shown of fewer than ${n} reports`,
  published: "Published as",

  // what it means
  meaningTitle: "What this means for you",
  meaning: (percent: Part) =>
    "Chance changes your answers on this device. Somebody who would have bet 50 : 50 on one of " +
    `your answers before, and then sees your report, can become at most ${percent} sure of it.`,
  meaningAll: (percent: Part) =>
    "Chance changes your answers on this device. Somebody who would have bet 50 : 50 on one of " +
    "your answers before, and then sees all of your reports together, can become at most " +
    `${percent} sure of it.`,
  before: "before: 50 %",
  after: (percent: Part) => `after: at most ${percent}`,
  epsilon: (e: Part) => `Epsilon ${e}, computed on this device from the campaign itself.`,
  lifetime: (once: Part, all: Part) =>
    `One report has epsilon ${once}; everything that this device ever sends to this campaign, ` +
    `${all}.`,
  weak:
    "At this epsilon one report alone can make an observer nearly certain: it hardly protects " +
    "you.",
  trustTitle: "Whom you have to trust",
  trust:
    "The collector gets a randomized version of your answers: enough to count many people " +
    "together, and no more about you than stated above. But whoever serves this page could have " +
    "changed it so that it reads your answers. If that worries you, ask for the page on a site " +
    "that you trust, compare the hashes of its scripts with the published ones, or read the " +
    "source.",
  trustHash: (hash: Part) => `lopub.js: ${hash}`,

  // the questions
  answering: "Your questions",
  staying: "Your answers stay on this device. They are not stored, and not sent.",
  optional: "Optional.",
  noneOfThese: "None of these",
  noAnswer: "No answer",
  notApplicable: "Does not apply",
  yes: "Yes",
  no: "No",
  nothing: "nothing ticked",
  choose: "Please choose",
  search: (n: Part) => `Search among ${n} answers`,
  found: (n: Part, shown: Part) =>
    n > shown ? `${shown} of ${n} shown; type more to find the others` : `${n} found`,
  atMost: (n: Part) => `Tick at most ${n}.`,
  alone: (label: Part) => `${label} excludes all others.`,
  tickAny: "Tick all that apply.",
  onlyRange: (range: Part) => `Only the range is used: ${range}.`,
  between: (low: Part, high: Part) => `A number from ${low} to ${high}.`,
  anyNumber: "A number.",
  numberFrom: (low: Part) => `A number from ${low}.`,
  numberUpTo: (high: Part) => `A number up to ${high}.`,
  wholeBetween: (low: Part, high: Part) => `A whole number from ${low} to ${high}.`,
  unclear: (low: Part, high: Part) =>
    `This could be read as two different numbers; write ${low} or ${high}.`,
  onlyWeek: "Only the week is used.",
  upTo: (high: Part) => `${high} or less`,
  above: (low: Part) => `more than ${low}`,
  fromTo: (low: Part, high: Part) => `${low} to ${high}`,
  aboveTo: (low: Part, high: Part) => `more than ${low}, up to ${high}`,
  missing: "Please answer this question.",
  unfit: "This answer cannot be used; please look at it again.",
  unfitFor: (wanted: Part) => `This answer cannot be used. ${wanted}`,
  mistakes: (n: Part) =>
    n === 1
      ? "One question still needs an answer that can be used."
      : `${n} questions still need an answer that can be used.`,
  look: "Show what could leave my device",
  lookNote: "Nothing is drawn or sent yet. On the next page you decide whether you take part.",
  nothingAsked:
    "Nothing is asked this time: the report adds fresh noise to the randomized answer that this " +
    "device has kept since your first round.",

  // what could leave
  examplesTitle: "What could leave your device",
  examplesNote:
    "Nothing has been drawn or sent. These are made-up examples: chance has just produced them " +
    "from your answers, in the way in which it will produce your report. They are thrown away " +
    "and never sent. Your real report is drawn only if you agree, and can look quite different.",
  yours: "Your answers, which stay here",
  example: (n: Part) => `Example ${n}`,
  exampleNote: "Made up; not your report.",
  moreExamples: "Other examples",
  tally: (named: Part, n: Part) => `${named} of ${n} examples so far name your own answers.`,
  change: "Change my answers",
  notCovered: "not in the report",
  through: (what: Part) => `revealed in part by ${what}`,
  someQuestions: "Which questions a report covers is chosen at random, regardless of your answers.",
  allQuestions: "A report covers all questions.",
  says: (what: Part) => `The report says: ${what}.`,
  names: (n: Part, all: Part, what: Part) =>
    `The report names ${n} of ${all} possible answers to ${what}.`,
  namesPairs: (n: Part, all: Part, what: Part) =>
    `The report names ${n} of ${all} combinations of ${what}.`,
  isYours: "Yours is among them.",
  isNotYours: "Yours is not among them.",
  isSame: "By chance this is your own answer.",
  isOther: "This is not your own answer.",
  pattern: (n: Part) =>
    `The report is a pattern of ${n} randomized bits. No answer can be read from it directly: ` +
    "many answers give the same pattern.",
  axes: (rows: Part, columns: Part) => `Rows: ${rows}; columns: ${columns}.`,
  legendSame: "= as you answered; ≠ not as you answered.",
  legendNamed: "named by the report",
  legendYours: "your answer",
  sureTitle: "How sure could somebody become?",
  sureIntro:
    "Somebody who knew nothing before, and saw this example, would think your true answers " +
    "this likely:",
  sure: (question: Part, percent: Part, blind: Part) => `${question}: ${percent}; before, ${blind}`,
  sureBound: (percent: Part) =>
    `Whatever your report will be: at most ${percent}, where it was 50 : 50 before.`,
  technical: "Byte by byte",
  bytes: (n: Part) =>
    `${n} bytes: version, campaign, a random number, the day, which questions, the randomized ` +
    "answers.",

  // consent
  agreeTitle: "You agree to this",
  agreeNote:
    "If you agree, chance draws your report now, once and for all. It is sent without being " +
    "shown first: whoever looks at the drawn report and then decides whether to send it can give " +
    "away the true answer. The same report is sent until the collector has it, also after a " +
    "reload.",
  agree: "Agree and send",
  agreeAgain: "Agree and send the report of this round",
  invited: "This version cannot take part in campaigns that need an invitation.",

  // the device
  deviceTitle: "This device",
  spent: (epsilon: Part) =>
    `Your reports from this device through this address have revealed at most epsilon ${epsilon} ` +
    "so far, all campaigns together. The device does not know of other addresses, browsers and " +
    "devices.",
  together: (total: Part, limit: Part) =>
    `With this campaign it would be ${total}. Your limit is ${limit}.`,
  tooMuch: (total: Part, limit: Part) =>
    `With this campaign your reports would reveal epsilon ${total} together, which is above your ` +
    `limit of ${limit}. Nothing is drawn, unless you change the limit.`,
  limit: "Your limit on epsilon, all campaigns together",
  setLimit: "Change the limit",
  badLimit: "The limit must be a number above 0, such as 8.",
  limitSet: (limit: Part) => `Your limit is now ${limit}.`,
  nextTitle: "Somebody else?",
  nextNote:
    "The next person gets a fresh start on this device and sees nothing of yours. A report that " +
    "still waits is sent, without being shown. Save your receipt first: afterwards the device " +
    "shows nothing of you any more. If it is still you, do not use this: your epsilons add up, " +
    "and the limit would not notice.",
  next: "Start afresh for the next person",
  deleteTitle: "Delete everything",
  deleteNote:
    "This deletes all that pages of this address keep on this device, of everybody who used it: " +
    "the reports, the totals and the limits. What was sent stays with the collectors; what still " +
    "waits is never sent. What was revealed stays revealed, but this device no longer knows it: " +
    "whoever answers the same campaign again makes a second report, and the epsilons of both add " +
    "up without the limit noticing.",
  deleteAll: "Delete everything that this device keeps",
  deleteMeant: "Yes, delete",
  deleteNot: "No, keep",
  deleted: "Everything that pages of this address kept on this device is deleted.",

  // on the way
  waitingTitle: "Your report is on its way",
  waitingNote:
    "Your report was drawn when you agreed, and your answers are forgotten. It is not shown " +
    "before the collector has it.",
  beingSent: "The report is being sent …",
  waiting:
    "The collector cannot be reached. The report is kept here and tried again, also after a " +
    "reload; you can leave the page open.",
  cancel: "Do not send it",
  cancelMeant:
    "Stop sending for good? The report counts against your limit all the same, and no other is " +
    "drawn in its place.",
  cancelYes: "Yes, stop",
  cancelNo: "No, send it",
  cancelledTitle: "Not sent",
  cancelled:
    "Nothing more is sent. Your report counts against your limit all the same, and no other is " +
    "drawn in its place.",
  cancelledNote:
    "If an attempt was under way, the collector may have the report nevertheless. To make sure " +
    "that it is not counted, have it withdrawn.",
  refusedTitle: "The collector refuses the report",
  rejected: (reason: Part) => `The collector refuses the report (${reason}); it is not counted.`,

  // afterwards
  received: "Received. The collector has your report, and counts it once.",
  receivedNote:
    "Thank you for taking part. Your answers have stayed on this device, and are forgotten.",
  showTitle: "What was sent",
  showNote:
    "You can look at the report that was sent. Do not let it decide whether you withdraw, or " +
    "take part again: the collector has seen the report already, and a decision by what it says " +
    "can give away your true answer.",
  show: "Show what was sent",
  sentReport: "The report that was sent",
  nextRound: (day: Part) => `This device's next round begins on ${day}; please come back then.`,
  lastRound: "This was the last round of this device.",
  notDue: (day: Part) => `Nothing is due today: this device's next round begins on ${day}.`,
  noMoreRounds: "This device has taken part in all of its rounds.",
  earlierTitle: "Earlier rounds",
  earlier: (days: Part) =>
    `This device has made reports in the rounds that began on: ${days}. Until the campaign ` +
    "closes they can be withdrawn here.",
  persisted: "The browser has promised to keep what this page stores.",
  volatile:
    "Browsers may delete what a page keeps, some of them after a week without a visit. Save the " +
    "receipt if you want to be able to withdraw.",

  // withdrawing
  receipt: "Save the receipt as a file",
  withdraw: "Withdraw my report",
  withdrawNote:
    "Until the campaign closes you can have your report deleted: here, or with the receipt on " +
    "any device. The receipt holds a random number, and nothing of your report.",
  isMeant:
    "Withdraw for good? This cannot be undone: no new report is made in its place. Do not decide " +
    "by what the report says: that could give away your true answer.",
  meant: "Yes, withdraw",
  keep: "No, leave it",
  withdrawing: "The report is being withdrawn …",
  withdrawn:
    "Withdrawn. The collector does not count your report any more. It has seen it, so its " +
    "epsilon stays spent.",
  unwithdrawn: "The collector cannot be reached, or its answer is unclear; please try again later.",
  notWithdrawnYet:
    "Not withdrawn yet: the collector cannot be reached. Your wish is kept here, and is tried " +
    "again while this page is open and when you come back to it.",
  fromReceipt: "Withdraw with a receipt",
  chooseReceipt: "Receipt file",
  badReceipt: "This file is not a receipt of this campaign.",

  // what goes wrong
  over: (day: Part) => `This campaign ended on ${day}; it takes no more answers.`,
  early: (day: Part) => `This campaign begins on ${day}; please come back then.`,
  closed: "The collector has closed this campaign and takes no more reports or withdrawals.",
  framed:
    "This page does not start inside a page of another site, where you could not see whom you " +
    "answer. Open it in a tab of its own.",
  noCrypto:
    "This browser has no secure source of randomness, so nothing can be drawn; use a current " +
    "browser and an https address.",
  noPart:
    "A part of this page could not be loaded, or is not the one that the page names, so nothing " +
    "is asked; load the page again, or come back later.",
  noStore:
    "This browser does not let the page keep the report (storage is blocked, full or damaged), " +
    "so nothing is drawn and nothing is lost; allow storage for this site, or free some space.",
  changed: "The questions that came are not those that this address names, so nothing is asked.",
  unreadable: "The questions that came cannot be read by this page, so nothing is asked.",
  unreachable: "The questions cannot be fetched at the moment; nothing is lost.",
  gone:
    "The report that was kept here has been deleted, so nothing is sent; load the page again if " +
    "you want to take part.",
  refused:
    "The collector does not take this request, or points elsewhere; nothing is lost, and the " +
    "report stays kept here.",
  failed: "Something went wrong here. Reload the page: it says what became of your report.",
};

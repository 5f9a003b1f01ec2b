// The page's own words in German.

import type { english } from "./english";

type Part = string | number;

export const german: typeof english = {
  language: "Sprache",
  loading: "Die Fragen werden geholt …",
  retry: "Noch einmal versuchen",
  preview: "Vorschau: Nichts wird aufbewahrt, nichts wird gesendet.",
  about: "Über diese Erhebung",
  and: " und ",
  quoted: (text: Part) => `„${text}“`,

  // what is asked
  byWhom: "Erhoben von",
  id: "Kennung der Erhebung",
  idNote:
    "Wenn Sie durch einen Aushang oder einen Brief hierher kamen: Vergleichen Sie diese Kennung " +
    "mit der dort gedruckten.",
  questions: "Fragen",
  until: "Offen",
  anytime: "bis zum Schluss der Erhebung",
  days: (from: Part, to: Part) => `${from} bis ${to}`,
  rounds: "Runden",
  roundsDrawn: (n: Part, every: Part, part: Part) =>
    `${n}, ${every === 1 ? "jeden Tag" : `alle ${every} Tage`} eine; dieses Gerät nimmt an ` +
    `${part} teil, die der Zufall auswählt.`,
  roundsOwn: (days: Part) => `Ihre Runden beginnen am: ${days}.`,
  sending: "Senden",
  sendWithin: (minutes: Part) =>
    `Die Erhebung bittet darum, Meldungen zu einem zufälligen Zeitpunkt innerhalb von ${minutes} ` +
    "Minuten zu senden. Diese Version der Seite sendet sofort.",
  kept: "Aufbewahrt",
  keptFor: (n: Part) => `zufällig veränderte Meldungen werden ${n} Tage nach dem Schluss gelöscht`,
  keptForever: "zufällig veränderte Meldungen werden aufbewahrt, bis jemand sie löscht",
  needed: "Mindestzahl",
  shownFrom: (n: Part) => `von weniger als ${n} Meldungen wird nichts gezeigt`,
  published: "Veröffentlicht als",

  // what it means
  meaningTitle: "Was das für Sie bedeutet",
  meaning: (percent: Part) =>
    "Der Zufall verändert Ihre Antworten auf diesem Gerät. Wer vorher 50 : 50 auf eine Ihrer " +
    "Antworten gewettet hätte und dann Ihre Meldung sieht, kann sich ihrer höchstens zu " +
    `${percent} sicher werden.`,
  meaningAll: (percent: Part) =>
    "Der Zufall verändert Ihre Antworten auf diesem Gerät. Wer vorher 50 : 50 auf eine Ihrer " +
    "Antworten gewettet hätte und dann alle Ihre Meldungen zusammen sieht, kann sich ihrer " +
    `höchstens zu ${percent} sicher werden.`,
  before: "vorher: 50 %",
  after: (percent: Part) => `nachher: höchstens ${percent}`,
  epsilon: (e: Part) => `Epsilon ${e}, auf diesem Gerät aus der Erhebung selbst berechnet.`,
  lifetime: (once: Part, all: Part) =>
    `Eine Meldung hat Epsilon ${once}; alles, was dieses Gerät je an diese Erhebung sendet, ` +
    `${all}.`,
  weak:
    "Bei diesem Epsilon kann schon eine Meldung jemanden fast sicher machen: Sie schützt Sie " +
    "kaum.",
  trustTitle: "Wem Sie vertrauen müssen",
  trust:
    "Die Sammelstelle bekommt eine zufällig veränderte Fassung Ihrer Antworten: genug, um viele " +
    "Menschen zusammen zu zählen, und über Sie nicht mehr als oben angegeben. Wer aber diese " +
    "Seite ausliefert, könnte sie so verändert haben, dass sie Ihre Antworten liest. Wenn Sie " +
    "das beunruhigt: Bitten Sie um die Seite auf einem Server, dem Sie trauen, vergleichen Sie " +
    "die Prüfsummen der Skripte mit den veröffentlichten, oder lesen Sie den Quelltext.",
  trustHash: (hash: Part) => `lopub.js: ${hash}`,

  // the questions
  answering: "Ihre Fragen",
  staying:
    "Ihre Antworten bleiben auf diesem Gerät. Sie werden nicht gespeichert und nicht gesendet.",
  optional: "Kann offen bleiben.",
  noneOfThese: "Nichts davon",
  noAnswer: "Keine Antwort",
  notApplicable: "Trifft nicht zu",
  yes: "Ja",
  no: "Nein",
  nothing: "nichts angekreuzt",
  choose: "Bitte wählen",
  search: (n: Part) => `Unter ${n} Antworten suchen`,
  found: (n: Part, shown: Part) =>
    n > shown
      ? `${shown} von ${n} gezeigt; mehr eintippen, um die anderen zu finden`
      : `${n} gefunden`,
  atMost: (n: Part) => `Höchstens ${n} ankreuzen.`,
  alone: (label: Part) => `${label} schließt alle anderen aus.`,
  tickAny: "Alles Zutreffende ankreuzen.",
  onlyRange: (range: Part) => `Verwendet wird nur der Bereich: ${range}.`,
  between: (low: Part, high: Part) => `Eine Zahl von ${low} bis ${high}.`,
  anyNumber: "Eine Zahl.",
  numberFrom: (low: Part) => `Eine Zahl ab ${low}.`,
  numberUpTo: (high: Part) => `Eine Zahl bis ${high}.`,
  wholeBetween: (low: Part, high: Part) => `Eine ganze Zahl von ${low} bis ${high}.`,
  unclear: (low: Part, high: Part) =>
    `Das ließe sich als zwei verschiedene Zahlen lesen; schreiben Sie ${low} oder ${high}.`,
  onlyWeek: "Verwendet wird nur die Woche.",
  upTo: (high: Part) => `${high} oder weniger`,
  above: (low: Part) => `mehr als ${low}`,
  fromTo: (low: Part, high: Part) => `${low} bis ${high}`,
  aboveTo: (low: Part, high: Part) => `mehr als ${low}, bis ${high}`,
  missing: "Bitte beantworten Sie diese Frage.",
  unfit: "Diese Antwort passt nicht; bitte sehen Sie sie noch einmal an.",
  unfitFor: (wanted: Part) => `Diese Antwort passt nicht. ${wanted}`,
  mistakes: (n: Part) =>
    n === 1
      ? "Eine Frage braucht noch eine Antwort, die passt."
      : `${n} Fragen brauchen noch eine Antwort, die passt.`,
  look: "Zeigen, was mein Gerät verlassen könnte",
  lookNote:
    "Noch wird nichts gezogen und nichts gesendet. Auf der nächsten Seite entscheiden Sie, ob " +
    "Sie teilnehmen.",
  nothingAsked:
    "Diesmal wird nichts gefragt: Die Meldung legt frisches Rauschen über die zufällig " +
    "veränderte Antwort, die dieses Gerät seit Ihrer ersten Runde aufbewahrt.",

  // what could leave
  examplesTitle: "Was Ihr Gerät verlassen könnte",
  examplesNote:
    "Noch ist nichts gezogen oder gesendet. Dies sind erfundene Beispiele: Der Zufall hat sie " +
    "eben aus Ihren Antworten gemacht, so wie er Ihre Meldung machen wird. Sie werden " +
    "weggeworfen und nie gesendet. Ihre wirkliche Meldung wird nur gezogen, wenn Sie zustimmen, " +
    "und kann ganz anders aussehen.",
  yours: "Ihre Antworten, die hier bleiben",
  example: (n: Part) => `Beispiel ${n}`,
  exampleNote: "Erfunden; nicht Ihre Meldung.",
  moreExamples: "Andere Beispiele",
  tally: (named: Part, n: Part) =>
    `${named} von bisher ${n} Beispielen nennen Ihre eigenen Antworten.`,
  change: "Antworten ändern",
  notCovered: "nicht in der Meldung",
  through: (what: Part) => `teilweise verraten durch ${what}`,
  someQuestions:
    "Welche Fragen eine Meldung umfasst, wählt der Zufall, unabhängig von Ihren Antworten.",
  allQuestions: "Eine Meldung umfasst alle Fragen.",
  says: (what: Part) => `Die Meldung sagt: ${what}.`,
  names: (n: Part, all: Part, what: Part) =>
    `Die Meldung nennt ${n} von ${all} möglichen Antworten auf ${what}.`,
  namesPairs: (n: Part, all: Part, what: Part) =>
    `Die Meldung nennt ${n} von ${all} Verbindungen von ${what}.`,
  isYours: "Ihre ist darunter.",
  isNotYours: "Ihre ist nicht darunter.",
  isSame: "Das ist, durch Zufall, Ihre eigene Antwort.",
  isOther: "Das ist nicht Ihre eigene Antwort.",
  pattern: (n: Part) =>
    `Die Meldung ist ein Muster aus ${n} zufällig veränderten Bits. Keine Antwort lässt sich ` +
    "unmittelbar daraus ablesen: Viele Antworten ergeben dasselbe Muster.",
  axes: (rows: Part, columns: Part) => `Zeilen: ${rows}; Spalten: ${columns}.`,
  legendSame: "= wie von Ihnen geantwortet; ≠ anders als von Ihnen geantwortet.",
  legendNamed: "von der Meldung genannt",
  legendYours: "Ihre Antwort",
  sureTitle: "Wie sicher könnte sich jemand werden?",
  sureIntro:
    "Wer vorher nichts wusste und dieses Beispiel sähe, hielte Ihre wahren Antworten für so " +
    "wahrscheinlich:",
  sure: (question: Part, percent: Part, blind: Part) => `${question}: ${percent}; vorher ${blind}`,
  sureBound: (percent: Part) =>
    `Wie Ihre Meldung auch ausfällt: höchstens ${percent}, wo es vorher 50 : 50 stand.`,
  technical: "Byte für Byte",
  bytes: (n: Part) =>
    `${n} Bytes: Version, Erhebung, eine Zufallszahl, der Tag, welche Fragen, die zufällig ` +
    "veränderten Antworten.",

  // consent
  agreeTitle: "Dem stimmen Sie zu",
  agreeNote:
    "Wenn Sie zustimmen, zieht der Zufall jetzt Ihre Meldung, ein für alle Mal. Sie wird " +
    "gesendet, ohne vorher gezeigt zu werden: Wer die gezogene Meldung ansieht und dann " +
    "entscheidet, ob er sie sendet, kann die wahre Antwort verraten. Dieselbe Meldung wird " +
    "gesendet, bis die Sammelstelle sie hat, auch nach einem Neuladen.",
  agree: "Zustimmen und senden",
  agreeAgain: "Zustimmen und die Meldung dieser Runde senden",
  invited: "Diese Version kann an Erhebungen, die eine Einladung verlangen, nicht teilnehmen.",

  // the device
  deviceTitle: "Dieses Gerät",
  spent: (epsilon: Part) =>
    "Ihre Meldungen von diesem Gerät über diese Adresse haben bisher höchstens Epsilon " +
    `${epsilon} verraten, alle Erhebungen zusammen. Von anderen Adressen, Browsern und Geräten ` +
    "weiß das Gerät nichts.",
  together: (total: Part, limit: Part) =>
    `Mit dieser Erhebung wären es ${total}. Ihre Grenze ist ${limit}.`,
  tooMuch: (total: Part, limit: Part) =>
    `Mit dieser Erhebung verrieten Ihre Meldungen zusammen Epsilon ${total}; das liegt über ` +
    `Ihrer Grenze von ${limit}. Es wird nichts gezogen, außer Sie ändern die Grenze.`,
  limit: "Ihre Grenze für Epsilon, alle Erhebungen zusammen",
  setLimit: "Grenze ändern",
  badLimit: "Die Grenze muss eine Zahl über 0 sein, etwa 8.",
  limitSet: (limit: Part) => `Ihre Grenze ist jetzt ${limit}.`,
  nextTitle: "Jemand anderes?",
  nextNote:
    "Die nächste Person fängt auf diesem Gerät neu an und sieht nichts von Ihnen. Eine Meldung, " +
    "die noch wartet, wird gesendet, ohne gezeigt zu werden. Speichern Sie vorher Ihre Quittung: " +
    "Danach zeigt das Gerät nichts mehr von Ihnen. Wenn noch immer Sie selbst es sind, benutzen " +
    "Sie das nicht: Ihre Epsilons addieren sich, und die Grenze bemerkte es nicht.",
  next: "Für die nächste Person neu anfangen",
  deleteTitle: "Alles löschen",
  deleteNote:
    "Das löscht alles, was Seiten dieser Adresse auf diesem Gerät aufbewahren, von allen, die es " +
    "benutzt haben: die Meldungen, die Summen und die Grenzen. Was gesendet ist, bleibt bei den " +
    "Sammelstellen; was noch wartet, wird nie gesendet. Was verraten ist, bleibt verraten, aber " +
    "dieses Gerät weiß es nicht mehr: Wer dieselbe Erhebung noch einmal beantwortet, macht eine " +
    "zweite Meldung, und die Epsilons beider addieren sich, ohne dass die Grenze es bemerkt.",
  deleteAll: "Alles löschen, was dieses Gerät aufbewahrt",
  deleteMeant: "Ja, löschen",
  deleteNot: "Nein, behalten",
  deleted: "Alles, was Seiten dieser Adresse auf diesem Gerät aufbewahrten, ist gelöscht.",

  // on the way
  waitingTitle: "Ihre Meldung ist unterwegs",
  waitingNote:
    "Ihre Meldung wurde gezogen, als Sie zustimmten, und Ihre Antworten sind vergessen. Gezeigt " +
    "wird sie nicht, bevor die Sammelstelle sie hat.",
  beingSent: "Die Meldung wird gesendet …",
  waiting:
    "Die Sammelstelle ist nicht erreichbar. Die Meldung bleibt hier und wird wieder versucht, " +
    "auch nach einem Neuladen; Sie können die Seite offen lassen.",
  cancel: "Nicht senden",
  cancelMeant:
    "Endgültig nicht mehr senden? Die Meldung zählt trotzdem für Ihre Grenze, und keine andere " +
    "tritt an ihre Stelle.",
  cancelYes: "Ja, nicht senden",
  cancelNo: "Nein, senden",
  cancelledTitle: "Nicht gesendet",
  cancelled:
    "Es wird nichts mehr gesendet. Ihre Meldung zählt trotzdem für Ihre Grenze, und keine andere " +
    "tritt an ihre Stelle.",
  cancelledNote:
    "Wenn gerade ein Versuch lief, hat die Sammelstelle die Meldung vielleicht doch. Damit sie " +
    "sicher nicht gezählt wird, widerrufen Sie sie.",
  refusedTitle: "Die Sammelstelle lehnt die Meldung ab",
  rejected: (reason: Part) =>
    `Die Sammelstelle lehnt die Meldung ab (${reason}); sie wird nicht gezählt.`,

  // afterwards
  received: "Angekommen. Die Sammelstelle hat Ihre Meldung und zählt sie einmal.",
  receivedNote:
    "Danke für Ihre Teilnahme. Ihre Antworten sind auf diesem Gerät geblieben und vergessen.",
  showTitle: "Was gesendet wurde",
  showNote:
    "Sie können die gesendete Meldung ansehen. Entscheiden Sie aber nicht danach, ob Sie " +
    "widerrufen oder wieder teilnehmen: Die Sammelstelle hat die Meldung schon gesehen, und eine " +
    "Entscheidung nach dem, was darin steht, kann Ihre wahre Antwort verraten.",
  show: "Zeigen, was gesendet wurde",
  sentReport: "Die gesendete Meldung",
  nextRound: (day: Part) =>
    `Die nächste Runde dieses Geräts beginnt am ${day}; bitte kommen Sie dann wieder.`,
  lastRound: "Dies war die letzte Runde dieses Geräts.",
  notDue: (day: Part) =>
    `Heute ist nichts fällig: Die nächste Runde dieses Geräts beginnt am ${day}.`,
  noMoreRounds: "Dieses Gerät hat an allen seinen Runden teilgenommen.",
  earlierTitle: "Frühere Runden",
  earlier: (days: Part) =>
    `Dieses Gerät hat Meldungen gemacht in den Runden, die begannen am: ${days}. Bis zum Schluss ` +
    "der Erhebung können sie hier widerrufen werden.",
  persisted: "Der Browser hat zugesagt, aufzubewahren, was diese Seite speichert.",
  volatile:
    "Browser löschen mitunter, was eine Seite aufbewahrt, manche nach einer Woche ohne Besuch. " +
    "Speichern Sie die Quittung, wenn Sie später widerrufen können möchten.",

  // withdrawing
  receipt: "Quittung als Datei speichern",
  withdraw: "Meldung widerrufen",
  withdrawNote:
    "Bis zum Schluss der Erhebung können Sie Ihre Meldung löschen lassen: hier, oder mit der " +
    "Quittung auf jedem Gerät. Die Quittung enthält eine Zufallszahl und nichts aus Ihrer " +
    "Meldung.",
  isMeant:
    "Endgültig widerrufen? Das lässt sich nicht rückgängig machen: Eine neue Meldung tritt nicht " +
    "an ihre Stelle. Entscheiden Sie nicht nach dem, was in der Meldung steht: Das könnte Ihre " +
    "wahre Antwort verraten.",
  meant: "Ja, widerrufen",
  keep: "Nein, nicht widerrufen",
  withdrawing: "Die Meldung wird widerrufen …",
  withdrawn:
    "Widerrufen. Die Sammelstelle zählt Ihre Meldung nicht mehr. Gesehen hat sie sie, darum " +
    "bleibt ihr Epsilon verbraucht.",
  unwithdrawn:
    "Die Sammelstelle ist nicht erreichbar, oder ihre Antwort ist unklar; bitte versuchen Sie es " +
    "später noch einmal.",
  notWithdrawnYet:
    "Noch nicht widerrufen: Die Sammelstelle ist nicht erreichbar. Ihr Wunsch bleibt hier " +
    "aufbewahrt und wird wieder versucht, solange diese Seite offen ist und wenn Sie " +
    "wiederkommen.",
  fromReceipt: "Mit einer Quittung widerrufen",
  chooseReceipt: "Quittungsdatei",
  badReceipt: "Diese Datei ist keine Quittung dieser Erhebung.",

  // what goes wrong
  over: (day: Part) => `Diese Erhebung endete am ${day}; sie nimmt keine Antworten mehr an.`,
  early: (day: Part) => `Diese Erhebung beginnt am ${day}; bitte kommen Sie dann wieder.`,
  closed:
    "Die Sammelstelle hat diese Erhebung geschlossen und nimmt keine Meldungen und keinen " +
    "Widerruf mehr an.",
  framed:
    "Diese Seite startet nicht innerhalb der Seite einer anderen Website, wo Sie nicht sähen, " +
    "wem Sie antworten. Öffnen Sie sie in einem eigenen Tab.",
  noCrypto:
    "Dieser Browser hat keine sichere Zufallsquelle, darum kann nichts gezogen werden; nehmen " +
    "Sie einen aktuellen Browser und eine https-Adresse.",
  noPart:
    "Ein Teil dieser Seite ließ sich nicht laden, oder ist nicht der, den die Seite nennt, darum " +
    "wird nichts gefragt; laden Sie die Seite neu, oder kommen Sie später wieder.",
  noStore:
    "Dieser Browser lässt die Seite die Meldung nicht aufbewahren (Speicher gesperrt, voll oder " +
    "beschädigt), darum wird nichts gezogen, und nichts geht verloren; erlauben Sie dieser Seite " +
    "Speicher, oder schaffen Sie Platz.",
  changed:
    "Die gelieferten Fragen sind nicht die, welche diese Adresse nennt, darum wird nichts gefragt.",
  unreadable: "Die gelieferten Fragen kann diese Seite nicht lesen, darum wird nichts gefragt.",
  unreachable: "Die Fragen lassen sich gerade nicht holen; nichts ist verloren.",
  gone:
    "Die Meldung, die hier aufbewahrt war, ist gelöscht worden, darum wird nichts gesendet; " +
    "laden Sie die Seite neu, wenn Sie teilnehmen möchten.",
  refused:
    "Die Sammelstelle nimmt diese Anfrage nicht an oder verweist anderswohin; nichts ist " +
    "verloren, und die Meldung bleibt hier aufbewahrt.",
  failed:
    "Hier ist etwas schiefgegangen. Laden Sie die Seite neu: Sie sagt, was aus Ihrer Meldung " +
    "geworden ist.",
};

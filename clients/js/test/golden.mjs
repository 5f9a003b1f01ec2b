// The golden vectors, in Node and in a browser alike: what does not come out as it should, one line each. A classic script, so that a
// page can load it; `checkGolden(lopub, vectors, questionnaires, rounds)`.

globalThis.checkGolden = async function (lopub, vectors, questionnaires, rounds) {
  const failures = [], counts = {};
  const bytesOf = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  const load = (item) => lopub.Campaign.fromBytes(lopub.utf8(item.text), { expectedId: item.id });
  const says = (section, item, got, wanted) => {
    counts[section] = (counts[section] ?? 0) + 1;
    if (JSON.stringify(got) !== JSON.stringify(wanted)) {
      failures.push(`${section} ${JSON.stringify(item).slice(0, 200)}: ${JSON.stringify(got)?.slice(0, 200)} for ${JSON.stringify(wanted)?.slice(0, 200)}`);
    }
  };
  const outcome = (work) => {
    try {
      return work();
    } catch (error) {
      return error instanceof lopub.LopubError ? { refused: error.reason ?? error.name } : { broken: String(error.stack ?? error) };
    }
  };

  function campaigns(items) {
    const found = {};
    for (const item of items) {
      const campaign = (found[item.campaign] = outcome(() => load(item)));
      if (!(campaign instanceof lopub.Campaign)) {
        says("campaigns", item.campaign, campaign, "a campaign");
        continue;
      }
      const { id, epsilon, lifetimeEpsilon, longestReport, maskBytes, domain } = campaign;
      const candidates = Object.fromEntries(Object.keys(item.candidates).map((name) => [name, domain.attributes[domain.position(name)].texts]));
      const wanted = [item.id, item.epsilon ?? epsilon, item.longest_report ?? longestReport, item.mask_bytes ?? maskBytes, item.candidates, item.lifetime_epsilon ?? epsilon];
      says("campaigns", item.campaign, [id, epsilon, longestReport, maskBytes, candidates, lifetimeEpsilon], wanted);
    }
    return found;
  }

  async function report(item, campaign) {
    lopub.handIn(bytesOf(item.random));
    const randomness = lopub.counting();
    const made = outcome(() => item.kept
      ? lopub.refreshed(campaign, bytesOf(item.kept), item.slot, randomness)
      : lopub.randomized(campaign, campaign.domain.indices(item.record), item.slot, randomness));
    says("reports", item.campaign, made.toBytes ? lopub.hex(made.toBytes()) : made, item.bytes);
    says("taken", item.campaign, randomness.n, item.random.length / 2);
    if (item.twin && made.toJson) says("twins", item.campaign, Object.entries(JSON.parse(made.toJson())).sort(), Object.entries(item.twin).sort());
    says("read back", item.campaign, outcome(() => lopub.hex(lopub.Report.fromBytes(bytesOf(item.bytes), campaign).toBytes())), item.bytes);
  }

  /** So many bits, with ones at the places that come an odd number of times. */
  function drawn(width, places) {
    const bytes = new Uint8Array(Math.ceil(width / 8));
    for (const i of places) bytes[i >> 3] ^= 1 << (i & 7);
    return bytes;
  }

  function draw(item) {
    lopub.handIn(bytesOf(item.random));
    const randomness = lopub.counting();
    let result;
    if (item.draw === "below") result = String(randomness.below(BigInt(item.n)));
    else if (item.draw === "prefix") result = randomness.prefix(item.n, item.size);
    else {
      const bits = drawn(item.bits, randomness.changes(item.bits, item.change_units));
      result = typeof item.result === "number" ? bits.reduceRight((sum, byte) => 256 * sum + byte, 0) : lopub.hex(bits);
    }
    says("draws", item, [result, randomness.n], [item.result, item.random.length / 2]);
  }

  function block(item) {
    lopub.handIn(bytesOf(item.random));
    const randomness = lopub.counting(), texts = item.candidates;
    const attribute = { name: item.attribute, size: texts.length, texts };
    lopub.at("mechanism");
    const channel = lopub.mechanismOf(item.mechanism).channel([attribute], 1);
    const bytes = drawn(channel.width, channel.draw(BigInt(texts.indexOf(item.value)), randomness));
    says("blocks", item, [lopub.hex(bytes), randomness.n], [item.payload, item.random.length / 2]);
  }

  function permanent(item, campaign) {
    lopub.handIn(bytesOf(item.random));
    const randomness = lopub.counting(), made = outcome(() => lopub.hex(lopub.memorized(campaign, campaign.domain.indices(item.record), randomness)));
    says("permanent answers", item.campaign, [made, randomness.n], [item.kept, item.random.length / 2]);
  }

  const plain = campaigns(vectors.campaigns), asked = campaigns(questionnaires.campaigns), again = campaigns(rounds.campaigns);
  const attributeOf = (item) => plain[item.campaign].domain.attributes[plain[item.campaign].domain.position(item.attribute)];
  for (const item of vectors.values) says("values", item, outcome(() => attributeOf(item).index(item.value)), item.candidate);
  for (const item of vectors.unfit_values) says("unfit values", item, outcome(() => attributeOf(item).index(item.value)), { refused: "DomainError" });
  for (const { salt, names, texts, bits, hashes, positions } of vectors.positions) {
    says("positions", names, lopub.positions(salt, names, texts, bits, hashes), positions);
  }
  vectors.draws.forEach(draw);
  vectors.blocks.forEach(block);
  for (const item of vectors.reports) await report(item, plain[item.campaign]);
  for (const item of questionnaires.reports) await report(item, asked[item.campaign]);
  for (const item of rounds.reports) await report(item, again[item.campaign]);
  for (const item of rounds.permanent_answers) permanent(item, again[item.campaign]);
  for (const item of rounds.slots) says("slots", item, lopub.slotOn(again[item.campaign].terms.schedule, item.day) ?? null, item.slot);
  for (const item of rounds.rounds) {
    lopub.handIn(bytesOf(item.random));
    const { terms: { schedule }, repeat } = again[item.campaign], days = [...lopub.begun({}, again[item.campaign]).own.keys()];
    says("rounds", item.campaign, [days.map((day) => (day - schedule.opens) / repeat.everyDays), days], [item.rounds, item.slots]);
  }
  for (const [items, those] of [[vectors, plain], [rounds, again]]) {
    for (const item of items.malformed_reports) says("malformed reports", item, outcome(() => lopub.Report.fromBytes(bytesOf(item.bytes), those[item.campaign])), { refused: item.reason });
    for (const item of items.caps) {
      const made = outcome(() => new lopub.Client(those[item.campaign], { epsilonCap: item.cap, store: new lopub.MemoryStore() }) instanceof lopub.Client);
      says("caps", item, made, item.allowed || { refused: "EpsilonTooHigh" });
    }
  }
  for (const item of vectors.attribute_epsilons) says("attribute epsilons", item, plain[item.campaign].epsilonOf(item.attribute), item.epsilon);
  for (const item of questionnaires.attribute_epsilons) says("attribute epsilons", item, asked[item.campaign].epsilonOf(item.attribute), item.epsilon);
  for (const item of rounds.attribute_epsilons) says("attribute epsilons", item, again[item.campaign].epsilonOf(item.attribute), item.epsilon);
  const records = asked.all.domain;
  for (const item of questionnaires.records) says("records", item, outcome(() => records.indices(item.record)), item.candidates);
  for (const item of questionnaires.unfit_records) says("unfit records", item, outcome(() => records.indices(item.record)), { refused: "DomainError" });

  function refusedBytes(item) {
    const { text, base64, repeated, times } = item.vector ? vectors.malformed_campaigns.find(({ why }) => why === item.vector) : item;
    if (repeated !== undefined) return lopub.utf8(repeated.repeat(times));
    return text !== undefined ? lopub.utf8(text) : Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  }
  for (const item of [...questionnaires.refused_campaigns, ...rounds.refused_campaigns]) {
    const became = outcome(() => lopub.Campaign.fromBytes(refusedBytes(item), { expectedId: item.id }) && "taken");
    says("refused campaigns", item.why ?? item.vector, became, { refused: item.reason });
  }
  for (const item of vectors.malformed_campaigns) {
    says("malformed campaigns", item.why, typeof outcome(() => lopub.Campaign.fromBytes(refusedBytes(item)) && "taken").refused, "string");
  }
  for (const { text, normal } of vectors.texts) says("texts", text, lopub.composed(text), normal);
  return { failures, counts };
};

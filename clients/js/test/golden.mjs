// The golden vectors, in Node and in a browser alike: what does not come out as it should, one line
// each. A classic script, so that a page can load it.

/** What comes out of the vectors with a build of the client for tests. */
globalThis.checkGolden = function (lopub, vectors, questionnaires, rounds) {
  return new Golden(lopub).check(vectors, questionnaires, rounds);
};

const bytesOf = (digits) =>
  Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** So many bits, with ones at the places that come an odd number of times. */
function drawn(width, places) {
  const bytes = new Uint8Array(Math.ceil(width / 8));
  for (const i of places) bytes[i >> 3] ^= 1 << (i & 7);
  return bytes;
}

class Golden {
  failures = [];
  counts = {};

  constructor(lopub) {
    this.lopub = lopub;
  }

  check(vectors, questionnaires, rounds) {
    const files = [vectors, questionnaires, rounds];
    const [plain, asked, again] = files.map(({ campaigns }) => this.campaigns(campaigns));
    const each = [
      [vectors, plain],
      [questionnaires, asked],
      [rounds, again],
    ];
    this.values(vectors, plain);
    vectors.draws.forEach((item) => this.draw(item));
    vectors.blocks.forEach((item) => this.block(item));
    this.rounds(rounds, again);
    for (const [items, campaigns] of each) this.reports(items, campaigns);
    const { domain } = asked.all;
    for (const item of questionnaires.records) {
      const found = this.outcome(() => domain.indices(item.record));
      this.compare("records", item, found, item.candidates);
    }
    for (const item of questionnaires.unfit_records) {
      const found = this.outcome(() => domain.indices(item.record));
      this.compare("unfit records", item, found, { refused: "DomainError" });
    }
    for (const { refused_campaigns: items } of files) this.refused(items);
    return { failures: this.failures, counts: this.counts };
  }

  compare(section, item, got, wanted) {
    this.counts[section] = (this.counts[section] ?? 0) + 1;
    const [one, other] = [got, wanted].map((each) => JSON.stringify(each)?.slice(0, 200));
    if (JSON.stringify(got) === JSON.stringify(wanted)) return;
    this.failures.push(`${section} ${JSON.stringify(item).slice(0, 200)}: ${one} for ${other}`);
  }

  outcome(work) {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof this.lopub.LopubError))
        return { broken: String(error.stack ?? error) };
      return { refused: error.reason ?? error.name };
    }
  }

  /** A stream of these bytes. */
  stream(digits) {
    this.lopub.handIn(bytesOf(digits));
    return new this.lopub.Counting();
  }

  campaigns(items) {
    const found = {};
    for (const item of items) {
      const campaign = this.outcome(() =>
        this.lopub.Campaign.fromBytes(this.lopub.utf8(item.text), { expectedId: item.id }),
      );
      found[item.campaign] = campaign;
      if (!(campaign instanceof this.lopub.Campaign)) {
        this.compare("campaigns", item.campaign, campaign, "a campaign");
        continue;
      }
      const { id, epsilon, lifetimeEpsilon, longestReport, maskBytes, domain } = campaign;
      const textsOf = (name) => domain.attributes[domain.position(name)].texts;
      const names = Object.keys(item.candidates);
      const candidates = Object.fromEntries(names.map((name) => [name, textsOf(name)]));
      this.compare(
        "campaigns",
        item.campaign,
        [id, epsilon, longestReport, maskBytes, candidates, lifetimeEpsilon],
        [
          item.id,
          item.epsilon ?? epsilon,
          item.longest_report ?? longestReport,
          item.mask_bytes ?? maskBytes,
          item.candidates,
          item.lifetime_epsilon ?? epsilon,
        ],
      );
    }
    return found;
  }

  values(vectors, campaigns) {
    const { lopub } = this;
    const index = ({ campaign, attribute, value }) => {
      const { domain } = campaigns[campaign];
      return domain.attributes[domain.position(attribute)].index(value);
    };
    for (const item of vectors.values) {
      this.compare(
        "values",
        item,
        this.outcome(() => index(item)),
        item.candidate,
      );
    }
    for (const item of vectors.unfit_values) {
      const found = this.outcome(() => index(item));
      this.compare("unfit values", item, found, { refused: "DomainError" });
    }
    for (const { salt, names, texts, bits, hashes, positions } of vectors.positions) {
      const found = lopub.positions(salt, names, texts, bits, hashes);
      this.compare("positions", names, found, positions);
    }
  }

  draw(item) {
    const randomness = this.stream(item.random);
    let result;
    if (item.draw === "below") result = String(randomness.below(BigInt(item.n)));
    else if (item.draw === "prefix") result = randomness.prefix(item.n, item.size);
    else {
      const bits = drawn(item.bits, randomness.changes(item.bits, item.change_units));
      const number = bits.reduceRight((sum, byte) => 256 * sum + byte, 0);
      result = typeof item.result === "number" ? number : this.lopub.hex(bits);
    }
    this.compare("draws", item, [result, randomness.n], [item.result, item.random.length / 2]);
  }

  block(item) {
    const randomness = this.stream(item.random);
    const texts = item.candidates;
    const attribute = { name: item.attribute, size: texts.length, texts };
    const channel = new this.lopub.Mechanism(item.mechanism).channel([attribute], 1);
    const places = channel.draw(BigInt(texts.indexOf(item.value)), randomness);
    const bytes = drawn(channel.width, places);
    const wanted = [item.payload, item.random.length / 2];
    this.compare("blocks", item, [this.lopub.hex(bytes), randomness.n], wanted);
  }

  rounds(items, campaigns) {
    const { lopub } = this;
    for (const item of items.slots) {
      const { schedule } = campaigns[item.campaign].terms;
      this.compare("slots", item, schedule.slotOn(item.day) ?? null, item.slot);
    }
    for (const item of items.rounds) {
      lopub.handIn(bytesOf(item.random));
      const campaign = campaigns[item.campaign];
      const days = lopub.begun(campaign).rounds.map(({ slot }) => slot);
      const {
        schedule,
        schedule: { repeat },
      } = campaign.terms;
      const numbers = days.map((day) => (day - schedule.opens) / repeat.everyDays);
      this.compare("rounds", item.campaign, [numbers, days], [item.rounds, item.slots]);
    }
    for (const item of items.permanent_answers) {
      const campaign = campaigns[item.campaign];
      const randomness = this.stream(item.random);
      const made = this.outcome(() => {
        const candidates = campaign.domain.indices(item.record);
        return lopub.hex(lopub.memorized(campaign, candidates, randomness));
      });
      const wanted = [item.kept, item.random.length / 2];
      this.compare("permanent answers", item.campaign, [made, randomness.n], wanted);
    }
  }

  reports(items, campaigns) {
    const { lopub } = this;
    for (const item of items.reports) {
      const campaign = campaigns[item.campaign];
      const randomness = this.stream(item.random);
      const id = bytesOf(item.random_id);
      const made = this.outcome(() =>
        item.kept
          ? lopub.refreshed(campaign, bytesOf(item.kept), id, item.slot, randomness)
          : this.randomized(campaign, item, id, randomness),
      );
      const bytes = made.toBytes ? lopub.hex(made.toBytes()) : made;
      this.compare("reports", item.campaign, bytes, item.bytes);
      this.compare("taken", item.campaign, randomness.n, item.random.length / 2);
      this.readBack(item, campaign);
    }
    for (const item of items.signed_reports ?? []) this.readBack(item, campaigns[item.campaign]);
    for (const item of items.malformed_reports ?? []) {
      const campaign = campaigns[item.campaign];
      const read = this.outcome(() => lopub.Report.fromBytes(bytesOf(item.bytes), campaign));
      this.compare("malformed reports", item, read, { refused: item.reason });
    }
    for (const item of items.attribute_epsilons) {
      const epsilon = campaigns[item.campaign].epsilonOf(item.attribute);
      this.compare("attribute epsilons", item, epsilon, item.epsilon);
    }
    for (const item of items.caps ?? []) {
      const options = { epsilonCap: item.cap, store: new lopub.MemoryStore() };
      const made = this.outcome(() => !!new lopub.Client(campaigns[item.campaign], options));
      this.compare("caps", item, made, item.allowed || { refused: "EpsilonTooHigh" });
    }
  }

  randomized(campaign, item, id, randomness) {
    const candidates = campaign.domain.indices(item.record);
    return this.lopub.randomized(campaign, candidates, id, item.slot, randomness);
  }

  /** Bytes and twin of a report that is read and written again. */
  readBack(item, campaign) {
    const { lopub } = this;
    const report = this.outcome(() => lopub.Report.fromBytes(bytesOf(item.bytes), campaign));
    if (!report.toBytes) return this.compare("read back", item.campaign, report, item.bytes);
    this.compare("read back", item.campaign, lopub.hex(report.toBytes()), item.bytes);
    const [twin, wanted] = [JSON.parse(report.toJson()), item.twin].map((each) =>
      Object.entries(each).sort(),
    );
    this.compare("twins", item.campaign, twin, wanted);
    if (item.signature) {
      this.compare("signatures", item.campaign, lopub.hex(report.signature), item.signature);
    }
  }

  refused(items) {
    const { lopub } = this;
    for (const { text, base64, repeated, times, id, why, reason } of items) {
      const bytes =
        base64 !== undefined
          ? Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0))
          : lopub.utf8(text ?? repeated.repeat(times));
      const found = this.outcome(() => {
        lopub.Campaign.fromBytes(bytes, { expectedId: id });
        return "taken";
      });
      this.compare("refused campaigns", why, found, { refused: reason });
    }
  }
}

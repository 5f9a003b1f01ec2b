// In an app with a bundler: import the client, ask, send; and go on with what was left unsent the last time.

import { Client, CollectorError, EpsilonTooHigh, TryLater, fetchCampaign } from "lopub";

/** What became of one person's answers: "sent", "later" where the report is kept and was not acknowledged, or why it was refused. */
export async function takePart(url, answers, { epsilonCap = 4 } = {}) {
  try {
    const client = new Client(await fetchCampaign(url), { epsilonCap });
    await client.encode(answers); // kept in the browser's database before it is handed out
    await client.send(url, { patience: { seconds: 20 } });
    return "sent";
  } catch (error) {
    if (error instanceof TryLater) return "later";
    if (error instanceof EpsilonTooHigh) return "reveals too much";
    if (error instanceof CollectorError) return "refused by the collector";
    throw error; // a mistake in the answers, or in the page
  }
}

/** When the app starts: send what is kept and may not have arrived. Sending again is counted once. */
export async function goOn(url) {
  const client = new Client(await fetchCampaign(url));
  if (await client.kept()) await client.send(url);
}

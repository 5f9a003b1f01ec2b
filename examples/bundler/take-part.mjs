// In an app with a bundler: import the client, ask, send; and go on with what was left unsent the last time.

import { Client, CollectorError, EpsilonTooHigh, fetchCampaign } from "lopub";

/** After consent: what has become of one person's answers ("sent", "waiting" where the report is kept and tried again later, "refused"), or why nothing was drawn. */
export async function takePart(url, answers, { epsilonCap = 4 } = {}) {
  try {
    const client = new Client(await fetchCampaign(url), { epsilonCap });
    const { fate } = await client.contribute(answers, url, { patience: 20 });
    return fate;
  } catch (error) {
    if (error instanceof EpsilonTooHigh) return "reveals too much";
    if (error instanceof CollectorError) return "refused by the collector";
    throw error; // a mistake in the answers, or in the page
  }
}

/** When the app starts: send what no collector has answered for yet. */
export async function goOn(url) {
  const client = new Client(await fetchCampaign(url));
  if ((await client.waiting()).length) await client.send(url);
}

// A page of your own with the classic script: a form of two questions, a report that is drawn here, and one request.

const form = document.querySelector("form");
const status = form.querySelector("[role=status]");
const url = form.dataset.campaign;

async function client() {
  const campaign = await lopub.fetchCampaign(url); // its bytes must have the hash that the address names
  document.getElementById("epsilon").textContent = `Epsilon is ${campaign.epsilon}.`;
  return new lopub.Client(campaign, { epsilonCap: 4, lifetimeCap: 8 }); // EpsilonTooHigh above that
}

const texts = {
  sent: "Sent: the collector has a randomized version of your answers, and counts it once.",
  waiting: "The collector cannot be reached. Your report is kept here; come back to this page.",
  refused: "The collector refuses the report.",
};

form.addEventListener("submit", async (event) => {
  event.preventDefault(); // or the answers would stand in the address
  const { smoker, city } = form.elements;
  status.textContent = "Sending …";
  try {
    await navigator.storage?.persist?.();
    const person = await client();
    const answers = { smoker: smoker.value === "true", city: city.value };
    const { fate } = await person.contribute(answers, url); // drawn once, kept, sent; never shown before
    status.textContent = texts[fate] ?? "";
  } catch (error) {
    status.textContent = `Not sent: ${error.message}.`; // names a question at most, never an answer
  }
});

/** At every load: what was left unsent. */
async function start() {
  const person = await client();
  if (!(await person.waiting()).length) return;
  await person.send(url);
  status.textContent = texts.sent;
}

void start().catch((error) => (status.textContent = `${error.message}.`));

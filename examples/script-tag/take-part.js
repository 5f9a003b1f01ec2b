// A page of your own with the classic script: a form of two questions, a report that is drawn here, and one request.

const form = document.querySelector("form"), status = form.querySelector("[role=status]"), url = form.dataset.campaign;

async function client() {
  const campaign = await lopub.fetchCampaign(url); // its bytes must have the hash that the address names
  document.getElementById("epsilon").textContent = `Epsilon is ${campaign.epsilon}.`;
  return new lopub.Client(campaign, { epsilonCap: 4 }); // EpsilonTooHigh above that
}

form.addEventListener("submit", async (event) => {
  event.preventDefault(); // or the answers would stand in the address
  const { smoker, city } = form.elements;
  status.textContent = "Sending …";
  try {
    await navigator.storage?.persist?.();
    const person = await client();
    await person.encode({ smoker: smoker.value === "true", city: city.value });
    await person.send(url); // the same bytes until they are acknowledged, also after a reload
    status.textContent = "Sent: the collector has a noisy report, and counts it once.";
  } catch (error) {
    status.textContent = `Not sent: ${error.message}.`; // names a question at most, never an answer
  }
});

void client().catch((error) => (status.textContent = `${error.message}.`));

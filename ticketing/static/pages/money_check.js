// What the wallet's own node says about a list, before anybody signs it.

const AT_ONCE = 5; // requests to a wallet

// Calls `act` with each of a list, AT_ONCE at a time. Returns the answers in the same order.
export async function fewAtATime(list, act, onDone = () => {}) {
  const answers = [], queue = list.entries();
  let done = 0;
  const one = async () => {
    for (const [at, each] of queue) {
      answers[at] = await act(each);
      onDone((done += 1));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return answers;
}

export const STOP = {};

// One press of "Start". What was stopped asks the wallet nothing any more, wherever it was.
export class Run {
  isStopped = false;

  constructor(wallet) {
    this.wallet = wallet;
    this.stopped = new Promise((_, reject) => {
      this.stop = () => {
        this.isStopped = true;
        reject(STOP);
      };
    });
    this.stopped.catch(() => {});
  }

  until = (answer) => Promise.race([this.stopped, answer]);
}

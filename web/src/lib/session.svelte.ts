/** Whether this browser is signed in. It is taken to be, until the server says that it is not: the first answer tells. */

class Session {
  signedIn = $state(true);

  lost(): void {
    this.signedIn = false;
  }

  found(): void {
    this.signedIn = true;
  }
}

export const session = new Session();

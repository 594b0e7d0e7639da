@0xd4a1f8b7c2e69035;

interface Remote {
  # The answer goes to an object of the client.
  callBack @0 (number :UInt64, payload :UInt32, listener :Listener);
  # The server prints its account.
  account @1 ();
}

interface Listener {
  hear @0 (number :UInt64, sum :UInt64);
}

@0xd4a1f8b7c2e69035;

interface Remote {
  # The answer goes to an object of the client.
  callBack @0 (number :UInt64, payload :UInt32, listener :Listener);
  # The server prints its account.
  account @1 ();
  # The sum of both.
  add @2 (number :UInt64, payload :UInt32) -> (sum :UInt64);
  # The first call of a chain.
  office @3 () -> (office :Office);
  # Has no answer but that there is room for more.
  tell @4 (number :UInt64, payload :UInt32) -> stream;
}

interface Office {
  # The second one.
  ledger @0 () -> (ledger :Remote);
}

interface Listener {
  hear @0 (number :UInt64, sum :UInt64);
}

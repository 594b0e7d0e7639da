%% What else processes do: work on each message, answer, hand a number round, and be very many.
%% After the Erlang Reference Manual, "Processes", and Getting Started, "Concurrent Programming".
-module(inside).
-export([play/1]).

play("slow") -> slow();
play("ask") -> ask();
play("bounce") -> ring();
play("ring") -> ring();
play("spawn") -> spawn_all().

slow() ->
    [Senders, Messages, Amount, Seed, Work] =
        [lab:order(Name) || Name <- ["SENDERS", "MESSAGES", "AMOUNT", "SEED", "WORK"]],
    Counter = spawn_link(fun() -> count(Work, 0, 0, lab:seen()) end),
    lab:ready_and_wait_for_go(),
    Processes = [spawn_monitor(fun() ->
        send(Counter, Amount, Sender, 0, Messages div Senders, lab:payloads(Seed, Sender))
    end) || Sender <- lists:seq(0, Senders - 1)],
    [receive {'DOWN', Monitor, process, _, normal} -> ok end || {_, Monitor} <- Processes],
    Counter ! {get, self()},
    {Total, Worked, Seen} = receive {Counter, Answer} -> Answer end,
    lab:say("{\"total\": ~b, \"worked\": \"~b\", \"senders\": [~s]}",
            [Total, Worked band 16#FFFFFFFFFFFFFFFF, lab:senders(Senders, Seen)]),
    lab:stop_with_the_lab().

send(_, _, _, Messages, Messages, _) ->
    ok;
send(Counter, Amount, Sender, Number, Messages, State) ->
    Payload = lab:draw(State),
    Counter ! {count, Amount, Sender, Number, Payload},
    send(Counter, Amount, Sender, Number + 1, Messages, Payload).

count(Work, Total, Worked, Seen) ->
    receive
        {count, Amount, Sender, Number, Payload} ->
            count(Work, Total + Amount, Worked + work(Work, Payload),
                  lab:accept(Sender, Number, Payload, Seen));
        {get, From} ->
            From ! {self(), {Total, Worked, Seen}}
    end.

work(0, X) -> X;
work(Draws, X) -> work(Draws - 1, lab:draw(X)).

ask() ->
    [Messages, Seed] = [lab:order(Name) || Name <- ["MESSAGES", "SEED"]],
    Answerer = spawn_link(fun() -> answer(lab:seen()) end),
    lab:ready_and_wait_for_go(),
    {Wrong, Sum} = ask_all(Answerer, 0, Messages, lab:payloads(Seed, 0), 0, 0, 0),
    Answerer ! {get, self()},
    Seen = receive {Answerer, Answer} -> Answer end,
    lab:say("{\"replies\": ~b, \"wrong\": ~b, \"sum\": \"~b\", \"senders\": [~s]}",
            [Messages, Wrong, Sum band 16#FFFFFFFFFFFFFFFF, lab:senders(1, Seen)]).

ask_all(_, Messages, Messages, _, _, Wrong, Sum) ->
    {Wrong, Sum};
ask_all(Answerer, Number, Messages, State, Before, Wrong, Sum) ->
    Drawn = lab:draw(State),
    Payload = Drawn bxor (Before band 16#FFFFFFFF),
    Reference = make_ref(),
    Answerer ! {add, self(), Reference, Number, Payload},
    receive
        {Reference, Answer} when Answer =:= Number + Payload ->
            ask_all(Answerer, Number + 1, Messages, Drawn, Answer, Wrong, Sum + Answer);
        {Reference, Answer} ->
            ask_all(Answerer, Number + 1, Messages, Drawn, Answer, Wrong + 1, Sum + Answer)
    end.

answer(Seen) ->
    receive
        {add, From, Reference, Number, Payload} ->
            From ! {Reference, Number + Payload},
            answer(lab:accept(0, Number, Payload, Seen));
        {get, From} ->
            From ! {self(), Seen}
    end.

ring() ->
    [Actors, Hops, Seed] = [lab:order(Name) || Name <- ["ACTORS", "MESSAGES", "SEED"]],
    Main = self(),
    Nodes = [spawn_link(fun() ->
        Key = lab:draw(lab:payloads(Seed, At)),
        receive {next, Next} -> node(Main, Next, Key, Actors, Hops, lab:seen()) end
    end) || At <- lists:seq(0, Actors - 1)],
    [Node ! {next, Next} || {Node, Next} <- lists:zip(Nodes, tl(Nodes) ++ [hd(Nodes)])],
    lab:ready_and_wait_for_go(),
    hd(Nodes) ! {0, Seed},
    Value = receive {value, It} -> It end,
    Accounts = [begin
        Node ! get,
        receive {Node, Seen} -> lab:senders(1, Seen) end
    end || Node <- Nodes],
    lab:say("{\"value\": ~b, \"senders\": [~s]}", [Value, lists:join(", ", Accounts)]).

node(Main, Next, Key, Actors, Hops, Seen) ->
    receive
        get ->
            Main ! {self(), Seen};
        {Number, Value} ->
            Changed = lab:draw(Value bxor Key),
            case Number + 1 of
                Hops -> Main ! {value, Changed};
                Following -> Next ! {Following, Changed}
            end,
            node(Main, Next, Key, Actors, Hops, lab:accept(0, Number div Actors, Value, Seen))
    end.

spawn_all() ->
    [Actors, Seed] = [lab:order(Name) || Name <- ["MESSAGES", "SEED"]],
    Roll = self(),
    lab:ready_and_wait_for_go(),
    All = [spawn(fun() -> idle(Roll, Number, 0) end) || Number <- lists:seq(0, Actors - 1)],
    lists:foldl(fun(Idler, State) ->
        Payload = lab:draw(State),
        Idler ! {hello, Payload},
        Payload
    end, lab:payloads(Seed, 0), All),
    {Sum, Pairs, Again} = roll(Actors, 0, 0, 0),
    lab:say("{\"alive\": ~b, \"sum\": \"~b\", \"pairs\": \"~b\", \"again\": ~b}",
            [Actors, Sum, Pairs band 16#FFFFFFFFFFFFFFFF, Again]),
    lab:stop_with_the_lab().

idle(Roll, Number, Told) ->
    receive
        {hello, Payload} ->
            Roll ! {here, Number, Told + 1, Payload},
            idle(Roll, Number, Told + 1)
    end.

roll(0, Sum, Pairs, Again) ->
    {Sum, Pairs, Again};
roll(Left, Sum, Pairs, Again) ->
    receive
        {here, Number, 1, Payload} ->
            roll(Left - 1, Sum + Payload, Pairs + Number * Payload, Again);
        {here, Number, _, Payload} ->
            roll(Left - 1, Sum + Payload, Pairs + Number * Payload, Again + 1)
    end.

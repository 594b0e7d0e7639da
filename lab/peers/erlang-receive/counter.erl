%% The counter as a process with a bare receive.
%% After the Erlang Reference Manual, "Processes", and Getting Started, "Concurrent Programming".
-module(counter).
-export([start/0]).

start() ->
    lab:main(fun() ->
        case os:getenv("CELL", "count") of
            "count" -> count();
            Other -> inside:play(Other)
        end
    end).

count() ->
    [Senders, Messages, Amount, Seed] =
        [lab:order(Name) || Name <- ["SENDERS", "MESSAGES", "AMOUNT", "SEED"]],
    Counter = spawn_link(fun() -> loop(0, lab:seen()) end),
    lab:ready_and_wait_for_go(),
    Processes = [spawn_monitor(fun() ->
        send(Counter, Amount, Sender, 0, Messages div Senders, lab:payloads(Seed, Sender))
    end) || Sender <- lists:seq(0, Senders - 1)],
    [receive {'DOWN', Monitor, process, _, normal} -> ok end || {_, Monitor} <- Processes],
    Counter ! {get_and_reset, self()},
    {Total, Seen} = receive {Counter, Answer} -> Answer end,
    lab:say("{\"total\": ~b, \"senders\": [~s]}", [Total, lab:senders(Senders, Seen)]).

send(_, _, _, Messages, Messages, _) ->
    ok;
send(Counter, Amount, Sender, Number, Messages, State) ->
    Payload = lab:draw(State),
    Counter ! {count, Amount, Sender, Number, Payload},
    send(Counter, Amount, Sender, Number + 1, Messages, Payload).

loop(Total, Seen) ->
    receive
        {count, Amount, Sender, Number, Payload} ->
            loop(Total + Amount, lab:accept(Sender, Number, Payload, Seen));
        {get_and_reset, From} ->
            From ! {self(), {Total, Seen}},
            loop(0, Seen)
    end.

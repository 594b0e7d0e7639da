%% The counter as a gen_server: senders cast, the asker calls.
%% After OTP Design Principles, "gen_server Behaviour".
-module(counter).
-behaviour(gen_server).
-export([start/0, init/1, handle_call/3, handle_cast/2]).

start() ->
    lab:main(fun count/0).

count() ->
    [Senders, Messages, Amount, Seed] =
        [lab:order(Name) || Name <- ["SENDERS", "MESSAGES", "AMOUNT", "SEED"]],
    {ok, Counter} = gen_server:start_link(?MODULE, [], []),
    lab:ready_and_wait_for_go(),
    Processes = [spawn_monitor(fun() ->
        send(Counter, Amount, Sender, 0, Messages div Senders, lab:payloads(Seed, Sender))
    end) || Sender <- lists:seq(0, Senders - 1)],
    [receive {'DOWN', Monitor, process, _, normal} -> ok end || {_, Monitor} <- Processes],
    {Total, Seen} = gen_server:call(Counter, get_and_reset, infinity),
    lab:say("{\"total\": ~b, \"senders\": [~s]}", [Total, lab:senders(Senders, Seen)]).

send(_, _, _, Messages, Messages, _) ->
    ok;
send(Counter, Amount, Sender, Number, Messages, State) ->
    Payload = lab:draw(State),
    gen_server:cast(Counter, {count, Amount, Sender, Number, Payload}),
    send(Counter, Amount, Sender, Number + 1, Messages, Payload).

init([]) ->
    {ok, {0, lab:seen()}}.

handle_cast({count, Amount, Sender, Number, Payload}, {Total, Seen}) ->
    {noreply, {Total + Amount, lab:accept(Sender, Number, Payload, Seen)}}.

handle_call(get_and_reset, _From, {Total, Seen}) ->
    {reply, {Total, Seen}, {0, Seen}}.

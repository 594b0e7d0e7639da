%% Two nodes and the distribution of Erlang: a process of one sends to a process of the other.
%% After the Erlang Reference Manual, "Distributed Erlang" and "Processes": the send operator is
%% the same to another node; it suspends the sender while the buffer to that node is full, so the
%% naive loop and the recommended one are one and the same.
-module(remote).
-export([server/0, client/0]).

server() ->
    lab:main(fun() ->
        {ok, _} = net_kernel:start(['server@127.0.0.1', longnames]),
        register(remote, spawn_link(fun() -> begin_to_serve(os:getenv("CELL")) end)),
        lab:say("READY ~b", [lab_epmd:port()]),
        lab:stop_with_the_lab()
    end).

begin_to_serve(Cell) when Cell =:= "callers"; Cell =:= "callers-each" ->
    Senders = lab:order("SENDERS"),
    serve_desks(callers:start(Cell, Senders), Senders);
begin_to_serve("bytes") ->
    shapes:serve(lab:order("BYTES"), lab:seen());
begin_to_serve(Shape) when Shape =:= "u64"; Shape =:= "methods"; Shape =:= "struct" ->
    shapes:serve(0, lab:seen());
begin_to_serve(_) ->
    serve(lab:seen()).

%% The desks are called by the other node; this process says where they are.
serve_desks(Desks, Senders) ->
    receive
        {who, From} ->
            From ! {self, {self(), Desks}};
        {account, From} ->
            lab:say("{\"senders\": [~s]}", [callers:account(Desks, Senders)]),
            From ! said
    end,
    serve_desks(Desks, Senders).

serve(Seen) ->
    receive
        {tell, Number, Payload} ->
            serve(lab:accept(0, Number, Payload, Seen));
        {ask, From, Number, Payload} ->
            From ! {reply, Number, Number + Payload},
            serve(lab:accept(0, Number, Payload, Seen));
        {who, From} ->
            From ! {self, {self(), {}}},
            serve(Seen);
        {account, From} ->
            lab:say("{\"senders\": [~s]}", [lab:senders(1, Seen)]),
            From ! said,
            serve(Seen)
    end.

client() ->
    lab:main(fun() ->
        {ok, _} = net_kernel:start(['client@127.0.0.1', longnames]),
        {remote, 'server@127.0.0.1'} ! {who, self()},
        {Server, Desks} = receive {self, Self} -> Self end,
        true = monitor_node('server@127.0.0.1', true),
        [Messages, Seed] = [lab:order(Name) || Name <- ["MESSAGES", "SEED"]],
        State = lab:payloads(Seed, 0),
        lab:ready_and_wait_for_go(),
        Account = case os:getenv("CELL") of
            Callers when Callers =:= "callers"; Callers =:= "callers-each" ->
                account(callers:call(Desks, lab:order("SENDERS"), Messages, Seed), "");
            Cell ->
                run(Cell, Server, Messages, State)
        end,
        Server ! {account, self()},
        said = answer(),
        lab:say("~s", [Account])
    end).

run("ask", Server, Messages, State) ->
    account(ask(Server, Messages, lab:order("WINDOW"), State), "");
%% The pid in each message is that of a process which does nothing but receive; so is that of an ask.
run("callback", Server, Messages, State) ->
    account(callback(Server, Messages, lab:order("WINDOW"), State), "");
run("naive-ask", Server, Messages, State) ->
    account(naive_ask(Server, Messages, State), "");
run("rtt", Server, Messages, State) ->
    {Replies, Times} = rtt(Server, 0, Messages, State, {0, 0, 0}, []),
    account(Replies, percentiles(lists:sort(Times)));
run(Tell, Server, Messages, State) when Tell =:= "tell"; Tell =:= "naive" ->
    tell(Server, 0, Messages, State),
    io_lib:format("{\"sent\": ~b}", [Messages]);
run(Shape, Server, Messages, State) ->
    shapes:tell(Shape, Server, Messages, State),
    io_lib:format("{\"sent\": ~b}", [Messages]).

tell(_, Messages, Messages, _) ->
    ok;
tell(Server, Number, Messages, State) ->
    Payload = lab:draw(State),
    Server ! {tell, Number, Payload},
    tell(Server, Number + 1, Messages, Payload).

%% As many asks as the window allows, then one for each reply. Replies of one process come in
%% order, so the payloads are drawn a second time to hold each against its own request.
ask(Server, Messages, Window, State) ->
    First = min(Window, Messages),
    Ahead = lists:foldl(fun(Number, At) -> send_ask(Server, Number, At) end, State,
                        lists:seq(0, First - 1)),
    ask(Server, 0, First, Messages, Ahead, State, {0, 0, 0}).

ask(_, Messages, _, Messages, _, _, Replies) ->
    Replies;
ask(Server, Number, Next, Messages, Ahead, State, Replies) ->
    Payload = lab:draw(State),
    Held = hold(answer(), Number, Payload, Replies),
    case Next < Messages of
        true ->
            After = send_ask(Server, Next, Ahead),
            ask(Server, Number + 1, Next + 1, Messages, After, Payload, Held);
        false ->
            ask(Server, Number + 1, Next, Messages, Ahead, Payload, Held)
    end.

send_ask(Server, Number, State) ->
    send_ask(Server, self(), Number, State).

send_ask(Server, From, Number, State) ->
    Payload = lab:draw(State),
    Server ! {ask, From, Number, Payload},
    Payload.

%% A process of its own is named in each message, and holds what comes; it says after each eighth of
%% the window that there is room.
callback(Server, Messages, Window, State) ->
    {Caller, Part} = {self(), max(1, Window div 8)},
    Listener = spawn_link(fun() ->
        Caller ! {replies, listen(Caller, Part, 0, Messages, State, {0, 0, 0})}
    end),
    call_back(Server, Listener, 0, Messages, Part, 8 * Part, State),
    replies().

call_back(_, _, Messages, Messages, _, _, _) ->
    ok;
call_back(Server, Listener, Number, Messages, Part, 0, State) ->
    room = answer(),
    call_back(Server, Listener, Number, Messages, Part, Part, State);
call_back(Server, Listener, Number, Messages, Part, Room, State) ->
    Payload = send_ask(Server, Listener, Number, State),
    call_back(Server, Listener, Number + 1, Messages, Part, Room - 1, Payload).

listen(_, _, Messages, Messages, _, Replies) ->
    Replies;
listen(Caller, Part, Number, Messages, State, Replies) ->
    Payload = lab:draw(State),
    Held = receive Reply -> hold(Reply, Number, Payload, Replies) end,
    case (Number + 1) rem Part of
        0 -> Caller ! room;
        _ -> ok
    end,
    listen(Caller, Part, Number + 1, Messages, Payload, Held).

%% The rooms of the last parts are not needed.
replies() ->
    case answer() of
        room -> replies();
        {replies, Replies} -> Replies
    end.

%% A process that sends all asks in a plain loop, and this one, which receives.
naive_ask(Server, Messages, State) ->
    Hearer = self(),
    spawn_link(fun() -> send_asks(Server, Hearer, 0, Messages, State) end),
    ask(Server, 0, Messages, Messages, State, State, {0, 0, 0}).

send_asks(_, _, Messages, Messages, _) ->
    ok;
send_asks(Server, Hearer, Number, Messages, State) ->
    send_asks(Server, Hearer, Number + 1, Messages, send_ask(Server, Hearer, Number, State)).

rtt(_, Messages, Messages, _, Replies, Times) ->
    {Replies, Times};
rtt(Server, Number, Messages, State, Replies, Times) ->
    Begun = erlang:monotonic_time(nanosecond),
    Payload = send_ask(Server, Number, State),
    Answer = answer(),
    Time = erlang:monotonic_time(nanosecond) - Begun,
    Held = hold(Answer, Number, Payload, Replies),
    rtt(Server, Number + 1, Messages, Payload, Held, [Time | Times]).

answer() ->
    receive
        {nodedown, Node} -> error({nodedown, Node});
        Answer -> Answer
    end.

hold({reply, Number, Sum}, Number, Payload, {Count, Wrong, Total}) when Sum =:= Number + Payload ->
    {Count + 1, Wrong, Total + Sum};
hold({reply, _, Sum}, _, _, {Count, Wrong, Total}) ->
    {Count + 1, Wrong + 1, Total + Sum}.

account({Replies, Wrong, Sum}, More) ->
    io_lib:format("{\"replies\": ~b, \"wrong\": ~b, \"sum\": \"~b\"~s}",
                  [Replies, Wrong, Sum, More]).

percentiles(Sorted) ->
    Times = list_to_tuple(Sorted),
    At = fun(Percent) -> element(1 + (tuple_size(Times) - 1) * Percent div 100, Times) / 1000 end,
    io_lib:format(", \"rtt_us\": {\"p50\": ~.3f, \"p90\": ~.3f, \"p99\": ~.3f, \"max\": ~.3f}",
                  [At(50), At(90), At(99), At(100)]).

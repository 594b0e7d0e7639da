%% The cells `callers`: a gen_server of one node that processes of the other call.
%% After OTP Design Principles, "gen_server Behaviour": gen_server:call takes a process of another
%% node like any other. The answer is a record, its texts are binaries.
-module(callers).
-behaviour(gen_server).
-export([start/2, account/2, call/4, offer/3, init/1, handle_call/3, handle_cast/2]).

-include("offer.hrl").

%% The desks of so many callers: one for all, or one for each.
start("callers-each", Senders) ->
    list_to_tuple([desk() || _ <- lists:seq(1, Senders)]);
start("callers", _Senders) ->
    {desk()}.

desk() ->
    {ok, Desk} = gen_server:start_link(?MODULE, [], []),
    Desk.

%% What the desks have seen, as the list of an account's "senders".
account(Desks, Senders) ->
    Seen = [gen_server:call(Desk, seen) || Desk <- tuple_to_list(Desks)],
    lab:senders(Senders, lists:foldl(fun maps:merge/2, lab:seen(), Seen)).

init([]) ->
    {ok, lab:seen()}.

handle_call({quote, Sender, Number, Payload}, _From, Seen) ->
    {reply, offer(Sender, Number, Payload), lab:accept(Sender, Number, Payload, Seen)};
handle_call(seen, _From, Seen) ->
    {reply, Seen, Seen}.

handle_cast(_, Seen) ->
    {noreply, Seen}.

offer(Sender, Number, Payload) ->
    Parity = case Payload band 1 of 0 -> <<"even">>; 1 -> <<"odd">> end,
    Side = element(1 + (Payload bsr 30), {<<"north">>, <<"east">>, <<"south">>, <<"west">>}),
    #offer{sum = Number + Payload,
           name = <<"caller ", (integer_to_binary(Sender))/binary>>,
           tags = [Parity, Side],
           weight = Payload / 4}.

%% Calls from a process for each caller: how many replies there were, how many were wrong, and the
%% sum of all.
call(Desks, Senders, Messages, Seed) ->
    Caller = self(),
    Each = Messages div Senders,
    Processes = [spawn_monitor(fun() ->
        Desk = element(1 + Sender rem tuple_size(Desks), Desks),
        Caller ! {replies, ask(Desk, Sender, 0, Each, lab:payloads(Seed, Sender), {0, 0, 0})}
    end) || Sender <- lists:seq(0, Senders - 1)],
    [receive {'DOWN', Monitor, process, _, normal} -> ok;
             {'DOWN', Monitor, process, _, Reason} -> error(Reason) end
     || {_, Monitor} <- Processes],
    add_up(Senders, {0, 0, 0}).

add_up(0, Replies) ->
    Replies;
add_up(Left, {Count, Wrong, Total}) ->
    receive {replies, {Some, Bad, Sum}} ->
        add_up(Left - 1, {Count + Some, Wrong + Bad, Total + Sum})
    end.

ask(_, _, Messages, Messages, _, Replies) ->
    Replies;
ask(Desk, Sender, Number, Messages, State, {Count, Wrong, Total}) ->
    Payload = lab:draw(State),
    Offer = #offer{sum = Sum} = gen_server:call(Desk, {quote, Sender, Number, Payload}),
    Bad = case offer(Sender, Number, Payload) of Offer -> 0; _ -> 1 end,
    ask(Desk, Sender, Number + 1, Messages, Payload, {Count + 1, Wrong + Bad, Total + Sum}).

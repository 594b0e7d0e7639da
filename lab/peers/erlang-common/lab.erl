%% What every Erlang participant needs to obey the lab's contract and what is no peer's own work:
%% orders, payloads, accounts, beginning and end.
-module(lab).
-export([main/1, order/1, say/2, ready_and_wait_for_go/0, stop_with_the_lab/0]).
-export([payloads/2, draw/1, seen/0, accept/4, senders/2]).

%% Runs the program beside the boot process; a failure is printed and the exit code is not 0.
main(Program) ->
    % The default handler reports to standard output, which is the lab's.
    ok = logger:remove_handler(default),
    ok = logger:add_handler(default, logger_std_h, #{config => #{type => standard_error}}),
    spawn(fun() ->
        try Program() of
            _ -> halt(0)
        catch
            Class:Reason:Stack ->
                io:format(standard_error, "~p: ~p~n~p~n", [Class, Reason, Stack]),
                halt(1)
        end
    end).

order(Name) ->
    list_to_integer(os:getenv(Name)).

say(Format, Arguments) ->
    io:format(Format ++ "~n", Arguments).

ready_and_wait_for_go() ->
    say("READY", []),
    "GO\n" = io:get_line("").

%% A server ends with its standard input; on SIGTERM the runtime system stops by itself.
stop_with_the_lab() ->
    case io:get_line("") of
        eof -> ok;
        _ -> stop_with_the_lab()
    end.

%% The numbers that a sender draws: xorshift32.
payloads(Seed, Sender) ->
    case (Seed bxor ((Sender + 1) * 2654435761)) band 16#FFFFFFFF of
        0 -> 1;
        X -> X
    end.

draw(X0) ->
    X1 = X0 bxor ((X0 bsl 13) band 16#FFFFFFFF),
    X2 = X1 bxor (X1 bsr 17),
    X2 bxor ((X2 bsl 5) band 16#FFFFFFFF).

%% What a receiver saw: for each sender the count, the sum, how many were reordered, and the
%% number after the last one.
seen() ->
    #{}.

accept(Sender, Number, Payload, Seen) ->
    case Seen of
        #{Sender := {Count, Sum, Reordered, Number}} ->
            Seen#{Sender := {Count + 1, Sum + Payload, Reordered, Number + 1}};
        #{Sender := {Count, Sum, Reordered, _}} ->
            Seen#{Sender := {Count + 1, Sum + Payload, Reordered + 1, Number + 1}};
        #{} ->
            accept(Sender, Number, Payload, Seen#{Sender => {0, 0, 0, 0}})
    end.

%% The list of an account's "senders".
senders(Senders, Seen) ->
    lists:join(", ", [sender(maps:get(Sender, Seen, {0, 0, 0, 0}))
                      || Sender <- lists:seq(0, Senders - 1)]).

sender({Count, Sum, Reordered, _}) ->
    io_lib:format("{\"count\": ~b, \"sum\": \"~b\", \"reordered\": ~b}", [Count, Sum, Reordered]).

%% Tells of other shapes: words, two kinds of message in turn, records, and binaries.
-module(shapes).
-export([serve/2, tell/4]).

-include("offer.hrl").

%% Takes note of messages; one that does not fit is left out.
serve(Size, Seen) ->
    receive
        {word, Word} ->
            serve(Size, lab:accept(0, Word bsr 32, Word band 16#FFFFFFFF, Seen));
        {even, Number, Payload} when Number band 1 =:= 0 ->
            serve(Size, lab:accept(0, Number, Payload, Seen));
        {odd, Number, Payload} when Number band 1 =:= 1 ->
            serve(Size, lab:accept(0, Number, Payload, Seen));
        Offer = #offer{} ->
            serve(Size, take(record(Offer), Seen));
        {block, Block} ->
            serve(Size, take(contents(Size, Block), Seen));
        {who, From} ->
            From ! {self, {self(), {}}},
            serve(Size, Seen);
        {account, From} ->
            lab:say("{\"senders\": [~s]}", [lab:senders(1, Seen)]),
            From ! said,
            serve(Size, Seen);
        _ ->
            serve(Size, Seen)
    end.

take({Number, Payload}, Seen) ->
    lab:accept(0, Number, Payload, Seen);
take(none, Seen) ->
    Seen.

record(Offer = #offer{sum = Sum, weight = Weight}) ->
    Payload = trunc(Weight * 4),
    Number = Sum - Payload,
    case callers:offer(0, Number, Payload) of
        Offer -> {Number, Payload};
        _ -> none
    end.

%% A block: number and payload three times, the payload's lowest byte in between.
block(Size, Number, Payload) ->
    Stamp = <<Number:64/little, Payload:32/little>>,
    Half = Size div 2,
    Fill = binary:copy(<<Payload>>, Half - 12),
    Rest = binary:copy(<<Payload>>, Size - Half - 24),
    <<Stamp/binary, Fill/binary, Stamp/binary, Rest/binary, Stamp/binary>>.

contents(Size, Block) ->
    {Fill, Rest} = {Size div 2 - 13, Size - Size div 2 - 25},
    case Block of
        <<First:12/binary, _:Fill/binary, Byte, Middle:12/binary, _:Rest/binary, Last, End:12/binary>>
          when First =:= Middle, First =:= End, Byte =:= Last ->
            <<Number:64/little, Payload:32/little>> = First,
            case Payload band 255 of
                Byte -> {Number, Payload};
                _ -> none
            end;
        _ ->
            none
    end.

tell(Cell, Server, Messages, State) ->
    tell(message(Cell), Server, 0, Messages, State).

tell(_, _, Messages, Messages, _) ->
    ok;
tell(Message, Server, Number, Messages, State) ->
    Payload = lab:draw(State),
    Server ! Message(Number, Payload),
    tell(Message, Server, Number + 1, Messages, Payload).

message("u64") ->
    fun(Number, Payload) -> {word, (Number bsl 32) bor Payload} end;
message("methods") ->
    fun(Number, Payload) when Number band 1 =:= 0 -> {even, Number, Payload};
       (Number, Payload) -> {odd, Number, Payload}
    end;
message("struct") ->
    fun(Number, Payload) -> callers:offer(0, Number, Payload) end;
message("bytes") ->
    Size = lab:order("BYTES"),
    fun(Number, Payload) -> {block, block(Size, Number, Payload)} end.

%% Tells nodes each other's port without the epmd daemon, which would outlive the run.
%% After the ERTS User's Guide, "How to Implement an Alternative Node Discovery for Erlang
%% Distribution". The server's port is the lab's order; the client listens anywhere.
-module(lab_epmd).
-export([start_link/0, register_node/2, register_node/3, listen_port_please/2]).
-export([address_please/3, port_please/2, port_please/3, names/1, port/0]).

%% The version of the distribution protocol since OTP 23.
-define(VERSION, 6).

start_link() ->
    ignore.

register_node(Name, Port) ->
    register_node(Name, Port, inet).

register_node(_Name, Port, _Driver) ->
    persistent_term:put(?MODULE, Port),
    {ok, rand:uniform(1 bsl 30)}.

%% Where this node listens.
port() ->
    persistent_term:get(?MODULE).

listen_port_please("server", _Host) ->
    {ok, lab:order("PORT")};
listen_port_please(_Name, _Host) ->
    {ok, 0}.

address_please(_Name, _Host, _Family) ->
    {ok, {127, 0, 0, 1}, lab:order("PORT"), ?VERSION}.

port_please(Name, Host) ->
    port_please(Name, Host, infinity).

port_please(_Name, _Host, _Timeout) ->
    {port, lab:order("PORT"), ?VERSION}.

names(_Host) ->
    {error, address}.

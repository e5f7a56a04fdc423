%% Runs within RabbitMQ's node and says when it has nothing left to do. A client cannot see that: an
%% answer on one channel does not mean that queues have handed over what they have for others. Each line
%% that comes is answered with "quiet" once every process of the node waits and nothing has run between
%% two looks. Started by rabbitmq.ts; changes nothing in the broker.
-module(quiet).
-export([start/1]).

start([PortFile]) ->
    spawn(fun() ->
        {ok, Listener} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {packet, line},
                                            {active, false}, {nodelay, true}]),
        {ok, Port} = inet:port(Listener),
        ok = file:write_file(PortFile, integer_to_list(Port)),
        accept(Listener)
    end).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    serve(Socket),
    accept(Listener).

serve(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, _} ->
            wait(look()),
            ok = gen_tcp:send(Socket, "quiet\n"),
            serve(Socket);
        {error, _} ->
            ok
    end.

wait(busy) ->
    erlang:yield(),
    wait(look());
wait(Before) ->
    erlang:yield(),
    case look() of
        Before -> ok;
        After -> wait(After)
    end.

%% How much work each process has done, or `busy` when one has something to do.
look() ->
    look(erlang:processes(), self(), []).

look([], _, Work) ->
    Work;
look([Self | Rest], Self, Work) ->
    look(Rest, Self, Work);
look([Pid | Rest], Self, Work) ->
    case erlang:process_info(Pid, [status, message_queue_len, reductions]) of
        undefined ->
            look(Rest, Self, Work);
        [{status, waiting}, {message_queue_len, 0}, {reductions, Count}] ->
            look(Rest, Self, [{Pid, Count} | Work]);
        _ ->
            busy
    end.

%% Answers questions about regular expressions as RabbitMQ does, with Erlang's re. A line on standard
%% input is a pattern and texts, each as hexadecimal digits of its UTF-8 with an x before. The answer is a
%% line: "ok" and one digit for each text (1 match, 0 none, 2 gave up), or "error", position and reason.
%% Started by erlang_patterns.ts; ends with its input.
-module(patterns).
-export([start/0]).

start() ->
    ok = io:setopts(standard_io, [binary, {encoding, latin1}]),
    serve().

serve() ->
    case io:get_line("") of
        eof -> halt(0);
        Line ->
            [Pattern | Texts] = [unhex(Part) || Part <- string:lexemes(Line, " \n")],
            io:put_chars([answer(re:compile(Pattern, [unicode]), Texts), "\n"]),
            serve()
    end.

answer({error, {Reason, Position}}, _) ->
    ["error ", integer_to_list(Position), " ", Reason];
answer({ok, Compiled}, Texts) ->
    ["ok ", [digit(re:run(Text, Compiled, [{capture, none}, report_errors])) || Text <- Texts]].

digit(match) -> "1";
digit(nomatch) -> "0";
digit({error, _}) -> "2".

unhex(<<"x", Digits/binary>>) ->
    << <<(binary_to_integer(<<A, B>>, 16))>> || <<A, B>> <= Digits >>.


# Names of actors, methods and arguments, which the node at the typed address knows.
function __wigwag_names
    set -l word (commandline -ct)
    for tail in (wigwag complete-call -- (commandline -cp) 2>/dev/null)
        echo $word$tail
    end
end
complete -c wigwag -n "__fish_seen_subcommand_from ask tell describe" -f -a "(__wigwag_names)"

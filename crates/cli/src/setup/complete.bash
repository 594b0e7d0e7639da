
# Names of actors, methods and arguments, which the node at the typed address knows. Where there are
# none, options and commands are completed as above.
_wigwag_call() {
    case "${COMP_WORDS[1]}" in
        ask|tell|describe) ;;
        *) _wigwag "$@"; return ;;
    esac
    local tail
    COMPREPLY=()
    # Each line is what follows the part of the word that is typed. Bash splits words at : and =, and
    # replaces the last part, $2, only.
    while IFS= read -r tail; do
        COMPREPLY+=("$2$tail")
    done < <("$1" complete-call -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
        _wigwag "$@"
    elif [[ "${COMPREPLY[0]}" == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _wigwag_call -o bashdefault -o default wigwag


# Without the package bash-completion the line is taken apart here: at blanks
# that are neither quoted nor behind a backslash.
__PROGRAM_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local line="${COMP_LINE:0:COMP_POINT}" i c quote="" word="" inside=0
    words=()
    for ((i = 0; i < ${#line}; i++)); do
        c="${line:i:1}"
        if [[ -n $quote ]]; then
            word+="$c"
            [[ $c == "$quote" ]] && quote=""
            continue
        fi
        case "$c" in
            [[:space:]])
                if ((inside)); then
                    words+=("$word")
                    word="" inside=0
                fi
                continue
                ;;
            \\)
                word+="$c${line:i+1:1}"
                i=$((i + 1))
                ;;
            \'|\")
                quote="$c"
                word+="$c"
                ;;
            *)
                word+="$c"
                ;;
        esac
        inside=1
    done
    words+=("$word")
    cword=$((${#words[@]} - 1))
    cur="$word"
    prev=""
    if ((cword > 0)); then
        prev="${words[cword-1]}"
    fi
}

# Prints the files that a git command would write, each ended by NUL: first the top of the working
# tree, then names relative to it. `.git/config` stands for that file of the repository. Changes
# nothing. Arguments: the subcommand and its arguments.
set -f
sub=$1
shift
git() { command git --no-optional-locks --no-pager -c core.fsmonitor=false -c diff.relative=false -c core.quotePath=false "$@" 2>/dev/null; }
N='--name-only --no-renames --no-ext-diff --no-textconv -z'
top=$(git rev-parse --show-toplevel) || exit 0
printf '%s\0' "$top"
is_rev() { [ -n "$1" ] && git rev-parse -q --verify "$1^{commit}" >/dev/null; }
rev_of() { case $1 in -) echo '@{-1}' ;; *) echo "$1" ;; esac; }
# The files in which two commits differ, or the working tree and one.
between() { git diff-tree -r $N "$1" "$2" --; }
local_to() { git diff $N "$@"; }
in_commits() { git log --format= -m --first-parent $N "$@" --; }
configured() { git config --get-regexp "^branch\.$1\." >/dev/null && printf '.git/config\0'; }

# Words are revisions or paths; `$values` are the options whose next word is their value.
flags=' '
words=0 paths=0 dashes=0
w1='' w2='' w3=''
sort_words() {
    values=$1
    shift
    while [ $# -gt 0 ]; do
        if [ $dashes = 1 ]; then paths=$((paths + 1)); shift; continue; fi
        case $1 in
        --) dashes=1 ;;
        --*=*) flags="$flags${1%%=*} " ; eval "v_$(echo "${1%%=*}" | tr -dc a-z)=\${1#*=}" ;;
        -?*)
            flags="$flags$1 "
            case $values in *" $1 "*)
                eval "v_$(echo "$1" | tr -dc a-zA-Z)=\$2"
                [ $# -gt 1 ] && shift
                ;;
            esac
            ;;
        *)
            words=$((words + 1))
            case $words in 1) w1=$1 ;; 2) w2=$1 ;; 3) w3=$1 ;; esac
            ;;
        esac
        shift
    done
}
has() { for f; do case $flags in *" $f "*) return 0 ;; esac; done; return 1; }

case $sub in
checkout | switch)
    sort_words ' -b -B -c -C --create --force-create --orphan --conflict ' "$@"
    target=$(rev_of "$w1")
    if has --orphan && [ $sub = switch ]; then
        git ls-tree -r --name-only -z --full-tree HEAD
    elif [ $sub = checkout ] && { [ $dashes = 1 ] || [ $words -gt 1 ] || { [ $words = 1 ] && ! is_rev "$target"; }; } && ! has -b -B --orphan; then
        if [ $words = 1 ] && [ $dashes = 0 ] && [ -z "$(git ls-files -- "$w1" | head -c1)" ]; then
            # The branch of a remote, which is then followed: that is written in the configuration.
            found=$(git for-each-ref --format='%(refname)' "refs/remotes/*/$w1")
            [ -n "$found" ] && between HEAD "$found" && printf '.git/config\0'
        elif is_rev "$target"; then
            seen=0 skip=1
            for a; do
                case $a in --) skip=$((skip - 0)); shift; break ;; esac
                shift
                [ "$a" = "$w1" ] && { [ "${1-}" = -- ] && shift; break; }
            done
            local_to "$target" -- "$@"
        else
            while [ $# -gt 0 ]; do case $1 in --) shift; break ;; -*) shift ;; *) break ;; esac; done
            local_to -- "$@"
        fi
    elif [ -n "$w1" ] && is_rev "$target"; then
        between HEAD "$target"
        has -f --force --discard-changes && local_to HEAD
        if has -t --track; then printf '.git/config\0'; fi
    elif [ -n "$w1" ] && [ $sub = switch ]; then
        found=$(git for-each-ref --format='%(refname)' "refs/remotes/*/$w1")
        [ -n "$found" ] && between HEAD "$found" && printf '.git/config\0'
    elif has -f --force --discard-changes; then
        local_to HEAD
    fi
    ;;
reset)
    sort_words ' ' "$@"
    if has --hard --merge --keep; then local_to "${w1:-HEAD}"; fi
    ;;
merge)
    sort_words ' -m -F -s -X --strategy --strategy-option --file --into-name ' "$@"
    if has --abort; then
        local_to HEAD
    elif ! has --continue --quit; then
        for a in "${w1:-@{upstream\}}" "$w2" "$w3"; do
            a=$(rev_of "$a")
            if is_rev "$a"; then git diff $N "HEAD...$a" --; fi
        done
    fi
    ;;
rebase)
    sort_words ' --onto -s -X -x --exec --strategy --strategy-option -C --whitespace ' "$@"
    state=$(git rev-parse --git-path rebase-merge)
    if has --abort; then
        orig=$(cat "$state/orig-head" 2>/dev/null) && local_to "$orig"
    elif ! has --continue --skip --quit --edit-todo --show-current-patch; then
        onto=${v_onto:-${w1:-@{upstream\}}}
        from=HEAD
        if [ -n "$w2" ]; then from=$w2; between HEAD "$w2"; fi
        if is_rev "$onto" && { has -i --interactive --onto -f --force-rebase --no-ff --exec -x || ! git merge-base --is-ancestor "$onto" "$from"; }; then
            between HEAD "$onto"
            is_rev "${w1:-@{upstream\}}" && in_commits "${w1:-@{upstream\}}..$from"
        fi
    fi
    ;;
cherry-pick | revert)
    sort_words ' -m --mainline -s -X --strategy --strategy-option --cleanup ' "$@"
    if has --abort --skip; then
        local_to HEAD
    else
        for a in "$w1" "$w2" "$w3"; do
            case $a in
            '') ;;
            *..*) in_commits "$a" ;;
            *) is_rev "$a" && in_commits -1 "$a" ;;
            esac
        done
    fi
    ;;
stash)
    sort_words ' -m --message ' "$@"
    case ${w1:-push} in
    push | save)
        has -S --staged || local_to HEAD
        if has -u --include-untracked -a --all; then git ls-files -o --exclude-standard --full-name -z; fi
        ;;
    pop | apply | branch)
        entry=$w2
        [ "$w1" = branch ] && entry=$w3
        case $entry in '') entry='stash@{0}' ;; [0-9]*) entry="stash@{$entry}" ;; esac
        if is_rev "$entry"; then
            [ "$w1" = branch ] && between HEAD "$entry^1"
            between "$entry^1" "$entry"
            is_rev "$entry^3" && git ls-tree -r --name-only -z --full-tree "$entry^3"
        fi
        ;;
    esac
    ;;
restore)
    sort_words ' -s --source --conflict ' "$@"
    if ! has -S --staged || has -W --worktree; then
        source=${v_source:-${v_s-}}
        set -- "$@"
        n=$#
        after=0
        while [ $n -gt 0 ]; do
            a=$1
            shift
            n=$((n - 1))
            case $after$a in
            0--) after=1 ;;
            0-s | 0--source) [ $n -gt 0 ] && { shift; n=$((n - 1)); } ;;
            0-*) ;;
            *) set -- "$@" "$a" ;;
            esac
        done
        if [ -n "$source" ]; then local_to "$source" -- "$@"; else local_to -- "$@"; fi
    fi
    ;;
rm | mv)
    sort_words ' ' "$@"
    if ! has --cached -n --dry-run; then
        last=
        for a; do last=$a; done
        for a; do
            case $a in -*) continue ;; esac
            [ $sub = mv ] && [ "$a" = "$last" ] && continue
            git ls-files --full-name -z -- "$a"
        done
    fi
    ;;
clean)
    sort_words ' -e --exclude ' "$@"
    if ! has -n --dry-run; then
        ignored=--exclude-standard
        for f in $flags; do case $f in --*) ;; *[xX]*) ignored= ;; esac; done
        git ls-files -o $ignored --full-name -z
    fi
    ;;
apply | am)
    sort_words ' -p -C --directory --exclude --include --whitespace -s -X ' "$@"
    if has --abort; then
        local_to HEAD
    else
        for a in "$w1" "$w2" "$w3"; do
            [ -f "$a" ] && git apply --numstat -z "$a"
        done
    fi
    ;;
bisect)
    sort_words ' ' "$@"
    case $w1 in
    start) if is_rev "$w2" && is_rev "$w3"; then in_commits "$w3..$w2"; between HEAD "$w2"; fi ;;
    reset)
        start=$(cat "$(git rev-parse --git-path BISECT_START)") && between HEAD "$start"
        ;;
    good | bad | old | new | skip | run)
        # It moves when a good and a bad commit are known.
        goods=$(git for-each-ref 'refs/bisect/good-*')
        if [ -n "$goods" ] && is_rev refs/bisect/bad; then
            in_commits refs/bisect/bad --not --glob='refs/bisect/good-*'
            between HEAD refs/bisect/bad
        elif [ -n "$goods" ] && [ "$w1" = bad ]; then
            in_commits "${w2:-HEAD}" --not --glob='refs/bisect/good-*'
        fi
        ;;
    esac
    ;;
branch)
    sort_words ' -u --set-upstream-to --track ' "$@"
    if has -u --set-upstream-to --unset-upstream --edit-description -t --track; then
        printf '.git/config\0'
    elif has -d -D --delete; then
        for a in "$w1" "$w2" "$w3"; do [ -n "$a" ] && configured "$a"; done
    elif has -m -M -c -C --move --copy; then
        # It writes there whether or not the branch is configured.
        printf '.git/config\0'
    fi
    ;;
pull)
    sort_words ' ' "$@"
    if [ -z "$w1" ] && is_rev '@{upstream}'; then git diff $N 'HEAD...@{upstream}' --; fi
    ;;
sparse-checkout)
    case ${1-} in set | add | init | disable | reapply) printf '.git/config\0' ;; esac
    ;;
esac
exit 0

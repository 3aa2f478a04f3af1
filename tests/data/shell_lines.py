"""Shell lines and what is known of them: read by test_commandline.py.

READS: lines that do nothing but read the home. ELSEWHERE: lines that only read, with a name that
may lie outside of it. OTHERS: lines that may do more, with words of the reason.
"""

READS = r"""
ls
ls -la
ls -la workspace memory
ls *.md
ls -l --color=auto workspace/
cat notes.md
cat -n notes.md todo.md
cat *.md
cat 'a b.md' "c d.md" e\ f.md
cat -- -strange-name
cat ./-strange-name
cat "$HOME/notes.md" ~/todo.md
cat < notes.md
head -n 5 notes.md
head -5 notes.md
head -c100 notes.md
tail -n +3 notes.md
tail -20 notes.md
wc -l notes.md
wc -l *.md
wc -l < notes.md
grep -n milk notes.md
grep -rn --include='*.md' milk .
grep -e milk -e bread notes.md
grep -c '^- \[ \]' todo.md
grep "milk$" notes.md
grep -A3 -B 2 -i milk ./*.md
grep -E 'a|b;c&d>e' notes.md
grep -- -x notes.md
egrep -v '^#' notes.md
fgrep '$(rm x)' notes.md
rg milk
rg -n -i "to-?do" workspace
rg --files -g '*.md'
rg -l milk -t md
find . -name '*.md'
find . -type f -name "*.md" -mtime -7 -print
find workspace -maxdepth 2 \( -name a -o -name b \) ! -empty
find . -name '*.md' | sort | head -n 3
find . -printf '%p %s\n'
find . -newer notes.md -ls
sort notes.md
sort -t: -k2,2n -ru notes.md
sort notes.md | uniq -c | sort -rn
uniq notes.md
uniq -c -f 1 notes.md
cut -d: -f1,3 notes.md
cut -d ' ' -f 2 notes.md
cat notes.md | tr a-z A-Z
cat notes.md | tr -d '\n' | tr -s ' '
nl -ba notes.md
tac notes.md
rev notes.md
paste -d, notes.md todo.md
join -t, notes.md todo.md
comm -12 notes.md todo.md
diff -u notes.md todo.md
diff -r workspace memory
cmp notes.md todo.md
stat notes.md
stat -c '%s %n' notes.md
file notes.md
du -sh workspace
du -a -d 1
df -h
date
date +%F
date -u '+%Y-%m-%d %H:%M'
date -d tomorrow +%A
date -d '2 weeks ago' --iso-8601
pwd
echo hello world
echo -n "It's $(date +%A)"
echo $((3 + 4 * 2))
echo "exit $?"
echo a \> b '> c' "> d"
echo '; rm -rf x'
echo *.md
printf '%s\n' a b
printf 'Total: %d%%\n' 5
true
false || echo no
: nothing
test -f notes.md && cat notes.md
[ -f notes.md ] && echo yes || echo no
[ ! -d workspace ]
[ "$(wc -l < notes.md)" -gt 3 ] && echo long
[ "$HOME" = "x" ]
basename a/b.md .md
dirname a/b.md
realpath notes.md
readlink -f notes.md
which git
type ls
command -v git
command -v rg >/dev/null 2>&1 && echo yes
id
whoami
groups
uname -a
hostname
env
printenv HOME
nproc
uptime
sha256sum notes.md
md5sum *.md
cksum notes.md
base64 notes.md
base64 -d notes.md
od -c notes.md | head
od -A x -t x1 -N 16 notes.md
xxd notes.md
xxd -l 16 -c 8 notes.md
strings -n 8 notes.md
column -t -s, notes.md
seq 1 5
seq 5 -1 1
expr 2 + 3
expr 2 \* 3
tree -L 2
tree -a -I 'node_modules|.git' workspace
fold -w 72 -s notes.md
fmt -w 72 notes.md
jq . data.json
jq -r '.items[] | .name' data.json
cat data.json | jq -c 'map(select(.a > 1))'
jq --arg n x '.[$n]' data.json
sed -n '1,20p' notes.md
sed -n 5p notes.md
sed -n '/^#/p' notes.md
sed -n '/start/,/end/p;$p' notes.md
sed 's/a/b/g' notes.md
sed -E 's/[0-9]+/N/' notes.md
sed '/^$/d' notes.md
sed -e 1d -e '$d' notes.md
git status
git status --short --branch
git status -sb
git --no-pager log --oneline -5
git log -p -2 -- notes.md
git log --since='2 days ago' --author=Ann --stat
git log --format='%h %s' -n 3
git diff
git diff --stat HEAD~1
git diff HEAD~2..HEAD -- memory
git show HEAD:notes.md
git show --stat 'HEAD@{1}'
git show stash@{0}
git branch
git branch -a -vv
git branch --list 'x*'
git branch --show-current
git branch --contains HEAD
git rev-parse --abbrev-ref HEAD
git rev-parse HEAD
git blame -L 1,5 notes.md
git ls-files -o --exclude-standard
git shortlog -sn
git describe --tags --always
git remote -v
git remote get-url origin
git tag
git tag -l 'v*'
git stash list
git reflog -n 5
git config --get user.name
git config user.email
git config --list
git grep -n milk
git for-each-ref --sort=-creatordate --format='%(refname)'
git --version
cd workspace && ls
cd workspace; git status
(cd workspace && ls) | wc -l
{ ls; pwd; }
{ ls
pwd
}
ls; pwd; date
ls && pwd || date
ls # list
# list everything
! grep -q milk notes.md
ls nowhere 2>/dev/null
ls 2>&1 | head -n 3
ls > /dev/null
grep -q milk notes.md >/dev/null 2>&1; echo $?
cat <<< 'milk'
l\s
"ls" -l
'c'at notes.md
ls "-l"
cat *.md | wc -l
cat nöte.md
grep Bücher notes.md
grep 'à la' notes.md
""".strip("\n").split("\n")

# Two lines of the list above belong together.
_AT = READS.index("{ ls")
READS[_AT : _AT + 3] = ["\n".join(READS[_AT : _AT + 3])]
READS.remove("# list everything")
READS += [
    "ls\npwd\n",
    "ls |\n  head -n 3",
    "ls -l \\\n  workspace",
    "# what is here\nls",
    "cat <<'END'\n$(rm x) `rm x` > y\nEND\npwd",
    "cat <<END | wc -l\nplain words; rm x\nEND",
    'cat <<"END"\n$x\nEND',
    "sort <<END\nb\na\nEND",
]

ELSEWHERE = {
    "cat /etc/hosts": "/etc/hosts",
    "cat ../other.md": "../other.md",
    "cat workspace/../../x": "workspace/../../x",
    "ls /": "/",
    "ls ..": "..",
    "ls ~/..": "/home/ann/..",
    "find / -name x": "/",
    "find .. -name x": "..",
    "grep -r key /home": "/home",
    "grep -f /etc/x a": "/etc/x",
    "grep --file=/etc/x a": "/etc/x",
    "grep -f/etc/x a": "/etc/x",
    "grep --exclude-from=/x -r a .": "/x",
    "rg key /home/bob": "/home/bob",
    "diff notes.md /etc/hosts": "/etc/hosts",
    "diff --to-file=/etc/hosts notes.md": "/etc/hosts",
    "cat < /etc/hosts": "/etc/hosts",
    "cat < ../x": "../x",
    "(ls) < /etc/hosts": "/etc/hosts",
    "cat /home/ann-other/x": "/home/ann-other/x",
    "cat /home/ann/../bob/x": "/home/ann/../bob/x",
    'cat "$X"': '"$X"',
    "cat $X": "$X",
    'cat ./"$X"': "./$X",
    'cat "./$(head -n 1 list.txt)"': "./$(head -n 1 list.txt)",
    "echo /etc/*": "/etc/*",
    "echo $(cat notes.md)": "$(cat notes.md)",
    "ls .*": ".*",
    "cat .*/x": ".*/x",
    "cat .?/x": ".?/x",
    "cat a/.[.]/x": "a/.*/x",
    "cd / && ls": "/",
    "cd .. && cat x": "..",
    "cd workspace && cat ../../x": "workspace/../../x",
    "cd memory; cd ..; cd ..": "memory/../..",
    "find . -newer /etc/x": "/etc/x",
    "find . -samefile ../x": "../x",
    "[ -f /etc/x ]": "/etc/x",
    "[ /etc/x -nt y ]": "/etc/x",
    "date -r /etc/x": "/etc/x",
    "git diff --no-renames /etc/x y": "/etc/x",
    "git show HEAD:../x": "../x",
    "git log -- ../x": "../x",
    "jq . /etc/x": "/etc/x",
    "sed -n 1p /etc/x": "/etc/x",
    "xxd /etc/x": "/etc/x",
    "realpath --relative-to=/etc x": "/etc",
    "ls //etc": "//etc",
    "cat C:/x": "C:/x",
    "cat c:x": "c:x",
    r"cat '..\x'": r"..\x",
    r"cat '\\host\x'": r"\\host\x",
    "diff a ../b": "../b/**",
    "grep -r x ../*": "../*/**",
}

_OTHERS = r"""
rm notes.md  => `rm` deletes
rm -rf /  => `rm` deletes
mv a b  => `mv` changes files
tee notes.md  => `tee` changes files
touch x  => `touch` changes files
curl example.org  => `curl` uses the network
python3 -c 'print(1)'  => `python3` runs programs
python3.12 x.py  => `python3.12` runs programs
awk '{print > "x"}' a  => `awk` runs programs
sh -c ls  => `sh` runs programs
bash x.sh  => `bash` runs programs
xargs rm  => `xargs` runs other commands
eval ls  => `eval` runs other commands
exec ls  => `exec` runs other commands
source x  => `source` runs other commands
. ./x  => `.` runs other commands
builtin cd /  => `builtin` runs other commands
command ls  => `command` runs other commands
command -p ls  => `command` runs other commands
trap 'rm x' EXIT  => `trap` runs other commands
sudo ls  => `sudo` runs other commands
timeout 5 ls  => `timeout` runs other commands
nohup ls  => `nohup` runs other commands
env ls  => `env` with more than 0
env -i ls  => `env -i`
env X=1 ls  => `env` with more than 0
alias ls=rm  => `alias` changes the shell
export PATH=x  => `export` changes the shell
set -o noclobber  => `set` changes the shell
unset PATH  => `unset` changes the shell
read x  => `read` changes the shell
hash -p ./x ls  => `hash` changes the shell
enable -f ./x.so ls  => `enable` changes the shell
kill 1  => `kill` stops or starts
less notes.md  => `less` runs programs
./ls  => not known to only read
/bin/ls  => not known to only read
bin/ls  => not known to only read
LS  => not known to only read
unknown-program  => not known to only read
""  => not known to only read
X=1 ls  => it sets X
PATH=. ls  => it sets PATH
LD_PRELOAD=./x.so ls  => it sets LD_PRELOAD
IFS=/  => it sets IFS
GIT_EXTERNAL_DIFF=./x git diff  => it sets GIT_EXTERNAL_DIFF
PAGER=./x git log  => it sets PAGER
X+=1 ls  => it sets X
X[$(rm x)]=1  => it sets X
>/dev/null X=1 ls  => it sets X
ls > x  => '>' writes x
ls >> x  => '>' writes x
ls >| x  => the redirection '>|'
ls 2> x  => '>' writes x
ls &> x  => '&>' is not known
ls &>/dev/null rm x  => '&>' is not known
ls >& x  => the redirection '>&'
ls >&x  => the redirection '>&'
ls 2>&1x  => the redirection '>&'
ls > /dev/null/../../x  => '>' writes
ls > "$X"  => '>' writes
ls > /dev/nul*  => '>' writes
ls > /dev/tcp/example.org/80  => '>' writes
ls <> x  => the redirection '<>'
cat < /dev/tcp/example.org/80  => no ordinary file
cat < $X  => not a plain name
cat < *.md  => not a plain name
> x  => '>' writes x
cat x >  => without a file
ls {fd}> x  => brace expansion
ls 12> /dev/null  => a redirection of 12
ls &  => leaves a command running
ls & rm x  => leaves a command running
ls &!  => leaves a command running
coproc ls  => begins a loop
ls |& tee x  => '|&' is not known
while true; do ls; done  => begins a loop
for f in *; do rm $f; done  => begins a loop
if true; then rm x; fi  => begins a loop
case x in x) rm x;; esac  => begins a loop
until ls; do ls; done  => begins a loop
select x in a; do ls; done  => begins a loop
time ls  => begins a loop
time -o x ls  => begins a loop
[[ -f x ]]  => begins a loop
[[ -v 'a[$(rm x)]' ]]  => begins a loop
((x=1))  => arithmetic
ls() { rm x; }  => a function
function ls { rm x; }  => begins a loop
ls;;  => out of place
ls |  => not complete
ls &&  => not complete
| ls  => out of place
ls; )  => out of place
(ls  => not complete
{ ls  => not complete
{ ls }  => not complete
()  => out of place
echo `rm x`  => backticks
echo "`rm x`"  => backticks
echo "\`" `ls`  => backticks
echo $(rm x)  => `rm` deletes
echo "$(rm x)"  => `rm` deletes
echo "$(echo "$(rm x)")"  => `rm` deletes
echo "a$(ls; rm x)b"  => `rm` deletes
ls "$(rm x)"  => `rm` deletes
cat <(rm x)  => the redirection '<('
cat <(ls)  => the redirection '<('
ls >(rm x)  => the redirection '>('
echo ${x:=y}  => the expansion
echo ${x@P}  => the expansion
echo ${x:-$(rm x)}  => the expansion
echo ${x:-`rm y`}  => the expansion
echo "${x:-`rm y`}"  => the expansion
echo ${!x}  => the expansion
echo ${x/a/b}  => the expansion
echo ${#x}  => the expansion
echo ${x[$(rm y)]}  => the expansion
echo $((x=1))  => more than numbers
echo $((a[$(rm x)]))  => more than numbers
echo $(( $(rm x) ))  => more than numbers
echo $[1+1]  => the expansion
echo $'\x72m'  => the expansion
$'\x72\x6d' x  => the expansion
echo $"x"  => the expansion
echo $1 $@  => the expansion
$X ls  => not a plain name
$(echo rm) x  => not a plain name
l*  => not a plain name
r"m" x  => `rm` deletes
r\m x  => `rm` deletes
'r''m' x  => `rm` deletes
cat$IFS/etc/passwd  => not a plain name
ls {a,b}  => brace expansion
ls {-l,x}  => brace expansion
ls {1..3}  => brace expansion
ls a{b,c}d  => brace expansion
ls ~root  => another user
ls ~+  => another user
ls x=~  => after = or :
cat '  => not closed
cat "  => not closed
cat x\  => end of a line
cat <<END  => here-document
cat <<-END  => the redirection '<<-'
cat <<$X  => here-document
cat <<'a b'  => here-document
sort -o x y  => `sort -o` writes
sort -ox y  => `sort -o` writes
sort -uo x y  => `sort -o` writes
sort y -o x  => `sort -o` writes
sort --output=x y  => `sort --output` writes
sort --outp=x y  => `sort --outp` is not known
sort --compress-program=./x y  => `sort --compress-program` runs
sort -T x y  => `sort -T` writes
sort *.md  => may become an option
sort "$X"  => may become an option
sort "-$X"  => may become an option
sort $X  => may become an option
sort ./$X  => may become an option
sort -k "$X" y  => not a plain value
sort -k -o y  => not a plain value
uniq a b  => behind the file
uniq a -c  => behind the file
uniq ./*  => more than 1
uniq - b  => behind the file
xxd a b  => `xxd` writes b
xxd -r a  => `xxd -r`
xxd -bl 5 out  => `xxd -bl`
xxd -revert a b  => `xxd -revert`
xxd ./*  => the shell expands
ls -L  => `ls -L` is not known
base64 -o x y  => `base64 -o` writes
base64 a -o x  => behind the file
tree -o x  => `tree -o` writes
tree -R -L 2  => `tree -R` writes
file -C -m x  => `file -C` writes
file -f list  => `file -f`
wc --files0-from=x  => `wc --files0-from`
tail -f x  => `tail -f` does not end
diff -l a b  => `diff -l` runs
rg --pre ./x y  => `rg --pre` runs
rg --pre=./x y  => `rg --pre` runs
rg --hostname-bin=./x y  => `rg --hostname-bin` runs
rg -z y  => `rg -z` runs
rg --search-zip y  => `rg --search-zip` runs
rg -L y  => follows links
grep -R y .  => follows links
grep y *  => may become an option
grep $X y  => may become an option
grep "$X" y  => may become an option
find . -delete  => `find -delete` deletes
find . -exec rm {} \;  => `find -exec` runs
find . -execdir rm {} +  => `find -execdir` runs
find . -ok rm {} \;  => `find -ok` runs
find . -okdir rm {} \;  => `find -okdir` runs
find . -fprint x  => `find -fprint` writes
find . -fprint0 x  => `find -fprint0` writes
find . -fprintf x %p  => `find -fprintf` writes
find . -fls x  => `find -fls` writes
find . "-delete"  => `find -delete` deletes
find . -del\ete  => `find -delete` deletes
find . -name x -o -delete  => `find -delete` deletes
find . -name -delete  => `find -delete` deletes
find -files0-from x  => `find -files0-from`
find -L .  => follows links
find . -name *.md  => quote a pattern
find * -name x  => may become an option
find $X  => may become an option
date -s tomorrow  => `date -s` sets
date --set=tomorrow  => `date --set` sets
date 01010000  => sets the clock
date "$X"  => may become an option
date -f x  => `date -f`
hostname x  => more than 0
sed -i s/a/b/ x  => `sed -i` changes
sed -n -i.bak p x  => `sed -i` changes
sed -ni p x  => `sed -i` changes
sed --in-place p x  => `sed --in-place` changes
sed -f x y  => `sed -f`
sed 'w x' y  => more than printing
sed -n '1w x' y  => more than printing
sed 's/a/b/w x' y  => more than printing
sed 's/a/b/e' y  => more than printing
sed '1e rm x' y  => more than printing
sed e y  => more than printing
sed 'r /etc/x' y  => more than printing
sed '1p;w x' y  => more than printing
sed '1{w x' y  => more than printing
sed 's/[/]/w x/' y  => more than printing
sed 's#a#b#w x' y  => more than printing
sed p *.md  => may become an option
sed "$X" y  => may become an option
printf -v PATH x  => without a plain format
printf '%n' x  => sets a variable
printf '%5ln' 'a[$(rm x)]'  => sets a variable
printf "$X" y  => without a plain format
test -v 'a[$(rm x)]'  => not known to only read
[ -v 'a[$(rm x)]' ]  => not known to only read
[ "$(cat a)" "$(cat b)" ]  => not known to only read
[ $X = y ]  => the shell expands
[ -f x -a -v 'a[$(rm x)]' ]  => not known to only read
[ -f x  => without its ]
cd  => without the name
cd -  => without the name
cd $X  => without the name
cd -P x  => without the name
cd a && cd b && cd c && cd d  => more than three
cat /dev/zero  => no ordinary file
cat /proc/self/environ  => no ordinary file
cat /proc/1/environ  => no ordinary file
cat ../../../proc/1/environ  => no ordinary file
cat //proc/1/environ  => no ordinary file
cat /PROC/1/environ  => no ordinary file
head -c 9 /dev/urandom  => no ordinary file
ls /sys  => no ordinary file
jq -f x y  => `jq -f`
jq -L x .  => `jq -L`
jq 'import "a" as a; .' x  => may read other files
jq 'include "a"; .' x  => may read other files
jq "$X" y  => may become an option
jq --rawfile a /etc/x .  => `jq --rawfile`
git commit -m x  => not known to only read
git checkout x  => not known to only read
git push  => not known to only read
git fetch  => not known to only read
git clean -fd  => not known to only read
git help log  => not known to only read
git  => without a sub-command
git -c core.pager=./x log  => `git -c` sets
git -ccore.pager=./x log  => not known to only read
git --config-env=a=b log  => `git --config-env` sets
git --exec-path=. log  => `git --exec-path` sets
git -p log  => `git -p` starts a pager
git --paginate log  => `git --paginate` starts a pager
git -C /x log  => `git -C` leads
git --git-dir=x log  => `git --git-dir` leads
git --work-tree x status  => `git --work-tree` leads
git log --output=x  => writes a file
git diff --output x  => writes a file
git diff --outp=x  => not known to only read
git diff --ext-diff  => runs a program
git log -p --ext-diff  => runs a program
git show --textconv x  => runs a program
git log --show-signature  => runs gpg
git log --format='%G?'  => runs gpg
git log --format='%h %+GS'  => runs gpg
git log --pretty='format:%<(9)%G?'  => runs gpg
git tag --format='%(signature)'  => runs gpg
git for-each-ref --format '%(signature:key)'  => runs gpg
git grep -O./x y  => not known to only read
git grep -O y  => runs a program
git grep --open-files-in-pager=./x y  => not known to only read
git branch x  => makes a branch
git branch -d x  => `git branch -d`
git branch -D x  => `git branch -D`
git branch -vm x  => `git branch -m`
git branch -v x  => makes a branch
git branch --abbrev x  => makes a branch
git branch --color x  => makes a branch
git branch --edit-description  => not known to only read
git tag v1  => makes a tag
git tag -d v1  => `git tag -d`
git tag -n 5  => makes a tag
git tag --column v1  => makes a tag
git remote add a b  => not known to only read
git remote -v update  => not known to only read
git remote show origin  => not known to only read
git stash  => not known to only read
git stash -p list  => not known to only read
git stash drop  => not known to only read
git reflog expire --all  => not known to only read
git reflog delete x  => not known to only read
git worktree add x  => not known to only read
git config user.name x  => sets it
git config --unset user.name  => `git config --unset`
git config -e  => `git config -e`
git config edit  => not known to only read
git config --global user.name x  => `git config --global`
git log $X  => the shell expands
git log "$X"  => the shell expands
git log -- *.md  => the shell expands
git diff --submodule=diff  => not known to only read
git ls-remote  => not known to only read
git archive HEAD  => not known to only read
git rev-parse --parseopt  => not known to only read
ls --unknown  => `ls --unknown` is not known
"""

OTHERS = [tuple(line.split("  => ")) for line in _OTHERS.strip("\n").split("\n")]
OTHERS += [
    ("", "not complete"),
    ("\u217cs", "outside quotes"),
    ("\u0441at x", "not known to only read"),
    ("# only words", "not complete"),
    ("ls\nrm x", "`rm` deletes"),
    ("ls \\\n; rm x", "`rm` deletes"),
    ("ls\r\nrm x", "nobody sees, U+000D"),
    ("ls\rrm x", "nobody sees, U+000D"),
    ("ls\0", "nobody sees, U+0000"),
    ("ls \x1b[2K", "nobody sees, U+001B"),
    ("ls \u202ex", "nobody sees, U+202E"),
    ("ls \u200bx", "nobody sees, U+200B"),
    ("ls\u00a0-l", "nobody sees, U+00A0"),
    ("ls\u2028rm x", "nobody sees, U+2028"),
    ("ls \U000e0041", "nobody sees, U+E0041"),
    ("ls \ud800", "nobody sees, U+D800"),
    ("ls \uff0dl", "looks like another, U+FF0D"),
    ("ls \uff1b rm x", "looks like another, U+FF1B"),
    ("ls x\u00e0y", "read differently by some shells"),
    ("ls " + "a" * 9000, "longer than"),
    ("ls;" * 60, "more than 50 commands"),
    ("(" + " (" * 30 + "ls" + ")" * 31, "too many brackets"),
    ("echo " + "$(echo " * 12 + ")" * 12, "too many"),
    ("ls x\\\ny", "end of a line inside a word"),
    ("cat <<END\n$(rm x)\nEND", "here-document that the shell expands"),
    ("cat <<END\n`rm x`\nEND", "here-document that the shell expands"),
    ("cat <<END\na\\\nEND\nrm x\nEND", "here-document that the shell expands"),
    ("cat <<'END'\nx", "here-document has no end"),
    ("cat <<'END'\nEND \nrm x", "here-document has no end"),
    ("cat <<'END'\nEND\nrm x", "`rm` deletes"),
    ("cat <<A <<B\nA\nB", "here-document of this form"),
    ("cat <<A 'x\ny'\nA", "here-document of this form"),
    ('cat <<A "$(ls\n)"\nA', "not complete"),
    ('cat <<A "$(ls\nA\n)"\nrm x\nA', "here-document of this form"),
    ("cat <<A \\\n| sort\nA", "here-document of this form"),
    ("echo $(cat <<A\nA\n)", "here-document of this form"),
    ("echo $(ls # )\n)", "comment inside $( )"),
    ("echo $(echo ')')", "quoted bracket inside $( )"),
    ("ls &\\\n& rm x", "leaves a command running"),
    ("echo $\\\n(rm x)", "the expansion"),
]

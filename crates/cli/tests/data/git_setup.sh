# A repository with what the rows of git.jsonl need. Runs once for each user; a row gets a copy.
set -e
mkdir -p "$OUT/me"
cat > "$OUT/me/.gitconfig" <<'CONFIG'
[user]
	name = Ann Example
	email = ann@example.org
[init]
	defaultBranch = main
[advice]
	detachedHead = false
CONFIG
export HOME="$OUT/me"
export GIT_AUTHOR_DATE="2026-01-01T00:00:00Z" GIT_COMMITTER_DATE="2026-01-01T00:00:00Z"
cd "$WS"
git init -q
lines() { for n in 1 2 3 4 5 6 7 8 9; do echo "$1 $n"; done; }
lines a > a.txt; lines b > b.txt; mkdir src docs
echo 'pub fn one() {}' > src/lib.rs; echo 'pub fn util() {}' > src/util.rs; echo '# Docs' > docs/x.md
echo ignored/ > .gitignore
printf '[toolchain]\nchannel = "stable"\n' > rust-toolchain.toml
git add -A; git commit -qm 'First'
git tag light; git tag -a v1 -m 'Version 1'
git switch -qc feature; echo feature > feature.txt; git add -A; git commit -qm 'Add a feature'
sed -i 's/^a 9$/a nine/' a.txt; git commit -qam 'Change the end of a'
git switch -qc conflict light; sed -i 's/^b 1$/b other/' b.txt; git commit -qam 'Change b elsewhere'
git switch -qc editor light; mkdir .vscode; echo '{}' > .vscode/settings.json; echo c > c.txt
git add -A; git commit -qm 'Add settings of an editor'
git switch -qc toolchain light; printf '[toolchain]\nchannel = "nightly"\n' > rust-toolchain.toml; echo t > t.txt
git add -A; git commit -qm 'Use another toolchain'
git switch -q main
sed -i 's/^b 1$/b one/' b.txt; git commit -qam 'Change b'
echo more >> docs/x.md; git commit -qam 'Write more docs'
git switch -qc ahead; echo ahead > ahead.txt; git add -A; git commit -qm 'Go ahead'
git switch -q main
git clone -q --bare . "$OUT/remote.git"
git -C "$OUT/remote.git" update-ref refs/heads/main refs/heads/ahead
git -C "$OUT/remote.git" branch -q elsewhere light
git remote add origin "$OUT/remote.git"
git fetch -q origin
git update-ref refs/remotes/origin/main main
git config branch.main.remote origin; git config branch.main.merge refs/heads/main
git format-patch -q --stdout -1 feature~1 > "$OUT/feature.patch"
git diff light feature > "$OUT/feature.diff"
git diff light editor > "$OUT/editor.diff"
printf '#!/bin/sh\ngit switch editor\n' > "$OUT/to-editor.sh"

shopt -s expand_aliases; alias save="git add -A && git commit"
save -m x
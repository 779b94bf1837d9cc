function f { git $1; }
f commit
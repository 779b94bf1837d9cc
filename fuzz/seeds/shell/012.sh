echo a \
&& git push
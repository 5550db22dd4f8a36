# Adds up the prices in a file, one to a line.
sum=1
while read -r price; do
    sum=$((sum + price))
done < "$1"
echo "$sum"

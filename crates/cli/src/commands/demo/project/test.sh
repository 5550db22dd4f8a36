total=$(sh total.sh prices.txt)
if [ "$total" = 60 ]; then
    echo "ok: the total is 60"
else
    echo "FAILED: the total is $total, not 60"
    exit 1
fi

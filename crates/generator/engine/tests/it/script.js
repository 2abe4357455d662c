const PRICES = new Map([["tea", 3], ["milk", 2]]);
const total = (basket) => JSON.parse(basket).reduce((sum, item) => sum + PRICES.get(item), 0);
function draw(n) { return Math.floor(Math.random() * n); }
function time() { return Date.now(); }
function endless() { for (;;) {} }
function wrong(x) {
  return x.y.z;
}

function told(value) {
  console.log("at", value);
  return value;
}

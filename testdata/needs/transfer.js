// ISO 13616: the check digits make the number, its letters written as 10 to 35 behind it, 1 modulo 97.
function iban(country, bank, account) {
  const number = bank + String(account).padStart(10, "0");
  const letters = [...country].map((letter) => letter.charCodeAt(0) - 55).join("");
  const rest = [...(number + letters + "00")].reduce((rest, digit) => (rest * 10 + Number(digit)) % 97, 0);
  return country + String(98 - rest).padStart(2, "0") + number;
}

// Fletcher 1982, with sums modulo 255.
function fletcher16(text) {
  let [low, high] = [0, 0];
  for (const letter of text) {
    low = (low + letter.charCodeAt(0)) % 255;
    high = (high + low) % 255;
  }
  return high * 256 + low;
}

function price(number) {
  return number * 3;
}

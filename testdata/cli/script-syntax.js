function price(number) {
  return number * ;
}

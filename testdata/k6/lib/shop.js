export const bought = (item) => item.price * 2;

export default function () {
  const x = ;
}

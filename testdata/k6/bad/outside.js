const secret = open('../../../etc/passwd');
export default function () {}

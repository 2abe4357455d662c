const settings = {};
const url = settings.server.url;
export default function () {}
